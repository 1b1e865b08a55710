import { CompactError } from "../errors.ts";
import type { TriggerDecision } from "../policy/trigger.ts";
import {
  type EventDescription,
  failure,
  type ModelAttempt,
  prunedMessages,
  summaryCreated,
  triggerDecision,
  warning,
} from "../tracing/events.ts";
import type { CompactConfig, CompactPolicy } from "./config.ts";
import { priced } from "./priced.ts";
import type { CompactionReport } from "./report.ts";

/** When a step began, and when it ended unless that is now; ISO 8601. */
export interface StepTimes {
  readonly startedAt: string;
  readonly endedAt?: string;
}

/** Says what happens in one session; never throws, never waits. `times`: where the step took time. */
export type Announce = (event: EventDescription, times?: StepTimes) => void;

/** TRG-2: the decision, with what was kept once a compaction was made. */
export function decisionEvent(
  decision: TriggerDecision,
  policy: CompactPolicy,
  made: {
    readonly report?: CompactionReport | undefined;
    readonly note?: string | undefined;
    readonly step?: number;
  } = {},
): EventDescription {
  const kept = made.report?.plan?.counts;
  return triggerDecision({
    triggered: decision.triggered,
    reason: decision.reason,
    policy,
    ...(made.note === undefined ? {} : { note: made.note }),
    ...(made.step === undefined ? {} : { step: made.step }),
    ...(kept === undefined ? {} : { kept }),
    ...(made.report === undefined ? {} : { prunedCount: made.report.prunedCount }),
  });
}

/** OBS-2. */
export function summaryEvent(
  report: CompactionReport,
  { policy, models }: CompactConfig,
  { text, step }: { readonly text: string; readonly step: number },
): EventDescription {
  const replaced = report.plan?.entries.filter((entry) => entry.action === "summarize") ?? [];
  return summaryCreated({
    step,
    strategy: policy.strategy,
    inputMessages: replaced.length,
    inputTokens: replaced.reduce((total, entry) => total + entry.tokens, 0),
    summaryTokens: report.summaryTokens,
    ...(report.summarizer === undefined ? {} : { summarizer: report.summarizer }),
    ...(report.coverage === undefined ? {} : { coverage: report.coverage }),
    ...(report.check === undefined
      ? {}
      : {
          checkedCount: report.check.checked,
          unfound: report.check.unfound.map(({ kind, text: claim }) => `${kind}: ${claim}`),
        }),
    ...(report.attempts.length === 0
      ? {}
      : { attempts: report.attempts.map((attempt) => priced(attempt, models)) }),
    text,
  });
}

/** OBS-3: what is left of each layer; tool pairs are recent. */
export function prunedEvent(report: CompactionReport, step: number): EventDescription {
  const { pinned, summary, recent, toolPairs, remainder } = report.layers.after;
  return prunedMessages({
    layers: {
      pinned: pinned.messages,
      summary: summary.messages,
      recent: recent.messages + toolPairs.messages + remainder.messages,
    },
    prunedCount: report.prunedCount,
    clearedCount: report.clearedCount,
    tokensBefore: report.tokensBefore,
    tokensAfter: report.tokensAfter,
    step,
    elapsedMs: report.elapsedMs,
  });
}

/** Says that the user's newest request could not stay whole, where that is so. */
export function askCutEvents({ plan }: CompactionReport): EventDescription[] {
  const entry = plan?.newestAsk?.fate === "cut" ? plan.entries[plan.newestAsk.index] : undefined;
  if (entry === undefined) return [];
  const message =
    `the user's newest request was cut from ${entry.tokens} to ${entry.tokensAfter} tokens: with the system prompt, ` +
    "tools and protected messages it does not fit; the archive has all of it";
  return [warning({ severity: "medium", code: "ask_cut", message })];
}

/** OBS-3: what went wrong and what was done instead. */
export function failureEvent(
  error: unknown,
  fallback: string,
  made: { readonly attempt?: ModelAttempt | undefined; readonly step?: number } = {},
): EventDescription {
  const name = error instanceof Error ? error.name : "Error";
  return failure({
    errorType: CompactError.isInstance(error) ? error.code : name,
    message: messageOf(error),
    fallback,
    ...(made.attempt === undefined ? {} : { attempt: made.attempt }),
    ...(made.step === undefined ? {} : { step: made.step }),
  });
}

/** OBS-3: a request to a model that came to nothing, and the rung that followed. */
export function attemptEvent(attempt: ModelAttempt, step: number): EventDescription {
  const { model, outcome, detail, fallback = "none" } = attempt;
  const message = `${model}: ${outcome}${detail === undefined ? "" : ` (${detail})`}`;
  return failure({ errorType: "SummarizerFailed", message, fallback, attempt, step });
}

/** The words of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
