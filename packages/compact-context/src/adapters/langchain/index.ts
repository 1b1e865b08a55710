import { decode } from "../../codecs/formats.ts";
import { contentHash } from "../../core/message.ts";
import type { TextModel, TextModelAnswer } from "../../core/ports.ts";
import type { PreflightRequest } from "../../core/request.ts";
import { CompactError, createLruMap, defined, requireKnown, requireOptions } from "../../errors.ts";
import { fitHarder, type HostCall, hostPreflight, type ManagedOptions } from "../../host.ts";
import { answerOf, createUsageOnce, stopOf, wordsIn } from "../../providers/bodies.ts";
import { createTolerantCall, objectOf, textOf, windowOf } from "../../providers/request.ts";
import {
  type Handler,
  type ModelCall,
  maxOutputOf,
  REMOVE_ALL,
  signalOf,
  systemOf,
  threadOf,
  toolsOf,
} from "./sdk.ts";

export interface MiddlewareOptions extends ManagedOptions {
  /**
   * The conversation of the messages, or a function of the runtime that returns it. Default: the run's
   * `configurable.thread_id`; otherwise the first message identifies the conversation.
   */
  readonly sessionId?: string | ((runtime: unknown) => string | Promise<string>);
  /** Writes the compacted list to the agent's state (`beforeModel`) instead of only sending it. */
  readonly persist?: boolean;
}

/** Fits `middleware` of `createAgent`. */
interface CompactMiddleware {
  readonly name: string;
  wrapModelCall<Request extends ModelCall, Answer>(
    request: Request,
    handler: Handler<Request, Answer>,
  ): Promise<Answer>;
}

interface PersistingMiddleware extends CompactMiddleware {
  beforeModel(
    state: { readonly messages: unknown[] },
    runtime: unknown,
  ): Promise<{ messages: never[] } | undefined>;
}

/** Sessions whose request is remembered; the oldest is evicted first. */
const MAX_SESSIONS = 256;

/**
 * Middleware that keeps an agent within the window: by default only the list sent to the model is compacted
 * and the agent's state stays unchanged; `persist` rewrites the state. Rejects with `InsufficientBudget` if
 * what must stay does not fit.
 */
export function compactMiddleware(
  options: MiddlewareOptions & { readonly persist: true },
): PersistingMiddleware;
export function compactMiddleware(options: MiddlewareOptions): CompactMiddleware;
export function compactMiddleware(options: MiddlewareOptions): CompactMiddleware | PersistingMiddleware {
  const preflight = hostPreflight(options, { sessionId: true, persist: true });
  const once = createUsageOnce();
  const beside = createLruMap<Pick<PreflightRequest, "system" | "tools" | "maxOutputTokens">>(MAX_SESSIONS);

  const callOf = (sessionId: string, messages: readonly unknown[], runtime: unknown): HostCall<unknown> => {
    const signal = signalOf(runtime);
    const usage = once(newestUsage(messages));
    return { sessionId, messages, request: { format: "langchain", ...beside.get(sessionId), signal, usage } };
  };

  const wrapModelCall = async <Request extends ModelCall, Answer>(
    request: Request,
    handler: Handler<Request, Answer>,
  ): Promise<Answer> => {
    const sessionId = await sessionOf(options, request.messages, request.runtime);
    const system = systemOf(request);
    beside.set(sessionId, { tools: toolsOf(request), system, maxOutputTokens: maxOutputOf(request) });
    const call = callOf(sessionId, request.messages, request.runtime);
    const sent = options.persist === true ? call.messages : await preflight(call);
    const send = async (list: readonly unknown[]): Promise<Answer> => {
      if (list === call.messages) return handler(request);
      return handler({ ...request, messages: [...list] });
    };
    try {
      return await send(sent);
    } catch (error) {
      return send(await fitHarder(options.manager, preflight, { ...call, sent, error }));
    }
  };
  if (options.persist !== true) return { name: "compact", wrapModelCall };
  return {
    name: "compact",
    wrapModelCall,
    async beforeModel({ messages }: { readonly messages: unknown[] }, runtime: unknown) {
      const sessionId = await sessionOf(options, messages, runtime);
      const kept = await preflight(callOf(sessionId, messages, runtime));
      if (kept === messages) return undefined;
      return { messages: [REMOVE_ALL, ...[...kept]] as never[] };
    },
  };
}

async function sessionOf(
  { sessionId, persist }: MiddlewareOptions,
  messages: readonly unknown[],
  runtime: unknown,
): Promise<string> {
  if (sessionId !== undefined) return typeof sessionId === "function" ? sessionId(runtime) : sessionId;
  const thread = threadOf(runtime);
  if (thread !== undefined) return thread;
  if (persist === true) {
    throw new CompactError("InvalidArgument", "the conversation has no name", {
      place: "options.sessionId",
      hint: "Pass sessionId, or invoke the agent with configurable.thread_id (LangChain 1.1 or newer).",
    });
  }
  const [first] = decode(messages.slice(0, 1), "langchain");
  return first === undefined ? "empty" : `${contentHash(first)}-${first.id}`;
}

function newestUsage(messages: readonly unknown[]): unknown {
  const said = messages.findLast((message) => "usage_metadata" in objectOf(message));
  return objectOf(said).usage_metadata;
}

/** The part of LangChain's chat models that is used. */
export interface LangChainChatModel {
  invoke(messages: never, options?: object): PromiseLike<unknown>;
}

/** Settings that chat models accept at construction but not per call. */
export interface LangChainSettings {
  readonly maxTokens: number;
  readonly temperature?: number;
}

export interface LangChainTextModelOptions {
  /** Tokens of input and output together. Default: from the model's profile or name. */
  readonly window?: number;
  /** Name for logs and events. Default: the model's own. */
  readonly name?: string;
  /** Additional call options of every request, such as `callbacks` or `tags`. */
  readonly callOptions?: Readonly<Record<string, unknown>>;
}

/**
 * A text model from a LangChain chat model. Output limit and temperature are settings of the model itself
 * there: pass a function that creates one, `(settings) => new ChatOpenAI({ model, ...settings })`, to apply
 * them; a model instance keeps its own.
 */
export function textModelFromLangChain(
  model: LangChainChatModel | ((settings: LangChainSettings) => LangChainChatModel),
  options: LangChainTextModelOptions = {},
): TextModel {
  if (typeof model !== "function")
    requireOptions(model, "model", "Pass a chat model, or a function that makes one.");
  requireKnown(options, { window: true, name: true, callOptions: true });
  const make = typeof model === "function" ? model : () => model;
  const { model: name, modelName: older, profile } = objectOf(make({ maxTokens: 1024 }));
  const id = textOf(name) || textOf(older);
  const { maxInputTokens } = objectOf(profile);
  const profileWindow = typeof maxInputTokens === "number" ? maxInputTokens : undefined;
  const call = createTolerantCall();
  return {
    name: options.name ?? `langchain:${id || "chat-model"}`,
    ...windowOf(id, options.window ?? profileWindow),
    generate: ({ messages, maxOutputTokens: maxTokens, temperature, seed, signal }) => {
      const native = messages.map(({ role, content }) => ({ role, content }));
      return call(defined({ temperature, seed }), async ({ seed: acceptedSeed, ...settings }) => {
        const made = make({ maxTokens, ...settings });
        const callOptions = defined({ signal, seed: acceptedSeed, ...options.callOptions });
        return readMessage(await made.invoke(native as never, callOptions));
      });
    },
  };
}

function readMessage(message: unknown): TextModelAnswer {
  const { content, additional_kwargs: extra, response_metadata: metadata } = objectOf(message);
  const { usage_metadata: usage, tool_calls: calls } = objectOf(message);
  const text = wordsIn(content);
  const refusal = textOf(objectOf(extra).refusal);
  if (refusal !== "") return answerOf(text || refusal, "refusal", usage);
  const reason = reasonIn(objectOf(metadata));
  const called = Array.isArray(calls) && calls.length > 0;
  const silent = reason === "" && !called;
  return answerOf(text, silent ? "end" : stopOf(reason), usage);
}

/** Providers use different names, and some report it only as the reason for stopping. */
function reasonIn(metadata: Readonly<Record<string, unknown>>): string {
  const halfway = textOf(objectOf(metadata.incomplete_details).reason);
  const named = [metadata.finish_reason, metadata.stop_reason, metadata.finishReason, metadata.done_reason];
  return halfway || (named.map(textOf).find((one) => one !== "") ?? "");
}
