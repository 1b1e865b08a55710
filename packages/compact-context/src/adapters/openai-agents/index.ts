import type { CompactEvent, Exporter, HostSpan, Place } from "../../core/report.ts";
import type { PreflightRequest } from "../../core/request.ts";
import { CompactError, createKeyedMutex, createLruMap, requireOptions } from "../../errors.ts";
import { type HostPreflight, hostPreflight, type ManagedOptions } from "../../host.ts";
import { objectOf, positiveOf } from "../../providers/request.ts";

// The parts of the OpenAI Agents SDK that are used are typed structurally: the SDK is never imported.

// ---- a session

interface SessionLike {
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<unknown[]>;
  addItems(items: unknown[]): Promise<void>;
  popItem(): Promise<unknown>;
  clearSession(): Promise<void>;
}

export interface CompactSessionOptions<Store extends SessionLike> extends ManagedOptions {
  /** The session that stores the items: any session of the SDK or a custom one. */
  readonly underlyingSession: Store;
  /** Default: the underlying session's own id. */
  readonly sessionId?: string;
  /** Content sent with every call in addition to the items, for counting. */
  readonly request?: Pick<PreflightRequest, "system" | "tools" | "maxOutputTokens">;
}

/** The underlying session with all its members, plus the method that the SDK's runner calls after every stored turn. */
export type CompactingSession<Store> = Store & {
  /** Replaces the stored items with their compacted list when a threshold is reached; `force`: regardless of usage. */
  runCompaction(args?: { force?: boolean | undefined }): Promise<null>;
};

/** Callable with and without `new`. */
interface CompactSessionConstructor {
  new <Store extends SessionLike>(options: CompactSessionOptions<Store>): CompactingSession<Store>;
  <Store extends SessionLike>(options: CompactSessionOptions<Store>): CompactingSession<Store>;
}

const WRITES: ReadonlySet<PropertyKey> = new Set([
  "addItems",
  "popItem",
  "clearSession",
  "applyHistoryMutations",
  "applyHistoryTransaction",
  "replaceHistoryWithCompaction",
]);

/**
 * A session that compacts its stored items. The originals are archived before an item is removed from the
 * store. Throws `InvalidArgument` for a session that compacts by itself or whose items are only stored by the
 * provider.
 */
export const CompactSession: CompactSessionConstructor = function compactSession<Store extends SessionLike>(
  options: CompactSessionOptions<Store>,
): CompactingSession<Store> {
  const preflight = hostPreflight(options, { underlyingSession: true, sessionId: true, request: true });
  const store = options.underlyingSession;
  requireOptions(store, "options.underlyingSession", "Pass the session that keeps the items.");
  refuseForeign(store);
  const inTurn = createKeyedMutex();
  const runCompaction = createCompaction(options, preflight, (work) => inTurn("store", work));
  return new Proxy(store, {
    has: (target, key) => key === "runCompaction" || Reflect.has(target, key),
    get(target, key) {
      if (key === "runCompaction") return runCompaction;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
      return WRITES.has(key) ? (...args: unknown[]) => inTurn("store", async () => call(...args)) : call;
    },
  }) as CompactingSession<Store>;
} as CompactSessionConstructor;

function refuseForeign(store: object): void {
  const place = "options.underlyingSession";
  if ("runCompaction" in store) {
    const hint = "Wrap the plain session that it is built on, or use it alone.";
    throw new CompactError("InvalidArgument", "the underlying session compacts by itself", { place, hint });
  }
  const symbols = Object.getOwnPropertySymbols(store);
  const api = symbols.find(({ description }) => description === "OPENAI_SESSION_API");
  if (api !== undefined && Reflect.get(store, api) === "conversations") {
    const message = "the underlying session's items are kept by the provider";
    const hint = "Wrap a session with a store of its own, or set modelSettings.contextManagement.";
    throw new CompactError("InvalidArgument", message, { place, hint });
  }
}

function createCompaction<Store extends SessionLike>(
  options: CompactSessionOptions<Store>,
  preflight: HostPreflight,
  locked: <T>(work: () => Promise<T>) => Promise<T>,
): (args?: { force?: boolean | undefined }) => Promise<null> {
  const { manager, request } = options;
  const store: SessionLike = options.underlyingSession;

  return async (args) => {
    const sessionId = options.sessionId ?? (await store.getSessionId());
    const force = args?.force === true;
    try {
      const items = await locked(() => store.getItems());
      const asked = { format: "openai-agents", ...request } as const;
      const messages = await preflight({ sessionId, messages: items, request: asked, force });
      if (messages !== items) await locked(() => rewrite(store, items, [...messages]));
    } catch (error) {
      // The turn is already stored and answered: a failure must not discard its answer.
      if (force || options.onFailure === "throw") throw error;
      manager.warn(sessionId, "session_not_compacted", `the stored items stay as they are: ${String(error)}`);
    }
    return null;
  };
}

/** Replaces the compacted items; items added in the meantime follow them. */
async function rewrite(store: SessionLike, before: unknown[], after: unknown[]): Promise<void> {
  const now = await store.getItems();
  const isSame = before.every((item, index) => JSON.stringify(item) === JSON.stringify(now[index]));
  if (!isSame) {
    throw new CompactError("Conflict", "the stored items were changed while they were compacted", {
      hint: "Nothing was replaced; the next turn tries again.",
    });
  }
  await store.clearSession();
  try {
    await store.addItems([...after, ...now.slice(before.length)]);
  } catch (error) {
    await store.clearSession();
    await store.addItems(now);
    throw error;
  }
}

// ---- a filter of the model's input

/** The SDK's next request; `input` holds its `AgentInputItem`s. */
interface ModelInput {
  input: unknown[];
  instructions?: string | undefined;
}

/** The argument of `callModelInputFilter`. */
interface FilterCall<Data extends ModelInput = ModelInput> {
  readonly modelData: Data;
  /** The agent that is about to call its model. */
  readonly agent: { readonly name: string; readonly tools?: unknown; readonly modelSettings?: unknown };
  readonly context?: unknown;
}

/** Fits `callModelInputFilter` of a `Runner` and of a single run. */
interface InputFilter {
  <Data extends ModelInput>(call: FilterCall<Data>): Promise<Data>;
  /** Makes the SDK pass its own items instead of copies, if it can; they are never modified. */
  preserveInputIdentity: boolean;
}

export interface InputFilterOptions extends ManagedOptions {
  /** The conversation of the list; a function if one runner serves several, or agents run inside agents. */
  readonly sessionId: string | ((call: FilterCall) => string | Promise<string>);
  /** Puts the manager's events under the current span; also pass it in the manager's `exporters`. */
  readonly spans?: SpanExporter;
}

/** Sessions that are remembered, as warned about or with their span; the oldest is evicted first. */
const MAX_SESSIONS = 256;

/**
 * For `callModelInputFilter`: the list sent to the model is compacted, the SDK's own data (its session, the
 * run's history) stays unchanged. Rejects with `InsufficientBudget` if what must stay does not fit.
 */
export function compactInputFilter(options: InputFilterOptions): InputFilter {
  const preflight = hostPreflight(options, { sessionId: true, spans: true });
  const { manager, sessionId, spans } = options;
  const warned = createLruMap<true>(MAX_SESSIONS);

  const filter = async <Data extends ModelInput>(call: FilterCall<Data>): Promise<Data> => {
    const { input, instructions } = call.modelData;
    const { tools, modelSettings } = call.agent;
    const id = typeof sessionId === "function" ? await sessionId(call) : sessionId;
    spans?.attach(id);
    if (isDelta(input)) {
      if (warned.get(id) === undefined) manager.warn(id, "server_managed_history", DELTA_WARNING);
      warned.set(id, true);
      return call.modelData;
    }
    const request = {
      format: "openai-agents",
      system: instructions,
      // Hosted tools are counted by their settings.
      tools: Array.isArray(tools) ? tools : [],
      maxOutputTokens: positiveOf(objectOf(modelSettings).maxTokens),
    } as const;
    const messages = await preflight({ sessionId: id, messages: input, request });
    return messages === input ? call.modelData : { ...call.modelData, input: [...messages] };
  };
  return Object.assign(filter, { preserveInputIdentity: true });
}

const DELTA_WARNING: string =
  "the provider keeps this conversation (conversationId or previousResponseId), so that only its newest items are here: " +
  "nothing is compacted. Set modelSettings.contextManagement for compaction on the provider's side, or leave the ids out.";

/**
 * True for input with `conversationId` or `previousResponseId` during a run: results whose calls only the
 * provider has. The list is then not a history, and cannot be compacted here.
 */
function isDelta(items: readonly unknown[]): boolean {
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

// ---- tracing

/** A span of the SDK's tracing, or its placeholder while tracing is off. */
interface SpanLike {
  start(): void;
  end(): void;
  setError(error: { message: string; data?: Record<string, unknown> }): void;
}

/** The SDK's tracing functions, such as `import * as agents from "@openai/agents"`. */
interface TracingFunctions<Span extends SpanLike = SpanLike, Trace = unknown> {
  createCustomSpan(
    options: { data: { name: string; data: Record<string, unknown> } },
    // biome-ignore lint/suspicious/noExplicitAny: the SDK asks for its own classes, which only it can name
    parent?: any,
  ): Span;
  getCurrentSpan(): Span | null;
  getCurrentTrace(): Trace | null;
}

/** Turns events into custom spans of the SDK's own trace. */
interface SpanExporter extends Exporter {
  attach(sessionId: string): void;
}

/**
 * OBS-4: creates a span for every event under the agent's turn if a trace is open and the SDK's tracing is
 * on. `tracing`: the SDK's module, or its three functions.
 */
export function createSpanExporter<Span extends SpanLike, Trace>(
  tracing: TracingFunctions<Span, Trace>,
): SpanExporter {
  const places = createLruMap<Span | Trace>(MAX_SESSIONS);
  const here = (): Span | Trace | null => tracing.getCurrentSpan() ?? tracing.getCurrentTrace();
  return {
    attach(sessionId) {
      const place = here();
      if (place === null) places.delete(sessionId);
      else places.set(sessionId, place);
    },
    here() {
      const at = here();
      return at === null ? undefined : { at, ...idsOf(at) };
    },
    export(event, place) {
      const { at } = (place ?? {}) as { readonly at?: Span | Trace };
      const parent = places.get(event.sessionId) ?? at ?? here();
      if (parent === null) return;
      write(tracing.createCustomSpan({ data: { name: event.name, data: dataOf(event) } }, parent), event);
    },
  };
}

/** A trace has one id, a span has two. */
function idsOf(at: unknown): Place {
  const { traceId, spanId } = at as Partial<HostSpan>;
  if (typeof traceId !== "string") return {};
  return { host: { traceId, spanId: typeof spanId === "string" ? spanId : undefined } };
}

function dataOf(event: CompactEvent): Record<string, unknown> {
  const output = event.payload === undefined ? {} : { output: event.payload };
  return { session_id: event.sessionId, ...event.properties, ...output };
}

function write(span: SpanLike, event: CompactEvent): void {
  span.start();
  // A span takes its times from these calls; the event has the step's actual times.
  const shown = { configurable: true, enumerable: true };
  Object.defineProperty(span, "startedAt", { ...shown, value: event.startedAt });
  Object.defineProperty(span, "endedAt", { ...shown, value: event.endedAt });
  if (event.status === "error") {
    const { message } = event.properties;
    span.setError({ message: String(message ?? event.name), data: { ...event.properties } });
  }
  span.end();
}
