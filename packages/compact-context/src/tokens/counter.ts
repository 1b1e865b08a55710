import type { Message } from "../messages/message.ts";

/** Tokens with how far off they may be; `low <= tokens <= high`, all whole numbers. */
export interface TokenCount {
  readonly tokens: number;
  /** True when the model's own encoding is public and was used. */
  readonly exact: boolean;
  readonly low: number;
  readonly high: number;
}

/** Tokens of a whole request by origin; the parts add up to the total. */
export interface TokenBreakdown {
  readonly system: number;
  readonly developer: number;
  readonly tools_schema: number;
  readonly messages: number;
}

export interface RequestCount extends TokenCount {
  readonly breakdown: TokenBreakdown;
}

/** Counts for one model. Every method is synchronous, deterministic and never throws. */
export interface TokenCounter {
  /** Names encoding, ratio and overhead, so that stored counts are only reused with the same counter. */
  readonly id: string;
  readonly exact: boolean;
  /** Tokens of bare text, the model's ratio applied. */
  countText(text: string): number;
  /** Tokens of one message: content, calls as JSON, reasoning, media, plus the per-message overhead. */
  countMessage(message: Message): number;
  /** Tokens of the system prompt given beside the messages; 0 for none. */
  countSystem(system: string | undefined): number;
  /** Tokens of the tool schemas as the provider puts them into the prompt; 0 for none. */
  countTools(tools: readonly unknown[] | undefined): number;
  /** The range around a total that this counter made. */
  range(tokens: number): TokenCount;
}
