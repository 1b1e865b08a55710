import { createHash } from "node:crypto";
import { oneLine } from "../../summarizers/extractive/text.ts";
import { versionOrNull } from "../files/write-file.ts";
import { BULLET, blocksOf, linesOf, type MarkdownLine, partsOf, scanMarkdown } from "../markdown.ts";

/** The channel files that the runtime may change; workspace files belong to people. */
export type MemoryFileName = "MEMORY.md" | "SESSION.md" | "HISTORY.md";

/** The channel's list of what its memory must not learn again. */
export const RETIRED_FILE = "RETIRED.md";
/** Folded sections of the history are moved to this file; recall never reads it. */
export const ARCHIVE_FILE = "HISTORY.archive.md";

/** Every file that a change may touch. */
export type ChangedFile = MemoryFileName | typeof RETIRED_FILE | typeof ARCHIVE_FILE;
export const CHANGED_FILES: readonly ChangedFile[] = [
  "MEMORY.md",
  "SESSION.md",
  "HISTORY.md",
  RETIRED_FILE,
  ARCHIVE_FILE,
];

/** Texts by file; undefined for a file that does not exist. */
export type Texts = Partial<Readonly<Record<ChangedFile, string>>>;

/** Author of a change. All but `person` are automatic and may not change what people wrote. */
export type MemoryAuthor =
  | "session-update"
  | "consolidation"
  | "promotion"
  | "cleanup"
  | "history"
  | "undo"
  | "person";

/** Number of pieces removed from a file, by its path relative to the channel. */
export interface ForgottenIn {
  readonly file: string;
  readonly pieces: number;
}

/** Trust in a memory: stated by a person, inferred by the agent, or read from a tool result. */
export type MemoryTrust = "person" | "agent" | "tool";

/** Origin of a memory. */
export interface MemoryOrigin {
  /** Default: `person` if a person makes the change, else `agent`. */
  readonly trust?: MemoryTrust;
  /** Name of the tool or person, preferably one word. */
  readonly source?: string;
}

/** An operation on a channel's memory. Items and sections are named by the ids from `read`. */
export type MemoryOperation =
  /** Adds an item to a section of MEMORY.md, named by heading or id; a missing section is created. */
  | ({ readonly op: "add"; readonly section: string; readonly text: string } & MemoryOrigin)
  /** Replaces an item with a newer text; the old one is added to the retired list. */
  | ({ readonly op: "supersede"; readonly target: string; readonly text: string } & MemoryOrigin)
  /** Removes an item that is no longer true; it is added to the retired list and not learned again. */
  | { readonly op: "invalidate"; readonly target: string; readonly why?: string }
  /**
   * Removes what must not be kept, anywhere in the channel's folder: files, log, pending messages. Only
   * fingerprints stay, so that it is not learned again; it cannot be undone.
   */
  | {
      readonly op: "forget";
      /** An item's id; omitted if it is not an item. */
      readonly target?: string;
      /** Words that name it: other lines that contain all of them are removed too. Never logged. */
      readonly topic?: string;
      /** A statement of it, verbatim. Never logged. */
      readonly said?: string;
      readonly why?: string;
    }
  /** Adds a section at the end of HISTORY.md. */
  | { readonly op: "addSection"; readonly heading: string; readonly text: string }
  /** Replaces several sections of HISTORY.md with one; they are moved to its archive. */
  | {
      readonly op: "foldSections";
      readonly sections: readonly string[];
      readonly heading: string;
      readonly text: string;
    }
  /**
   * Replaces the text of SESSION.md. `ifVersion` is the file's `version` when read, `null` if there was no
   * file; refused as `changed` if the version differs now.
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
  /** The memory already says this. */
  | "duplicate"
  /** It was retired: forgotten, invalidated or superseded. */
  | "retired"
  /** A person wrote or edited it. */
  | "kept-by-people"
  /** It changed since it was read. */
  | "changed"
  /** It would remove more than one change may. */
  | "shrinks"
  /** A placeholder stands for text that would be lost, as in "[rest unchanged]". */
  | "placeholder"
  /** It has no content. */
  | "empty"
  /** It is longer than an item or a file may be. */
  | "too-long"
  /** It could not be searched for secrets. */
  | "withheld";

export interface DoneOperation {
  /** As applied: secrets in its text are redacted. */
  readonly operation: MemoryOperation;
  /** Id of the added or removed item; for sections, their ids. */
  readonly id: string;
  /** True if a secret was redacted. */
  readonly redacted: boolean;
}

export interface RefusedOperation {
  readonly operation: MemoryOperation;
  readonly reason: RefusalReason;
  /** One sentence for people, or for the calling model. */
  readonly message: string;
}

/** Author and reason of a change, as logged. */
export interface ChangeNote {
  readonly author: MemoryAuthor;
  /** One sentence. */
  readonly reason: string;
  /** What it was learned from: archive ids, turn ranges, file names. */
  readonly sources?: readonly string[];
}

export interface MemoryChangeResult {
  /** Id of the change in the log; undefined if nothing changed. */
  readonly changeId: string | undefined;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
  /** What was forgotten, by file; empty if nothing was. */
  readonly forgotten: readonly ForgottenIn[];
  /** Versions of the changed files, as `read` returns them. */
  readonly versions: Partial<Readonly<Record<MemoryFileName, string>>>;
}

/** One statement of a memory file: a list item with everything indented below it, or a paragraph. */
export interface MemoryItem {
  /** `m-…`, unique in the channel's file. */
  readonly id: string;
  /** Without bullet and mark. */
  readonly text: string;
  /** `person` if it has no mark or its text differs from the marked text. */
  readonly writtenBy: MemoryAuthor;
  /** True if it has a mark and was edited since. */
  readonly edited: boolean;
  readonly trust: MemoryTrust;
  readonly source?: string;
  /** ISO 8601; undefined for items without a mark. */
  readonly time?: string;
  /** First and last line in the file (inclusive, from 1). */
  readonly line: number;
  readonly lastLine: number;
}

export interface MemorySection {
  /** Built from the headings, like candidate ids; `#2` is appended to the second of a name. */
  readonly id: string;
  /** Its own heading; empty for text above the first one. */
  readonly heading: string;
  /** The headings down to its own, outermost first, without the file's title. */
  readonly path: readonly string[];
  readonly level: number;
  readonly items: readonly MemoryItem[];
  /** Line of the heading, or the first line; from 1. */
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

/** The sections and items of a memory file's text, with their line numbers. */
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

/** The words of a text in lower case, letters and digits of any script; equal for texts that say the same. */
export function plainWords(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}

/** The beginning of a text, for an id. */
export function slug(text: string): string {
  return plainWords(text).replaceAll(" ", "-").slice(0, 80);
}

function itemOf(block: readonly MarkdownLine[], unique: (id: string) => string): readonly MemoryItem[] {
  const [first] = block;
  if (first === undefined) return [];
  const text = block
    .map((line, index) => (index === 0 ? line.text.replace(BULLET, "") : line.text).trimEnd())
    .join("\n")
    .trim();
  if (!/[\p{L}\p{N}]/u.test(text)) return [];
  const own = itemIdOf(text);
  const [, id = own, time, author = "person", trust = "person", source] = MARK.exec(first.raw) ?? [];
  // The id is that of the text as written: with another one, the text was edited.
  const edited = id !== own && !id.startsWith(`${own}-`);
  return [
    {
      id: unique(id),
      text,
      edited,
      writtenBy: edited ? "person" : (author as MemoryAuthor),
      trust: trust as MemoryTrust,
      time,
      source,
      line: first.number,
      lastLine: block.at(-1)?.number ?? first.number,
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

/** What ends the line of an item that the runtime wrote: its id, time, author, trust and source. */
const MARK =
  /[ \t]*<!-- (m-[a-z0-9]+(?:-\d+)?) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ([a-z-]+) (person|agent|tool)(?::([^\s>]{1,60}))? -->[ \t]*$/;

/** The line of a new item, with its mark. */
export function itemLine(
  text: string,
  { author, time }: { readonly author: MemoryAuthor; readonly time: string },
  { trust, source }: MemoryOrigin,
): string {
  const believed = trust ?? (author === "person" ? "person" : "agent");
  const name = (source ?? "").replace(/[^\p{L}\p{N}_.@/-]+/gu, "_").slice(0, 60);
  return `- ${text} <!-- ${itemIdOf(text)} ${time} ${author} ${believed}${name === "" ? "" : `:${name}`} -->`;
}

/** The id of an item with this text: 40 bits of its hash, independent of its position. */
export function itemIdOf(text: string): string {
  return `m-${fingerprint(oneLine(text), 8)}`;
}

/** Letters and digits of a text's SHA-256; five bits each. */
export function fingerprint(text: string, length: number): string {
  const digest = createHash("sha256").update(text, "utf8").digest();
  return Array.from(digest.subarray(0, length), (byte) => (byte & 31).toString(32)).join("");
}
