import { analyze } from "./ranking/analyze.ts";

/** Share from which two statements are taken for one, said twice. */
export const SAME_STATEMENT = 0.6;

/** Share of the words that two texts have in common, 0 to 1, whatever their forms and order. */
export function likeness(one: string, other: string): number {
  const left = termsOf(one);
  const right = termsOf(other);
  if (left.size === 0 || right.size === 0) return one.trim() === other.trim() ? 1 : 0;
  const shared = sharedOf(left, right);
  return shared / (left.size + right.size - shared);
}

/** Share of a text's words that another one holds, 0 to 1. */
export function heldBy(text: string, other: string): number {
  const terms = termsOf(text);
  return terms.size === 0 ? 0 : sharedOf(terms, termsOf(other)) / terms.size;
}

/** Two statements that say the same, as far as words tell. */
export function sayTheSame(one: string, other: string): boolean {
  return negated(one) === negated(other) && likeness(one, other) >= SAME_STATEMENT;
}

function termsOf(text: string): ReadonlySet<string> {
  return new Set(analyze(text));
}

function sharedOf(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let shared = 0;
  for (const term of left) if (right.has(term)) shared += 1;
  return shared;
}

const NEGATION =
  /\b(?:not|never|no|none|without|cannot|\w+n['’]t)\b|[不没未]|ない|않|никогда|не\b|nicht|nie\b|jamais|nunca/iu;

function negated(text: string): boolean {
  return NEGATION.test(text);
}
