import { stripRuntimeContext } from "../memory/pack.ts";
import { objectsIn, textOf } from "../providers/request.ts";

/** Text of a message. */
export interface AgentTextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerOptions?: unknown;
}

/** The model's reasoning; providers that sign it accept it only with `providerOptions` unchanged. */
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

/** The readable text of a message, without recalled context. */
export function agentMessageText({ content }: AgentMessage): string {
  if (typeof content === "string") return stripRuntimeContext(content);
  const texts = objectsIn(content).map((part) => (part.type === "text" ? textOf(part.text) : ""));
  return stripRuntimeContext(texts.filter((text) => text !== "").join("\n"));
}

/** The tool calls of a message that the host runs. */
export function callsOf(message: AgentMessage): AgentToolCallPart[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool-call");
}

/** A tool message that gives every call the same answer. */
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

/** A tool as described to the model. */
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

/** One piece of an answer, in order; the last is `end`. */
export type AgentModelPart =
  | {
      readonly type: "text" | "reasoning";
      readonly text: string;
      /** Ids or signatures from the provider; can come with any piece of a block, the newest wins. */
      readonly providerOptions?: unknown;
      /** True on the last piece of a block: the next piece starts another one. */
      readonly ends?: boolean;
    }
  | {
      readonly type: "toolCall";
      readonly id: string;
      readonly name: string;
      /** A parsed value; text that is not JSON is reported to the model as an error. */
      readonly arguments: unknown;
      readonly providerOptions?: unknown;
    }
  | {
      readonly type: "end";
      readonly stop: "end" | "tools" | "length" | "refusal" | "other";
      /** The provider's usage record, unchanged. */
      readonly usage?: unknown;
    };

/** The only interface between an agent and its language model. */
export interface AgentModel {
  /** Display name, such as `openai:gpt-5.4-mini`; window and prices are looked up by the part after the colon. */
  readonly name: string;
  /** Tokens of input and output together, if known. */
  readonly window?: number;
  /** Rejects on any error, also mid-answer; `status` and `retryAfterMs` of the error are used. */
  stream(request: AgentModelRequest): AsyncIterable<AgentModelPart>;
}

/** The model name without the provider prefix. */
export function bareModelName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
