import { REDACTED } from "./secret-names.ts";

/** A secret in a text: characters `start` to `end`, and what it was taken for, such as `private-key` or `token:GitHub`. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

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
