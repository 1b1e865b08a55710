import { createHash } from "node:crypto";
import { BULLET, blocksOf, linesOf, type MarkdownLine, partsOf, scanMarkdown } from "../markdown.ts";
import type { MemoryAuthor, MemoryFileName, MemoryTrust } from "./operation.ts";

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
  /** Stands for what is below this heading, up to the next one. */
  readonly version: string;
  readonly items: readonly MemoryItem[];
  /** Of the heading, or of the first line; from 1. */
  readonly line: number;
  readonly lastLine: number;
}

export interface MemoryDocument {
  readonly file: MemoryFileName;
  readonly text: string;
  /** Hand it back as `ifVersion`; `null` where there is no file. */
  readonly version: string | null;
  readonly sections: readonly MemorySection[];
}

/** The sections and items of a memory file's text, each with the lines it stands on. */
export function readDocument(file: MemoryFileName, text: string, version: string | null): MemoryDocument {
  const raw = linesOf(text);
  const parts = partsOf(scanMarkdown(text));
  const uniqueItem = createUnique("-");
  const uniqueSection = createUnique("#");
  const sections = parts.flatMap(({ heading, path, body }, index): MemorySection[] => {
    if (heading === undefined && body.every(({ kind }) => kind === "blank")) return [];
    const first = heading?.number ?? 0;
    const lastLine = (parts[index + 1]?.heading?.number ?? raw.length + 1) - 1;
    const names = path.map((one) => slug(one.text)).filter((name) => name !== "");
    return [
      {
        id: uniqueSection(names.join("/") || "preamble"),
        heading: heading?.text ?? "",
        path: path.map((one) => one.text),
        level: heading?.level ?? 0,
        version: fingerprint(raw.slice(first, lastLine).join("\n"), 16),
        items: blocksOf(body).flatMap((block) => itemOf(block, raw, uniqueItem)),
        line: Math.max(1, first),
        lastLine,
      },
    ];
  });
  return { file, text, version, sections };
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

function itemOf(
  block: readonly MarkdownLine[],
  raw: readonly string[],
  unique: (id: string) => string,
): readonly MemoryItem[] {
  const [first] = block;
  const last = block.at(-1);
  if (first === undefined || last === undefined) return [];
  const text = block
    .map((line, index) => (index === 0 ? line.text.replace(BULLET, "") : line.text).trimEnd())
    .join("\n")
    .trim();
  if (!/[\p{L}\p{N}]/u.test(text)) return [];
  const mark = readMark(raw[first.number - 1] ?? "");
  const own = itemIdOf(text);
  const edited = mark !== undefined && !sameId(mark.id, own);
  return [
    {
      id: unique(mark?.id ?? own),
      text,
      edited,
      ...ownership(mark, edited),
      line: first.number,
      lastLine: last.number,
    },
  ];
}

type Ownership = Pick<MemoryItem, "writtenBy" | "trust" | "source" | "time">;

function ownership(mark: ItemMark | undefined, edited: boolean): Ownership {
  if (mark === undefined) return { writtenBy: "person", trust: "person" };
  const { author, trust, source, time } = mark;
  return { writtenBy: edited ? "person" : author, trust, time, source };
}

function sameId(marked: string, own: string): boolean {
  return marked === own || marked.startsWith(`${own}-`);
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
export function readMark(line: string): ItemMark | undefined {
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
