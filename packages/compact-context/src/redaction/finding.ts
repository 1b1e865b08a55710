/** Characters `start` to `end` of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A layer of redaction: what it finds in a text, in any order, overlaps allowed. */
export type Finder = (text: string) => Iterable<Finding>;

/** In order of place, overlapping ones joined under the kind of the first. */
export function joinFindings(findings: readonly Finding[]): Finding[] {
  const joined: Finding[] = [];
  for (const finding of findings.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = joined.at(-1);
    if (last === undefined || finding.start >= last.end) joined.push(finding);
    else if (finding.end > last.end) joined[joined.length - 1] = { ...last, end: finding.end };
  }
  return joined;
}

/** The text with every finding replaced; `findings` as `joinFindings` gives them. */
export function replaceFindings(text: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return text;
  const pieces: string[] = [];
  let copied = 0;
  for (const { start, end } of findings) {
    pieces.push(text.slice(copied, start), REDACTED);
    copied = end;
  }
  pieces.push(text.slice(copied));
  return pieces.join("");
}

/** Where `replaceFindings` put something, in the text that it gives. */
export function replacements(findings: readonly Finding[]): Span[] {
  let shift = 0;
  return findings.map(({ start, end }) => {
    const at = start + shift;
    shift += REDACTED.length - (end - start);
    return { start: at, end: at + REDACTED.length };
  });
}

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

/** A secret in a text: characters `start` to `end`, and what it was taken for, such as `private-key` or `token:GitHub`. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** What stands in place of a secret. */
export const REDACTED = "<REDACTED>";
