import { hasCode } from "../errors.ts";
import type { Outcome, SummarizerFailure } from "./apply.ts";
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
import type { CompactionRequest } from "./usage.ts";

// What is told of a call: the report to the caller, and events, as data, to the recorder.

export interface LayerSize {
  readonly messages: number;
  readonly tokens: number;
}

export type LayerName = "pinned" | "summary" | "recent" | "toolPairs" | "remainder";

/** Before: the partition, without `summary`. After: what remains of each layer, and the summary. */
export type LayerSizes = Readonly<Record<LayerName, LayerSize>>;

export interface ArchiveReceipt {
  /** Where it is, for people: folder and file, or URL. */
  readonly location: string;
  readonly step: number;
  /** One id per archived message, in the order of the list. */
  readonly ids: readonly string[];
}

/** Why a compaction that was due or requested was not made. */
export type RefusalReason =
  /** Everything has to stay, or only the earlier summary could go. */
  | "nothing_to_compact"
  /** The list would not become shorter. */
  | "no_gain"
  /** It fits, and the last compaction is so recent that another would gain little. */
  | "just_compacted"
  /** It fits, and the last compaction was undone. */
  | "undone"
  /** It fits, and a background compaction is still running. */
  | "in_background"
  /** What is never pruned is over the trigger on its own. */
  | "fixed_over_trigger"
  /** It fits, and the last attempts failed: the next one waits until the list has grown. */
  | "attempts_failed";

/** What a compaction did, or why there was none. */
export interface CompactionReport {
  readonly compacted: boolean;
  readonly reason: TriggerReason;
  /** Why a compaction that was due or requested was not made. */
  readonly refused: RefusalReason | undefined;
  readonly format: Format | undefined;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Error range of `tokensAfter`. */
  readonly range: TokenCount;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly layers: { readonly before: LayerSizes; readonly after: LayerSizes };
  /** Messages that left the list; kept ones whose tool output was cleared; kept ones that were cut. */
  readonly prunedCount: number;
  readonly clearedCount: number;
  readonly elidedCount: number;
  /** Kept messages whose signed reasoning was removed because the model binds it to an unchanged prefix. */
  readonly reasoningDropped: number;
  /** Blocks of reasoning that the provider says it dropped from the call before; left out where it says nothing. */
  readonly reasoningDroppedByProvider?: number;
  /** What remains of the user's latest message; undefined where nothing was done or there is none. */
  readonly newestAsk: AskFate | undefined;
  readonly summaryVersion: number | undefined;
  readonly summaryTokens: number;
  readonly summarizer: string | undefined;
  /** Summarizers that failed, and what was done instead. */
  readonly failures: readonly SummarizerFailure[];
  /** Every request to a model, in order. */
  readonly attempts: readonly SummaryAttempt[];
  /** Share of the summarized messages that the summarizer read, 0 to 1, where it says so. */
  readonly coverage: number | undefined;
  readonly check: SummaryCheck | undefined;
  /**
   * What was done, in order: `keep:<turns>/<pairs>` where the keep counts were lowered because more did not fit,
   * `clear`, `elide`, `summary:<name>`, `pruning-only`.
   */
  readonly rungs: readonly string[];
  readonly archive: ArchiveReceipt | undefined;
  /** Milliseconds. */
  readonly elapsedMs: number;
  readonly plan: CompactionPlan | undefined;
}

/** The new list and its report. */
export interface CompactionResult<T = unknown> {
  /** Kept messages are the caller's own objects; the very array that was given when nothing was done to it. */
  readonly messages: T[];
  /** Text of the summary in the list, without its tag. */
  readonly summary: string | undefined;
  readonly report: CompactionReport;
}

/** Messages and tokens by layer; `cost` gives the tokens of an entry, undefined to leave it out. */
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

export function reportOf(
  { reason, format, counter }: CompactionRequest,
  outcome: Outcome,
  told: Pick<CompactionReport, "archive" | "elapsedMs" | "tokensBefore" | "tokensAfter">,
): CompactionReport {
  const { plan } = outcome;
  const count = (action: PlannedMessage["action"]): number =>
    plan.entries.filter((entry) => entry.action === action).length;
  const summary = { messages: outcome.summary === undefined ? 0 : 1, tokens: outcome.summaryTokens };
  const after = (entry: PlannedMessage): number | undefined =>
    entry.action === "summarize" ? undefined : entry.tokensAfter;
  return {
    compacted: true,
    reason,
    refused: undefined,
    format,
    ...told,
    range: counter.range(told.tokensAfter),
    messagesBefore: plan.entries.length,
    messagesAfter: outcome.messages.length,
    layers: {
      before: layerSizes(plan.entries, (entry) => entry.tokens),
      after: layerSizes(plan.entries, after, summary),
    },
    prunedCount: count("summarize"),
    clearedCount: count("clear"),
    elidedCount: count("elide"),
    reasoningDropped: plan.entries.filter((entry) => entry.edit?.stripReasoning === true).length,
    newestAsk: plan.newestAsk?.fate,
    summaryVersion: outcome.summary?.version,
    summaryTokens: outcome.summaryTokens,
    summarizer: outcome.summarizer,
    failures: outcome.failures,
    attempts: outcome.attempts,
    coverage: outcome.made?.coverage,
    check: outcome.made?.check,
    rungs: outcome.rungs,
    plan,
  };
}

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

/** The layer of each message; our own summary is a layer of its own. */
export function layersOf(messages: readonly Message[], keep: KeepCounts): LayerName[] {
  const marked = markSummaries(messages);
  const { layers } = partition(marked, keep);
  return marked.map((message, index) =>
    message.meta?.summaryVersion === undefined ? (layers[index] ?? "remainder") : "summary",
  );
}

// ---- why nothing was compacted

/** The refusal for failures that are no reason to reject a list that fits. */
export function recoverableRefusal(error: unknown): RefusalReason | undefined {
  if (hasCode(error, "StorageFailed")) return "attempts_failed";
  return hasCode(error, "InsufficientBudget") ? "nothing_to_compact" : undefined;
}

/** The refusal of a decision against a compaction that was due. */
export function refusalFor(reason: TriggerReason): RefusalReason | undefined {
  if (reason === "nothing_eligible") return "nothing_to_compact";
  const isRefusal =
    reason === "just_compacted" ||
    reason === "undone" ||
    reason === "attempts_failed" ||
    reason === "fixed_over_trigger";
  return isRefusal ? reason : undefined;
}

export function reasonFor(refused: RefusalReason): TriggerReason {
  return refused === "nothing_to_compact" || refused === "no_gain" ? "nothing_eligible" : refused;
}

// ---- what a manager tells when it is asked

/** What is known of a session at any time. */
export interface ManagerState {
  /** Tokens of the newest request. */
  readonly totalTokens: number;
  readonly maxContextTokens: number;
  /** Messages of the view: what the model gets. */
  readonly messageCount: number;
  readonly summaryCount: number;
  /** ISO 8601. */
  readonly lastSummaryAt: string | undefined;
  readonly summaryVersion: number | undefined;
  readonly archiveSteps: number;
}

/** The running summary of a session and how far it reaches. */
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
  /** The archive step of the compaction; its files stay. */
  readonly step: number;
  /** Tokens of the request from now on. */
  readonly tokens: number;
  /**
   * The list as it was before, read from the archive, with what came since behind it: for applications that keep our
   * output. Undefined where the process has seen no list of the session or the archive does not have it.
   */
  readonly messages: T[] | undefined;
}

/** The answer to a request for a compaction. */
export interface RequestedCompaction {
  /** True where the next preflight compacts. */
  readonly accepted: boolean;
  /** Tokens of the newest request, and those at which a compaction starts by itself. */
  readonly tokens: number;
  readonly triggerTokens: number;
  /** Calls to wait; 0 where the list is too small. */
  readonly waitCalls: number;
}

// ---- events

type MalformationKind =
  | "orphan result"
  | "unanswered call"
  | "duplicate result"
  | "duplicate call"
  | "duplicate id"
  | "unknown role";

export interface Malformation {
  readonly kind: MalformationKind;
  readonly index: number;
  readonly explanation: string;
}

/** What happened in a session. `tracing/` writes the names, properties and words of the event. */
export type SessionEvent =
  | {
      readonly kind: "estimate";
      readonly model: string | undefined;
      readonly count: Pick<RequestCount, "tokens" | "breakdown">;
      readonly maxTokens: number;
    }
  | ({
      /** One to compact is sent after the compaction, with its outcome. */
      readonly kind: "decision";
      readonly decision: Pick<TriggerDecision, "triggered" | "reason">;
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
      /** Tokens of the request with the compaction and without. */
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    } & Step)
  | ({
      readonly kind: "failed";
      readonly error: unknown;
      /** What was done instead: one of `FALLBACK`, or the next summarizer's name. */
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
      /** A stable word, such as `redaction_off`. */
      readonly code: string;
      readonly message: string;
      /** A count, such as of lost events. */
      readonly count?: number;
    };

interface Step {
  readonly model?: string;
  /** The number of the compaction in its session. */
  readonly step?: number;
}

/** Start and end of a step, ISO 8601 in UTC; the time of the call when left out. */
export interface StepTimes {
  readonly startedAt?: string;
  readonly endedAt?: string;
}

/** Reports events of one session; never throws and never waits. */
export type Announce = (event: SessionEvent, times?: StepTimes) => void;

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

// ---- Exporter

/** All events of Compact. */
export type CompactEventName =
  | "compact.token_estimate"
  | "compact.trigger_decision"
  | "compact.summary_created"
  | "compact.pruned_messages"
  | "compact.archival"
  | "compact.undone"
  | "compact.error"
  | "compact.warning";

/** Version of the event schema; it rises when a property changes its meaning or goes, not when one is added. */
export const EVENT_VERSION = 1;

export interface CompactEvent {
  readonly version: typeof EVENT_VERSION;
  readonly name: CompactEventName;
  readonly sessionId: string;
  /** Where an exporter knows the host's trace. */
  readonly host?: HostSpan;
  /** ISO 8601, UTC, milliseconds: when the step began. */
  readonly startedAt: string;
  /** ISO 8601: when it ended; the same as `startedAt` for a moment. */
  readonly endedAt: string;
  readonly status: "ok" | "error";
  /** Flat snake_case properties. */
  readonly properties: Readonly<Record<string, unknown>>;
  /** The summary's text. */
  readonly payload?: unknown;
}

/** The host's span that was current when something happened. */
export interface HostSpan {
  readonly traceId: string;
  readonly spanId?: string;
}

/** An event's place in the host's trace, as the exporter found it. */
export interface Place {
  readonly host?: HostSpan;
}

/** Receives events; may be slow or fail without effect on the run. */
export interface Exporter {
  /** For reports about the exporter; `compact` when left out. */
  readonly name?: string;
  /** `place`: the result of `here`. */
  export(event: CompactEvent, place?: Place): void | Promise<void>;
  /** Called in the host's context, before `export`, which runs later. */
  here?(): Place | undefined | Promise<Place | undefined>;
  /** Resolves when everything handed over so far has left. */
  flush?(): Promise<void>;
}
