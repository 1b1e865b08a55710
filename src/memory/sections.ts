import { type MarkdownLine, scanMarkdown } from "./markdown.ts";

/** A piece of a Markdown file under one heading: the whole section, or a part of a long one. */
export interface MarkdownSection {
  /** Headings above it, outermost first, the file's own title left out. */
  readonly headings: readonly string[];
  readonly content: string;
  /** The line its content begins on, from 1. */
  readonly line: number;
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

/** A heading of level 1 that comes first and is the only one is what the file is called. */
function fileTitle(lines: readonly MarkdownLine[]): MarkdownLine | undefined {
  const headings = lines.filter(({ kind }) => kind === "heading");
  const [first] = headings;
  const top = headings.filter(({ level }) => level === 1);
  return headings.length > 1 && first?.level === 1 && top.length === 1 ? first : undefined;
}

interface Part {
  readonly content: string;
  readonly line: number;
}

function cut(lines: readonly MarkdownLine[], maxChars: number): readonly Part[] {
  const whole = partOf(lines);
  if (whole === undefined) return [];
  if (whole.content.length <= maxChars) return [whole];
  const parts: Part[] = [];
  let open: MarkdownLine[] = [];
  const close = (): void => {
    const part = partOf(open);
    if (part !== undefined) parts.push(part);
    open = [];
  };
  for (const block of blocksOf(lines)) {
    const length = [...open, ...block].reduce((sum, { text }) => sum + text.length + 1, 0);
    if (length > maxChars) close();
    open.push(...block);
  }
  close();
  return parts;
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
  return /[\p{L}\p{N}]/u.test(content) ? { content, line: first.number } : undefined;
}
