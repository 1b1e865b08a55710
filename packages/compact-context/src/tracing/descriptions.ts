import type { PlannedMessage } from "../core/plan.ts";
import { FALLBACK, type SummaryAttempt } from "../core/ports.ts";
import type { CompactEventName, CompactionReport, LayerSizes, SessionEvent } from "../core/report.ts";
import { CompactError, defined, errorMessage } from "../errors.ts";

// The core emits events as data; this file gives each its name, properties and text. `schema.ts` documents
// them.

/** An event without session and times. */
export interface EventDescription {
  readonly name: CompactEventName;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

/** What descriptions need from the manager. */
export interface DescriptionContext {
  /** The driver's kind, such as `fs`. */
  readonly storageKind: string;
  /** Adds provider and cost to an attempt, if known. */
  readonly withCost?: (attempt: SummaryAttempt) => SummaryAttempt;
}

type EventOf<Kind extends SessionEvent["kind"]> = Extract<SessionEvent, { readonly kind: Kind }>;

/** The events for one occurrence, in order: a cut of the latest user message is reported after its compaction. */
export function describeEvent(
  sessionId: string,
  told: SessionEvent,
  { storageKind, withCost = (attempt) => attempt }: DescriptionContext,
): EventDescription[] {
  switch (told.kind) {
    case "estimate":
      return [tokenEstimate(told)];
    case "decision":
      return [triggerDecision(told)];
    case "summary":
      return [summaryCreated({ ...told, attempts: told.report.attempts.map(withCost) })];
    case "pruned":
      return [prunedMessages(told), ...latestMessageCut(told.report)];
    case "archived": {
      const { step, location, messages } = told;
      const place = { session_id: sessionId, step, storage_adapter: storageKind, location };
      return [event("compact.archival", { ...place, messages })];
    }
    case "undone": {
      const { model, step, tokensBefore, tokensAfter } = told;
      const tokens = { tokens_before: tokensBefore, tokens_after: tokensAfter };
      return [event("compact.undone", { model, step, ...tokens })];
    }
    case "failed": {
      const attempt = told.attempt && withCost(told.attempt);
      return [failure(errorTypeOf(told.error), errorMessage(told.error), { ...told, attempt })];
    }
    case "attemptFailed":
      return [attemptFailure(withCost(told.attempt), told.step)];
    case "malformed": {
      const shown = told.faults.slice(0, 8).map((fault) => `messages[${fault.index}]: ${fault.explanation}`);
      return [failure("MalformedMessages", shown.join("; "), { fallback: FALLBACK.asTheyAre })];
    }
    default:
      return [warning(warningOf(sessionId, told))];
  }
}

function event(name: CompactEventName, properties: Record<string, unknown>): EventDescription {
  return { name, status: "ok", properties: defined(properties) };
}

/** Rounded to four places: enough for a chart, stable in tests. */
function ratio(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 10_000) / 10_000 : 0;
}

/** OBS-1. `usage_pct` is a ratio like `trigger_pct`: 0.85 for 85 %; `max_tokens` is the model's window. */
function tokenEstimate({ model = "unknown", count, maxTokens }: EventOf<"estimate">): EventDescription {
  const { system, developer, tools_schema, messages } = count.breakdown;
  return event("compact.token_estimate", {
    model,
    t_est: count.tokens,
    max_tokens: maxTokens,
    usage_pct: ratio(count.tokens, maxTokens),
    breakdown: { system, developer, tools_schema, messages },
  });
}

/** TRG-2: the decision. A decision to compact is sent after the compaction, with its outcome. */
function triggerDecision(told: EventOf<"decision">): EventDescription {
  const { decision, policy, model, report, error, note, step } = told;
  const kept = report?.plan?.counts;
  const done = report === undefined ? undefined : "compacted";
  return event("compact.trigger_decision", {
    triggered: decision.triggered,
    reason: decision.reason,
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
function summaryCreated(
  told: EventOf<"summary"> & { readonly attempts: readonly SummaryAttempt[] },
): EventDescription {
  const { report, strategy, text, step, attempts } = told;
  const replaced = report.plan?.entries.filter((entry) => entry.action === "summarize") ?? [];
  const inputTokens = replaced.reduce((total, entry) => total + entry.tokens, 0);
  const unfound = report.check?.unfound.map(({ kind, text: claim }) => `${kind}: ${claim}`);
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
    attempts: attempts.length === 0 ? undefined : attempts.map(attemptProperties),
    cost_usd: costOf(attempts),
    step,
  });
  return { ...description, payload: text };
}

/** Maximum entries in `actions`. */
const MAX_ACTIONS = 200;

/**
 * OBS-3: what remains of each layer, and the action on each message. `layers` counts tool pairs as recent, as
 * specified; `layer_tokens` separates them. `elapsed_ms` excludes waiting.
 */
function prunedMessages({ report, model, step }: EventOf<"pruned">): EventDescription {
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

/** Adjacent messages with the same action and layer. */
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

/** The warning if the latest user message was cut. */
function latestMessageCut({ plan }: CompactionReport): EventDescription[] {
  const entry = plan?.newestAsk?.fate === "cut" ? plan.entries[plan.newestAsk.index] : undefined;
  if (entry === undefined) return [];
  const message =
    `the user's newest request was cut from ${entry.tokens} to ${entry.tokensAfter} tokens: with the system prompt, ` +
    "tools and protected messages it does not fit; the archive has all of it";
  return [warning({ severity: "medium", code: "ask_cut", message })];
}

/** OBS-3: the failure, and the fallback used. */
function failure(
  errorType: string,
  message: string,
  { fallback, attempt, step }: Omit<EventOf<"failed">, "kind" | "error">,
): EventDescription {
  const tried = attempt && attemptProperties(attempt);
  const properties = { error_type: errorType, message, fallback, attempt: tried, step };
  return { ...event("compact.error", properties), status: "error" };
}

/** The code of a `CompactError`, or the name of another error. */
function errorTypeOf(error: unknown): string {
  if (CompactError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : "Error";
}

/** A failed model request and its fallback. */
function attemptFailure(attempt: SummaryAttempt, step: number | undefined): EventDescription {
  const { model, outcome, detail, fallback = FALLBACK.none } = attempt;
  const message = `${model}: ${outcome}${detail === undefined ? "" : ` (${detail})`}`;
  return failure("SummarizerFailed", message, { fallback, attempt, step });
}

// ---- warnings

type Warning = Omit<EventOf<"warning">, "kind">;

function warning({ severity, code, message, count }: Warning): EventDescription {
  return event("compact.warning", { severity, code, message, count });
}

function warningOf(
  sessionId: string,
  told: EventOf<"warning" | "historyChanged" | "fixedOverTrigger" | "compactsOften">,
): Warning {
  switch (told.kind) {
    case "warning":
      return told;
    case "historyChanged": {
      const message = "messages that were already summarized have changed; the list is used as it is now";
      return { severity: "low", code: "history_changed", message };
    }
    case "fixedOverTrigger": {
      const message =
        `the system prompt, tools and protected messages take ${told.fixedTokens} of ${told.maxTokens} tokens, which is ` +
        "over the trigger: compacting cannot help until the hard cap. Reduce them, or raise the trigger";
      return { severity: "high", code: "fixed_over_trigger", message };
    }
    case "compactsOften": {
      const message =
        `session ${sessionId} is compacted every few calls: ${told.report.tokensAfter} of ${told.maxTokens} tokens ` +
        `have to stay each time. To compact less often, ${adviceFor(told)}, or use a larger window`;
      return { severity: "medium", code: "compacts_often", message };
    }
  }
}

/** The setting for the layer that takes up most of the list after a compaction. */
function adviceFor({ report, policy, fixedTokens }: EventOf<"compactsOften">): string {
  const { pinned, recent, toolPairs } = report.layers.after;
  if (fixedTokens + pinned.tokens >= Math.max(recent.tokens, toolPairs.tokens))
    return "shorten the system prompt, the tools or the protected messages";
  if (recent.tokens >= toolPairs.tokens) return `lower policy.keepRecentTurns, now ${policy.keepRecentTurns}`;
  return `set policy.maxToolResultTokens, or lower policy.keepToolIoPairs, now ${policy.keepToolIoPairs}`;
}

// ---- model requests

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

/** Total cost of all requests in USD; undefined if any is unknown. */
function costOf(attempts: readonly SummaryAttempt[]): number | undefined {
  const asked = attempts.filter(({ outcome }) => outcome !== "skipped");
  const costs = asked.flatMap(({ costUsd }) => costUsd ?? []);
  if (costs.length < asked.length || costs.length === 0) return undefined;
  return costs.reduce((total, cost) => total + cost, 0);
}
