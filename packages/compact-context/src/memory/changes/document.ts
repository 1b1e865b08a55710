import { createHash } from "node:crypto";
import { versionOrNull } from "../files/write-file.ts";
import { BULLET, blocksOf, linesOf, type MarkdownLine, partsOf, scanMarkdown } from "../markdown.ts";

/** The files of a channel that the runtime may change; those of a workspace are people's. */
export type MemoryFileName = "MEMORY.md" | "SESSION.md" | "HISTORY.md";

/** Who asks for a change. All but `person` are automatic: what people wrote is not theirs to change. */
export type MemoryAuthor =
  | "session-update"
  | "consolidation"
  | "promotion"
  | "cleanup"
  | "history"
  | "undo"
  | "person";

/** How many pieces were taken out of a file of the channel, by its path from there. */
export interface ForgottenIn {
  readonly file: string;
  readonly pieces: number;
}

/** How far a memory may be believed: said by a person, concluded by the agent, or read from what a tool gave. */
export type MemoryTrust = "person" | "agent" | "tool";

/** Where a memory comes from. */
export interface MemoryOrigin {
  /** Default: `agent`. */
  readonly trust?: MemoryTrust;
  /** Names the tool or the person; one word is best. */
  readonly source?: string;
}

/** What may be asked of a channel's memory. Items and sections are named by the ids that `read` gives. */
export type MemoryOperation =
  /** A new item in a section of MEMORY.md, named by heading or id, which is made where it is missing. */
  | ({ readonly op: "add"; readonly section: string; readonly text: string } & MemoryOrigin)
  /** A newer text in the place of an item; the old one goes to the list of retired items. */
  | ({ readonly op: "supersede"; readonly target: string; readonly text: string } & MemoryOrigin)
  /** Takes out an item that is no longer true; it goes to the list of retired items and is not learned again. */
  | { readonly op: "invalidate"; readonly target: string; readonly why?: string }
  /**
   * Takes out what must not be kept, wherever the channel's folder tells it: files, log, waiting messages. Only
   * fingerprints stay, so that it is not learned again; it cannot be undone.
   */
  | {
      readonly op: "forget";
      /** An item's id; left out for what is no item yet. */
      readonly target?: string;
      /** Words that name it: other lines that hold all of them go too. Never logged. */
      readonly topic?: string;
      /** A statement that tells it, word for word. Never logged. */
      readonly said?: string;
      readonly why?: string;
    }
  /** A new section at the end of HISTORY.md. */
  | { readonly op: "addSection"; readonly heading: string; readonly text: string }
  /** One section of HISTORY.md in place of several, which are moved to its archive. */
  | {
      readonly op: "foldSections";
      readonly sections: readonly string[];
      readonly heading: string;
      readonly text: string;
    }
  /**
   * Another text for SESSION.md. `ifVersion` is the file's `version` when it was read, `null` where there was none;
   * refused as `changed` when it is another one now.
   */
  | {
      readonly op: "replaceFile";
      readonly text: string;
      readonly ifVersion: string | null;
      readonly mayShrink?: boolean;
    };

/** The operations of one kind. */
export type Operation<Op extends MemoryOperation["op"]> = Extract<MemoryOperation, { readonly op: Op }>;

/** Why an operation was refused. */
export type RefusalReason =
  /** No item or section has that id. */
  | "not-found"
  /** Several sections have that name: use the id. */
  | "ambiguous"
  /** The same is said already. */
  | "duplicate"
  /** It was retired: forgotten, invalidated or superseded. */
  | "retired"
  /** A person wrote or edited it. */
  | "kept-by-people"
  /** It changed since it was read. */
  | "changed"
  /** More would be lost than one change may take. */
  | "shrinks"
  /** A placeholder stands for text that would be lost, as in "[rest unchanged]". */
  | "placeholder"
  /** It says nothing. */
  | "empty"
  /** It is longer than an item or a file may be. */
  | "too-long"
  /** It could not be searched for secrets. */
  | "withheld";

export interface DoneOperation {
  /** As it was done: secrets taken out of its text. */
  readonly operation: MemoryOperation;
  /** Of the item that is new or gone; for sections theirs. */
  readonly id: string;
  /** True when a secret was taken out. */
  readonly redacted: boolean;
}

export interface RefusedOperation {
  readonly operation: MemoryOperation;
  readonly reason: RefusalReason;
  /** One sentence for people, or for the model that asked. */
  readonly message: string;
}

/** Who changes the memory and why: stands in the log. */
export interface ChangeNote {
  readonly author: MemoryAuthor;
  /** One sentence. */
  readonly reason: string;
  /** What it was learned from: archive ids, turn ranges, file names. */
  readonly sources?: readonly string[];
}

export interface MemoryChangeResult {
  /** Names the change in the log; undefined when nothing was changed. */
  readonly changeId: string | undefined;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
  /** What was forgotten, file by file; empty where nothing was to be. */
  readonly forgotten: readonly ForgottenIn[];
  /** Versions of the files that were changed, as `read` gives them. */
  readonly versions: Partial<Readonly<Record<MemoryFileName, string>>>;
}

/** One statement of a memory file: an item of a list with what is indented below it, or a paragraph. */
export interface MemoryItem {
  /** `m-…`, unique in the channel's file. */
  readonly id: string;
  /** Without bullet and mark. */
  readonly text: string;
  /** `person` when it has no mark or says something else than the mark's text. */
  readonly writtenBy: MemoryAuthor;
  /** True when it has a mark and was edited since. */
  readonly edited: boolean;
  readonly trust: MemoryTrust;
  readonly source?: string;
  /** ISO 8601; undefined for what people wrote without one. */
  readonly time?: string;
  /** Lines of the file, from 1, the last one included. */
  readonly line: number;
  readonly lastLine: number;
}

export interface MemorySection {
  /** Made of the headings, as the ids of candidates; `#2` behind the second of a name. */
  readonly id: string;
  /** Its own heading; empty for what stands above the first one. */
  readonly heading: string;
  /** The headings above and its own, outermost first, the file's own title left out. */
  readonly path: readonly string[];
  readonly level: number;
  readonly items: readonly MemoryItem[];
  /** Of the heading, or of the first line; from 1. */
  readonly line: number;
  readonly lastLine: number;
}

export interface MemoryDocument {
  readonly file: MemoryFileName;
  readonly text: string;
  /** Pass it back as `ifVersion`; `null` if there is no file. */
  readonly version: string | null;
  readonly sections: readonly MemorySection[];
}

/** The sections and items of a memory file's text, each with the lines it stands on. */
export function readDocument(file: MemoryFileName, given: string | undefined): MemoryDocument {
  const text = given ?? "";
  const count = linesOf(text).length;
  const parts = partsOf(scanMarkdown(text));
  const uniqueItem = createUnique("-");
  const uniqueSection = createUnique("#");
  const sections = parts.flatMap(({ heading, path, body }, index): MemorySection[] => {
    if (heading === undefined && body.every(({ kind }) => kind === "blank")) return [];
    const names = path.map((one) => slug(one.text)).filter((name) => name !== "");
    return [
      {
        id: uniqueSection(names.join("/") || "preamble"),
        heading: heading?.text ?? "",
        path: path.map((one) => one.text),
        level: heading?.level ?? 0,
        items: blocksOf(body).flatMap((block) => itemOf(block, uniqueItem)),
        line: heading?.number ?? 1,
        lastLine: (parts[index + 1]?.heading?.number ?? count + 1) - 1,
      },
    ];
  });
  return { file, text, version: versionOrNull(given), sections };
}

/** All items of a document, in order. */
export function itemsOf(document: MemoryDocument): readonly MemoryItem[] {
  return document.sections.flatMap(({ items }) => items);
}

/** The words of a text in lower case, letters and digits of any script: the same for texts that say the same. */
export function plainWords(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}

/** The beginning of a text for an id. */
export function slug(text: string): string {
  return plainWords(text).replaceAll(" ", "-").slice(0, 80);
}

function itemOf(block: readonly MarkdownLine[], unique: (id: string) => string): readonly MemoryItem[] {
  const [first] = block;
  const last = block.at(-1);
  if (first === undefined || last === undefined) return [];
  const text = block
    .map((line, index) => (index === 0 ? line.text.replace(BULLET, "") : line.text).trimEnd())
    .join("\n")
    .trim();
  if (!/[\p{L}\p{N}]/u.test(text)) return [];
  const own = itemIdOf(text);
  const { id = own, author = "person", trust = "person", source, time } = readMark(first.raw) ?? {};
  const edited = id !== own && !id.startsWith(`${own}-`);
  return [
    {
      id: unique(id),
      text,
      edited,
      writtenBy: edited ? "person" : author,
      trust,
      time,
      source,
      line: first.number,
      lastLine: last.number,
    },
  ];
}

function createUnique(separator: string): (id: string) => string {
  const counts = new Map<string, number>();
  return (id) => {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return count === 1 ? id : `${id}${separator}${count}`;
  };
}

// ---- marks

/** What stands behind an item that the runtime wrote, as a comment on its line. */
export interface ItemMark {
  /** Made of the text as it was written: a text that has another id by now was edited by somebody. */
  readonly id: string;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly author: MemoryAuthor;
  readonly trust: MemoryTrust;
  /** Of a tool or person its name. */
  readonly source?: string;
}

const MARK =
  /[ \t]*<!-- (m-[a-z0-9]+(?:-\d+)?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ([a-z-]+) (person|agent|tool)(?::([^\s>]{1,60}))? -->[ \t]*$/;

/** The mark at the end of a line; undefined for lines that people wrote. */
function readMark(line: string): ItemMark | undefined {
  const [, id, time, author, trust, source] = MARK.exec(line) ?? [];
  if (id === undefined || time === undefined) return undefined;
  return { id, time, author: author as MemoryAuthor, trust: trust as MemoryTrust, source };
}

/** The comment that `readMark` reads. */
export function renderMark({ id, time, author, trust, source }: ItemMark): string {
  const name = (source ?? "").replace(/[^\p{L}\p{N}_.@/-]+/gu, "_").slice(0, 60);
  return `<!-- ${id} ${time} ${author} ${trust}${name === "" ? "" : `:${name}`} -->`;
}

/** The id of an item that says this: 41 bits of its words' hash, the same wherever the item stands. */
export function itemIdOf(text: string): string {
  return `m-${fingerprint(text.replace(/\s+/g, " ").trim(), 8)}`;
}

/** Letters and digits of a text's SHA-256; five bits each. */
export function fingerprint(text: string, length: number): string {
  const digest = createHash("sha256").update(text, "utf8").digest();
  return Array.from(digest.subarray(0, length), (byte) => (byte & 31).toString(32)).join("");
}
