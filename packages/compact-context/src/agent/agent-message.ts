import { requireOptions } from "../errors.ts";
import { stripRuntimeContext } from "../memory/pack.ts";
import { objectsIn, textOf } from "../providers/request.ts";

/** Text of a message. */
export interface AgentTextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerOptions?: unknown;
}

/** What a model thought; providers that sign it take it back only with `providerOptions` unchanged. */
export interface AgentReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: unknown;
}

export interface AgentToolCallPart {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerOptions?: unknown;
}

export interface AgentToolResultPart {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: "text" | "error-text"; readonly value: string };
}

/** One message of an agent's session, in the shape of the AI SDK's model messages (format `ai-sdk`). */
export type AgentMessage =
  | { readonly role: "user"; readonly content: string | readonly AgentTextPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | readonly (AgentTextPart | AgentReasoningPart | AgentToolCallPart)[];
    }
  | { readonly role: "tool"; readonly content: readonly AgentToolResultPart[] };

/** The readable text of a message; what was recalled for it is left out. */
export function agentMessageText(message: AgentMessage): string {
  requireOptions(message, "message", "Pass a message of the agent's session.");
  const { content } = message;
  if (typeof content === "string") return stripRuntimeContext(content);
  const texts = objectsIn(content).map((part) => (part.type === "text" ? textOf(part.text) : ""));
  return stripRuntimeContext(texts.filter((text) => text !== "").join("\n"));
}

/** The calls of a message that are for its host to run. */
export function callsOf(message: AgentMessage): AgentToolCallPart[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool-call");
}

/** A tool message that answers every given call alike. */
export function answerAll(
  calls: readonly AgentToolCallPart[],
  value: string,
): AgentMessage & { readonly role: "tool" } {
  return {
    role: "tool",
    content: calls.map(({ toolCallId, toolName }) => ({
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: "error-text", value },
    })),
  };
}

export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high";

/** A tool as a model is told of it. */
interface ToolShape {
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

/** The model's own name, without the provider before it. */
export function bareModelName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
