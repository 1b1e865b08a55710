import type { TriggerDecision } from "../policy/trigger.ts";
import type { TokenBreakdown } from "../tokens/counter.ts";
import type { CompactEvent, CompactEventName } from "../tracing/event.ts";
import type { CompactPolicy } from "./config.ts";
import type { CompactionReport, LayerSizes } from "./report.ts";

/** Says what happens in one session; never throws, never waits. */
export interface Announcer {
  say(name: CompactEventName, properties: Readonly<Record<string, unknown>>, extra?: Extra): void;
}

interface Extra {
  readonly payload?: unknown;
  readonly status?: "ok" | "error";
  /** ISO 8601: when the step began, where it took time. */
  readonly startedAt?: string;
}

/** Fills in session and times, and hands each event on. */
export function announcer(sessionId: string, now: () => string, emit: (event: CompactEvent) => void): Announcer {
  return {
    say: (name, properties, extra = {}) => {
      const endedAt = now();
      emit({
        name,
        sessionId,
        startedAt: extra.startedAt ?? endedAt,
        endedAt,
        status: extra.status ?? "ok",
        properties,
        ...(extra.payload === undefined ? {} : { payload: extra.payload }),
      });
    },
  };
}

export interface Estimate {
  readonly model: string | undefined;
  readonly tokens: number;
  readonly maxTokens: number;
  readonly breakdown: TokenBreakdown;
}

/** OBS-1. */
export function estimateProperties({ model, tokens, maxTokens, breakdown }: Estimate): Record<string, unknown> {
  return { model: model ?? null, t_est: tokens, max_tokens: maxTokens, usage_pct: tokens / maxTokens, breakdown };
}

/** TRG-2; `report` is there once a compaction was made. */
export function decisionProperties(
  decision: TriggerDecision,
  policy: CompactPolicy,
  more: { readonly report?: CompactionReport; readonly note?: string | undefined } = {},
): Record<string, unknown> {
  const counts = more.report?.plan?.counts;
  return {
    triggered: decision.triggered,
    reason: decision.reason,
    policy: {
      trigger_pct: policy.triggerPct,
      hard_cap_buffer: policy.hardCapBuffer,
      strategy: policy.strategy,
    },
    ...(more.note === undefined ? {} : { note: more.note }),
    ...(counts === undefined
      ? {}
      : { kept: { pinned: counts.pinned, recent_turns: counts.recentTurns, tool_pairs: counts.toolPairs } }),
    ...(more.report === undefined ? {} : { pruned_count: more.report.prunedCount }),
  };
}

/** OBS-2. */
export function summaryProperties(report: CompactionReport, policy: CompactPolicy): Record<string, unknown> {
  const replaced = report.plan?.entries.filter((entry) => entry.action === "summarize") ?? [];
  const replacedTokens = replaced.reduce((total, entry) => total + entry.tokens, 0);
  return {
    strategy: policy.strategy,
    summarizer: report.summarizer ?? null,
    version: report.summaryVersion ?? null,
    input_messages: replaced.length,
    summary_tokens: report.summaryTokens,
    compression_ratio: report.summaryTokens === 0 ? 0 : replacedTokens / report.summaryTokens,
  };
}

/** OBS-3: what is left of each layer. */
export function prunedProperties(report: CompactionReport): Record<string, unknown> {
  return {
    pruned_count: report.prunedCount,
    cleared_count: report.clearedCount,
    elided_count: report.elidedCount,
    tokens_before: report.tokensBefore,
    tokens_after: report.tokensAfter,
    layers: snakeLayers(report.layers.after),
    layers_before: snakeLayers(report.layers.before),
  };
}

/** Layer sizes under the names that files and events use. */
export function snakeLayers(layers: LayerSizes): Record<string, { messages: number; tokens: number }> {
  const { toolPairs, ...rest } = layers;
  return { ...rest, tool_pairs: toolPairs };
}
