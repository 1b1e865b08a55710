import type { Message } from "../messages/message.ts";

/** What a summary is shaped for; see each strategy's sections in `strategies.ts`. */
export type SummaryStrategy =
  | "task_state"
  | "decision_log"
  | "code_delta"
  | "brief"
  | "step_ledger"
  | "requirements_ledger";

export interface SummarizeOptions {
  /** Most tokens the text may have, in the units of `countText`. */
  readonly maxTokens: number;
  readonly strategy?: SummaryStrategy;
  /** The text of the summary so far (without its `<COMPACT-SUMMARY>` tag): it is folded into the new one. */
  readonly previous?: string;
  /** What a person asked the summary to look after. */
  readonly instruction?: string;
  /** Counts tokens of text; o200k_base when left out. */
  readonly countText?: (text: string) => number;
  readonly signal?: AbortSignal;
}

export interface Summary {
  /** At most `maxTokens` tokens; no tag around it. */
  readonly text: string;
  readonly tokens: number;
  /** Which summarizer wrote it, such as `builtin`. */
  readonly summarizer: string;
  /** How many of the given messages were read, whole or clipped. */
  readonly messagesRead: number;
}

/** Turns messages into a summary; never decides which messages. */
export interface Summarizer {
  readonly name: string;
  summarize(messages: readonly Message[], options: SummarizeOptions): Promise<Summary>;
}
