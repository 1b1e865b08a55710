import type { Evidence } from "./evidence.ts";

/**
 * How likely a fact is to be written again by the agent, 0 to 1. The weights were set once by hand from a study
 * of which facts of real agent sessions come back (spread over messages, small messages and own words speak for it).
 */
export function neededLater(fact: Evidence, messages: number): number {
  return logistic(evidenceSum(fact, Math.max(1, messages)));
}

function logistic(sum: number): number {
  return 1 / (1 + Math.exp(-sum));
}

function evidenceSum(fact: Evidence, length: number): number {
  const spread = (fact.last - Math.max(0, fact.first)) / length;
  const recency = (fact.last + 1) / length;
  const when = (truth: boolean, weight: number): number => (truth ? weight : 0);
  return (
    -3.6 +
    0.9 * Math.log(1 + fact.messages) +
    1.0 * spread +
    0.5 * recency -
    0.45 * (Math.log(1 + fact.company) - 3) +
    0.4 * Math.log(1 + fact.calls) +
    0.7 * (fact.hotBeside / Math.max(1, fact.beside)) +
    0.6 * (fact.nearWork / fact.messages) +
    when(fact.saidFirstByAssistant, 0.9) +
    when(fact.saidByUser, 0.5) +
    when(fact.superseded, -0.5) +
    when(fact.inLastRequest, 0.4) +
    when(fact.inLastError, 0.3) +
    when(fact.edited, 0.4) +
    when(fact.fromSummary, 1.0)
  );
}
