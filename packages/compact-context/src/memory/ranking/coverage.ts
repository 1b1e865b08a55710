import { analyze } from "./analyze.ts";
import type { Postings } from "./postings.ts";
import { COURTESY_WORDS } from "./word-lists.ts";

/** Of a word that most units have: a small memory says the same in several files. */
const LEAST_RARITY = 0.5;

/** In Japanese what is written in hiragana alone is mostly grammar. */
function worth(term: string): number {
  return /^\p{Script=Hiragana}+$/u.test(term) ? 0.2 : 1;
}

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
    const rarity =
      worth(term) * Math.max(LEAST_RARITY, Math.log(1 + (units - (end - start) + 0.5) / (end - start + 0.5)));
    all += rarity;
    covered += rarity * shareOf(term, held, postings);
  }
  return all === 0 ? 0 : covered / all;
}

function shareOf(term: string, held: ReadonlySet<string>, postings: Postings): number {
  if (held.has(term)) return 1;
  const near = postings.numberOf(term) === undefined ? postings.near(term) : [];
  const meant = near.length > 0 && [...held].some((other) => near.includes(postings.numberOf(other) ?? -1));
  return meant ? 1 : 0;
}
