import { linesOf, replaceLines } from "../markdown.ts";

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

/** The hunks that turn `before` into `after`, with as few changed lines as possible. */
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

/** Above this many comparisons the difference counts as a single hunk. */
const MOST_CELLS = 4_000_000;

type Place = Pick<Hunk, "at" | "out" | "put">;

function differences(old: readonly string[], wanted: readonly string[]): readonly Place[] {
  let start = 0;
  while (start < old.length && start < wanted.length && old[start] === wanted[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, wanted.length) - start;
  while (end < most && old[old.length - 1 - end] === wanted[wanted.length - 1 - end]) end += 1;
  const out = old.slice(start, old.length - end);
  const put = wanted.slice(start, wanted.length - end);
  return out.length * put.length > MOST_CELLS ? [{ at: start, out, put }] : placesOf(out, put, start);
}

function placesOf(one: readonly string[], other: readonly string[], start: number): readonly Place[] {
  const common = commonLines(one, other);
  const places: { at: number; out: string[]; put: string[] }[] = [];
  const open = (at: number): (typeof places)[number] => {
    const last = places.at(-1) ?? { at: -1, out: [], put: [] };
    if (last.at + last.out.length !== at) places.push({ at, out: [], put: [] });
    return places.at(-1) ?? last;
  };
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const [gone, added] = [one[i], other[j]];
    if (gone === added) [i, j] = [i + 1, j + 1];
    else if (gone === undefined || (added !== undefined && common(i, j + 1) >= common(i + 1, j))) {
      open(start + i).put.push(added ?? "");
      j += 1;
    } else {
      open(start + i).out.push(gone);
      i += 1;
    }
  }
  return places;
}

/** For every pair of positions, the length of the longest common subsequence of the remaining lines. */
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
