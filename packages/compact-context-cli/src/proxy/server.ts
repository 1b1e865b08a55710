import { promisify } from "node:util";
import zlib from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import type { CompactionReport } from "compact-context/internal/core/report";
import { CompactError, errorMessage, isObject } from "compact-context/internal/errors";
import { type Json, objectOf } from "compact-context/internal/providers/request";
import { callKind, modelOf } from "compact-context/internal/wire/calls";
import { watchUsage } from "compact-context/internal/wire/usage-tee";
import { isRefused } from "compact-context/internal/wire/wire";
import { createWire, type Wire, type WireCall } from "compact-context/wire";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { proxy } from "hono/proxy";
import type { Health } from "../archive.ts";
import { PROVIDER_NAMES, PROVIDERS } from "../providers.ts";
import { type LocalServer, startLocalServer } from "../view/access.ts";
import { type Sessions, targetOf, type Upstreams } from "./sessions.ts";
import { type Tally, tallyMetrics } from "./tally.ts";

interface ProxyOptions {
  /** 0 chooses a free port. */
  readonly port: number;
  readonly upstreams: Upstreams;
  readonly sessions: Sessions;
  readonly tally: Tally;
  /** Sends requests to the providers. */
  readonly fetch: typeof globalThis.fetch;
  /** What events measured, for Prometheus. */
  metrics(): string;
  /** Health of the storage; never rejects. */
  health(): Promise<Health>;
  /** Sends every call unchanged, and only reports what would be compacted. */
  readonly dryRun: boolean;
  /** Called when the tally changes, with the report of a compacted call. */
  changed(report?: CompactionReport): void;
  /** Called with a line for the user. */
  problem(message: string): void;
}

/** Twice the providers' limit. */
const MOST_BODY_BYTES = 64 * 1024 * 1024;
/** Milliseconds a compaction may delay a call; after that the call is sent unchanged. */
const COMPACTION_MS = 60_000;

/** Starts the proxy server; rejects with `InvalidUsage` if the port is in use. */
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
  try {
    refuseOwnAddress(options.upstreams, port);
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** The names under which the server answers. */
function hostsAt(port: number): readonly string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`];
}

/** Shells may name the address that the proxy prints as a provider's: each call would come back to it. */
function refuseOwnAddress(upstreams: Upstreams, port: number): void {
  for (const name of PROVIDER_NAMES) {
    const { host, href } = upstreams[name];
    if (!hostsAt(port).includes(host)) continue;
    const { title, url, urlVariable } = PROVIDERS[name];
    throw new CompactError("InvalidUsage", `calls for ${title} would go to the proxy itself: ${href}`, {
      place: urlVariable,
      hint: `Unset ${urlVariable} where the proxy starts, or name the provider's own address: --upstream ${url}`,
    });
  }
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
    fetch: (input, init) => options.fetch(input, { ...init, headers: passedOn(new Headers(init?.headers)) }),
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
  // Calls pass through even while the storage is down: reports this with status 200, so that no supervisor
  // restarts a working proxy.
  app.get("/healthz", async (context) => {
    const { ok, problem } = await options.health();
    return context.json({ status: ok ? "ok" : "degraded", storage: problem ?? "ok" });
  });
  // Clients probe the server before their first call.
  app.get("/", (context) => context.text("compact proxy\n"));
  const limit = bodyLimit({
    maxSize: MOST_BODY_BYTES,
    onError: (context) => context.json(errorBody(TOO_LARGE, "request_too_large"), 413),
  });
  app.post("*", limit, (context) => passOn(context, wire, options));
  app.all("*", (context) => forward(context, options, context.req.raw.body));
  app.onError((error, context) => {
    // The client has disconnected: there is no reader for the response.
    if (!context.req.raw.signal.aborted) problem(`the provider could not be reached: ${reasonOf(error)}`);
    return context.json(errorBody(`compact proxy: ${reasonOf(error)}`, "api_error"), 502);
  });
  return app;
}

/** A call with a JSON body. */
interface Passing {
  readonly call: WireCall;
  /** As the client sent it. */
  readonly bytes: Uint8Array;
  /** Bytes of the body, uncompressed. */
  readonly size: number;
  readonly body: Json;
  readonly target: URL;
  /** With the client's headers, if no others are given. */
  send(body: Uint8Array, headers?: Headers): Promise<Response>;
}

/** Handles one call: compacts, forwards, and streams the answer back. */
async function passOn(context: Context, wire: Wire, options: ProxyOptions): Promise<Response> {
  const { raw } = context.req;
  const bytes = new Uint8Array(await raw.arrayBuffer());
  const send: Passing["send"] = (body, headers) => forward(context, options, body, headers);
  const counted = (): Promise<Response> => {
    options.tally.count("requests");
    options.changed();
    return send(bytes);
  };
  const unmodified = async (reason: string, response = counted): Promise<Response> => {
    options.tally.count("unmodified");
    options.problem(`a call was sent unmodified: ${reason}`);
    return marked(await response(), "sent-unmodified");
  };
  const target = targetOf(options.upstreams, new URL(raw.url), raw.headers);
  const headers = new Headers(raw.headers);
  const isModelCall = callKind(target) !== undefined;
  // Some clients name no content type, or a wrong one.
  if (!isModelCall && !isJson(headers)) return send(bytes);
  const packing = headers.get("content-encoding") || "identity";
  headers.delete("content-encoding");
  const read = await readBody(bytes, packing.trim().toLowerCase());
  if (read === undefined)
    return packing === "identity"
      ? send(bytes)
      : unmodified(`its compressed body (${packing}) cannot be read`);
  let call: WireCall;
  try {
    call = await wire(target, headers, read.body, raw.signal);
  } catch (error) {
    if (raw.signal.aborted) throw error;
    return unmodified(errorMessage(error));
  }
  const { session, passedBy } = call;
  if (session === undefined) return call.send(isModelCall ? counted : () => send(bytes));
  const one = { call, bytes, ...read, target, send };
  const asItCame = (): Promise<Response> => {
    tell(one, options, one.size, undefined);
    return send(bytes);
  };
  if (passedBy === "server_managed") return call.send(asItCame);
  if (passedBy === "failed") return unmodified("it could not be compacted", () => call.send(asItCame));
  return (options.dryRun ? watch : sendCompacted)(one, options);
}

function isJson(headers: Headers): boolean {
  return headers.get("content-type")?.includes("json") === true;
}

async function sendCompacted(one: Passing, options: ProxyOptions): Promise<Response> {
  const { call, bytes, size, body, send } = one;
  let isChanged = false;
  const response = await call.send((sent, report) => {
    isChanged = sent !== body;
    if (!isChanged) {
      tell(one, options, size, report);
      return send(bytes);
    }
    // For text, fetch would name a content type of its own.
    const own = new TextEncoder().encode(JSON.stringify(sent));
    tell(one, options, own.length, report);
    return send(own, call.headers);
  });
  // The client gets the answer at once, however long its end takes.
  void isRefused(response).then(
    (refused) => refused && options.tally.count("refused"),
    () => undefined,
  );
  return isChanged ? marked(response, "compacted") : response;
}

/** Sends the call unchanged; its usage is not learned from, since it does not measure the compacted request. */
async function watch(one: Passing, options: ProxyOptions): Promise<Response> {
  tell(one, options, one.size, one.call.report);
  const response = await one.send(one.bytes);
  const kind = callKind(one.target);
  if (kind === undefined) return response;
  let usage: Json = {};
  const body = watchUsage(response, kind.usageOf, (record) => {
    usage = { ...usage, ...record };
    options.tally.used(one.call.session ?? "", usage);
    options.changed();
  });
  return marked(body === response.body ? response : new Response(body, response), "dry-run");
}

function tell(
  { call: { session = "" }, size, body, target }: Passing,
  options: ProxyOptions,
  bytesSent: number,
  report: CompactionReport | undefined,
): void {
  const compacted = report?.compacted === true;
  const model = modelOf(target, body);
  options.tally.sent({ session, model, compacted, bytesGiven: size, bytesSent });
  options.changed(compacted ? report : undefined);
}

function marked(response: Response, word: string): Response {
  const copy = new Response(response.body, response);
  copy.headers.set("x-compact", word);
  return copy;
}

/** Forwards a request with its headers, except those of this connection. */
function forward(
  { req: { raw } }: Context,
  { upstreams, fetch }: ProxyOptions,
  body: RequestInit["body"],
  headers = raw.headers,
): Promise<Response> {
  const target = targetOf(upstreams, new URL(raw.url), raw.headers);
  const { method, signal } = raw;
  return proxy(target, {
    method,
    headers: passedOn(new Headers(headers)),
    customFetch: ({ headers: own }) => {
      // An uncompressed answer passes through unchanged.
      own.set("accept-encoding", "identity");
      // A key is only sent to the provider.
      return fetch(target, { method, headers: own, body, signal, redirect: "manual" });
    },
  });
}

/** Headers of one connection (RFC 9110, 7.6.1), and what `fetch` sets itself or refuses. */
const OF_CONNECTION =
  "connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade";

/** Removes the headers of the incoming connection. */
function passedOn(headers: Headers): Headers {
  const named = (headers.get("connection") ?? "").toLowerCase().split(/[\s,]+/);
  for (const name of [...named, ...OF_CONNECTION.split(" ")]) if (name !== "") headers.delete(name);
  return headers;
}

/** Everything in a client's address except the path can be secret: a key in the query, a password. */
function reasonOf(error: unknown): string {
  const { code } = objectOf(objectOf(error).cause);
  if (code === "UND_ERR_HEADERS_OVERFLOW")
    return "its headers are larger than Node reads: start the proxy with NODE_OPTIONS=--max-http-header-size=65536";
  return errorMessage(error).replace(/\bhttps?:\/\/[^\s"'<>]+/g, (address) => {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    return url === undefined ? "an address" : `${url.origin}${url.pathname}`;
  });
}

/** The same bytes; if the source fails, calls `cut` and ends: the client must see a broken connection. */
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
        // What was read before is written first.
        await new Promise((written) => setImmediate(written));
        cut(error);
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** How Node unpacks a body; before 22.15 it has no `zstd`. */
const UNPACK = new Map<string, unknown>([
  ["gzip", zlib.gunzip],
  ["x-gzip", zlib.gunzip],
  ["deflate", zlib.inflate],
  ["br", zlib.brotliDecompress],
  ["zstd", "zstdDecompress" in zlib ? zlib.zstdDecompress : undefined],
]);

/** The object in a body, and its bytes; undefined for one that is no JSON, damaged, too large, or packed in another way. */
async function readBody(
  bytes: Uint8Array,
  packing: string,
): Promise<Pick<Passing, "body" | "size"> | undefined> {
  const unpack = UNPACK.get(packing) as typeof zlib.gunzip | undefined;
  if (unpack === undefined && packing !== "identity") return undefined;
  try {
    const plain =
      unpack === undefined
        ? bytes
        : await promisify<Uint8Array, zlib.ZlibOptions, Uint8Array>(unpack)(bytes, {
            maxOutputLength: MOST_BODY_BYTES,
          });
    const body: unknown = JSON.parse(new TextDecoder().decode(plain));
    return isObject(body) ? { body, size: plain.length } : undefined;
  } catch {
    return undefined;
  }
}

const TOO_LARGE = `compact proxy: the request has more than ${MOST_BODY_BYTES / 1024 / 1024} MB`;

/** An error in a form that every provider's clients can read. */
function errorBody(message: string, type: string) {
  return { type: "error", error: { type, message } };
}

/**
 * Admits programs on this computer and rejects web pages. The host must be the server's own, which excludes
 * DNS rebinding; browsers send an origin or a site with cross-origin requests, programs send neither.
 */
function programsOnly(port: () => number): MiddlewareHandler {
  return async (context, next) => {
    const { headers } = context.req.raw;
    if (!hostsAt(port()).includes(headers.get("host") ?? ""))
      return context.text("This server answers to its own address only.\n", 421);
    // A path that begins with two slashes would be parsed as another host.
    if (context.req.path.startsWith("//")) return context.text("This address cannot be read.\n", 400);
    const site = headers.get("sec-fetch-site") ?? "none";
    if (headers.has("origin") || site !== "none")
      return context.text("This server is for programs, not for web pages.\n", 403);
    // Clients fall back to plain requests if a web socket is refused.
    if (headers.has("upgrade")) return context.text("There are no web sockets here.\n", 426);
    return next();
  };
}
