/** A line of Markdown, parsed just enough to tell headings from lookalikes. */
export interface MarkdownLine {
  readonly kind: "heading" | "text" | "code" | "blank";
  /** Heading: its words; text: the line without comments; code: the line unchanged. */
  readonly text: string;
  /** The line with its comments. */
  readonly raw: string;
  /** 1 to 6 for headings, else 0. */
  readonly level: number;
  /** From 1. */
  readonly number: number;
}

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const COMMENT_START = /^ {0,3}<!--/;

/**
 * The lines of a Markdown text: ATX headings and fenced code as in CommonMark, without HTML comments. An
 * unclosed comment counts as text, so that a typo hides nothing. Accepts a byte order mark and any line ends.
 */
export function scanMarkdown(text: string): readonly MarkdownLine[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const scanned: MarkdownLine[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const fence = FENCE.exec(line)?.[1];
    const comment = commentEnd(lines, index);
    if (fence !== undefined) {
      const end = fenceEnd(lines, index, fence);
      scanned.push(...codeLines(lines.slice(index, end), index + 1));
      index = end - 1;
    } else if (comment === undefined) {
      scanned.push(readLine(line, index + 1));
    } else {
      index = comment.line;
      scanned.push(plainLine(withoutComments(comment.rest), lines[index] ?? "", index + 1));
    }
  }
  return scanned;
}

/** The content below one heading, up to the next one. */
export interface MarkdownPart {
  /** Undefined for content above the first heading. */
  readonly heading: MarkdownLine | undefined;
  /** The headings down to its own, outermost first, without the file's title. */
  readonly path: readonly MarkdownLine[];
  readonly body: readonly MarkdownLine[];
}

/** The parts of a text by heading, in order. */
export function partsOf(lines: readonly MarkdownLine[]): readonly MarkdownPart[] {
  const title = fileTitle(lines);
  const parts: MarkdownPart[] = [];
  let [heading, path, body]: [MarkdownLine | undefined, MarkdownLine[], MarkdownLine[]] = [undefined, [], []];
  for (const line of lines) {
    if (line.kind !== "heading") {
      body.push(line);
      continue;
    }
    parts.push({ heading, path, body });
    path = line === title ? [] : [...path.filter(({ level }) => level < line.level), line];
    [heading, body] = [line, []];
  }
  return [...parts, { heading, path, body }];
}

/** The marker of a top-level list item. */
export const BULLET: RegExp = /^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+/;

/** Top-level list items and paragraphs, without blank lines around; code belongs to the block before it. */
export function blocksOf(lines: readonly MarkdownLine[]): readonly (readonly MarkdownLine[])[] {
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

/** The title of a file: a level-1 heading that comes first and is the only one of its level. */
function fileTitle(lines: readonly MarkdownLine[]): MarkdownLine | undefined {
  const headings = lines.filter(({ kind }) => kind === "heading");
  const [first] = headings;
  const top = headings.filter(({ level }) => level === 1);
  return headings.length > 1 && first?.level === 1 && top.length === 1 ? first : undefined;
}

/** The line after a fenced block; an unclosed block extends to the end of the text. */
function fenceEnd(lines: readonly string[], start: number, fence: string): number {
  const close = lines.findIndex((line, index) => index > start && closes(line, fence));
  return close < 0 ? lines.length : close + 1;
}

function codeLines(lines: readonly string[], first: number): readonly MarkdownLine[] {
  return lines.map((text, index) => ({
    kind: "code",
    text,
    raw: text,
    level: 0,
    number: first + index,
  }));
}

function closes(line: string, fence: string): boolean {
  const marks = line.replace(/^ {0,3}/, "").trimEnd();
  return marks.length >= fence.length && marks === (fence[0] ?? "").repeat(marks.length);
}

/** The line that closes a comment starting on this line, and the text after it; undefined if none does. */
function commentEnd(lines: readonly string[], start: number): { line: number; rest: string } | undefined {
  const opening = lines[start] ?? "";
  if (!COMMENT_START.test(opening)) return undefined;
  let from = opening.indexOf("<!--") + 2;
  for (let index = start; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const at = line.indexOf("-->", from);
    if (at >= 0) return { line: index, rest: line.slice(at + 3) };
    from = 0;
  }
  return undefined;
}

function readLine(line: string, number: number): MarkdownLine {
  const heading = HEADING.exec(line);
  if (heading === null) return plainLine(withoutComments(line), line, number);
  const words = withoutComments(heading[2] ?? "").trim();
  const text = /^#+$/.test(words) ? "" : words;
  return { kind: "heading", text, raw: line, level: heading[1]?.length ?? 1, number };
}

function plainLine(text: string, raw: string, number: number): MarkdownLine {
  return { kind: text.trim() === "" ? "blank" : "text", text, raw, level: 0, number };
}

function withoutComments(line: string): string {
  return line.includes("<!--") ? line.replace(/<!--.*?-->/g, "") : line;
}

/** A text's lines without their ends; one more than the number of line ends. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

/** Replaces lines `from` (inclusive) to `to` (exclusive), counted from 0; the text's line ends are kept. */
export function replaceLines(text: string, from: number, to: number, lines: readonly string[]): string {
  const end = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
  const pieces = text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? [];
  const before = pieces.slice(0, from).join("");
  const gap = before !== "" && !/[\r\n]$/.test(before) && lines.length > 0 ? end : "";
  return before + gap + lines.map((line) => line + end).join("") + pieces.slice(to).join("");
}

/** Appends lines to a text, after a blank line. */
export function appendLines(text: string, lines: readonly string[]): string {
  const end = Number.MAX_SAFE_INTEGER;
  const gap = text.trim() === "" || /\n\s*\n$/.test(text) ? [] : [""];
  return replaceLines(text, end, end, [...gap, ...lines]);
}
