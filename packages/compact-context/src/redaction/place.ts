import type { Finding } from "./finding.ts";
import { hasSecretName, SECRET_NAME } from "./values.ts";
import { createWordGate } from "./words.ts";

/** Where a secret stands because of what is around it. */
export interface Place {
  readonly kind: string;
  /** Two groups: what stays, and the secret; every repetition bounded. */
  readonly source: string;
  readonly isSecret: (value: string, before: string) => boolean;
  /** Text without which the pattern has nothing to find. */
  readonly needs: string;
  /** The name of a secret must be in the text. */
  readonly named: boolean;
}

type Judge = Place["isSecret"];

/** `before`, `value` and `behind` are sources of patterns; a space that does not open a class means one to eight blanks. */
export function place(
  kind: string,
  isSecret: Judge,
  parts: readonly [string, string, string?],
  needs = "",
): Place {
  const [before = "", value, behind = ""] = parts.map((part) => part?.replace(/(?<!\[) /g, "[ \\t]{1,8}"));
  const named = parts.some((part) => part?.includes(SECRET_NAME));
  return { kind, isSecret, needs, named, source: `(${before})(${value})${behind}` };
}

/** Finds the secrets of all places in one text; patterns are compiled when a text first has one of their words. */
export function createPlaceFinder(places: readonly Place[]): (text: string) => Finding[] {
  const patterns: RegExp[] = [];
  const gate = createWordGate(places.map(({ source }) => source.slice(1)));
  return (text) => {
    const open = gate.open(text);
    const hasName = hasSecretName(text);
    return places.flatMap((searched, index) => {
      if (open[index] === 0 || (searched.named && !hasName) || !text.includes(searched.needs)) return [];
      const pattern = patterns[index] ?? new RegExp(searched.source, "gi");
      patterns[index] = pattern;
      return findingsOf(searched, pattern, text);
    });
  };
}

function findingsOf(searched: Place, pattern: RegExp, text: string): Finding[] {
  // Most texts have none, and going through the matches begins with a copy of the pattern.
  if (text.search(pattern) < 0) return [];
  const findings = [...text.matchAll(pattern)].map((match) => findingOf(searched, match));
  return findings.filter((finding) => finding !== undefined);
}

/** The secret of a match, without the signs that end its sentence. */
export function findingOf(
  { kind, isSecret }: Pick<Place, "kind" | "isSecret">,
  match: RegExpExecArray,
): Finding | undefined {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:!?)\]*]+$/, "") : found;
  const start = match.index + before.length;
  if (value === "" || !isSecret(value, before)) return undefined;
  return { start, end: start + value.length, kind };
}
