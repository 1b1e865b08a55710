import type { CompactEventName } from "./event.ts";

/** What an event is about, before it gets its session and its times. */
export interface EventDescription {
  readonly name: CompactEventName;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

function event(name: CompactEventName, properties: Record<string, unknown>): EventDescription {
  return { name, status: "ok", properties: known(properties) };
}

function known(properties: Record<string, unknown>): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const key in properties) if (properties[key] !== undefined) given[key] = properties[key];
  return given;
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
  /** Which compaction of the session it led to; the archive's files have the same number. */
  readonly step?: number;
  /** What a person said when asking for the compaction. */
  readonly note?: string;
}

export function triggerDecision(decision: TriggerDecision): EventDescription {
  const { triggered, reason, policy, kept, prunedCount, step, note } = decision;
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
    step,
    note,
  });
}

export interface SummaryCreated {
  readonly step?: number;
  readonly strategy: string;
  readonly inputMessages: number;
  readonly inputTokens: number;
  readonly summaryTokens: number;
  readonly summarizer?: string;
  /** Share of the input's tokens that the summarizer read, 0 to 1. */
  readonly coverage?: number;
  /** Claims of a model's text that were looked up in its source, and those that it does not hold. */
  readonly checkedCount?: number;
  readonly unfound?: readonly string[];
  /** Every request to a model, the accepted one last. */
  readonly attempts?: readonly ModelAttempt[];
  /** The summary; it becomes the payload. */
  readonly text: string;
}

/** One request to a model for a summary: which rung, how it ended, what it took. */
export interface ModelAttempt {
  readonly model: string;
  /** Where the model is known, such as `anthropic`. */
  readonly provider?: string;
  readonly prompt: string;
  readonly input: string;
  readonly part: number;
  readonly parts: number;
  readonly maxTokens: number;
  readonly outcome: string;
  readonly detail?: string;
  readonly fallback?: string;
  readonly durationMs: number;
  /** By our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** As the provider reported it. */
  readonly usage?: {
    readonly input: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly output: number;
  };
  /** Dollars, where usage and prices are known. */
  readonly costUsd?: number;
}

function attemptProperties(attempt: ModelAttempt): Record<string, unknown> {
  const { usage } = attempt;
  return known({
    model: attempt.model,
    provider: attempt.provider,
    prompt: attempt.prompt,
    input: attempt.input,
    part: attempt.part,
    parts: attempt.parts,
    max_tokens: attempt.maxTokens,
    outcome: attempt.outcome,
    detail: attempt.detail,
    fallback: attempt.fallback,
    duration_ms: Math.round(attempt.durationMs),
    input_tokens: attempt.inputTokens,
    output_tokens: attempt.outputTokens,
    usage: usage && {
      input: usage.input,
      cache_read: usage.cacheRead,
      cache_write: usage.cacheWrite,
      output: usage.output,
    },
    cost_usd: attempt.costUsd,
  });
}

/** Dollars of all requests together; undefined when one is not known. */
function costOf(attempts: readonly ModelAttempt[] = []): number | undefined {
  const asked = attempts.filter(({ outcome }) => outcome !== "skipped");
  let total = 0;
  for (const { costUsd } of asked) {
    if (costUsd === undefined) return undefined;
    total += costUsd;
  }
  return asked.length === 0 ? undefined : total;
}

/** `compression_ratio` is summary tokens ÷ input tokens: 0.05 is one twentieth. */
export function summaryCreated(summary: SummaryCreated): EventDescription {
  const { strategy, inputMessages, inputTokens, summaryTokens, summarizer, text } = summary;
  const { step, coverage, checkedCount, unfound, attempts } = summary;
  const description = event("compact.summary_created", {
    strategy,
    input_messages: inputMessages,
    summary_tokens: summaryTokens,
    compression_ratio: ratio(summaryTokens, inputTokens),
    summarizer,
    coverage,
    checked_count: checkedCount,
    unfound_count: unfound?.length,
    unfound,
    attempts: attempts?.map(attemptProperties),
    cost_usd: costOf(attempts),
    step,
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
  readonly step?: number;
  /** Milliseconds of work, by a steady clock; what was prepared beside the run counts, the time it waited does not. */
  readonly elapsedMs?: number;
}

export function prunedMessages(pruned: PrunedMessages): EventDescription {
  const { pinned, summary, recent } = pruned.layers;
  return event("compact.pruned_messages", {
    layers: { pinned, summary, recent },
    pruned_count: pruned.prunedCount,
    cleared_count: pruned.clearedCount,
    tokens_before: pruned.tokensBefore,
    tokens_after: pruned.tokensAfter,
    step: pruned.step,
    elapsed_ms: pruned.elapsedMs === undefined ? undefined : Math.round(pruned.elapsedMs * 1000) / 1000,
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
  /** The request to a model that failed. */
  readonly attempt?: ModelAttempt;
  readonly step?: number;
}

export function failure(report: FailureReport): EventDescription {
  const { errorType, message, fallback, attempt, step } = report;
  return {
    ...event("compact.error", {
      error_type: errorType,
      message,
      fallback,
      attempt: attempt && attemptProperties(attempt),
      step,
    }),
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
