import type { Format, Message } from "../core/message.ts";
import type { RequestCount, TokenCounter } from "../core/ports.ts";
import { createLruMap, requireOptions, requireText } from "../errors.ts";
import type { EncodingName } from "./models.ts";
import { createTokenCounter } from "./token-counter.ts";

/** What determines a count. */
interface CountedAs {
  readonly model?: string;
  readonly encoding?: EncodingName;
  readonly format?: Format;
}

export interface CountTokensOptions extends CountedAs {
  /** The system prompt, if passed separately from the messages. */
  readonly system?: string;
  /** Tool definitions in the provider's own shape. */
  readonly tools?: readonly unknown[];
  /** The pending user input. */
  readonly input?: string;
}

/** Media and unreadable reasoning may cost half or twice their estimate. */
const UNCERTAIN = { low: 0.5, high: 2 };

/** Reused for the counts that they keep. */
const counters = createLruMap<TokenCounter>(16);

function counterFor({ model, encoding, format }: CountedAs): TokenCounter {
  const key = JSON.stringify([model, encoding, format]);
  const counter = counters.get(key) ?? createTokenCounter({ model, encoding, format });
  counters.set(key, counter);
  return counter;
}

/**
 * Tokens of a whole request: decoded messages, system prompt, tool schemas and pending input. System and
 * developer messages count towards their own parts of the breakdown; pending input and the tokens that open
 * the reply towards `messages`. The parts add up to `tokens`.
 */
export function countTokens(messages: readonly Message[], options: CountTokensOptions = {}): RequestCount {
  const { system, tools, input = "" } = options;
  const counter = counterFor(options);
  const pending: Message = { id: "input", role: "user", parts: [{ type: "text", text: input }] };
  const breakdown = { system: 0, developer: 0, tools_schema: counter.countTools(tools), messages: 0 };
  let uncertain = 0;
  const all = input === "" ? messages : [...messages, pending];
  for (const message of all) {
    const part = message.role === "system" || message.role === "developer" ? message.role : "messages";
    breakdown[part] += counter.countMessage(message);
    uncertain += counter.countUncertain(message);
  }
  breakdown.system += counter.countSystem(system);
  if (all.length > 0 || breakdown.system > 0) breakdown.messages += counter.perRequest;
  const tokens = breakdown.system + breakdown.developer + breakdown.tools_schema + breakdown.messages;
  const doubtful = Math.min(uncertain, tokens);
  const certain = counter.range(tokens - doubtful);
  return {
    tokens,
    exact: certain.exact && doubtful === 0,
    low: certain.low + Math.floor(doubtful * UNCERTAIN.low),
    high: certain.high + Math.ceil(doubtful * UNCERTAIN.high),
    breakdown,
  };
}

export interface CountTextOptions {
  readonly encoding?: EncodingName;
  /** Determines encoding and ratio; `encoding` takes precedence. */
  readonly model?: string;
}

/**
 * Tokens of bare text without overhead: exact in the named encoding (default: o200k_base), otherwise as the
 * model counts.
 */
export function countText(text: string, options: CountTextOptions = {}): number {
  requireText(text, "text", "Pass the text itself; countTokens counts lists of messages.");
  requireOptions(options);
  const { encoding, model } = options;
  if (encoding !== undefined) return counterFor({ encoding }).countText(text);
  return counterFor(model === undefined ? { encoding: "o200k_base" } : { model }).countText(text);
}
