import type { PromptUsage, Rejection, Reply } from "./answers.ts";
import type { PromptCache, Segment } from "./prompt-cache.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The properties of the simulated model. */
export interface ModelSettings {
  /** Tokens of input and output together. */
  readonly window: number;
  readonly maxOutput: number;
  /** Parameters that this model rejects, such as `temperature` and `max_tokens` for a reasoning model. */
  readonly unsupported: readonly string[];
  /** Anthropic: handling of thinking after an edited prefix. */
  readonly boundThinking: "free" | "error" | "drop";
  /** Anthropic on Bedrock: tool blocks require `tools`. */
  readonly toolBlocksNeedTools: boolean;
  countText(text: string): number;
}

/** A parsed request before validation. */
export interface Incoming {
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

/** One server-sent event. */
export interface Frame {
  readonly event?: string;
  readonly data: unknown;
}

export interface Answered {
  /** The response body without streaming. */
  readonly json: unknown;
  /** The same as a stream. */
  readonly frames: readonly Frame[];
  /** The event that the stream repeats while it waits. */
  readonly ping: string;
}

/** The answer to a valid request, before encoding. */
export interface Answering {
  readonly body: Json;
  readonly reply: Required<Pick<Reply, "text" | "reasoning" | "toolCalls">> & Reply;
  readonly usage: PromptUsage;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** The reply was truncated at the request's limit. */
  readonly cut: boolean;
  newId(prefix: string): string;
}

/** One provider's protocol: validation, counting and responses. */
export interface Wire {
  readonly path: string;
  readonly cache: PromptCache;
  check(incoming: Incoming): Rejection | undefined;
  segments(body: Json): Segment[];
  /** The request's limit of output tokens, if it has one. */
  limit(body: Json): number | undefined;
  overflow(input: number, body: Json): Rejection | undefined;
  answer(answering: Answering): Answered;
  /** An error in the provider's JSON. */
  errorBody(rejection: Rejection): unknown;
  /** The error for a status without further detail. */
  failure(status: number): Rejection;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The first defined result of the checks, in order. */
export function firstOf(checks: readonly (() => Rejection | undefined)[]): Rejection | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A text split into chunks, as in a stream. */
export function pieces(text: string, size = 24): string[] {
  const all = Array.from(text);
  const result: string[] = [];
  for (let index = 0; index < all.length; index += size) result.push(all.slice(index, index + size).join(""));
  return result;
}

export const argumentsText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? {});

/** Tokens that a provider adds to each message for its role. */
export const PER_MESSAGE = 4;
