import type { HttpBindings } from "@hono/node-server";
import type { CompactionReport } from "compact-context/internal/core/report";
import { errorMessage, isObject } from "compact-context/internal/errors";
import { callKind, modelOf } from "compact-context/internal/wire/calls";
import { watchUsage } from "compact-context/internal/wire/usage-tee";
import { createWire, type Wire, type WireCall } from "compact-context/wire";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { proxy } from "hono/proxy";
import type { Health } from "../archive.ts";
import { type LocalServer, startLocalServer } from "../view/access.ts";
import type { Sessions } from "./sessions.ts";
import { targetOf, type Upstreams } from "./sessions.ts";
import { type Tally, tallyMetrics } from "./tally.ts";

interface ProxyOptions {
  /** 0 for one that is free. */
  readonly port: number;
  readonly upstreams: Upstreams;
  readonly sessions: Sessions;
  readonly tally: Tally;
  /** What events measured, for Prometheus. */
  metrics(): string;
  /** How the storage is; never rejects. */
  health(): Promise<Health>;
  /** Sends every call as it came, and only tells what would be compacted. */
  readonly dryRun: boolean;
  /** Told that the tally has changed, with the report of a call that was compacted. */
  changed(report?: CompactionReport): void;
  /** Told what a person should know, in a line. */
  problem(message: string): void;
}

type Json = Readonly<Record<string, unknown>>;

/** Twice what the providers take. */
const MOST_BODY_BYTES = 64 * 1024 * 1024;
/** Milliseconds that a compaction may hold up a call; then the call goes on as it came. */
const COMPACTION_MS = 60_000;

/** Starts the server that model calls pass through; rejects with `InvalidUsage` for a port that is taken. */
export async function startProxy(options: ProxyOptions): Promise<LocalServer> {
  let port = 0;
  const app = createApp(options, () => port);
  const server = await startLocalServer({
    port: options.port,
    fetch: app.fetch,
    requestTimeout: 60_000,
    maxHeaderSize: 65_536,
  });
  port = server.port;
  return server;
}

function createApp(options: ProxyOptions, port: () => number): Hono<{ Bindings: HttpBindings }> {
  const { sessions, tally, problem } = options;
  const wire = createWire({
    manager: sessions.managerOf,
    deadlineMs: COMPACTION_MS,
    onUsage(session, usage) {
      tally.used(session, usage);
      options.changed();
    },
    onWarning: problem,
    fetch: (input, init) => fetch(input, { ...init, headers: passedOn(new Headers(init?.headers)) }),
  });
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(programsOnly(port));
  app.use(async (context, next) => {
    await next();
    const { body } = context.res;
    if (body === null) return;
    const { outgoing } = context.env;
    const cut = (error: unknown): void => {
      if (!context.req.raw.signal.aborted) problem(`the provider's answer was cut off: ${reasonOf(error)}`);
      outgoing.destroy();
    };
    context.res = new Response(untilCut(body, cut), context.res);
  });
  app.get("/metrics", async (context) => {
    const { ok } = await options.health();
    return context.text(tallyMetrics(tally, ok) + options.metrics(), 200, {
      "content-type": "text/plain; version=0.0.4",
    });
  });
  // Calls go on also while the storage is down: this says so and stays 200, so that nobody restarts what works.
  app.get("/healthz", async (context) => {
    const { ok, problem } = await options.health();
    return context.json({ status: ok ? "ok" : "degraded", storage: problem ?? "ok" });
  });
  // Clients ask whether anybody is there before their first call.
  app.get("/", (context) => context.text("compact proxy\n"));
  app.post("*", bodyLimit({ maxSize: MOST_BODY_BYTES, onError: tooLarge }), (context) =>
    passOn(context, wire, options),
  );
  app.all("*", (context) => {
    const { raw } = context.req;
    return forward(context, options, { method: raw.method, body: raw.body });
  });
  app.onError((error, context) => {
    // The client has left: nobody reads an answer.
    if (!context.req.raw.signal.aborted) problem(`the provider could not be reached: ${reasonOf(error)}`);
    return context.json(errorBody(`compact proxy: ${reasonOf(error)}`, "api_error"), 502);
  });
  return app;
}

/** One call: looked at, sent on, and its answer streamed back as it comes. */
async function passOn(context: Context, wire: Wire, options: ProxyOptions): Promise<Response> {
  const { raw } = context.req;
  const bytes = new Uint8Array(await raw.arrayBuffer());
  const send = (body: Uint8Array | string, headers?: Headers): Promise<Response> =>
    forward(context, options, { method: "POST", body, headers });
  const packed = raw.headers.get("content-encoding") ?? "identity";
  if (packed !== "identity")
    return sendUnmodified(options, `its body is packed (${packed})`, () => send(bytes));
  const body = jsonIn(raw.headers, bytes);
  if (body === undefined) return send(bytes);
  const target = targetOf(options.upstreams, new URL(raw.url), raw.headers);
  let call: WireCall;
  try {
    call = await wire(target, raw.headers, body, raw.signal);
  } catch (error) {
    if (raw.signal.aborted) throw error;
    return sendUnmodified(options, errorMessage(error), () => send(bytes));
  }
  const { session, passedBy } = call;
  if (session === undefined || passedBy === "server_managed") return send(bytes);
  if (passedBy === "failed") {
    const reason = "it could not be compacted";
    return sendUnmodified(options, reason, () => call.send(() => send(bytes)));
  }
  const one: Passing = { call, bytes, body, session, target, send };
  return options.dryRun ? watch(one, options) : sendCompacted(one, options);
}

/** A call with a conversation. */
interface Passing {
  readonly call: WireCall;
  readonly bytes: Uint8Array;
  readonly body: Json;
  readonly session: string;
  readonly target: URL;
  send(body: Uint8Array | string, headers?: Headers): Promise<Response>;
}

async function sendCompacted(one: Passing, options: ProxyOptions): Promise<Response> {
  const { call, bytes, body, send } = one;
  let isChanged = false;
  const response = await call.send((sent) => {
    isChanged = sent !== body;
    const text = isChanged ? JSON.stringify(sent) : bytes;
    tell(one, options, text.length);
    return send(text, call.headers);
  });
  if (response.status === 400 || response.status === 413) options.tally.refused();
  return isChanged ? marked(response, "compacted") : response;
}

/** The call as it came; what is read of its usage is no measure of what would have been sent. */
async function watch(one: Passing, options: ProxyOptions): Promise<Response> {
  tell(one, options, one.bytes.length);
  const response = await one.send(one.bytes);
  const kind = callKind(one.target);
  if (kind === undefined) return response;
  let usage: Json = {};
  const body = watchUsage(response, kind.usageOf, (record) => {
    usage = { ...usage, ...record };
    options.tally.used(one.session, usage);
    options.changed();
  });
  return marked(body === response.body ? response : new Response(body, response), "dry-run");
}

function tell(one: Passing, { tally, changed }: ProxyOptions, bytesSent: number): void {
  const { report } = one.call;
  tally.sent({
    session: one.session,
    model: modelOf(one.target, one.body),
    compacted: report?.compacted === true,
    bytesGiven: one.bytes.length,
    bytesSent,
  });
  changed(report?.compacted === true ? report : undefined);
}

async function sendUnmodified(
  { tally, problem }: ProxyOptions,
  reason: string,
  send: () => Promise<Response>,
): Promise<Response> {
  tally.unmodified();
  problem(`a call was sent unmodified: ${reason}`);
  return marked(await send(), "sent-unmodified");
}

function marked(response: Response, word: string): Response {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.set("x-compact", word);
  return new Response(response.body, { status, statusText, headers });
}

/** Sends a request on, its headers as they came but for those of this connection. */
function forward(
  { req: { raw } }: Context,
  { upstreams }: ProxyOptions,
  {
    method,
    body,
    headers: given = raw.headers,
  }: { readonly method: string; readonly body: RequestInit["body"]; readonly headers?: Headers },
): Promise<Response> {
  const headers = passedOn(new Headers(given));
  const target = targetOf(upstreams, new URL(raw.url), raw.headers);
  return proxy(target, {
    method,
    headers,
    body,
    signal: raw.signal,
    // A key goes to nobody but the provider.
    redirect: "manual",
    customFetch: (request) => {
      // An answer in plain bytes passes through as it is.
      request.headers.set("accept-encoding", "identity");
      return fetch(request);
    },
  });
}

/** Headers of one connection (RFC 9110, 7.6.1), and what `fetch` sets itself or refuses. */
const OF_CONNECTION =
  "connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade";

/** Without the headers of the connection that a request came by. */
function passedOn(headers: Headers): Headers {
  const named = (headers.get("connection") ?? "").toLowerCase().split(/[\s,]+/);
  for (const name of [...named, ...OF_CONNECTION.split(" ")]) if (name !== "") headers.delete(name);
  return headers;
}

/** What a client's own address may hold besides the path is a secret: a key in the query, a password before the host. */
function withoutSecrets(text: string): string {
  return text.replace(/\bhttps?:\/\/[^\s"'<>]+/g, (address) => {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    return url === undefined ? "an address" : `${url.origin}${url.pathname}`;
  });
}

/** The same bytes; where their source fails, `cut` is told and they end: the client must see that its connection broke. */
function untilCut(
  body: ReadableStream<Uint8Array>,
  cut: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        cut(error);
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The object in a JSON body; undefined for all else. */
function jsonIn(headers: Headers, bytes: Uint8Array): Json | undefined {
  if (!/json/.test(headers.get("content-type") ?? "")) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function tooLarge(context: Context): Response {
  const message = `compact proxy: the request has more than ${MOST_BODY_BYTES / 1024 / 1024} MB`;
  return context.json(errorBody(message, "request_too_large"), 413);
}

/** An error in a form that the clients of every provider read. */
function errorBody(message: string, type: string) {
  return { type: "error", error: { type, message } };
}

/** `fetch` says why only in the cause. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const words = cause === undefined ? [error] : [error, cause];
  return withoutSecrets(words.map(errorMessage).join(": "));
}

/**
 * Lets programs of this computer in and web pages out. The address must be the server's own, which a name that was
 * rebound to it is not; browsers name an origin or a site with what they send to another one, programs do neither.
 */
function programsOnly(port: () => number): MiddlewareHandler {
  return async (context, next) => {
    const { headers } = context.req.raw;
    const hosts = ["127.0.0.1", "localhost"].map((name) => `${name}:${port()}`);
    if (!hosts.includes(headers.get("host") ?? ""))
      return context.text("This server answers to its own address only.\n", 421);
    // What begins with two slashes reads as the name of another server.
    if (context.req.path.startsWith("//")) return context.text("This address cannot be read.\n", 400);
    const site = headers.get("sec-fetch-site") ?? "none";
    if (headers.has("origin") || site !== "none")
      return context.text("This server is for programs, not for web pages.\n", 403);
    // A client that is refused a web socket goes on with plain requests.
    if (headers.has("upgrade")) return context.text("There are no web sockets here.\n", 426);
    return next();
  };
}
