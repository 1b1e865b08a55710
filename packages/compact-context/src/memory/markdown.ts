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
  const lines = linesOf(text.replace(/^\uFEFF/, ""));
  const scanned: MarkdownLine[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const fence = FENCE.exec(line)?.[1];
    const comment = commentEnd(lines, index);
    if (fence !== undefined) {
      const end = fenceEnd(lines, index, fence);
      for (const code of codeLines(lines.slice(index, end), index + 1)) scanned.push(code);
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
  return lines.map((text, at) => ({ kind: "code", text, raw: text, level: 0, number: first + at }));
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

// ---- what changed between two texts, line by line

/** A replacement of lines, without their line ends. */
export interface Hunk {
  /** Index of the first removed line, or of the line to insert before; from 0, in the old text. */
  readonly at: number;
  readonly out: readonly string[];
  readonly put: readonly string[];
  /** Up to three unchanged lines on either side, used to find the place if lines have moved. */
  readonly above: readonly string[];
  readonly below: readonly string[];
}

const CONTEXT = 3;

/** The hunks that turn `before` into `after`. */
export function hunksBetween(before: string, after: string): readonly Hunk[] {
  const old = textLines(before);
  const places = differences(old, textLines(after));
  return places.map(({ at, out, put }, index) => {
    const last = places[index - 1];
    const from = Math.max(at - CONTEXT, last === undefined ? 0 : last.at + last.out.length);
    const behind = at + out.length;
    const to = Math.min(behind + CONTEXT, places[index + 1]?.at ?? old.length);
    return { at, out, put, above: old.slice(from, at), below: old.slice(behind, to) };
  });
}

/** The hunks that undo these. */
export function inverse(hunks: readonly Hunk[]): readonly Hunk[] {
  let shift = 0;
  return hunks.map(({ at, out, put, above, below }) => {
    const moved = at + shift;
    shift += put.length - out.length;
    return { at: moved, out: put, put: out, above, below };
  });
}

/**
 * Applies hunks to a text. With `same` the text is the one they were made for and positions are exact.
 * Otherwise a hunk is placed at the nearest match of its lines or, for an insertion, of the lines around it.
 * `left` are the hunks whose lines were changed in the meantime; text that is already there is not inserted
 * twice.
 */
export function patch(
  text: string,
  hunks: readonly Hunk[],
  same: boolean,
): { readonly text: string; readonly left: readonly Hunk[] } {
  const lines = textLines(text);
  const left: Hunk[] = [];
  let patched = text;
  let shift = 0;
  for (const hunk of hunks) {
    const near = hunk.at + shift;
    const at = same ? near : placeOf(lines, near, hunk);
    if (at === "left") left.push(hunk);
    if (typeof at !== "number") continue;
    lines.splice(at, hunk.out.length, ...hunk.put);
    patched = replaceLines(patched, at, at + hunk.out.length, hunk.put);
    shift = at - hunk.at + hunk.put.length - hunk.out.length;
  }
  return { text: patched, left };
}

/** A line index; `done` if the text already has the hunk's result; `left` if its lines are missing. */
function placeOf(lines: readonly string[], near: number, hunk: Hunk): number | "done" | "left" {
  const { out, put, above, below } = hunk;
  const found = bestPlace(lines, near, out, hunk);
  const made = bestPlace(lines, near, put, hunk);
  if (made?.whole === true && found?.whole !== true) return "done";
  if (put.some(isTelling) && made !== undefined && made.score >= 1 && made.score >= (found?.score ?? 0))
    return "done";
  if (out.length === 0 && above.length + below.length === 0) return lines.length;
  return found !== undefined && (found.score > 0 || out.some(isTelling)) ? found.at : "left";
}

interface Found {
  readonly at: number;
  /** Number of matching lines around it; blank lines count little. */
  readonly score: number;
  /** All surrounding lines match; for an empty match, only if there are lines on both sides. */
  readonly whole: boolean;
}

/** The occurrence of these lines with the best matching surroundings; the nearest on a tie. */
function bestPlace(
  lines: readonly string[],
  near: number,
  wanted: readonly string[],
  { above, below }: Hunk,
): Found | undefined {
  let best: Found | undefined;
  const before = above.toReversed();
  for (let at = 0; at + wanted.length <= lines.length; at += 1) {
    if (!wanted.every((line, index) => lines[at + index] === line)) continue;
    const one = agreeing(before, (index) => lines[at - 1 - index]);
    const other = agreeing(below, (index) => lines[at + wanted.length + index]);
    const score = [...one, ...other].reduce((sum, line) => sum + (isTelling(line) ? 1 : 0.1), 0);
    const isNearer = Math.abs(at - near) < Math.abs((best?.at ?? 0) - near);
    const isWhole = one.length === above.length && other.length === below.length;
    const isBetween = above.length > 0 && below.length > 0;
    if (best === undefined || score > best.score || (score === best.score && isNearer))
      best = { at, score, whole: isWhole && (wanted.length > 0 || isBetween) };
  }
  return best;
}

function agreeing(
  wanted: readonly string[],
  lineAt: (index: number) => string | undefined,
): readonly string[] {
  const end = wanted.findIndex((line, index) => lineAt(index) !== line);
  return end < 0 ? wanted : wanted.slice(0, end);
}

function isTelling(line: string): boolean {
  return line.trim() !== "";
}

/** Lines without the empty one after the last line end, so that appended text is a separate line. */
function textLines(text: string): string[] {
  const lines = linesOf(text);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

type Place = Pick<Hunk, "at" | "out" | "put">;

/** Above this many comparisons the difference counts as a single hunk. */
const MOST_CELLS = 4_000_000;

function differences(old: readonly string[], wanted: readonly string[]): readonly Place[] {
  const least = Math.min(old.length, wanted.length);
  let start = 0;
  while (start < least && old[start] === wanted[start]) start += 1;
  let end = 0;
  while (end < least - start && old.at(-1 - end) === wanted.at(-1 - end)) end += 1;
  const out = old.slice(start, old.length - end);
  const put = wanted.slice(start, wanted.length - end);
  return out.length * put.length > MOST_CELLS ? [{ at: start, out, put }] : placesOf(out, put, start);
}

/** The places outside of a longest sequence of lines that both have. */
function placesOf(one: readonly string[], other: readonly string[], start: number): readonly Place[] {
  const common = commonLines(one, other);
  const isAdded = (i: number, j: number): boolean =>
    i === one.length || (j < other.length && common(i, j + 1) >= common(i + 1, j));
  const places: Place[] = [];
  for (let [i, j] = [0, 0]; i < one.length || j < other.length; [i, j] = [i + 1, j + 1]) {
    const [from, to] = [i, j];
    while (i < one.length ? one[i] !== other[j] : j < other.length)
      [i, j] = isAdded(i, j) ? [i, j + 1] : [i + 1, j];
    const place = { at: start + from, out: one.slice(from, i), put: other.slice(to, j) };
    if (place.out.length > 0 || place.put.length > 0) places.push(place);
  }
  return places;
}

/** For every pair of positions, the length of the longest common sequence of the lines from there on. */
function commonLines(one: readonly string[], other: readonly string[]): (i: number, j: number) => number {
  const width = other.length + 1;
  const table = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      const both = (table[at + width + 1] ?? 0) + 1;
      table[at] = one[i] === other[j] ? both : Math.max(table[at + width] ?? 0, table[at + 1] ?? 0);
    }
  }
  return (i, j) => table[i * width + j] ?? 0;
}
