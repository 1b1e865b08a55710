/**
 * The parts of the OpenAI Agents SDK that the adapter uses, typed structurally: the SDK is never imported.
 */
import { objectOf } from "../../providers/request.ts";

/** The SDK's next request; `input` holds its `AgentInputItem`s. */
export interface ModelInput {
  input: unknown[];
  instructions?: string | undefined;
}

/** The agent that is about to call its model. */
interface AgentLike {
  readonly name: string;
  readonly tools?: unknown;
  readonly modelSettings?: unknown;
}

/** The argument of `callModelInputFilter`. */
export interface FilterCall<Data extends ModelInput = ModelInput> {
  readonly modelData: Data;
  readonly agent: AgentLike;
  readonly context?: unknown;
}

/** Fits `callModelInputFilter` of a `Runner` and of a single run. */
export interface InputFilter {
  <Data extends ModelInput>(call: FilterCall<Data>): Promise<Data>;
  /** Makes the SDK pass its own items instead of copies, if it can; they are never modified. */
  preserveInputIdentity: boolean;
}

/** The SDK's `Session`. */
export interface SessionLike {
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<unknown[]>;
  addItems(items: unknown[]): Promise<void>;
  popItem(): Promise<unknown>;
  clearSession(): Promise<void>;
}

/** A span of the SDK's tracing, or its placeholder while tracing is off. */
export interface SpanLike {
  start(): void;
  end(): void;
  setError(error: { message: string; data?: Record<string, unknown> }): void;
}

/** The SDK's tracing functions, such as `import * as agents from "@openai/agents"`. */
export interface TracingFunctions<Span extends SpanLike = SpanLike, Trace = unknown> {
  createCustomSpan(
    options: { data: { name: string; data: Record<string, unknown> } },
    // biome-ignore lint/suspicious/noExplicitAny: the SDK asks for its own classes, which only it can name
    parent?: any,
  ): Span;
  getCurrentSpan(): Span | null;
  getCurrentTrace(): Trace | null;
}

/**
 * True for input with `conversationId` or `previousResponseId` during a run: results whose calls only the
 * provider has. The list is then not a history, and cannot be compacted here.
 */
export function isDelta(items: readonly unknown[]): boolean {
  const calls = new Set<unknown>();
  let results = 0;
  for (const item of items) {
    const { type, callId } = objectOf(item);
    if (typeof type !== "string" || callId === undefined) continue;
    if (!type.endsWith("_result") && !type.endsWith("_output")) calls.add(callId);
    else if (calls.has(callId)) return false;
    else results += 1;
  }
  return results > 0;
}
