/** Characters `start` to `end` of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A secret in a text: characters `start` to `end`, and its kind, such as `private-key` or `token:GitHub`. */
export interface Finding extends Span {
  readonly kind: string;
}

export const REDACTED = "<REDACTED>";

/** A redaction layer: its findings in a text, in any order, possibly overlapping. */
export type Finder = (text: string) => Iterable<Finding>;

/** Sorts findings by position and merges overlapping ones; a merged finding has the kind of the first. */
export function joinFindings(findings: readonly Finding[]): Finding[] {
  const joined: Finding[] = [];
  for (const finding of findings.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = joined.at(-1);
    if (last === undefined || finding.start >= last.end) joined.push(finding);
    else if (finding.end > last.end) joined[joined.length - 1] = { ...last, end: finding.end };
  }
  return joined;
}

/** Replaces every finding in the text; `findings` must come from `joinFindings`. */
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

/** The positions of the replacements in the output of `replaceFindings`. */
export function replacements(findings: readonly Finding[]): Span[] {
  let shift = 0;
  return findings.map(({ start, end }) => {
    const at = start + shift;
    shift += REDACTED.length - (end - start);
    return { start: at, end: at + REDACTED.length };
  });
}

/** Context characters on either side; longer than any bounded pattern can match. */
const REACH = 10_000;

/**
 * The findings in the lines around some places of a text whose other parts were searched before. Undefined if
 * a finding may extend beyond those lines: the whole text must then be searched.
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

/** Whole lines that contain each place and its context, in order and merged; `places` must be sorted. */
function linesAround(text: string, places: readonly Span[]): Span[] {
  const parts: { start: number; end: number }[] = [];
  for (const place of places) {
    const last = parts.at(-1);
    if (last !== undefined && place.end + REACH <= last.end) continue;
    const newline = text.indexOf("\n", place.end + REACH);
    const end = newline === -1 ? text.length : newline;
    if (last !== undefined && place.start - REACH <= last.end) last.end = end;
    else
      parts.push({ start: place.start <= REACH ? 0 : text.lastIndexOf("\n", place.start - REACH) + 1, end });
  }
  return parts;
}

const ASCII = 128;

/** Finds the longest runs of the characters of a class of ASCII that have at least so many of them. */
export function createRunFinder(characters: RegExp, least: number): (text: string) => Span[] {
  const isIn = Uint8Array.from({ length: ASCII }, (_, code) =>
    characters.test(String.fromCharCode(code)) ? 1 : 0,
  );
  /** The first position from `at` on, in one direction, that is not in the run. */
  const reach = (text: string, at: number, step: number): number => {
    let to = at;
    for (let code = text.charCodeAt(to); code < ASCII && isIn[code] === 1; code = text.charCodeAt(to))
      to += step;
    return to;
  };
  return (text) => {
    const runs: Span[] = [];
    // A run holds one of every `least` characters: most characters are never looked at.
    for (let at = least - 1; at < text.length; at += least) {
      const end = reach(text, at, 1);
      if (end === at) continue;
      const start = reach(text, at, -1) + 1;
      if (end - start >= least) runs.push({ start, end });
      // The next run starts behind the character that ends this one.
      at = end;
    }
    return runs;
  };
}
