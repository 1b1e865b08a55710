import type { CompactEventName } from "./event.ts";

/** What an event is about, before it gets its session and its times. */
export interface EventDescription {
  readonly name: CompactEventName;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

function event(name: CompactEventName, properties: Record<string, unknown>): EventDescription {
  const known: Record<string, unknown> = {};
  for (const key in properties) if (properties[key] !== undefined) known[key] = properties[key];
  return { name, status: "ok", properties: known };
}

/** Parts of a ratio are rounded to four places: enough for a chart, stable in tests. */
function ratio(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 10_000) / 10_000 : 0;
}

export interface TokenEstimate {
  readonly model: string;
  readonly tokens: number;
  /** The model's window. */
  readonly maxTokens: number;
  readonly breakdown: {
    readonly system: number;
    readonly developer: number;
    readonly tools_schema: number;
    readonly messages: number;
  };
}

/** `usage_pct` is a ratio like `trigger_pct`: 0.85 for 85 %. */
export function tokenEstimate(estimate: TokenEstimate): EventDescription {
  const { model, tokens, maxTokens, breakdown } = estimate;
  const { system, developer, tools_schema, messages } = breakdown;
  return event("compact.token_estimate", {
    model,
    t_est: tokens,
    max_tokens: maxTokens,
    usage_pct: ratio(tokens, maxTokens),
    breakdown: { system, developer, tools_schema, messages },
  });
}

export interface TriggerDecision {
  readonly triggered: boolean;
  readonly reason: string;
  readonly policy: {
    readonly triggerPct: number;
    readonly hardCapBuffer: number;
    readonly strategy: string;
  };
  /** Given when triggered. */
  readonly kept?: { readonly pinned: number; readonly recentTurns: number; readonly toolPairs: number };
  readonly prunedCount?: number;
  /** What a person said when asking for the compaction. */
  readonly note?: string;
}

export function triggerDecision(decision: TriggerDecision): EventDescription {
  const { triggered, reason, policy, kept, prunedCount, note } = decision;
  return event("compact.trigger_decision", {
    triggered,
    reason,
    policy: {
      trigger_pct: policy.triggerPct,
      hard_cap_buffer: policy.hardCapBuffer,
      strategy: policy.strategy,
    },
    kept: kept && { pinned: kept.pinned, recent_turns: kept.recentTurns, tool_pairs: kept.toolPairs },
    pruned_count: prunedCount,
    note,
  });
}

export interface SummaryCreated {
  readonly strategy: string;
  readonly inputMessages: number;
  readonly inputTokens: number;
  readonly summaryTokens: number;
  readonly summarizer?: string;
  /** The summary; it becomes the payload. */
  readonly text: string;
}

/** `compression_ratio` is summary tokens ÷ input tokens: 0.05 is one twentieth. */
export function summaryCreated(summary: SummaryCreated): EventDescription {
  const { strategy, inputMessages, inputTokens, summaryTokens, summarizer, text } = summary;
  const description = event("compact.summary_created", {
    strategy,
    input_messages: inputMessages,
    summary_tokens: summaryTokens,
    compression_ratio: ratio(summaryTokens, inputTokens),
    summarizer,
  });
  return { ...description, payload: text };
}

export interface PrunedMessages {
  /** Messages in each layer of the output. */
  readonly layers: { readonly pinned: number; readonly summary: number; readonly recent: number };
  readonly prunedCount: number;
  readonly clearedCount?: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
}

export function prunedMessages(pruned: PrunedMessages): EventDescription {
  const { pinned, summary, recent } = pruned.layers;
  return event("compact.pruned_messages", {
    layers: { pinned, summary, recent },
    pruned_count: pruned.prunedCount,
    cleared_count: pruned.clearedCount,
    tokens_before: pruned.tokensBefore,
    tokens_after: pruned.tokensAfter,
  });
}

export interface Archival {
  readonly sessionId: string;
  readonly step: number;
  /** The driver's kind, such as `fs`. */
  readonly storageAdapter: string;
  readonly location: string;
  readonly messages?: number;
}

export function archival(saved: Archival): EventDescription {
  return event("compact.archival", {
    session_id: saved.sessionId,
    step: saved.step,
    storage_adapter: saved.storageAdapter,
    location: saved.location,
    messages: saved.messages,
  });
}

export interface FailureReport {
  /** A `CompactError` code, or the name of another error. */
  readonly errorType: string;
  readonly message: string;
  /** What was done instead, such as `builtin` or `pruning-only`; `none` where the call failed. */
  readonly fallback: string;
}

export function failure(report: FailureReport): EventDescription {
  const { errorType, message, fallback } = report;
  return {
    ...event("compact.error", { error_type: errorType, message, fallback }),
    status: "error",
  };
}

export interface Warning {
  readonly severity: "low" | "medium" | "high";
  /** A stable word to tell warnings apart, such as `redaction_off`. */
  readonly code: string;
  readonly message: string;
}

export function warning(report: Warning): EventDescription {
  const { severity, code, message } = report;
  return event("compact.warning", { severity, code, message });
}
