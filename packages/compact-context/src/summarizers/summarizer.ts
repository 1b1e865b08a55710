import type { Message } from "../messages/message.ts";
import type { LivePrefix } from "../model.ts";
import type { SummaryAttempt } from "./attempt.ts";
import type { SummaryCheck } from "./check.ts";

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
  /** The agent's conversation as its last call sent it, for models that can go on from it. */
  readonly live?: LiveConversation;
  /** What the summary will stand in, for summarizers that are `byProgram`. */
  readonly within?: Surroundings;
  /** Hears of every request to a model, as it ends. */
  readonly onAttempt?: (attempt: SummaryAttempt) => void;
}

/** A list around the messages that a summary is made of. */
export interface Surroundings {
  /** The list before the compaction, in order; the messages to summarize are among them. */
  readonly list: readonly Message[];
  /** What stays beside the summary as it will stand there: whole, cut or emptied. */
  readonly stays: readonly Message[];
}

/** A live conversation, and the same messages in neutral form. */
export interface LiveConversation {
  readonly prefix: LivePrefix;
  readonly messages: readonly Message[];
  /** Tokens of the whole prefix: messages, system prompt and tool schemas. */
  readonly tokens: number;
}

export interface Summary {
  /** At most `maxTokens` tokens; no tag around it. */
  readonly text: string;
  readonly tokens: number;
  /** Which summarizer wrote it, such as `builtin`. */
  readonly summarizer: string;
  /** How many of the given messages were read, whole or clipped. */
  readonly messagesRead: number;
  /** Share of the given messages' tokens that the writer was sent, 0 to 1; left out where everything is read. */
  readonly coverage?: number;
  /** What the check of a model's text against its source found. */
  readonly check?: SummaryCheck;
}

/** Turns messages into a summary; never decides which messages. */
export interface Summarizer {
  readonly name: string;
  /** True where `SummarizeOptions.live` is of use. */
  readonly ridesLive?: boolean;
  /** True where no model is asked: it keeps to `maxTokens`, costs nothing to ask again and reads `SummarizeOptions.within`. */
  readonly byProgram?: boolean;
  summarize(messages: readonly Message[], options: SummarizeOptions): Promise<Summary>;
}
