import { groupUnits } from "../messages/exchanges.ts";
import type { TriggerDecision } from "../policy/trigger.ts";
import type { LiveConversation } from "../summarizers/summarizer.ts";
import { lookUpModel } from "../tokens/models.ts";
import { type Look, type LookContext, rawBudget } from "./look.ts";
import type { ManualRequest, PreflightRequest } from "./ports.ts";
import type { RoundInput } from "./round.ts";

/** A summary gets at most a tenth of the window, and never more than this. */
const MAX_SUMMARY_TOKENS = 8192;
/** An automatic compaction ends below this share of its trigger where it can: else the next one would follow at once. */
const ROOM_TO_GROW = 0.75;

/** What the configuration makes of one decision to compact. */
export function roundInputOf(
  asked: {
    readonly seen: Look;
    readonly decision: TriggerDecision;
    readonly request: PreflightRequest;
    readonly manual: ManualRequest | undefined;
  },
  context: LookContext,
): RoundInput {
  const { seen, decision, request, manual } = asked;
  const { config, maxContextTokens } = context;
  const { policy, summarizer } = config;
  const tenth = Math.max(256, Math.floor(maxContextTokens / 10));
  return {
    session: seen.session,
    ports: seen.ports,
    config,
    decision,
    fixedTokens: seen.fixedTokens,
    budget: rawBudget(seen, context),
    target: manual === undefined ? policy.targetContextTokens : manual.targetTokens,
    preferred: manual === undefined ? maxContextTokens * policy.triggerPct * ROOM_TO_GROW : undefined,
    maxSummaryTokens: summarizer.maxSummaryTokens ?? Math.min(MAX_SUMMARY_TOKENS, tenth),
    reasoningBound: lookUpModel(config.model ?? "", config.models).thinking === "bound",
    note: manual?.note,
    signal: request.signal,
    live: () => liveConversation(seen, request),
  };
}

/** The conversation as it stands, for a model that goes on from it; none where calls are still open or the format is unknown. */
function liveConversation(
  { session, codec, usage }: Look,
  { system, tools }: PreflightRequest,
): LiveConversation | undefined {
  if (codec.neutral || codec.format === undefined) return undefined;
  if (groupUnits(session.view).some((unit) => unit.open > 0)) return undefined;
  return {
    prefix: {
      format: codec.format,
      messages: codec.encode(session.view),
      ...(system === undefined ? {} : { system }),
      ...(tools === undefined ? {} : { tools }),
    },
    messages: session.view,
    tokens: usage.tokens,
  };
}
