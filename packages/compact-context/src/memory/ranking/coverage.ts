import { analyze } from "./analyze.ts";
import type { Postings } from "./postings.ts";
import { RELATED } from "./related-words.ts";
import { COURTESY_WORDS } from "./word-lists.ts";

/** What a related word counts beside the word itself. */
const RELATED_SHARE = 0.5;

const COURTESY: ReadonlySet<string> = new Set(COURTESY_WORDS.flatMap((word) => analyze(word)));

/**
 * The share of a query's words, weighed by how rare they are among `units` units, that a text holds, 0 to 1. Words of
 * courtesy do not count; a query of nothing else has no share of anything.
 */
export function coverageOf(query: string, text: string, postings: Postings, units: number): number {
  const held = new Set(analyze(text));
  let all = 0;
  let covered = 0;
  for (const term of new Set(analyze(query))) {
    if (COURTESY.has(term)) continue;
    const number = postings.numberOf(term);
    const [start, end] = number === undefined ? [0, 0] : postings.range(number);
    const rarity = Math.log(1 + (units - (end - start) + 0.5) / (end - start + 0.5));
    all += rarity;
    covered += rarity * shareOf(term, held, postings);
  }
  return all === 0 ? 0 : covered / all;
}

function shareOf(term: string, held: ReadonlySet<string>, postings: Postings): number {
  if (held.has(term)) return 1;
  for (const related of RELATED.get(term)?.keys() ?? []) if (held.has(related)) return RELATED_SHARE;
  const near = postings.numberOf(term) === undefined ? postings.near(term) : [];
  const meant = near.length > 0 && [...held].some((other) => near.includes(postings.numberOf(other) ?? -1));
  return meant ? 1 : 0;
}
