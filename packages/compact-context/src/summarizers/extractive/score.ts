import type { Evidence } from "./evidence.ts";
import { WEIGHTS } from "./weights.ts";

const { likely } = WEIGHTS;

/** How likely a fact is to be written again by the agent, 0 to 1. */
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
    likely.base +
    likely.messages * Math.log(1 + fact.messages) +
    likely.spread * spread +
    likely.recency * recency +
    likely.company * (Math.log(1 + fact.company) - likely.companyMean) +
    likely.calls * Math.log(1 + fact.calls) +
    likely.hotBeside * (fact.hotBeside / Math.max(1, fact.beside)) +
    likely.nearWork * (fact.nearWork / fact.messages) +
    when(fact.saidFirstByAssistant, likely.saidFirstByAssistant) +
    when(fact.saidByUser, likely.saidByUser) +
    when(fact.superseded, likely.superseded) +
    when(fact.inLastRequest, likely.inLastRequest) +
    when(fact.inLastError, likely.inLastError) +
    when(fact.edited, likely.edited) +
    when(fact.fromSummary, likely.fromSummary)
  );
}
