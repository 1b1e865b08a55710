import { requireList, requireOptions } from "../argument.ts";
import type { Format } from "../messages/message.ts";
import { countTokens as countMessages } from "../tokens/count-tokens.ts";
import type { RequestCount } from "../tokens/counter.ts";
import { listCodec } from "./list-codec.ts";

export interface CountListOptions {
  /** The model that will read the list; gives tokenizer, overheads and ranges. */
  readonly model?: string;
  /** Counts with this encoding exactly, where no model is named. */
  readonly encoding?: "cl100k_base" | "o200k_base";
  /** Recognised when left out; neutral messages need none. */
  readonly format?: Format;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** What the user is about to send. */
  readonly input?: string;
}

/**
 * Tokens of a request in any known format: messages, system prompt, tool schemas and pending input.
 * Throws `UnknownFormat` and `InvalidMessages` for lists that cannot be read.
 */
export function countTokens(messages: readonly unknown[], options: CountListOptions = {}): RequestCount {
  requireList(messages);
  requireOptions(options);
  return countMessages(listCodec(messages, options.format).decode(messages), options);
}
