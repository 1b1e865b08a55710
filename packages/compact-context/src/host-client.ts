import type { Format } from "./core/message.ts";
import type { PreflightRequest } from "./core/usage.ts";
import { CompactError, createLruMap, type LruMap, requireOptions } from "./errors.ts";
import {
  createHostPreflight,
  fitHarder,
  type HostManager,
  type HostOptions,
  type HostPreflight,
} from "./host.ts";
import { type ClientAnswer, laterAnswer, type Made, type Method, watch } from "./providers/client-answer.ts";
import { type Json, objectOf } from "./providers/request.ts";

export interface ClientOptions extends HostOptions {
  readonly manager: HostManager;
  /** The conversation that a request belongs to; a function of the request where one client serves several. */
  readonly sessionId: string | ((body: Readonly<Record<string, unknown>>) => string | Promise<string>);
}

/** One method of a client: where its list is, and what travels beside it. */
export interface ClientMethod {
  readonly format: Format;
  /** The request's field with the list. */
  readonly field: string;
  /** Fields that leave the history, or its compaction, to the server. */
  readonly serverManaged: readonly string[];
  beside(body: Json): Pick<PreflightRequest, "system" | "tools" | "maxOutputTokens">;
  /** The usage record in an answer, or in a piece of a stream. */
  usageOf(piece: Json): unknown;
}

/** Sessions whose newest usage waits for their next call; the oldest is forgotten first. */
const MAX_SESSIONS = 256;

/** Wraps methods of a client so that they compact before each call; they reject as the client's own do. */
export function createClientWrapper(
  options: ClientOptions,
): (method: ClientMethod) => (original: Method) => Method {
  requireOptions(options, "options", "Pass { manager: new CompactManager(), sessionId }.");
  const preflight = createHostPreflight(options.manager, options);
  const reported = createLruMap<unknown>(MAX_SESSIONS);
  return (method) => (original) => {
    const call = original as unknown as Send;
    const wrapped: Wrapped = { options, method, call, preflight, reported };
    return ((body: Json, rest?: unknown): ClientAnswer<unknown> =>
      laterAnswer(run(wrapped, body, rest))) as Method;
  };
}

type Send = (body: Json, rest?: unknown) => PromiseLike<unknown>;

interface Wrapped {
  readonly options: ClientOptions;
  readonly method: ClientMethod;
  readonly call: Send;
  readonly preflight: HostPreflight;
  /** The usage of each session's newest answer, until the next call. */
  readonly reported: LruMap<unknown>;
}

async function run(wrapped: Wrapped, body: Json, rest: unknown): Promise<Made<unknown>> {
  const { options, method, preflight } = wrapped;
  const list = body[method.field];
  const sessionId = typeof options.sessionId === "string" ? options.sessionId : await options.sessionId(body);
  const asked: Asked = { body, rest, sessionId, list: Array.isArray(list) ? list : [] };
  if (!Array.isArray(list) || isServerManaged(wrapped, asked)) return send(wrapped, asked, asked.list);
  const request = requestOf(wrapped, asked);
  const sent = await preflight({ sessionId, messages: list, request });
  try {
    return await send(wrapped, asked, sent);
  } catch (error) {
    const shorter = await fitHarder(options.manager, preflight, {
      sessionId,
      messages: list,
      request,
      sent,
      error,
    });
    return send(wrapped, asked, shorter);
  }
}

function isServerManaged({ options, method }: Wrapped, { body, sessionId }: Asked): boolean {
  const fields = method.serverManaged.filter((field) => body[field] !== undefined && body[field] !== null);
  if (fields.length === 0) return false;
  const message = `the provider keeps or compacts this conversation (${fields.join(", ")}): nothing is compacted here`;
  options.manager.warn(sessionId, "server_managed_history", message);
  return true;
}

async function send(
  { call, method, reported }: Wrapped,
  { body, rest, sessionId, list: given }: Asked,
  list: readonly unknown[],
): Promise<Made<unknown>> {
  const answer = call(list === given ? body : { ...body, [method.field]: list }, rest);
  // Rejects as the answer does, without reading the body.
  await ((answer as Partial<ClientAnswer<unknown>>).asResponse?.() ?? answer);
  const see = (piece: unknown): void => {
    const usage = method.usageOf(objectOf(piece));
    if (typeof usage === "object" && usage !== null) reported.set(sessionId, usage);
  };
  return { answer, read: async () => watch(await answer, see) };
}

function requestOf({ method, reported }: Wrapped, { body, rest, sessionId }: Asked): PreflightRequest {
  const usage = reported.get(sessionId);
  reported.delete(sessionId);
  const { signal } = objectOf(rest);
  return {
    ...method.beside(body),
    format: method.format,
    usage,
    signal: signal instanceof AbortSignal ? signal : undefined,
  };
}

interface Asked {
  readonly body: Json;
  readonly rest: unknown;
  readonly sessionId: string;
  readonly list: readonly unknown[];
}

/** Replaces a method that would send without compaction; throws `InvalidArgument`. */
export function refuseMethod(name: string): () => Method {
  return () => () => {
    throw new CompactError("InvalidArgument", `${name} sends by itself, past the compaction`, {
      place: name,
      hint: "Call create({ stream: true }) on the wrapped client, or this helper on the client itself.",
    });
  };
}
