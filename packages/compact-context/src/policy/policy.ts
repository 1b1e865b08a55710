import type { Role } from "../messages/message.ts";

/** When to compact and what stays. Counts are of turns, tool pairs or messages; `*Tokens` of tokens. */
export interface Policy {
  /** Share of the window at which a compaction starts, 0 to 1. */
  readonly triggerPct: number;
  /** Tokens of the window left free for the next user input and tool results. */
  readonly hardCapBuffer: number;
  /** Newest turns whose user messages and text answers stay unchanged; at least 1. */
  readonly keepRecentTurns: number;
  /** Newest tool calls that stay with their results; a parallel batch is kept whole. */
  readonly keepToolIoPairs: number;
  /** Newest messages that stay, whatever their kind; replaces `keepRecentTurns` when given. */
  readonly keepRecentMessages?: number;
  readonly rolesNeverPrune: readonly Role[];
  /** Absolute trigger, and ceiling of a compacted list. */
  readonly maxTokens?: number;
  /** Absolute trigger on the messages alone, system prompt and tools not counted. */
  readonly maxTokensBeforeSummary?: number;
  /** Where a compaction aims: what it may drop stays, newest first, as long as it fits under this. */
  readonly targetContextTokens?: number;
  /** Empties old tool results that are kept beyond `keepToolIoPairs`. */
  readonly clearToolResults: boolean;
  /** Tool results of more tokens keep head and tail from the first time they are sent; no limit when left out. */
  readonly maxToolResultTokens?: number;
  /** Most bytes of a request on the wire, where media count as base64 and text by its length. */
  readonly maxRequestBytes: number;
  /** Share of the window at which a compaction starts when the provider's cache is cold anyway; never when left out. */
  readonly coldTriggerPct?: number;
  /** Share of the window at which a compaction is prepared beside the run, to be ready at the trigger; never when left out. */
  readonly backgroundTriggerPct?: number;
  /** Seconds after which the provider has forgotten a prefix that nobody sent. */
  readonly cacheTtlSeconds: number;
}

export const defaultPolicy: Policy = Object.freeze({
  triggerPct: 0.85,
  hardCapBuffer: 1500,
  keepRecentTurns: 6,
  keepToolIoPairs: 4,
  rolesNeverPrune: Object.freeze<Role[]>(["system", "developer"]),
  clearToolResults: true,
  // Gemini takes 20 MB inline, Anthropic 32 MB, OpenAI more: this passes everywhere.
  maxRequestBytes: 20_000_000,
  // Anthropic's short cache; OpenAI keeps prefixes for 5 to 10 minutes without use.
  cacheTtlSeconds: 300,
});
