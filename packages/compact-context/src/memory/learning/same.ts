import { NEGATED } from "./language.ts";
import { shareIn, topicTerms } from "./meaning.ts";

/** Two statements in the same words, whatever their forms and order; a negation makes another statement. */
export function sayTheSame(one: string, other: string): boolean {
  if (one === other) return true;
  const [left, right] = [topicTerms(one), topicTerms(other)];
  if (left.size === 0 || right.size === 0 || NEGATED.test(one) !== NEGATED.test(other)) return false;
  return shareIn(left, right) === 1 && shareIn(right, left) === 1;
}

/** Share of a text's words that another one holds, 0 to 1. */
export function heldBy(text: string, other: string): number {
  return shareIn(topicTerms(text), topicTerms(other));
}
