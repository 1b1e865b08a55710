import { CompactError, defined, errorMessage } from "../errors.ts";
import type { CompactionReport } from "./apply.ts";
import type { ArchiveStore } from "./archive.ts";
import type { Policy, TriggerDecision } from "./policy.ts";
import {
  type CompactEvent,
  type CompactEventName,
  EVENT_VERSION,
  type HostSpan,
  type RequestCount,
  type SummaryAttempt,
} from "./ports.ts";

// Every event is described here once; `tracing/schema` says what each property means.

/** What an event is about, before it gets its session and its times. */
export interface EventDescription {
  readonly name: CompactEventName;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

/** When a step began, and when it ended unless that is now; ISO 8601, UTC. */
export interface StepTimes {
  readonly startedAt?: string;
  readonly endedAt?: string;
}

/** An event to send: its times are the moment of the call where they are left out. */
export interface EventDraft extends EventDescription, StepTimes {
  readonly sessionId: string;
  readonly host?: HostSpan;
}

/** Reports what happens in one session; never throws, never waits. */
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

/** TRG-2: the decision, with what was kept once a compaction was made. */
export function triggerDecision(
  { triggered, reason }: Pick<TriggerDecision, "triggered" | "reason">,
  policy: Pick<Policy, "triggerPct" | "hardCapBuffer" | "strategy">,
  made: { readonly report?: CompactionReport; readonly note?: string; readonly step?: number } = {},
): EventDescription {
  const kept = made.report?.plan?.counts;
  return event("compact.trigger_decision", {
    triggered,
    reason,
    policy: {
      trigger_pct: policy.triggerPct,
      hard_cap_buffer: policy.hardCapBuffer,
      strategy: policy.strategy,
    },
    kept: kept && { pinned: kept.pinned, recent_turns: kept.recentTurns, tool_pairs: kept.toolPairs },
    pruned_count: made.report?.prunedCount,
    step: made.step,
    note: made.note,
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

/** OBS-3: what is left of each layer; tool pairs are recent. `elapsed_ms` is work by a steady clock, waiting aside. */
export function prunedMessages(report: CompactionReport, step?: number): EventDescription {
  const { pinned, summary, recent, toolPairs, remainder } = report.layers.after;
  return event("compact.pruned_messages", {
    layers: {
      pinned: pinned.messages,
      summary: summary.messages,
      recent: recent.messages + toolPairs.messages + remainder.messages,
    },
    pruned_count: report.prunedCount,
    cleared_count: report.clearedCount,
    tokens_before: report.tokensBefore,
    tokens_after: report.tokensAfter,
    step,
    elapsed_ms: Math.round(report.elapsedMs * 1000) / 1000,
  });
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

/**
 * OBS-3: what went wrong and what was done instead, such as `builtin` or `pruning-only`; `none` where the call failed.
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

/** The failure of something that threw. */
export function failureOf(
  error: unknown,
  fallback: string,
  made: { readonly attempt?: SummaryAttempt; readonly step?: number } = {},
): EventDescription {
  const name = error instanceof Error ? error.name : "Error";
  const errorType = CompactError.isInstance(error) ? error.code : name;
  return failure({ errorType, message: errorMessage(error), fallback, ...made });
}

/** A request to a model that came to nothing, and the rung that followed. */
export function attemptFailure(attempt: SummaryAttempt, step: number): EventDescription {
  const { model, outcome, detail, fallback = "none" } = attempt;
  const message = `${model}: ${outcome}${detail === undefined ? "" : ` (${detail})`}`;
  return failure({ errorType: "SummarizerFailed", message, fallback, attempt, step });
}

/** Something that works less well than it could; `code` is a stable word, such as `redaction_off`. */
export function warning(report: {
  readonly severity: "low" | "medium" | "high";
  readonly code: string;
  readonly message: string;
}): EventDescription {
  const { severity, code, message } = report;
  return event("compact.warning", { severity, code, message });
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

// ---- on their way out

/** The event of a draft that happened `at`, ISO 8601. None ends before it began, whatever the clock did meanwhile. */
export function eventAt(draft: EventDraft, at: string): CompactEvent {
  const startedAt = draft.startedAt ?? draft.endedAt ?? at;
  const endedAt = draft.endedAt ?? at;
  const isBackwards = endedAt < startedAt;
  return { ...draft, version: EVENT_VERSION, startedAt, endedAt: isBackwards ? startedAt : endedAt };
}

/** Sends events to exporters; returns at once and never throws. Implemented by the tracer. */
export interface EventSink {
  /** Gives back the draft with the host's span, where an exporter knows it. */
  emit(draft: EventDraft): EventDraft;
  /** Resolves when everything has left or `deadlineMs` have passed. Never rejects. */
  flush(deadlineMs: number): Promise<boolean>;
}

/** Carries a manager's events to its archive and to the exporters, neither waiting for the other. */
export interface EventRecorder {
  announcer(sessionId: string): Announce;
  /** Resolves when the events so far stand beside the archive; a failure is reported, not thrown. */
  write(): Promise<void>;
  /** `write`, and the exporters had their time. */
  flush(): Promise<void>;
}

/** An exporter that hangs delays nobody longer. */
const FLUSH_DEADLINE_MS = 2000;
/** Events of sessions that are never compacted: the oldest are dropped first. */
const MAX_WAITING = 1000;

/** Keeps events in memory until a compaction: the disk is not touched before. `first` is announced before anything else. */
export function createEventRecorder(options: {
  readonly sink: EventSink;
  readonly first: EventDescription | undefined;
  archive(): Promise<ArchiveStore>;
  now(): Date;
  warn(message: string): void;
}): EventRecorder {
  const { sink, archive, now, warn } = options;
  let { first } = options;
  let waiting: { readonly draft: EventDraft; readonly at: Date }[] = [];
  const write = async (): Promise<void> => {
    const sessions = new Map<string, CompactEvent[]>();
    for (const { draft, at } of waiting) {
      const event = eventAt(draft, at.toISOString());
      const events = sessions.get(draft.sessionId);
      if (events === undefined) sessions.set(draft.sessionId, [event]);
      else events.push(event);
    }
    waiting = [];
    for (const [sessionId, events] of sessions) {
      try {
        // The archive removes secrets itself.
        await (await archive()).appendEvents(sessionId, events);
      } catch (error) {
        warn(`events could not be stored beside the archive: ${errorMessage(error)}`);
      }
    }
  };
  return {
    announcer(sessionId) {
      const announce: Announce = (description, times) => {
        waiting.push({ draft: sink.emit({ ...description, sessionId, ...times }), at: now() });
        if (waiting.length > MAX_WAITING) waiting.shift();
      };
      if (first !== undefined) announce(first);
      first = undefined;
      return announce;
    },
    write,
    async flush() {
      await Promise.all([write(), sink.flush(FLUSH_DEADLINE_MS)]);
    },
  };
}
