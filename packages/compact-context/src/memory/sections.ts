import { type ItemMark, readMark } from "./changes/mark.ts";
import { fileTitle, type MarkdownLine, scanMarkdown } from "./markdown.ts";

/** A piece of a Markdown file under one heading: the whole section, or a part of a long one. */
export interface MarkdownSection {
  /** Headings above it, outermost first, the file's own title left out. */
  readonly headings: readonly string[];
  readonly content: string;
  /** The line its content begins on, from 1. */
  readonly line: number;
  /** What the runtime noted about its items, which are of one day and origin then. */
  readonly mark?: ItemMark;
}

export interface SectionOptions {
  /** Longer sections are cut between their items and paragraphs, where they have some. */
  readonly maxChars: number;
}

/** The sections of a Markdown text in order; those without a word of their own, comments aside, are left out. */
export function splitSections(text: string, { maxChars }: SectionOptions): readonly MarkdownSection[] {
  const lines = scanMarkdown(text);
  const title = fileTitle(lines);
  const sections: MarkdownSection[] = [];
  let headings: { readonly level: number; readonly text: string }[] = [];
  let body: MarkdownLine[] = [];
  const finish = (): void => {
    const names = headings.filter((heading) => heading.text !== "").map((heading) => heading.text);
    for (const part of cut(body, maxChars)) sections.push({ headings: names, ...part });
    body = [];
  };
  for (const line of lines) {
    if (line.kind !== "heading") {
      body.push(line);
      continue;
    }
    finish();
    if (line === title) continue;
    headings = [...headings.filter(({ level }) => level < line.level), line];
  }
  finish();
  return sections;
}

type Part = Omit<MarkdownSection, "headings">;

/** Pieces of at most that length, and of items of one day and origin. */
function cut(lines: readonly MarkdownLine[], maxChars: number): readonly Part[] {
  const whole = partOf(lines);
  if (whole === undefined) return [];
  const blocks = blocksOf(lines);
  const isOne = blocks.every((block) => originOf(block) === originOf(blocks[0] ?? []));
  if (isOne && whole.content.length <= maxChars) return [whole];
  const parts: Part[] = [];
  let open: MarkdownLine[] = [];
  const close = (): void => {
    const part = partOf(open);
    if (part !== undefined) parts.push(part);
    open = [];
  };
  for (const block of blocks) {
    const length = [...open, ...block].reduce((sum, { text }) => sum + text.length + 1, 0);
    if (length > maxChars || originOf(block) !== originOf(open)) close();
    open.push(...block);
  }
  close();
  return parts;
}

function markOf(lines: readonly MarkdownLine[]): ItemMark | undefined {
  for (const { kind, raw } of lines) {
    const mark = kind === "text" ? readMark(raw) : undefined;
    if (mark !== undefined) return mark;
  }
  return undefined;
}

function originOf(lines: readonly MarkdownLine[]): string {
  const { time, trust, source } = markOf(lines) ?? {};
  return `${time?.slice(0, 10) ?? ""} ${trust ?? ""} ${source ?? ""}`;
}

const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/;

/** Items of a list at its outer level, and paragraphs; a fenced block goes with what is before it. */
function blocksOf(lines: readonly MarkdownLine[]): readonly (readonly MarkdownLine[])[] {
  const blocks: MarkdownLine[][] = [];
  let afterBlank = true;
  for (const line of lines) {
    const begins = line.kind === "text" && (ITEM.test(line.text) || (afterBlank && !/^\s/.test(line.text)));
    if (begins || blocks.length === 0) blocks.push([]);
    blocks.at(-1)?.push(line);
    afterBlank = line.kind === "blank";
  }
  return blocks;
}

function partOf(lines: readonly MarkdownLine[]): Part | undefined {
  const first = lines.find(({ kind }) => kind !== "blank");
  if (first === undefined) return undefined;
  const content = lines
    .map(({ text }) => text.trimEnd())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .replace(/^\n+|\s+$/g, "");
  if (!/[\p{L}\p{N}]/u.test(content)) return undefined;
  const mark = markOf(lines);
  return { content, line: first.number, mark };
}
