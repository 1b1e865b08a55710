import type { Format } from "../messages/message.ts";
import type { TriggerReason } from "../policy/trigger.ts";
import type { SummaryAttempt } from "../summarizers/attempt.ts";
import type { SummaryCheck } from "../summarizers/check.ts";
import type { TokenCount } from "../tokens/counter.ts";
import type { Applied, SummarizerFailure } from "./apply.ts";
import type { AskFate, CompactionPlan, PlannedMessage } from "./plan.ts";

export interface LayerSize {
  readonly messages: number;
  readonly tokens: number;
}

export type LayerName = "pinned" | "summary" | "recent" | "toolPairs" | "remainder";

/** Before: the partition (no `summary`). After: what is left of each layer, with the summary. */
export type LayerSizes = Readonly<Record<LayerName, LayerSize>>;

export interface ArchiveReceipt {
  readonly location: string;
  readonly step: number;
  /** One id per archived message, in the order of the list. */
  readonly ids: readonly string[];
}

/** What a compaction did, or why there was none. */
export interface CompactionReport {
  readonly compacted: boolean;
  readonly reason: TriggerReason;
  readonly format: Format | undefined;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** How far `tokensAfter` may be off. */
  readonly range: TokenCount;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly layers: { readonly before: LayerSizes; readonly after: LayerSizes };
  /** Messages that left the list; kept ones whose tool output was emptied; kept ones that were cut. */
  readonly prunedCount: number;
  readonly clearedCount: number;
  readonly elidedCount: number;
  /** Kept messages whose signed reasoning had to go, because the model binds it to an unchanged prefix. */
  readonly reasoningDropped: number;
  /** What is left of the user's newest request; undefined where nothing was done, or there is none. */
  readonly newestAsk: AskFate | undefined;
  readonly summaryVersion: number | undefined;
  readonly summaryTokens: number;
  /** The summarizer that wrote the summary. */
  readonly summarizer: string | undefined;
  /** Summarizers that failed, and what was done instead. */
  readonly failures: readonly SummarizerFailure[];
  /** Every request to a model, in order: how it ended, what it took. */
  readonly attempts: readonly SummaryAttempt[];
  /** Share of what was summarized that the summarizer read, 0 to 1; undefined where it does not say. */
  readonly coverage: number | undefined;
  /** What the check of a model's text against its source found. */
  readonly check: SummaryCheck | undefined;
  /** What was done, in order: `clear`, `elide`, `summary:<name>`, `pruning-only`. */
  readonly rungs: readonly string[];
  readonly archive: ArchiveReceipt | undefined;
  /** Milliseconds, by the clock that was given. */
  readonly elapsedMs: number;
  readonly plan: CompactionPlan | undefined;
}

/** The new list and what happened to it. */
export interface CompactionResult<T = unknown> {
  /** Kept messages are the caller's own objects; the very same array when nothing was done. */
  readonly messages: T[];
  /** Text of the summary in the list, without its tag. */
  readonly summary: string | undefined;
  readonly report: CompactionReport;
}

const LAYERS: readonly LayerName[] = ["pinned", "summary", "recent", "toolPairs", "remainder"];

/** Sizes by layer of the planned messages, by what they cost before or after. */
function layerSizes(
  entries: readonly PlannedMessage[],
  cost: (entry: PlannedMessage) => number | undefined,
  summary: LayerSize = { messages: 0, tokens: 0 },
): LayerSizes {
  const sizes = Object.fromEntries(LAYERS.map((layer) => [layer, { messages: 0, tokens: 0 }])) as Record<
    LayerName,
    { messages: number; tokens: number }
  >;
  for (const entry of entries) {
    const tokens = cost(entry);
    if (tokens === undefined) continue;
    sizes[entry.layer].messages += 1;
    sizes[entry.layer].tokens += tokens;
  }
  return { ...sizes, summary };
}

export interface ReportInput {
  readonly plan: CompactionPlan;
  readonly applied: Applied;
  readonly reason: TriggerReason;
  readonly format: Format | undefined;
  readonly range: TokenCount;
  readonly archive: ArchiveReceipt | undefined;
  readonly elapsedMs: number;
}

/** Tells a compaction that was applied. */
export function reportOf({
  plan,
  applied,
  reason,
  format,
  range,
  archive,
  elapsedMs,
}: ReportInput): CompactionReport {
  const count = (action: PlannedMessage["action"]): number =>
    plan.entries.filter((entry) => entry.action === action).length;
  const summary = { messages: applied.summary === undefined ? 0 : 1, tokens: applied.summaryTokens };
  return {
    compacted: true,
    reason,
    format,
    tokensBefore: plan.tokensBefore,
    tokensAfter: applied.tokensAfter,
    range,
    messagesBefore: plan.entries.length,
    messagesAfter: applied.messages.length,
    layers: {
      before: layerSizes(plan.entries, (entry) => entry.tokens),
      after: layerSizes(
        plan.entries,
        (entry) => (entry.action === "summarize" ? undefined : entry.tokensAfter),
        summary,
      ),
    },
    prunedCount: count("summarize"),
    clearedCount: count("clear"),
    elidedCount: count("elide"),
    reasoningDropped: plan.entries.filter((entry) => entry.edit?.stripReasoning === true).length,
    newestAsk: plan.newestAsk?.fate,
    summaryVersion: applied.summary?.version,
    summaryTokens: applied.summaryTokens,
    summarizer: applied.summarizer,
    failures: applied.failures,
    attempts: applied.attempts,
    coverage: applied.made?.coverage,
    check: applied.made?.check,
    rungs: applied.rungs,
    archive,
    elapsedMs,
    plan,
  };
}

const NOTHING: LayerSizes = layerSizes([], () => undefined);

/** Tells that nothing was done. */
export function untouched(input: {
  readonly reason: TriggerReason;
  readonly format: Format | undefined;
  readonly range: TokenCount;
  readonly messages: number;
  readonly elapsedMs: number;
}): CompactionReport {
  return {
    compacted: false,
    reason: input.reason,
    format: input.format,
    tokensBefore: input.range.tokens,
    tokensAfter: input.range.tokens,
    range: input.range,
    messagesBefore: input.messages,
    messagesAfter: input.messages,
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
    elapsedMs: input.elapsedMs,
    plan: undefined,
  };
}
