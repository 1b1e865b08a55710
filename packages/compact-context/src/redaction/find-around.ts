import type { Finding, Span } from "./finding.ts";

/** Characters on either side: more than any bounded pattern reaches. */
const REACH = 10_000;

/**
 * What `find` finds in the lines around places of a text, of which all else was searched before. Undefined where a
 * finding may go on beyond those lines: the whole has to be searched then.
 */
export function findAround(
  text: string,
  places: readonly Span[],
  find: (part: string) => readonly Finding[],
): Finding[] | undefined {
  const found: Finding[] = [];
  for (const { start, end } of linesAround(text, places)) {
    for (const finding of find(text.slice(start, end))) {
      const moved = { ...finding, start: finding.start + start, end: finding.end + start };
      const goesOn = (moved.start === start && start > 0) || (moved.end === end && end < text.length);
      if (goesOn) return undefined;
      found.push(moved);
    }
  }
  return found;
}

/** Whole lines that hold every place with its surroundings, in order, none twice; `places` are in order too. */
function linesAround(text: string, places: readonly Span[]): Span[] {
  const parts: { start: number; end: number }[] = [];
  for (const place of places) {
    const last = parts.at(-1);
    if (last !== undefined && place.end + REACH <= last.end) continue;
    const newline = text.indexOf("\n", place.end + REACH);
    const end = newline === -1 ? text.length : newline;
    if (last !== undefined && place.start - REACH <= last.end) last.end = end;
    else parts.push({ start: lineStart(text, place.start - REACH), end });
  }
  return parts;
}

function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf("\n", at) + 1;
}
