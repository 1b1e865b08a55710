import type { Policy } from "./policy.ts";

export type TriggerReason =
  | "below_trigger"
  | "trigger_pct"
  | "max_tokens"
  | "max_tokens_before_summary"
  | "hard_cap"
  | "manual"
  /** More bytes on the wire than `maxRequestBytes`. */
  | "max_bytes"
  /** Over `coldTriggerPct`, and the provider's cache is cold anyway. */
  | "cold_cache"
  /** A tool result over `maxToolResultTokens` is about to be sent for the first time. */
  | "tool_output"
  /** Over the trigger, but the last compaction is so near that another would gain nothing. */
  | "just_compacted"
  /** Over the trigger, but all of it must stay. */
  | "nothing_eligible"
  /** Over the trigger, but it fits, and a compaction that was begun before is not done yet. */
  | "in_background"
  /** What is never pruned is over the trigger by itself: only the hard cap can still ask for a compaction. */
  | "fixed_over_trigger"
  /** Over the trigger, but the last attempts in a row failed: the next waits until the list has grown. */
  | "attempts_failed";

export interface TriggerInput {
  /** Tokens of the whole request. */
  readonly tokens: number;
  /** Tokens of the messages alone. */
  readonly messageTokens: number;
  /** The model's window. */
  readonly maxContextTokens: number;
  /** Bytes of the request on the wire; 0 when left out. */
  readonly bytes?: number;
  /** Nobody has sent the prefix for longer than the provider keeps it. */
  readonly cacheCold?: boolean;
}

export interface TriggerDecision {
  readonly triggered: boolean;
  readonly reason: TriggerReason;
  /** tokens / maxContextTokens. */
  readonly usagePct: number;
}

/** Whichever threshold is reached first wins; reaching one counts, staying one token below does not. */
export function decideTrigger(input: TriggerInput, policy: Policy): TriggerDecision {
  const usagePct = input.tokens / input.maxContextTokens;
  const reason = reachedThreshold(input, policy, usagePct);
  return { triggered: reason !== "below_trigger", reason, usagePct };
}

function reachedThreshold(input: TriggerInput, policy: Policy, usagePct: number): TriggerReason {
  if (usagePct >= policy.triggerPct) return "trigger_pct";
  if (policy.maxTokens !== undefined && input.tokens >= policy.maxTokens) return "max_tokens";
  if (policy.maxTokensBeforeSummary !== undefined && input.messageTokens >= policy.maxTokensBeforeSummary) {
    return "max_tokens_before_summary";
  }
  if (input.tokens > budgetOf(input.maxContextTokens, policy)) return "hard_cap";
  if ((input.bytes ?? 0) > policy.maxRequestBytes) return "max_bytes";
  const cold = input.cacheCold === true && usagePct >= (policy.coldTriggerPct ?? Number.POSITIVE_INFINITY);
  return cold ? "cold_cache" : "below_trigger";
}

/** Most tokens a request may have: the window less the buffer, and no more than `maxTokens` where that is set. */
export function budgetOf(maxContextTokens: number, policy: Policy): number {
  return Math.min(maxContextTokens - policy.hardCapBuffer, policy.maxTokens ?? Number.POSITIVE_INFINITY);
}
