import { linesOf } from "../markdown.ts";

/** Lines `from` up to `to` of the base, counted from 0, are replaced by `lines`. */
export interface Hunk {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Beyond so many comparisons what differs counts as one change. */
const MOST_CELLS = 4_000_000;

/** What makes `other` of `base`, line by line, with as few changed lines as can be. */
export function diffLines(base: readonly string[], other: readonly string[]): readonly Hunk[] {
  let start = 0;
  while (start < base.length && start < other.length && base[start] === other[start]) start++;
  let end = 0;
  const most = Math.min(base.length, other.length) - start;
  while (end < most && base[base.length - 1 - end] === other[other.length - 1 - end]) end++;
  const one = base.slice(start, base.length - end);
  const two = other.slice(start, other.length - end);
  if (one.length === 0 && two.length === 0) return [];
  if (one.length === 0 || two.length === 0 || one.length * two.length > MOST_CELLS) {
    return [{ from: start, to: start + one.length, lines: two }];
  }
  return hunksOf(one, two, commonAfter(one, two)).map(({ from, to, lines }) => ({
    from: from + start,
    to: to + start,
    lines,
  }));
}

/** For every pair of places how many lines the rests have in common, in order. */
function commonAfter(one: readonly string[], two: readonly string[]): (i: number, j: number) => number {
  const width = two.length + 1;
  const table = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = two.length - 1; j >= 0; j--) {
      table[i * width + j] =
        one[i] === two[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  return (i, j) => table[i * width + j] ?? 0;
}

function hunksOf(
  one: readonly string[],
  two: readonly string[],
  common: (i: number, j: number) => number,
): readonly Hunk[] {
  const hunks: { from: number; to: number; lines: string[] }[] = [];
  const open = (i: number): { from: number; to: number; lines: string[] } => {
    const last = hunks.at(-1);
    if (last?.to === i) return last;
    const next = { from: i, to: i, lines: [] };
    hunks.push(next);
    return next;
  };
  let i = 0;
  let j = 0;
  while (i < one.length || j < two.length) {
    if (i < one.length && j < two.length && one[i] === two[j]) {
      i++;
      j++;
    } else if (j < two.length && (i >= one.length || common(i, j + 1) >= common(i + 1, j))) {
      open(i).lines.push(two[j] ?? "");
      j++;
    } else {
      open(i).to = i + 1;
      i++;
    }
  }
  return hunks;
}

export interface Merged {
  readonly text: string;
  /** Changes of `wanted` left out, because `now` changed the same lines. */
  readonly left: readonly Hunk[];
  readonly taken: number;
}

/** What `wanted` changed of `base`, done to `now` as well, wherever `now` has those lines as they were. */
export function mergeTexts(base: string, now: string, wanted: string): Merged {
  if (now === base) return { text: wanted, left: [], taken: 1 };
  const lines = endedLines(base);
  const theirs = diffLines(lines, endedLines(now));
  const ours = diffLines(lines, endedLines(wanted));
  const left = ours.filter((hunk) => theirs.some((other) => overlap(hunk, other) && !same(hunk, other)));
  const taken = ours.filter((hunk) => !left.includes(hunk) && !theirs.some((other) => same(hunk, other)));
  const end = /\r\n|\n|\r/.exec(now)?.[0] ?? "\n";
  const merged = [...lines];
  // From the end, so that places stay; at one place the restored lines come first.
  const all = [...taken.map((hunk) => ({ hunk, rank: 1 })), ...theirs.map((hunk) => ({ hunk, rank: 0 }))];
  all.sort((a, b) => b.hunk.from - a.hunk.from || b.hunk.to - a.hunk.to || a.rank - b.rank);
  for (const { hunk } of all) merged.splice(hunk.from, hunk.to - hunk.from, ...hunk.lines);
  const last = /[\r\n]$/.test(now) || now === "" ? end : "";
  return { text: merged.length === 0 ? "" : merged.join(end) + last, left, taken: taken.length };
}

/** Lines without the empty one behind the last line end: what is added at the end is then apart from it. */
function endedLines(text: string): readonly string[] {
  const lines = linesOf(text);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function overlap(one: Hunk, other: Hunk): boolean {
  return one.from < other.to && other.from < one.to;
}

function same(one: Hunk, other: Hunk): boolean {
  return (
    one.from === other.from &&
    one.to === other.to &&
    one.lines.length === other.lines.length &&
    one.lines.every((line, index) => line === other.lines[index])
  );
}
