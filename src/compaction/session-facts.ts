import type { ManagerState, RunningSummary } from "./ports.ts";
import type { LiveSession } from "./session.ts";

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

/** A session's summary and which messages it stands for; undefined before the first one. */
export function runningSummaryOf(session: LiveSession | undefined): RunningSummary | undefined {
  const state = session?.state;
  if (state?.summary === undefined) return undefined;
  return {
    summary: state.summary.text,
    summarizedMessageIds: state.summarizedMessageIds,
    lastSummarizedMessageId: state.summarizedMessageIds.at(-1),
  };
}
