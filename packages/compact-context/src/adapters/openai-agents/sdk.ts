/** The parts of the OpenAI Agents SDK that the adapter touches, seen by their shape: the SDK is never imported. */

/** What the SDK is about to send; `input` holds its `AgentInputItem`s. */
export interface ModelInput {
  input: unknown[];
  instructions?: string | undefined;
}

/** What `callModelInputFilter` is called with. */
export interface FilterCall<Data extends ModelInput = ModelInput> {
  readonly modelData: Data;
  readonly agent: unknown;
  readonly context?: unknown;
}

/** Fits `callModelInputFilter` of a `Runner` and of a single run. */
export interface InputFilter {
  <Data extends ModelInput>(call: FilterCall<Data>): Promise<Data>;
  /** Lets the SDK hand over its own items instead of copies, where it can; they are never written to. */
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

/** A span of the SDK's tracing, or the stand-in that it makes while tracing is off. */
export interface SpanLike {
  start(): void;
  end(): void;
  setError(error: { message: string; data?: Record<string, unknown> }): void;
}

/** The SDK's tracing functions; `import * as agents from "@openai/agents"` fits as a whole. */
export interface TracingFunctions<Span extends SpanLike = SpanLike, Trace = unknown> {
  createCustomSpan(
    options: { data: { name: string; data: Record<string, unknown> } },
    // biome-ignore lint/suspicious/noExplicitAny: the SDK asks for its own classes, which only it can name
    parent?: any,
  ): Span;
  getCurrentSpan(): Span | null;
  getCurrentTrace(): Trace | null;
}
