import type { Format } from "../messages/message.ts";
import { isPinned } from "../policy/partition.ts";
import { budgetOf, decideTrigger, type TriggerDecision } from "../policy/trigger.ts";
import { archiveId } from "../storage/archive-line.ts";
import { afterCompaction, calibrated, observeUsage, runningRatio } from "../tokens/calibration.ts";
import type { RequestCount, TokenBreakdown } from "../tokens/counter.ts";
import type { RequestCounter } from "../tokens/token-counter.ts";
import { normalizeUsage } from "../tokens/usage.ts";
import type { CompactConfig } from "./config.ts";
import { type ListCodec, listCodec } from "./list-codec.ts";
import type { PreflightRequest } from "./ports.ts";
import { knownSource, type LiveSession, look, type SessionPorts } from "./session.ts";

/** What every look at a list needs and does not change. */
export interface LookContext {
  readonly config: CompactConfig;
  /** Counts for the model; where none is named, as lists of this format are usually counted. */
  counterFor(format: Format | undefined): RequestCounter;
  readonly maxContextTokens: number;
}

/** A session brought up to date with a list, and what the whole request costs. */
export interface Look {
  readonly session: LiveSession;
  readonly codec: ListCodec;
  readonly ports: SessionPorts;
  /** Calibrated by the provider's usage where that was given; the breakdown is our own count. */
  readonly usage: RequestCount;
  /** Our count of what travels beside the messages. */
  readonly fixedTokens: number;
}

/** Projects the list onto the session and counts the request. Throws `UnknownFormat` and `InvalidMessages`. */
export function lookAt(
  session: LiveSession,
  messages: readonly unknown[],
  request: PreflightRequest,
  context: LookContext,
): Look {
  const { config } = context;
  const known = session.codec === undefined ? undefined : knownSource(session, messages);
  const codec = (known && session.codec) ?? listCodec(messages, request.format);
  session.codec = codec;
  const counter = context.counterFor(codec.format);
  const ports: SessionPorts = {
    counterId: counter.id,
    counter,
    codec,
    shape: { role: config.summarizer.summaryRole, format: codec.format },
    isPinned: (message) => isPinned(message, config.policy),
    count: (message) => counter.countMessage(message),
    edit: { countText: (text) => counter.countText(text), archiveId },
  };
  session.counterId = ports.counterId;
  look(session, messages, { known, ports });
  const breakdown = breakdownOf(session, request, counter);
  const tokens = breakdown.system + breakdown.developer + breakdown.tools_schema + breakdown.messages;
  learn(session, request.usage, counter);
  session.estimate = tokens;
  const usage = counter.range(calibrated(tokens, session.state.calibration, counter.id));
  return { session, codec, ports, usage: { ...usage, breakdown }, fixedTokens: tokens - session.tokens };
}

function breakdownOf(
  session: LiveSession,
  request: PreflightRequest,
  counter: RequestCounter,
): TokenBreakdown {
  const { listed } = session;
  const input = request.input === undefined ? 0 : counter.countText(request.input);
  return {
    system: listed.system + counter.countSystem(request.system),
    developer: listed.developer,
    tools_schema: counter.countTools(request.tools),
    messages: session.tokens - listed.system - listed.developer + input + counter.perRequest,
  };
}

/** The provider's own figure for the request of the last look becomes the anchor of the next estimates. */
function learn(session: LiveSession, usage: unknown, counter: RequestCounter): void {
  if (usage === undefined || session.estimate === 0) return;
  const reported = normalizeUsage(usage);
  if (reported === undefined) return;
  const calibration = observeUsage(session.state.calibration, {
    reported: reported.input,
    estimated: session.estimate,
    counterId: counter.id,
  });
  session.state = { ...session.state, calibration };
}

/** After a compaction the next waits until the list has grown by this share of the window, while it fits. */
const MIN_GROWTH = 0.05;

/** Whether this list is to be compacted now. */
export function decide({ session, usage }: Look, manual: boolean, context: LookContext): TriggerDecision {
  const { maxContextTokens, config } = context;
  const usagePct = usage.tokens / maxContextTokens;
  if (manual) return { triggered: true, reason: "manual", usagePct };
  const input = { tokens: usage.tokens, messageTokens: usage.breakdown.messages, maxContextTokens };
  const decision = decideTrigger(input, config.policy);
  const grown = usage.tokens - session.state.tokensAfter;
  const justCompacted = session.state.step > 0 && grown >= 0 && grown < MIN_GROWTH * maxContextTokens;
  if (decision.triggered && justCompacted && usage.tokens <= budgetOf(maxContextTokens, config.policy)) {
    return { triggered: false, reason: "just_compacted", usagePct };
  }
  return decision;
}

/** The budget in our counter's tokens: less what the provider adds unseen, at the ratio that was learnt. */
export function rawBudget({ session, ports }: Look, context: LookContext): number {
  const budget = budgetOf(context.maxContextTokens, context.config.policy);
  const learnt = afterCompaction(session.state.calibration);
  if (learnt.counterId !== ports.counter.id) return budget;
  return Math.max(1, Math.floor((budget - learnt.offset) / runningRatio(learnt)));
}
