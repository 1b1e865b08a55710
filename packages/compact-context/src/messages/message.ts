/** Provider formats that a codec reads and writes. */
export type Format =
  | "openai-chat"
  | "openai-responses"
  | "openai-agents"
  | "anthropic"
  | "gemini"
  | "ai-sdk"
  | "langchain"
  | "pi";

export type Role = "system" | "developer" | "user" | "assistant" | "tool";

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

export interface ToolCallPart {
  readonly type: "toolCall";
  /** Pairs the call with its result; unique among the calls that are open at one time. */
  readonly id: string;
  readonly name: string;
  /** As the wire holds it: JSON text in the OpenAI formats, a value elsewhere. Read it with `argumentsText` or `argumentsValue`. */
  readonly arguments: unknown;
  /** Answered by the provider itself: no result of ours is expected. */
  readonly providerExecuted?: boolean;
}

export interface ToolResultPart {
  readonly type: "toolResult";
  /** The id of the call that this answers. */
  readonly id: string;
  readonly name?: string;
  /** Text, or text and media in order. Read it with `resultText`. */
  readonly content: string | readonly (TextPart | MediaPart)[];
  readonly isError?: boolean;
}

export interface ReasoningPart {
  readonly type: "reasoning";
  /** Readable reasoning; empty where the provider hides it. */
  readonly text: string;
  /** Length in characters of encrypted or otherwise unreadable content that travels along. */
  readonly opaqueLength?: number;
  /** Bound to its prefix by a signature or id: it may be dropped whole, never edited. */
  readonly signed?: boolean;
}

export interface MediaPart {
  readonly type: "media";
  /** IANA media type, such as `image/png`; a bare `image/*` where the format does not say. */
  readonly mediaType: string;
  /** Base64 text or raw bytes length; 0 where the content is only referenced. */
  readonly bytes: number;
  /** Base64 data, for reading width and height; absent when referenced by URL or id. */
  readonly data?: string;
  readonly url?: string;
  readonly name?: string;
  /** The provider's own word for the resolution asked for, such as `low` or `high`. */
  readonly detail?: string;
}

export type Part = TextPart | ToolCallPart | ToolResultPart | ReasoningPart | MediaPart;

export interface MessageMeta {
  /** Stays in every output unchanged and never reaches a summarizer. */
  readonly protected?: boolean;
  /** Put there by a program (hook output, injected reminder), not typed by a person. */
  readonly synthetic?: boolean;
  /** Version of the summary that this message carries, when it is one of ours. */
  readonly summaryVersion?: number;
  /** ISO 8601 time at which the message was made. */
  readonly timestamp?: string;
  /** Model that produced the message. */
  readonly model?: string;
}

/** One entry of a conversation, the same whatever provider it came from. */
export interface Message {
  /** Unique in its list: the native id, or one made from the content. */
  readonly id: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly meta?: MessageMeta;
  /** The caller's own object; what `encode` gives back for a message that was not edited. */
  readonly native?: unknown;
  /** The format of `native`. */
  readonly format?: Format;
  /** True when `parts` differ from `native`: `encode` then writes a copy of `native` with these parts. */
  readonly edited?: boolean;
}

/** A call's arguments as JSON text. */
export function argumentsText(part: ToolCallPart): string {
  if (typeof part.arguments === "string") return part.arguments;
  return part.arguments === undefined ? "" : (JSON.stringify(part.arguments) ?? "");
}

/** A call's arguments as a value; the text itself where it is no JSON. */
export function argumentsValue(part: ToolCallPart): unknown {
  if (typeof part.arguments !== "string") return part.arguments;
  try {
    return JSON.parse(part.arguments) as unknown;
  } catch {
    return part.arguments;
  }
}

/** The readable text of a tool result, media left out. */
export function resultText(part: ToolResultPart): string {
  if (typeof part.content === "string") return part.content;
  const texts: string[] = [];
  for (const piece of part.content) if (piece.type === "text") texts.push(piece.text);
  return texts.join("\n");
}

/** The text parts of a message joined by newlines; no calls, results or reasoning. */
export function messageText(message: Message): string {
  const texts: string[] = [];
  for (const part of message.parts) if (part.type === "text") texts.push(part.text);
  return texts.join("\n");
}

/** Every call in a message. */
export function toolCalls(message: Message): ToolCallPart[] {
  return message.parts.filter((part): part is ToolCallPart => part.type === "toolCall");
}

/** Every result in a message. */
export function toolResults(message: Message): ToolResultPart[] {
  return message.parts.filter((part): part is ToolResultPart => part.type === "toolResult");
}
