/** What a text model is told; a system text comes first or not at all. */
export interface TextModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/**
 * A live conversation in a provider's own format. A model that is asked to go on from it reads the same
 * bytes as the agent's last call, so that the provider's cache serves them.
 */
export interface LivePrefix {
  /** The format's name, such as `anthropic`. */
  readonly format: string;
  /** Sent as they are, before the request's own messages. */
  readonly messages: readonly unknown[];
  readonly system?: unknown;
  readonly tools?: readonly unknown[];
}

export interface TextModelRequest {
  readonly messages: readonly TextModelMessage[];
  /** Only for a model whose `prefixFormats` name the prefix's format. */
  readonly prefix?: LivePrefix;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

export interface TextModelAnswer {
  /** The answer's text without reasoning; empty when there was none. */
  readonly text: string;
  /** Why the model stopped: at its end, at the token limit, by refusing, or otherwise (a tool call, an error). */
  readonly stop: "end" | "length" | "refusal" | "other";
  /** The provider's usage record as it came; `normalizeUsage` reads it. */
  readonly usage?: unknown;
}

/** The only door to a language model. */
export interface TextModel {
  /** For people and events, such as `openai:gpt-5.4-mini`. */
  readonly name: string;
  /** Tokens of input and output together, where known. */
  readonly window?: number;
  /** Formats whose live conversations can be sent as a prefix; none when left out. */
  readonly prefixFormats?: readonly string[];
  /** Rejects with whatever went wrong; an answer that came is returned, however poor. */
  generate(request: TextModelRequest): Promise<TextModelAnswer>;
}
