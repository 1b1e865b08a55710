import type { Format } from "../messages/message.ts";
import { isPinned } from "../policy/partition.ts";
import { budgetOf, decideTrigger, type TriggerDecision, type TriggerReason } from "../policy/trigger.ts";
import { archiveId } from "../storage/archive-line.ts";
import { afterCompaction, calibrated, observeUsage, runningRatio } from "../tokens/calibration.ts";
import type { RequestCount, TokenBreakdown } from "../tokens/counter.ts";
import type { RequestCounter } from "../tokens/token-counter.ts";
import { normalizeUsage } from "../tokens/usage.ts";
import type { CompactConfig } from "./config.ts";
import { type ListCodec, listCodec, tellsFormat } from "./list-codec.ts";
import type { PreflightRequest } from "./ports.ts";
import { knownSource, type LiveSession, look, type SessionPorts, standingState } from "./session.ts";

/** What every look at a list needs and does not change. */
export interface LookContext {
  readonly config: CompactConfig;
  /** Counts for the model; where none is named, as lists of this format are usually counted. */
  counterFor(format: Format | undefined): RequestCounter;
  readonly maxContextTokens: number;
  /** Milliseconds since 1970. */
  now(): number;
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
  /** The provider has forgotten the session's prefix, as far as can be told. */
  readonly cacheCold: boolean;
}

/** Projects the list onto the session and counts the request. Throws `UnknownFormat` and `InvalidMessages`. */
export function lookAt(
  session: LiveSession,
  messages: readonly unknown[],
  request: PreflightRequest,
  context: LookContext,
): Look {
  const { config } = context;
  const before = session.codec;
  const known = before === undefined ? undefined : knownSource(session, messages);
  const agrees = request.format === undefined || request.format === before?.format;
  const stays = known && agrees && (before?.certain || !tellsFormat(messages.slice(known.natives.length)));
  const codec = (stays ? before : undefined) ?? listCodec(messages, request.format);
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
  // What was read as another format is read anew: the first words of a conversation look the same in several.
  look(session, messages, { known: codec.format === before?.format ? known : undefined, ports });
  // Not before: a list that cannot be read leaves the session as it was.
  session.codec = codec;
  session.counterId = ports.counterId;
  const breakdown = breakdownOf(session, request, counter);
  const tokens = breakdown.system + breakdown.developer + breakdown.tools_schema + breakdown.messages;
  learn(session, request.usage, counter);
  session.estimate = tokens;
  const usage = counter.range(calibrated(tokens, session.state.calibration, counter.id));
  const cacheCold = request.cacheCold ?? isCold(session, context);
  session.seenAt = context.now();
  const fixedTokens = tokens - session.tokens;
  return { session, codec, ports, usage: { ...usage, breakdown }, fixedTokens, cacheCold };
}

function isCold({ seenAt }: LiveSession, { now, config }: LookContext): boolean {
  return seenAt !== undefined && now() - seenAt > config.policy.cacheTtlSeconds * 1000;
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
/** Attempts that came to nothing double the wait up to this share of the window. */
const MAX_GROWTH = 0.4;

/** Whether this list is to be compacted now. */
export function decide(seen: Look, manual: boolean, context: LookContext): TriggerDecision {
  const { maxContextTokens, config } = context;
  const { tokens, breakdown } = seen.usage;
  const usagePct = tokens / maxContextTokens;
  if (manual) return { triggered: true, reason: "manual", usagePct };
  const { cacheCold } = seen;
  const input = { tokens, messageTokens: breakdown.messages, maxContextTokens, bytes: seen.session.bytes };
  const decision = decideTrigger({ ...input, cacheCold }, config.policy);
  const mustAct = tokens > budgetOf(maxContextTokens, config.policy) || decision.reason === "max_bytes";
  if (!decision.triggered || mustAct) return decision;
  const held = heldBack(seen, decision, context);
  return held === undefined ? decision : { triggered: false, reason: held, usagePct };
}

/** Whether another compaction is far enough from the last one to gain anything. */
export function hasGrown({ session, usage }: Look, { maxContextTokens }: LookContext): boolean {
  const { step, tokensAfter } = standingState(session);
  const grown = usage.tokens - tokensAfter;
  return step === 0 || grown < 0 || grown >= MIN_GROWTH * maxContextTokens;
}

/** Why a list that is over a threshold, but fits, is sent as it is. */
function heldBack(seen: Look, decision: TriggerDecision, context: LookContext): TriggerReason | undefined {
  const { session, usage } = seen;
  const growth = (since: number): number => {
    const grown = (usage.tokens - since) / context.maxContextTokens;
    return grown >= 0 ? grown : Number.POSITIVE_INFINITY;
  };
  if (!hasGrown(seen, context)) return "just_compacted";
  const { stall } = session;
  if (stall !== undefined && stall.attempts > 1) {
    const wait = Math.min(MAX_GROWTH, MIN_GROWTH * 2 ** (stall.attempts - 2));
    if (growth(stall.tokens) < wait) return stall.reason;
  }
  const { triggerPct, coldTriggerPct } = context.config.policy;
  const share = decision.reason === "trigger_pct" ? triggerPct : undefined;
  const threshold = decision.reason === "cold_cache" ? coldTriggerPct : share;
  const hopeless = threshold !== undefined && fixedPart(seen) >= threshold * context.maxContextTokens;
  return hopeless ? "fixed_over_trigger" : undefined;
}

/** Tokens that no compaction takes away: what travels beside the messages, and those that are pinned. */
export function fixedPart({ session, fixedTokens }: Look): number {
  return session.entries.reduce((total, entry) => total + (entry.pinned ? entry.tokens : 0), fixedTokens);
}

/** Remembers an attempt that came to nothing; from the second in a row on, the next waits for growth. */
export function noteStall({ session, usage }: Look, reason: TriggerReason): void {
  session.stall = { tokens: usage.tokens, attempts: (session.stall?.attempts ?? 0) + 1, reason };
}

/** The budget in our counter's tokens: less what the provider adds unseen, at the ratio that was learnt. */
export function rawBudget({ session, ports }: Look, context: LookContext): number {
  const budget = budgetOf(context.maxContextTokens, context.config.policy);
  const learnt = afterCompaction(session.state.calibration);
  if (learnt.counterId !== ports.counter.id) return budget;
  return Math.max(1, Math.floor((budget - learnt.offset) / runningRatio(learnt)));
}
