import type { AgentMessage } from "./agent-message.ts";

export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high";

/** A tool as a model is told of it. */
export interface ToolShape {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly schema: object;
}

export interface AgentModelRequest {
  readonly system: string;
  readonly messages: readonly AgentMessage[];
  readonly tools: readonly ToolShape[];
  readonly thinkingLevel?: ThinkingLevel;
  readonly signal: AbortSignal;
}

/** One piece of an answer, in order; the last one is `end`. */
export type AgentModelPart =
  | {
      readonly type: "text";
      readonly text: string;
      /** Where the provider names or signs what it said, with any piece of a block; the newest holds. */
      readonly providerOptions?: unknown;
      /** True with the last piece of a block: what follows is another one. */
      readonly ends?: boolean;
    }
  | {
      readonly type: "reasoning";
      readonly text: string;
      readonly providerOptions?: unknown;
      readonly ends?: boolean;
    }
  | {
      readonly type: "toolCall";
      readonly id: string;
      readonly name: string;
      /** As a value; text that is no JSON is told to the model as an error. */
      readonly arguments: unknown;
      readonly providerOptions?: unknown;
    }
  | {
      readonly type: "end";
      readonly stop: "end" | "tools" | "length" | "refusal" | "other";
      /** The provider's usage record as it came. */
      readonly usage?: unknown;
    };

/** The only door from an agent to its language model. */
export interface AgentModel {
  /** For people, such as `openai:gpt-5.4-mini`; what follows the colon finds window and prices. */
  readonly name: string;
  /** Tokens of input and output together, where known. */
  readonly window?: number;
  /** Rejects with whatever went wrong, also in the middle of an answer; `status` and `retryAfterMs` of an error are read. */
  stream(request: AgentModelRequest): AsyncIterable<AgentModelPart>;
}
