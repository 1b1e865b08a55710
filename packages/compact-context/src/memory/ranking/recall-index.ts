import { readArgument, requireList, requireOptions } from "../../errors.ts";
import { createAdjustment } from "./adjust.ts";
import type { RecallCandidate, RecallHit } from "./candidate.ts";
import { coverageOf } from "./coverage.ts";
import { layOut } from "./layout.ts";
import { buildPostings } from "./postings.ts";
import { readQuery } from "./read-query.ts";
import { createWordScorer } from "./score-units.ts";
import { spreadOut } from "./spread-out.ts";
import { takeBest } from "./take-best.ts";
import { layOutUnits } from "./units.ts";
import { RANKING_WEIGHTS, type RankingWeights } from "./weights.ts";

export interface RecallIndexOptions {
  /** Weights other than those in `RANKING_WEIGHTS`. */
  readonly weights?: Partial<RankingWeights>;
}

export interface RecallIndex {
  /** The number of candidates. */
  readonly size: number;
  /** Best first; at most `limit` (10), none where no word of the query is in any candidate. */
  search(query: string, options?: { readonly limit?: number }): readonly RecallHit[];
  /** The share of the query's words, weighed by how rare they are here, that a text holds itself, 0 to 1. */
  coverage(query: string, text: string): number;
}

const DEFAULT_LIMIT = 10;
/** Units beside better ones fall behind others: so many more are looked at. */
const POOL = 16;

/** Ranks candidates for queries by words alone: BM25 over each unit and its neighbours, with a few reasons of order. */
export function createRecallIndex(
  candidates: readonly RecallCandidate[],
  options: RecallIndexOptions = {},
): RecallIndex {
  requireList(candidates, "candidates", "Pass a list of { id, content }.");
  requireOptions(options);
  return readArgument("candidates", "Each candidate needs the texts `id` and `content`.", () =>
    buildIndex(candidates, options),
  );
}

function buildIndex(candidates: readonly RecallCandidate[], options: RecallIndexOptions): RecallIndex {
  const weights: RankingWeights = { ...RANKING_WEIGHTS, ...options.weights };
  const { units, terms } = layOutUnits(candidates);
  const postings = buildPostings(terms, units.lengths, {
    titleWeight: weights.title,
    lengthPenalty: weights.lengthPenalty,
  });
  const score = createWordScorer({
    postings,
    layout: layOut(units, weights),
    sections: units.sections,
    saturation: weights.saturation,
  });
  const adjust = createAdjustment(units, weights);
  const { ids, sections } = units;
  return {
    size: ids.length,
    coverage: (query, text) => coverageOf(query, text, postings, ids.length),
    search(query, { limit = DEFAULT_LIMIT } = {}) {
      const read = readQuery(query, units, postings);
      const { units: scores, found } = adjust(score(read.concepts), read);
      const pool = takeBest(found, scores, 2 * limit + POOL);
      const taken = spreadOut(pool, scores, { limit, beside: weights.beside, sections });
      return taken.map((unit) => ({ id: ids[unit] ?? "", score: scores[unit] ?? 0 }));
    },
  };
}
