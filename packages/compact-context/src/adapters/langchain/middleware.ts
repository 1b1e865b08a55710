import { decode } from "../../codecs/formats.ts";
import { contentHash } from "../../core/message.ts";
import type { PreflightRequest } from "../../core/usage.ts";
import { CompactError, createLruMap, requireOptions } from "../../errors.ts";
import {
  createHostPreflight,
  fitHarder,
  type HostCall,
  type HostManager,
  type HostOptions,
} from "../../host.ts";
import { objectOf } from "../../providers/request.ts";
import { createUsageOnce } from "../../providers/usage-once.ts";
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

export interface MiddlewareOptions extends HostOptions {
  readonly manager: HostManager;
  /**
   * The conversation that the messages belong to, or a function of the runtime that says so. Left out: the run's
   * `configurable.thread_id`, else the first message tells conversations apart.
   */
  readonly sessionId?: string | ((runtime: unknown) => string | Promise<string>);
  /** Writes the compacted list into the agent's state (`beforeModel`) instead of only sending it. */
  readonly persist?: boolean;
}

/** Fits `middleware` of `createAgent`; one of the two hooks is there, by `persist`. */
export interface CompactMiddleware {
  readonly name: string;
  wrapModelCall<Request extends ModelCall, Answer>(
    request: Request,
    handler: Handler<Request, Answer>,
  ): Promise<Answer>;
  /** Only with `persist`. */
  beforeModel?(
    state: { readonly messages: unknown[] },
    runtime: unknown,
  ): Promise<{ messages: never[] } | undefined>;
}

/** Sessions whose request is remembered; the oldest is forgotten first. */
const MAX_SESSIONS = 256;

/**
 * Middleware that keeps an agent inside the window: by default only what the model gets is compacted and the
 * agent's state stays as it is; `persist` rewrites the state. Rejects with `InsufficientBudget` when what must
 * stay does not fit.
 */
export function compactMiddleware(options: MiddlewareOptions): CompactMiddleware {
  requireOptions(options, "options", "Pass { manager: new CompactManager(), sessionId }.");
  const preflight = createHostPreflight(options.manager, options);
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
    async beforeModel({ messages }, runtime) {
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
  if (sessionId !== undefined) return typeof sessionId === "string" ? sessionId : sessionId(runtime);
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

/** What the provider reported with the newest answer. */
function newestUsage(messages: readonly unknown[]): unknown {
  const said = messages.findLast((message) => "usage_metadata" in objectOf(message));
  return objectOf(said).usage_metadata;
}
