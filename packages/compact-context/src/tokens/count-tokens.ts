import type { Message } from "../core/message.ts";
import type { RequestCount, TokenBreakdown, TokenCounter } from "../core/ports.ts";
import { requireNumber, requireOptions, requireText } from "../errors.ts";
import type { EncodingName } from "./models.ts";
import { createTokenCounter, type TokenCounterOptions } from "./token-counter.ts";

export interface CountTokensOptions extends TokenCounterOptions {
  /** The system prompt, if passed separately from the messages. */
  readonly system?: string;
  /** Tool definitions in the provider's own shape. */
  readonly tools?: readonly unknown[];
  /** The pending user input: text, or messages not yet in the list. */
  readonly input?: string | readonly Message[];
  /** The counter to use; model, encoding, format and models are then ignored. */
  readonly counter?: TokenCounter;
}

/** Media and unreadable reasoning may cost half or twice their estimate. */
const UNCERTAIN = { low: 0.5, high: 2 };

const CACHED_COUNTERS = 16;
const counters = new Map<string, TokenCounter>();

/** One counter per model, encoding and format, so that its cached counts are reused. */
function counterFor({ model, encoding, format, models, onWarning }: TokenCounterOptions): TokenCounter {
  const options = { model, encoding, format, models, onWarning };
  if (typeof encoding === "object" || models !== undefined || onWarning !== undefined) {
    return createTokenCounter(options);
  }
  const key = JSON.stringify([model, encoding, format]);
  const known = counters.get(key);
  if (known !== undefined) return known;
  if (counters.size >= CACHED_COUNTERS) counters.clear();
  const counter = createTokenCounter(options);
  counters.set(key, counter);
  return counter;
}

function pendingMessages(input: string | readonly Message[] | undefined): readonly Message[] {
  if (input === undefined || input === "") return [];
  if (typeof input !== "string") return input;
  return [{ id: "input", role: "user", parts: [{ type: "text", text: input }] }];
}

/**
 * Tokens of a whole request: decoded messages, system prompt, tool schemas and pending input. System and
 * developer messages count towards their own parts of the breakdown; pending input and the tokens that open
 * the reply towards `messages`. The parts add up to `tokens`.
 */
export function countTokens(messages: readonly Message[], options: CountTokensOptions = {}): RequestCount {
  const counter = options.counter ?? counterFor(options);
  const totals = { system: 0, developer: 0, messages: 0 };
  let uncertain = 0;
  const all = [...messages, ...pendingMessages(options.input)];
  for (const message of all) {
    const part = message.role === "system" || message.role === "developer" ? message.role : "messages";
    totals[part] += counter.countMessage(message);
    uncertain += counter.countUncertain(message);
  }
  totals.system += counter.countSystem(options.system);
  if (all.length > 0 || totals.system > 0) totals.messages += counter.perRequest;
  const breakdown: TokenBreakdown = {
    system: totals.system,
    developer: totals.developer,
    tools_schema: counter.countTools(options.tools),
    messages: totals.messages,
  };
  return withRange(breakdown, uncertain, counter);
}

function withRange(breakdown: TokenBreakdown, uncertain: number, counter: TokenCounter): RequestCount {
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

/** Estimated tokens of the response: half the prompt's by default, rounded down. */
export function estimateResponseTokens(promptTokens: number, ratio = 0.5): number {
  requireNumber(promptTokens, "promptTokens", "Pass the tokens of the prompt; countTokens counts them.");
  requireNumber(ratio, "ratio", "Leave it out for half of the prompt's tokens.");
  return Math.floor(promptTokens * ratio);
}
