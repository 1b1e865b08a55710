import type { Outcome, SummarizerFailure } from "./apply.ts";
import type { Malformation } from "./lists.ts";
import { type Format, type Message, markSummaries } from "./message.ts";
import type { AskFate, CompactionPlan, PlannedMessage } from "./plan.ts";
import {
  type KeepCounts,
  type Policy,
  partition,
  type TriggerDecision,
  type TriggerReason,
} from "./policy.ts";
import type { RequestCount, SummaryAttempt, SummaryCheck, TokenCount } from "./ports.ts";
import type { CompactionRequest } from "./request.ts";

// Output about a call: the report for the caller, and events, as data, for the recorder.

export interface LayerSize {
  readonly messages: number;
  readonly tokens: number;
}

export type LayerName = "pinned" | "summary" | "recent" | "toolPairs" | "remainder";

/** Before: the partition, without `summary`. After: what remains of each layer, and the summary. */
export type LayerSizes = Readonly<Record<LayerName, LayerSize>>;

export interface ArchiveReceipt {
  /** Human-readable location: folder and file, or URL. */
  readonly location: string;
  readonly step: number;
  /** One id per archived message, in list order. */
  readonly ids: readonly string[];
}

/** The archive of many sessions, as far as a compaction needs it. */
export interface TranscriptStore {
  /**
   * Complete and durable when it resolves; saving the same messages again is a no-op. The step is the
   * requested one, or the next one without a different transcript.
   */
  saveTranscript(sessionId: string, step: number, messages: readonly Message[]): Promise<ArchiveReceipt>;
  saveSummary(sessionId: string, step: number, record: object): Promise<void>;
  /**
   * Undefined if there is none or it is damaged; rejects with `StorageFailed` for one written by a newer
   * release.
   */
  readSummary(sessionId: string, step: number): Promise<object | undefined>;
  /** The steps that have a transcript, ascending. */
  steps(sessionId: string): Promise<number[]>;
  /** The messages, redacted, and what is damaged; rejects with `NotFound` if there is no transcript. */
  readTranscript(
    sessionId: string,
    step: number,
  ): Promise<{
    readonly messages: readonly { readonly archiveId: string; readonly message: Message }[];
    readonly problems: readonly object[];
  }>;
}

/** Why a compaction that was due or requested did not happen. */
export type RefusalReason =
  /** Everything must stay, or only the earlier summary could be removed. */
  | "nothing_to_compact"
  /** The list would not become shorter. */
  | "no_gain"
  /** The list fits, and the last compaction is so recent that another would gain little. */
  | "just_compacted"
  /** The list fits, and the last compaction was undone. */
  | "undone"
  /** The list fits, and a background compaction is still running. */
  | "in_background"
  /** Content that is never pruned exceeds the trigger by itself. */
  | "fixed_over_trigger"
  /** The list fits, and the last attempts failed: the next one waits until the list has grown. */
  | "attempts_failed";

/** Result of a compaction, or why there was none. */
export interface CompactionReport {
  readonly compacted: boolean;
  readonly reason: TriggerReason;
  /** Why a compaction that was due or requested did not happen. */
  readonly refused: RefusalReason | undefined;
  readonly format: Format | undefined;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Error range of `tokensAfter`. */
  readonly range: TokenCount;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly layers: { readonly before: LayerSizes; readonly after: LayerSizes };
  /**
   * Messages removed from the list; kept ones whose tool output was cleared; kept ones that were truncated.
   */
  readonly prunedCount: number;
  readonly clearedCount: number;
  readonly elidedCount: number;
  /** Kept messages whose signed reasoning was removed because the model binds it to an unchanged prefix. */
  readonly reasoningDropped: number;
  /** Reasoning blocks that the provider reported as dropped in the previous call; omitted if not reported. */
  readonly reasoningDroppedByProvider?: number;
  /** What was kept of the latest user message; undefined if nothing was done or there is none. */
  readonly newestAsk: AskFate | undefined;
  readonly summaryVersion: number | undefined;
  readonly summaryTokens: number;
  readonly summarizer: string | undefined;
  /** Summarizers that failed, and their fallbacks. */
  readonly failures: readonly SummarizerFailure[];
  /** Every model request, in order. */
  readonly attempts: readonly SummaryAttempt[];
  /** Share of the summarized messages that the summarizer read, 0 to 1, if reported. */
  readonly coverage: number | undefined;
  readonly check: SummaryCheck | undefined;
  /**
   * Steps taken, in order: `keep:<turns>/<pairs>` if the keep counts were lowered to fit, `clear`, `elide`,
   * `summary:<name>`, `pruning-only`.
   */
  readonly rungs: readonly string[];
  readonly archive: ArchiveReceipt | undefined;
  /** Milliseconds. */
  readonly elapsedMs: number;
  readonly plan: CompactionPlan | undefined;
}

/** The new list and its report. */
export interface CompactionResult<T = unknown> {
  /** Kept messages are the caller's own objects; the input array itself if nothing changed. */
  readonly messages: T[];
  /** Text of the summary in the list, without its tag. */
  readonly summary: string | undefined;
  readonly report: CompactionReport;
}

/** Messages and tokens by layer; `cost` returns the tokens of an entry, undefined to skip it. */
function layerSizes(
  entries: readonly PlannedMessage[],
  cost: (entry: PlannedMessage) => number | undefined,
  summary: LayerSize = { messages: 0, tokens: 0 },
): LayerSizes {
  const none = (): { messages: number; tokens: number } => ({ messages: 0, tokens: 0 });
  const sizes = { pinned: none(), summary, recent: none(), toolPairs: none(), remainder: none() };
  for (const entry of entries) {
    const tokens = cost(entry);
    if (tokens === undefined) continue;
    sizes[entry.layer].messages += 1;
    sizes[entry.layer].tokens += tokens;
  }
  return sizes;
}

const NOTHING = layerSizes([], () => undefined);

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

export function reportOf(
  { reason, format, counter }: CompactionRequest,
  outcome: Outcome,
  told: Pick<CompactionReport, "archive" | "elapsedMs" | "tokensBefore" | "tokensAfter">,
): CompactionReport {
  const { plan, made, summary, summaryTokens, summarizer, failures, attempts, rungs } = outcome;
  const { entries } = plan;
  const count = (action: PlannedMessage["action"]): number =>
    entries.filter((entry) => entry.action === action).length;
  const own = { messages: summary === undefined ? 0 : 1, tokens: summaryTokens };
  const after = ({ action, tokensAfter }: PlannedMessage): number | undefined =>
    action === "summarize" ? undefined : tokensAfter;
  const size = { messages: entries.length, elapsedMs: told.elapsedMs };
  return {
    ...unchangedReport(reason, format, counter.range(told.tokensAfter), size),
    ...told,
    compacted: true,
    messagesAfter: outcome.list.length,
    layers: {
      before: layerSizes(entries, ({ tokens }) => tokens),
      after: layerSizes(entries, after, own),
    },
    prunedCount: count("summarize"),
    clearedCount: count("clear"),
    elidedCount: count("elide"),
    reasoningDropped: entries.filter(({ edit }) => edit?.stripReasoning === true).length,
    newestAsk: plan.newestAsk?.fate,
    summaryVersion: summary?.version,
    summaryTokens,
    summarizer,
    failures,
    attempts,
    coverage: made?.coverage,
    check: made?.check,
    rungs,
    plan,
  };
}

/** The layer of each message; our own summary is a separate layer. */
export function layersOf(messages: readonly Message[], keep: KeepCounts): LayerName[] {
  const marked = markSummaries(messages);
  const { layers } = partition(marked, keep);
  return marked.map((message, index) =>
    message.meta?.summaryVersion === undefined ? (layers[index] ?? "remainder") : "summary",
  );
}

// ---- why nothing was compacted

/** The refusal that corresponds to a decision against a due compaction; undefined below the trigger. */
export function refusalFor(reason: TriggerReason): RefusalReason | undefined {
  if (reason === "nothing_eligible") return "nothing_to_compact";
  return reason === "below_trigger" ? undefined : (reason as RefusalReason);
}

export function reasonFor(refused: RefusalReason): TriggerReason {
  return refused === "nothing_to_compact" || refused === "no_gain" ? "nothing_eligible" : refused;
}

// ---- what a manager reports on request

/** Current state of a session. */
export interface ManagerState {
  /** Tokens of the latest request. */
  readonly totalTokens: number;
  readonly maxContextTokens: number;
  /** Messages of the view: the list sent to the model. */
  readonly messageCount: number;
  readonly summaryCount: number;
  /** ISO 8601. */
  readonly lastSummaryAt: string | undefined;
  readonly summaryVersion: number | undefined;
  readonly archiveSteps: number;
}

/** The current summary of a session and the messages it covers. */
export interface RunningSummary {
  readonly summary: string;
  readonly summarizedMessageIds: readonly string[];
  readonly lastSummarizedMessageId: string | undefined;
}

/** Sent to listeners after a compaction. */
export interface CompactionNotice {
  readonly sessionId: string;
  readonly report: CompactionReport;
}

/** A compaction that was undone. */
export interface UndoneCompaction<T = unknown> {
  /** The archive step of the compaction; its files are kept. */
  readonly step: number;
  /** Tokens of the request after the undo. */
  readonly tokens: number;
  /**
   * The list before the compaction, read from the archive, followed by later messages: for applications that
   * store our output. Undefined if the process has not seen a list of the session or the archive does not
   * have it.
   */
  readonly messages: T[] | undefined;
}

/** Answer to a request for a compaction. */
export interface RequestedCompaction {
  /** True if the next preflight compacts. */
  readonly accepted: boolean;
  /** Tokens of the latest request, and the threshold of automatic compaction. */
  readonly tokens: number;
  readonly triggerTokens: number;
  /** Number of calls to wait; 0 if the list is too small. */
  readonly waitCalls: number;
}

// ---- events

/** An event of a session. `tracing/` adds its name, properties and wording. */
export type SessionEvent =
  | {
      readonly kind: "estimate";
      readonly model: string | undefined;
      readonly count: Pick<RequestCount, "tokens" | "breakdown">;
      readonly maxTokens: number;
    }
  | ({
      /** A decision to compact is sent after the compaction, with its outcome. */
      readonly kind: "decision";
      readonly decision: TriggerDecision;
      readonly policy: Pick<Policy, "triggerPct" | "hardCapBuffer" | "strategy">;
      readonly report?: CompactionReport;
      readonly error?: unknown;
      readonly note?: string;
    } & Step)
  | ({
      readonly kind: "summary";
      readonly report: CompactionReport;
      readonly strategy: string;
      readonly text: string;
    } & Step)
  | ({ readonly kind: "pruned"; readonly report: CompactionReport } & Step)
  | {
      readonly kind: "archived";
      readonly step: number;
      readonly location: string;
      readonly messages: number;
    }
  | ({
      readonly kind: "undone";
      /** Tokens of the request with and without the compaction. */
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    } & Step)
  | ({
      readonly kind: "failed";
      readonly error: unknown;
      /** The fallback: one of `FALLBACK`, or the next summarizer's name. */
      readonly fallback: string;
      readonly attempt?: SummaryAttempt;
    } & Step)
  | ({ readonly kind: "attemptFailed"; readonly attempt: SummaryAttempt } & Step)
  | { readonly kind: "malformed"; readonly faults: readonly Malformation[] }
  | { readonly kind: "historyChanged" }
  | { readonly kind: "fixedOverTrigger"; readonly fixedTokens: number; readonly maxTokens: number }
  | {
      readonly kind: "compactsOften";
      readonly report: CompactionReport;
      readonly policy: Policy;
      readonly fixedTokens: number;
      readonly maxTokens: number;
    }
  | {
      readonly kind: "warning";
      readonly severity: "low" | "medium" | "high";
      /** A stable identifier, such as `redaction_off`. */
      readonly code: string;
      readonly message: string;
      /** A count, such as the number of lost events. */
      readonly count?: number;
    };

interface Step {
  readonly model?: string;
  /** Number of the compaction in its session. */
  readonly step?: number;
}

/** Start and end of a step, ISO 8601 in UTC. Default: the time of the call. */
export interface StepTimes {
  readonly startedAt?: string;
  readonly endedAt?: string;
}

/** Reports events of one session; never throws, never blocks. */
export type Announce = (event: SessionEvent, times?: StepTimes) => void;

/** Sends a manager's events to its archive and to the exporters, independently of each other. */
export interface EventRecorder {
  announcer(sessionId: string): Announce;
  /**
   * Resolves when the session's events are in the archive; events of other sessions are written later. Never
   * rejects: a failed write emits a warning and is retried with the next one.
   */
  write(sessionId: string): Promise<void>;
  /** Writes the events of all sessions and flushes the exporters; reports lost events. */
  flush(): Promise<void>;
}

// ---- Exporter

/** All event names. */
export type CompactEventName =
  | "compact.token_estimate"
  | "compact.trigger_decision"
  | "compact.summary_created"
  | "compact.pruned_messages"
  | "compact.archival"
  | "compact.undone"
  | "compact.error"
  | "compact.warning";

/**
 * Version of the event schema; incremented when a property changes its meaning or is removed, not when one is
 * added.
 */
export const EVENT_VERSION = 1;

export interface CompactEvent {
  readonly version: typeof EVENT_VERSION;
  readonly name: CompactEventName;
  readonly sessionId: string;
  /** The host's span, if an exporter knows it. */
  readonly host?: HostSpan;
  /** Start of the step: ISO 8601, UTC, milliseconds. */
  readonly startedAt: string;
  /** End of the step, ISO 8601; equal to `startedAt` for an instant. */
  readonly endedAt: string;
  readonly status: "ok" | "error";
  /** Flat snake_case properties. */
  readonly properties: Readonly<Record<string, unknown>>;
  /** The summary's text. */
  readonly payload?: unknown;
}

/** The host's span that was active when the event happened. */
export interface HostSpan {
  readonly traceId: string;
  readonly spanId?: string;
}

/** An event's position in the host's trace, as captured by the exporter. */
export interface Place {
  readonly host?: HostSpan;
}

/** Receives events; can be slow or fail without affecting the run. */
export interface Exporter {
  /** Name in reports about the exporter. Default: `compact`. */
  readonly name?: string;
  /** `place`: the result of `here`. */
  export(event: CompactEvent, place?: Place): void | Promise<void>;
  /** Called in the host's context, before `export`, which runs later. */
  here?(): Place | undefined | Promise<Place | undefined>;
  /** Resolves when everything received so far has been delivered. */
  flush?(): Promise<void>;
}
