import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { CompactError } from "compact-context/internal/errors";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { Access, type Denial, type LocalServer, startLocalServer } from "./access.ts";
import { ingest } from "./ingest.ts";
import type { SessionRecord } from "./session-record.ts";
import {
  type CompactionView,
  type ExpandedView,
  type LiveNotice,
  MAX_MESSAGES,
  type MessagePage,
  type SearchHitView,
  type SearchView,
  type SessionView,
  VIEW_VERSION,
} from "./session-view.ts";
import type { ViewStore } from "./view-store.ts";

/** A static file of the page. */
export interface PageFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * The static files by request path, read once: no request path reaches the disk. `/` is `index.html`, the others are
 * below `/page/`.
 */
export async function readPageFiles(folder: URL): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(fileURLToPath(folder))) {
    const type = CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const body = Uint8Array.from(await readFile(new URL(name, folder)));
    files.set(name === "index.html" ? "/" : `/page/${name}`, { type, body });
  }
  return files;
}

interface ViewServerOptions {
  readonly store: ViewStore;
  readonly files: ReadonlyMap<string, PageFile>;
  /** 0 for any free port. */
  readonly port: number;
  /** Returns at least 128 random bits as URL-safe text. */
  newSecret(): string;
  /** Milliseconds; need not be wall-clock time. */
  now(): number;
  /**
   * Called with a new link when a used one is opened again. The owner must print it where only the user can
   * read it, because another program may have sent the request.
   */
  onNewLink?(link: string): void;
}

/** The page of `compact view`, served on 127.0.0.1. */
export interface ViewServer extends LocalServer {
  /** The endpoint for Ariadne's protocol. */
  readonly ingestUrl: string;
  /** Creates a link that signs in one browser, once. */
  newLink(): string;
}

/** The limit of Ariadne's protocol. */
const MAX_BODY_BYTES = 262_144;
/** High, because an idle connection is cheap and another program must not exhaust the limit and block the page. */
const MAX_CONNECTIONS = 2048;
const MAX_LISTENERS = 32;
/** Characters buffered for one listener. A slower reader is disconnected; the browser reconnects. */
const MAX_BUFFERED = 1_000_000;
const HEARTBEAT_MS = 15_000;

/** Sent with every response: no foreign resources, framing, sniffing, referrer or caching. */
const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** Listens on 127.0.0.1; rejects with `InvalidUsage` if the port is in use. */
export async function startViewServer(options: ViewServerOptions): Promise<ViewServer> {
  const { newSecret, now, onNewLink } = options;
  const app = new Hono();
  const server = await startLocalServer({
    port: options.port,
    fetch: app.fetch,
    requestTimeout: 20_000,
    maxHeaderSize: 16_384,
    maxConnections: MAX_CONNECTIONS,
  });
  const newLink = (): string => `${server.url}/open?token=${access.newToken()}`;
  const access = new Access({
    port: server.port,
    newSecret,
    now,
    onUsedToken: () => onNewLink?.(newLink()),
  });
  addRoutes(app, access, options);
  return { ...server, ingestUrl: `${server.url}/ingest`, newLink };
}

function addRoutes(app: Hono, access: Access, { files, store }: ViewServerOptions): void {
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    return next();
  });
  app.use(requires((headers) => access.checkHost(headers)));
  app.post(
    "/ingest",
    requires((headers) => access.checkSend(headers)),
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => refuse(context, 413, `The body has more than ${MAX_BODY_BYTES} bytes.`),
    }),
    async (context) => {
      const body: unknown = await context.req.json().catch(() => INVALID_JSON);
      if (body === INVALID_JSON) return refuse(context, 400, "The body is not JSON.");
      const result = ingest(body, store);
      return "count" in result ? context.json({ success: true, ...result }) : context.json(result, 400);
    },
  );
  app.use(async (context, next) => {
    if (context.req.path === "/ingest") return refuse(context, 405, "Send events with POST.");
    if (context.req.raw.method !== "GET") return refuse(context, 405, "Only GET is allowed here.");
    return next();
  });
  // The redirect drops the token from the address bar and the history.
  app.get("/open", (context) => {
    const exchanged = access.exchange(context.req.query("token") ?? "", context.req.raw.headers);
    if (!("cookie" in exchanged)) return refuse(context, exchanged.status, exchanged.error);
    context.header("set-cookie", exchanged.cookie);
    return context.redirect("/", 303);
  });
  app.use(
    "/api/*",
    requires((headers) => access.checkRead(headers)),
  );
  app.get("/api/events", streamNotices(store));
  app.get("/api/*", async (context) => {
    const found = await readRoute(new URL(context.req.url), store);
    return found === undefined ? refuse(context, 404, NOT_FOUND) : context.json(found);
  });
  app.get("*", (context) => {
    const file = files.get(context.req.path);
    if (file === undefined) return refuse(context, 404, NOT_FOUND);
    return context.body(file.body, 200, { "content-type": file.type });
  });
  app.onError((error, context) => {
    // Internal errors are not disclosed.
    if (!CompactError.isInstance(error)) return refuse(context, 500, "Internal server error.");
    return refuse(context, error.code === "NotFound" ? 404 : 422, error.message);
  });
}

const NOT_FOUND = "Not found.";
const INVALID_JSON = Symbol("invalid JSON");

/** Responds with a `Refusal`. */
function refuse(context: Context, status: number, error: string): Response {
  return context.json({ error }, status as ContentfulStatusCode);
}

function requires(check: (headers: Headers) => Denial | undefined): MiddlewareHandler {
  return async (context, next) => {
    const denial = check(context.req.raw.headers);
    return denial === undefined ? next() : refuse(context, denial.status, denial.error);
  };
}

/** The store's changes as server-sent events. */
function streamNotices(store: ViewStore): (context: Context) => Response | Promise<Response> {
  let listeners = 0;
  return (context) => {
    if (listeners >= MAX_LISTENERS) return refuse(context, 503, "Too many pages are open.");
    listeners += 1;
    return streamSSE(context, async (stream) => {
      let buffered = 0;
      const send = (notice: LiveNotice): void => {
        const data = JSON.stringify(notice);
        buffered += data.length;
        if (buffered > MAX_BUFFERED) stream.abort();
        else
          void stream.writeSSE({ data, retry: 1000 }).then(() => {
            buffered -= data.length;
          });
      };
      send({ type: "hello", version: VIEW_VERSION });
      const unsubscribe = store.listen(send);
      const heartbeat = setInterval(() => void stream.write(": heartbeat\n\n"), HEARTBEAT_MS);
      heartbeat.unref();
      await new Promise<void>((resolve) => stream.onAbort(resolve));
      clearInterval(heartbeat);
      unsubscribe();
      listeners -= 1;
    });
  };
}

/** The response to a GET under `/api/`, as `session-view.ts` lists them; undefined if nothing is found. */
export async function readRoute(url: URL, store: ViewStore): Promise<object | undefined> {
  const [, , kind, id, part, index, ...rest] = url.pathname.split("/");
  if (rest.length > 0) return undefined;
  const query = url.searchParams;
  if (kind === "search" && id === undefined) return search(query, store);
  if (kind === "expand" && id === undefined) return expand(query, store);
  if (kind !== "sessions") return undefined;
  if (id === undefined) return store.list();
  const record = store.get(decoded(id));
  if (record === undefined) return undefined;
  await record.originals.load();
  if (part === undefined) return record.view(offsetsIn(query));
  if (part === "messages" && index === undefined) return messages(record, query);
  const head = part === "compactions" ? record.compactions[wholeNumber(index) ?? -1] : undefined;
  return head && ({ ...head, ...(await record.originals.open(head)) } satisfies CompactionView);
}

/** Decodes once; empty (no session has that id) if the encoding is malformed. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function wholeNumber(text: string | null | undefined): number | undefined {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : undefined;
}

function offsetsIn(query: URLSearchParams): SessionView["from"] {
  const offset = (name: string): number => wholeNumber(query.get(name)) ?? 0;
  return { steps: offset("steps"), compactions: offset("compactions"), spans: offset("spans") };
}

function messages(record: SessionRecord, query: URLSearchParams): MessagePage {
  const total = record.originals.count();
  const from = Math.min(wholeNumber(query.get("from")) ?? 0, total);
  const to = Math.min(wholeNumber(query.get("to")) ?? total, total, from + MAX_MESSAGES);
  const length = Math.max(0, to - from);
  const messages = Array.from({ length }, (_, offset) => record.originals.message(from + offset) ?? []);
  return { total, messages: messages.flat() };
}

const MAX_HITS = 50;
const MAX_QUERY_LENGTH = 1000;

async function search(params: URLSearchParams, store: ViewStore): Promise<SearchView> {
  const query = (params.get("q") ?? "").slice(0, MAX_QUERY_LENGTH);
  const session = params.get("session");
  const records = session === null ? store.records() : [store.get(session)];
  const hits: SearchHitView[] = [];
  let problems = 0;
  for (const record of records) {
    if (record === undefined || query.trim() === "") continue;
    // Hits name the place of their message, which only a loaded record knows.
    if (session !== null) await record.originals.load();
    const found = await record.originals.search(query, MAX_HITS);
    hits.push(...found.hits);
    problems += found.problems;
  }
  return { query, hits: hits.slice(0, MAX_HITS), problems };
}

async function expand(query: URLSearchParams, store: ViewStore): Promise<ExpandedView | undefined> {
  const record = store.get(query.get("session") ?? "");
  // An archive that changed under an open page is not loaded again yet.
  await record?.originals.load();
  return record?.originals.expand({
    archiveId: query.get("id") ?? undefined,
    message: wholeNumber(query.get("message")),
    offset: wholeNumber(query.get("offset")) ?? 0,
  });
}
