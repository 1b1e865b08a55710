import { CompactError, defined, errorMessage } from "../errors.ts";
import type { CompactionReport, LayerSizes, RefusalReason } from "./apply.ts";
import type { Format } from "./message.ts";
import type { PlannedMessage } from "./plan.ts";
import type { Policy, TriggerDecision, TriggerReason } from "./policy.ts";
import {
  type CompactEventName,
  FALLBACK,
  type HostSpan,
  type RequestCount,
  type SummaryAttempt,
  type TokenCount,
} from "./ports.ts";

// The events; `tracing/schema` documents their properties.

/** An event without session and times. */
export interface EventDescription {
  readonly name: CompactEventName;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

/** Start and end of a step, ISO 8601 in UTC; the time of the call when left out. */
export interface StepTimes {
  readonly startedAt?: string;
  readonly endedAt?: string;
}

export interface EventDraft extends EventDescription, StepTimes {
  readonly sessionId: string;
  readonly host?: HostSpan;
}

/** Reports events of one session; never throws and never waits. */
export type Announce = (event: EventDescription, times?: StepTimes) => void;

function event(name: CompactEventName, properties: Record<string, unknown>): EventDescription {
  return { name, status: "ok", properties: defined(properties) };
}

/** Rounded to four places: enough for a chart, stable in tests. */
function ratio(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 10_000) / 10_000 : 0;
}

/** OBS-1. `usage_pct` is a ratio like `trigger_pct`: 0.85 for 85 %; `maxTokens` is the model's window. */
export function tokenEstimate(
  model: string,
  { tokens, breakdown }: Pick<RequestCount, "tokens" | "breakdown">,
  maxTokens: number,
): EventDescription {
  const { system, developer, tools_schema, messages } = breakdown;
  return event("compact.token_estimate", {
    model,
    t_est: tokens,
    max_tokens: maxTokens,
    usage_pct: ratio(tokens, maxTokens),
    breakdown: { system, developer, tools_schema, messages },
  });
}

export interface DecisionResult {
  readonly model?: string;
  readonly report?: CompactionReport;
  readonly error?: unknown;
  readonly note?: string;
  readonly step?: number;
}

/** TRG-2: the decision; one to compact is sent after the compaction, with its outcome. */
export function triggerDecision(
  { triggered, reason }: Pick<TriggerDecision, "triggered" | "reason">,
  policy: Pick<Policy, "triggerPct" | "hardCapBuffer" | "strategy">,
  { model, report, error, note, step }: DecisionResult = {},
): EventDescription {
  const kept = report?.plan?.counts;
  const done = report === undefined ? undefined : "compacted";
  return event("compact.trigger_decision", {
    triggered,
    reason,
    outcome: error === undefined ? done : "failed",
    error_type: error === undefined ? undefined : errorTypeOf(error),
    model,
    policy: {
      trigger_pct: policy.triggerPct,
      hard_cap_buffer: policy.hardCapBuffer,
      strategy: policy.strategy,
    },
    kept: kept && { pinned: kept.pinned, recent_turns: kept.recentTurns, tool_pairs: kept.toolPairs },
    pruned_count: report?.prunedCount,
    step,
    note,
  });
}

/** OBS-2. `compression_ratio` is summary tokens ÷ input tokens: 0.05 is one twentieth. */
export function summaryCreated(
  report: CompactionReport,
  strategy: string,
  { text, step }: { readonly text: string; readonly step?: number },
): EventDescription {
  const replaced = report.plan?.entries.filter((entry) => entry.action === "summarize") ?? [];
  const inputTokens = replaced.reduce((total, entry) => total + entry.tokens, 0);
  const unfound = report.check?.unfound.map(({ kind, text: claim }) => `${kind}: ${claim}`);
  const attempts = report.attempts.length === 0 ? undefined : report.attempts;
  const description = event("compact.summary_created", {
    strategy,
    input_messages: replaced.length,
    summary_tokens: report.summaryTokens,
    compression_ratio: ratio(report.summaryTokens, inputTokens),
    summarizer: report.summarizer,
    coverage: report.coverage,
    checked_count: report.check?.checked,
    unfound_count: unfound?.length,
    unfound,
    attempts: attempts?.map(attemptProperties),
    cost_usd: costOf(attempts),
    step,
  });
  return { ...description, payload: text };
}

/** Entries in `actions` at most. */
const MAX_ACTIONS = 200;

/**
 * OBS-3: what remains of each layer, and the action for each message. `layers` counts tool pairs as recent, as specified;
 * `layer_tokens` separates them. `elapsed_ms` does not include waiting.
 */
export function prunedMessages(
  report: CompactionReport,
  { model, step }: { readonly model?: string; readonly step?: number } = {},
): EventDescription {
  const { pinned, summary, recent, toolPairs, remainder } = report.layers.after;
  const entries = report.plan?.entries ?? [];
  const runs = actionRuns(entries);
  const shown = runs.slice(0, MAX_ACTIONS);
  const leftOut = runs.slice(MAX_ACTIONS).reduce((total, { from, to }) => total + to - from + 1, 0);
  const fixed = report.plan?.fixedTokens ?? 0;
  return event("compact.pruned_messages", {
    model,
    layers: {
      pinned: pinned.messages,
      summary: summary.messages,
      recent: recent.messages + toolPairs.messages + remainder.messages,
    },
    layer_tokens: {
      before: layerTokens(report.layers.before, fixed),
      after: layerTokens(report.layers.after, fixed),
    },
    pruned_count: report.prunedCount,
    cleared_count: report.clearedCount,
    elided_count: report.elidedCount,
    kept_count: entries.filter(({ action }) => action === "keep").length,
    actions: shown,
    actions_left_out: leftOut === 0 ? undefined : leftOut,
    tokens_before: report.tokensBefore,
    tokens_after: report.tokensAfter,
    step,
    elapsed_ms: Math.round(report.elapsedMs * 1000) / 1000,
  });
}

function layerTokens(layers: LayerSizes, fixed: number): Record<string, number> {
  return {
    fixed,
    pinned: layers.pinned.tokens,
    summary: layers.summary.tokens,
    recent: layers.recent.tokens,
    tool_pairs: layers.toolPairs.tokens,
    remainder: layers.remainder.tokens,
  };
}

/** Neighbouring messages with the same action and layer. */
interface ActionRun {
  readonly from: number;
  to: number;
  readonly action: PlannedMessage["action"];
  readonly layer: string;
  tokens_before: number;
  tokens_after: number;
}

function actionRuns(entries: readonly PlannedMessage[]): ActionRun[] {
  const runs: ActionRun[] = [];
  for (const { index, action, layer: planned, tokens, tokensAfter } of entries) {
    const layer = planned === "toolPairs" ? "tool_pairs" : planned;
    const last = runs.at(-1);
    if (last?.action === action && last.layer === layer) {
      last.to = index;
      last.tokens_before += tokens;
      last.tokens_after += tokensAfter;
    } else {
      runs.push({ from: index, to: index, action, layer, tokens_before: tokens, tokens_after: tokensAfter });
    }
  }
  return runs;
}

/** Where the originals are; `storageAdapter` is the driver's kind, such as `fs`. */
export function archival(saved: {
  readonly sessionId: string;
  readonly step: number;
  readonly storageAdapter: string;
  readonly location: string;
  readonly messages: number;
}): EventDescription {
  return event("compact.archival", {
    session_id: saved.sessionId,
    step: saved.step,
    storage_adapter: saved.storageAdapter,
    location: saved.location,
    messages: saved.messages,
  });
}

/** A compaction was undone; tokens of the request with it and without. */
export function compactionUndone(done: {
  readonly model: string | undefined;
  readonly step: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}): EventDescription {
  const { model, step, tokensBefore, tokensAfter } = done;
  return event("compact.undone", { model, step, tokens_before: tokensBefore, tokens_after: tokensAfter });
}

/**
 * OBS-3: what went wrong and what was done instead.
 * `errorType` is a `CompactError` code, or the name of another error.
 */
export function failure(report: {
  readonly errorType: string;
  readonly message: string;
  readonly fallback: string;
  readonly attempt?: SummaryAttempt;
  readonly step?: number;
}): EventDescription {
  const { errorType, message, fallback, attempt, step } = report;
  const properties = {
    error_type: errorType,
    message,
    fallback,
    attempt: attempt && attemptProperties(attempt),
    step,
  };
  return { ...event("compact.error", properties), status: "error" };
}

export function failureOf(
  error: unknown,
  fallback: string,
  made: { readonly attempt?: SummaryAttempt; readonly step?: number } = {},
): EventDescription {
  return failure({ errorType: errorTypeOf(error), message: errorMessage(error), fallback, ...made });
}

/** A `CompactError`'s code, or another error's name. */
function errorTypeOf(error: unknown): string {
  if (CompactError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : "Error";
}

/** A failed request to a model, and what followed. */
export function attemptFailure(attempt: SummaryAttempt, step: number): EventDescription {
  const { model, outcome, detail, fallback = FALLBACK.none } = attempt;
  const message = `${model}: ${outcome}${detail === undefined ? "" : ` (${detail})`}`;
  return failure({ errorType: "SummarizerFailed", message, fallback, attempt, step });
}

/** A warning; `code` is a stable word, such as `redaction_off`. */
export function warning(report: {
  readonly severity: "low" | "medium" | "high";
  readonly code: string;
  readonly message: string;
  /** A count, such as of lost events. */
  readonly count?: number;
}): EventDescription {
  const { severity, code, message, count } = report;
  return event("compact.warning", { severity, code, message, count });
}

function attemptProperties(attempt: SummaryAttempt): Record<string, unknown> {
  const { usage } = attempt;
  return defined({
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
function costOf(attempts: readonly SummaryAttempt[] = []): number | undefined {
  const asked = attempts.filter(({ outcome }) => outcome !== "skipped");
  let total = 0;
  for (const { costUsd } of asked) {
    if (costUsd === undefined) return undefined;
    total += costUsd;
  }
  return asked.length === 0 ? undefined : total;
}

/** Sends a manager's events to its archive and to the exporters, independently. */
export interface EventRecorder {
  announcer(sessionId: string): Announce;
  /**
   * Resolves when the session's events are in the archive; those of other sessions follow. Never rejects: what cannot be
   * written causes a warning and is kept for the next time.
   */
  write(sessionId: string): Promise<void>;
  /** Writes the events of all sessions and flushes the exporters; reports what was lost. */
  flush(): Promise<void>;
}

// ---- the report of a call that changed nothing

const NONE = { messages: 0, tokens: 0 };
const NOTHING: LayerSizes = { pinned: NONE, summary: NONE, recent: NONE, toolPairs: NONE, remainder: NONE };

export function unchangedReport(
  reason: TriggerReason,
  format: Format | undefined,
  range: TokenCount,
  size: { readonly messages: number; readonly elapsedMs: number; readonly refused?: RefusalReason },
): CompactionReport {
  return {
    compacted: false,
    reason,
    refused: size.refused,
    format,
    tokensBefore: range.tokens,
    tokensAfter: range.tokens,
    range,
    messagesBefore: size.messages,
    messagesAfter: size.messages,
    layers: { before: NOTHING, after: NOTHING },
    prunedCount: 0,
    clearedCount: 0,
    elidedCount: 0,
    reasoningDropped: 0,
    newestAsk: undefined,
    summaryVersion: undefined,
    summaryTokens: 0,
    summarizer: undefined,
    failures: [],
    attempts: [],
    coverage: undefined,
    check: undefined,
    rungs: [],
    archive: undefined,
    elapsedMs: size.elapsedMs,
    plan: undefined,
  };
}
