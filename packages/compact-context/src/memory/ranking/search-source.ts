import { requireFunction, requireList, requireOptions, requireText } from "../../errors.ts";
import type { CandidateSource, RecallCandidate, RecallHit } from "./candidate.ts";
import { createRecallIndex, type RecallIndex, type RecallIndexOptions } from "./recall-index.ts";

/** A source of candidates that are all in memory. */
export function memorySource(candidates: readonly RecallCandidate[]): CandidateSource {
  requireList(candidates, "candidates", "Pass a list of { id, content }.");
  return { candidates: () => candidates };
}

export interface SourceSearchOptions extends RecallIndexOptions {
  readonly limit?: number;
}

/** As the index's search, over what a source gives for the query; the index of an unchanged list is kept. */
export async function searchSource(
  source: CandidateSource,
  query: string,
  options: SourceSearchOptions = {},
): Promise<readonly RecallHit[]> {
  requireOptions(source, "source", "Pass memorySource(candidates), or a source of your own.");
  requireFunction(source.candidates, "source.candidates", "It gives the candidates for a query.");
  requireText(query, "query", "Pass the question as text.");
  requireOptions(options);
  const candidates = await source.candidates(query);
  return indexOf(candidates, options).search(query, { limit: options.limit });
}

const indexes = new WeakMap<readonly RecallCandidate[], RecallIndex>();

function indexOf(candidates: readonly RecallCandidate[], options: RecallIndexOptions): RecallIndex {
  if (options.weights !== undefined) return createRecallIndex(candidates, options);
  const known = indexes.get(candidates) ?? createRecallIndex(candidates);
  indexes.set(candidates, known);
  return known;
}
