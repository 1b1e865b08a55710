import { fileTitle, type MarkdownLine, scanMarkdown } from "../markdown.ts";
import { fingerprint, type ItemMark, itemIdOf, readMark } from "./mark.ts";
import type { MemoryAuthor, MemoryFileName, MemoryTrust } from "./operation.ts";
import { linesOf } from "./text-lines.ts";

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
  const scanned = scanMarkdown(text);
  const sections: MemorySection[] = [];
  const title = fileTitle(scanned);
  const uniqueItem = createUnique("-");
  const uniqueSection = createUnique("#");
  let heading: Pick<MarkdownLine, "text" | "level" | "number"> = { text: "", level: 0, number: 0 };
  let above: { readonly level: number; readonly text: string }[] = [];
  let body: MarkdownLine[] = [];
  const finish = (lastLine: number): void => {
    if (heading.number === 0 && body.every(({ kind }) => kind === "blank")) return;
    const names = above.map((one) => slug(one.text)).filter((name) => name !== "");
    sections.push({
      id: uniqueSection(names.join("/") || "preamble"),
      heading: heading.text,
      level: heading.level,
      version: fingerprint(raw.slice(heading.number, lastLine).join("\n"), 16),
      items: blocksOf(body).flatMap((block) => itemOf(block, raw, uniqueItem)),
      line: Math.max(1, heading.number),
      lastLine,
    });
  };
  for (const line of scanned) {
    if (line.kind !== "heading") {
      body.push(line);
      continue;
    }
    finish(line.number - 1);
    above = line === title ? [] : [...above.filter(({ level }) => level < line.level), line];
    heading = line;
    body = [];
  }
  finish(raw.length);
  return { file, text, version, sections };
}

/** All items of a document, in order. */
export function itemsOf(document: MemoryDocument): readonly MemoryItem[] {
  return document.sections.flatMap(({ items }) => items);
}

/** Letters and digits of any script, in lower case. */
export function slug(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 80);
}

const BULLET = /^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+/;

/** List items at the outer level and paragraphs, without blank lines around them; code goes with what is before it. */
function blocksOf(lines: readonly MarkdownLine[]): readonly (readonly MarkdownLine[])[] {
  const blocks: MarkdownLine[][] = [];
  let afterBlank = true;
  for (const line of lines) {
    const begins = line.kind === "text" && (BULLET.test(line.text) || (afterBlank && !/^\s/.test(line.text)));
    if (begins || (blocks.length === 0 && line.kind !== "blank")) blocks.push([]);
    blocks.at(-1)?.push(line);
    afterBlank = line.kind === "blank";
  }
  return blocks.map((block) => block.slice(0, block.findLastIndex(({ kind }) => kind !== "blank") + 1));
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
