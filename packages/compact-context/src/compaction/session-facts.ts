import type { ManagerState, RunningSummary } from "./ports.ts";
import { type LiveSession, standingState } from "./session.ts";

/** What is known of a session; zeros for one that was never seen. */
export function managerStateOf(session: LiveSession | undefined, maxContextTokens: number): ManagerState {
  return {
    totalTokens: session?.requestTokens ?? 0,
    maxContextTokens,
    messageCount: session?.view.length ?? 0,
    summaryCount: session?.state.summaryCount ?? 0,
    lastSummaryAt: session?.state.summary?.at,
    summaryVersion: session?.state.summary?.version,
    archiveSteps: session?.state.step ?? 0,
  };
}

/** A session's summary and which messages it stands for; undefined while none is in its list. */
export function runningSummaryOf(session: LiveSession | undefined): RunningSummary | undefined {
  if (session === undefined) return undefined;
  const { summary, summarizedMessageIds } = standingState(session);
  if (summary === undefined) return undefined;
  const lastSummarizedMessageId = summarizedMessageIds.at(-1);
  return { summary: summary.text, summarizedMessageIds, lastSummarizedMessageId };
}
