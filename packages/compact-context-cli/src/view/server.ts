import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { CompactError } from "compact-context/internal/errors";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type Access, createAccess, type LocalServer, startLocalServer, type Verdict } from "./access.ts";
import { ingest } from "./ingest.ts";
import type { SessionRecord } from "./session-record.ts";
import {
  type CompactionView,
  type ExpandedView,
  type LiveNotice,
  MAX_MESSAGES,
  type MessagePage,
  type SearchView,
  type SessionList,
  type SessionView,
  VIEW_VERSION,
} from "./session-view.ts";
import type { ViewStore } from "./view-store.ts";

/** A file of the page as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * Every file that is served, by its path, all read at once: no request is ever looked up on the disk. `/` is
 * `index.html`, the others are below `/page/`.
 */
export async function readPageFiles(folder: URL): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const name of await readdir(fileURLToPath(folder))) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const body = Uint8Array.from(await readFile(new URL(name, folder)));
    files.set(name === "index.html" ? "/" : `/page/${name}`, { type, body });
  }
  return files;
}

interface ViewServerOptions {
  readonly store: ViewStore;
  readonly files: ReadonlyMap<string, PageFile>;
  /** 0 for one that is free. */
  readonly port: number;
  /** At least 128 bits of randomness as text that needs no quoting. */
  newSecret(): string;
  /** Milliseconds of any clock. */
  now(): number;
  /** Told a new link when somebody comes with one that was used up: only who sees it where it is printed gets in. */
  renewed?(link: string): void;
}

/** The page of `compact view`, served on this computer alone. */
export interface ViewServer extends LocalServer {
  /** Where programs send Ariadne's protocol to. */
  readonly ingestUrl: string;
  /** A link that lets one browser in, once. */
  newLink(): string;
  /** Resolves when a page listens for the first time. */
  readonly watched: Promise<void>;
}

/** As Ariadne has it. */
const MAX_BODY_BYTES = 262_144;
/** Idle ones cost little, and a page must not be shut out by what some other program holds open. */
const MAX_CONNECTIONS = 2048;
/** Pages that listen at one time; one that reads too slowly is let go and comes back. */
const MAX_LISTENERS = 32;
const MAX_WAITING = 1_000_000;
const HEARTBEAT_MS = 15_000;

/** With every answer: nothing is loaded from elsewhere, framed, guessed, passed on or kept. */
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

/** Starts to listen on 127.0.0.1; rejects with `InvalidUsage` for a port that is taken. */
export async function startViewServer(options: ViewServerOptions): Promise<ViewServer> {
  const { newSecret, now, renewed } = options;
  let seen = (): void => undefined;
  const watched = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const app = new Hono();
  const server = await startLocalServer({
    port: options.port,
    fetch: app.fetch,
    requestTimeout: 20_000,
    maxHeaderSize: 16_384,
    maxConnections: MAX_CONNECTIONS,
  });
  const newLink = (): string => `${server.url}/open?token=${access.newToken()}`;
  const access = createAccess({ port: server.port, newSecret, now, spent: () => renewed?.(newLink()) });
  addRoutes(app, { ...options, access, seen });
  return { ...server, ingestUrl: `${server.url}/ingest`, newLink, watched };
}

interface Parts extends ViewServerOptions {
  readonly access: Access;
  seen(): void;
}

function addRoutes(app: Hono, { access, files, store, seen }: Parts): void {
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    return next();
  });
  app.use(only((headers) => access.addressed(headers)));
  app.post(
    "/ingest",
    only((headers) => access.maySend(headers)),
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => refuse(context, 413, `The body has more than ${MAX_BODY_BYTES} bytes.`),
    }),
    async (context) => {
      const body: unknown = await context.req.json().catch(() => NO_JSON);
      if (body === NO_JSON) return refuse(context, 400, "The body is no JSON.");
      const taken = ingest(body, store);
      return "count" in taken ? context.json({ success: true, ...taken }) : context.json(taken, 400);
    },
  );
  app.use(async (context, next) => {
    if (context.req.path === "/ingest") return refuse(context, 405, "Events are posted here.");
    if (context.req.raw.method !== "GET") return refuse(context, 405, "Only reading is possible here.");
    return next();
  });
  // The link's token becomes a cookie and leaves the address.
  app.get("/open", (context) => {
    const exchanged = access.exchange(context.req.query("token") ?? "", context.req.raw.headers);
    if (!("cookie" in exchanged)) return refuse(context, exchanged.status, exchanged.error);
    context.header("set-cookie", exchanged.cookie);
    return context.redirect("/", 303);
  });
  app.use(
    "/api/*",
    only((headers) => access.mayRead(headers)),
  );
  app.get("/api/events", listenTo(store, seen));
  app.get("/api/*", async (context) => {
    const found = await readRoute(new URL(context.req.url), store);
    return found === undefined ? refuse(context, 404, NOTHING_HERE) : context.json(found);
  });
  app.get("*", (context) => {
    const file = files.get(context.req.path);
    if (file === undefined) return refuse(context, 404, NOTHING_HERE);
    return context.body(file.body, 200, { "content-type": file.type });
  });
  app.onError((error, context) => {
    // What went wrong inside is nobody's business outside.
    if (!CompactError.isInstance(error)) return refuse(context, 500, "The server made a mistake.");
    return refuse(context, error.code === "NotFound" ? 404 : 422, error.message);
  });
}

const NOTHING_HERE = "There is nothing here.";
const NO_JSON = Symbol("no JSON");

/** Says no in JSON, as the page reads it. */
function refuse(context: Context, status: number, error: string): Response {
  return context.json({ error }, status as ContentfulStatusCode);
}

function only(judge: (headers: Headers) => Verdict): MiddlewareHandler {
  return async (context, next) => {
    const verdict = judge(context.req.raw.headers);
    return verdict.allowed ? next() : refuse(context, verdict.status, verdict.error);
  };
}

/** Server-sent events of a store. */
function listenTo(store: ViewStore, seen: () => void): (context: Context) => Response | Promise<Response> {
  let listeners = 0;
  return (context) => {
    if (listeners >= MAX_LISTENERS) return refuse(context, 503, "Too many pages are open.");
    listeners += 1;
    return streamSSE(context, async (stream) => {
      let waiting = 0;
      const send = (notice: LiveNotice): void => {
        const data = JSON.stringify(notice);
        waiting += data.length;
        if (waiting > MAX_WAITING) stream.abort();
        else
          void stream.writeSSE({ data, retry: 1000 }).then(() => {
            waiting -= data.length;
          });
      };
      send({ type: "hello", version: VIEW_VERSION });
      const stop = store.listen(send);
      const heartbeat = setInterval(() => void stream.write(": still here\n\n"), HEARTBEAT_MS);
      heartbeat.unref();
      seen();
      await new Promise<void>((resolve) => stream.onAbort(resolve));
      clearInterval(heartbeat);
      stop();
      listeners -= 1;
    });
  };
}

type Answer = SessionList | SessionView | MessagePage | CompactionView | SearchView | ExpandedView;

/** What a path under `/api/` gives; undefined where there is nothing. */
export async function readRoute(url: URL, store: ViewStore): Promise<Answer | undefined> {
  const [, , kind, id, part, place, ...rest] = url.pathname.split("/");
  if (rest.length > 0) return undefined;
  const ask = url.searchParams;
  if (kind === "search" && id === undefined) return search(ask, store);
  if (kind === "expand" && id === undefined) return expand(ask, store);
  if (kind !== "sessions") return undefined;
  if (id === undefined) return store.list();
  const record = store.get(decoded(id));
  if (record === undefined) return undefined;
  await record.originals.load?.();
  if (part === undefined) return record.view(placesIn(ask));
  if (part === "messages" && place === undefined) return messages(record, ask);
  return part === "compactions" ? compaction(record, wholeNumber(place)) : undefined;
}

/** Once, and only where it is well-formed: what is encoded twice names nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function wholeNumber(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function placesIn(ask: URLSearchParams): SessionView["from"] {
  const place = (name: string): number => wholeNumber(ask.get(name)) ?? 0;
  return { steps: place("steps"), compactions: place("compactions"), spans: place("spans") };
}

function messages(record: SessionRecord, ask: URLSearchParams): MessagePage {
  const total = record.originals.count();
  const from = Math.min(wholeNumber(ask.get("from")) ?? 0, total);
  const to = Math.min(wholeNumber(ask.get("to")) ?? total, total, from + MAX_MESSAGES);
  const places = Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
  const messages = places.flatMap((index) => record.originals.message(index) ?? []);
  return { version: VIEW_VERSION, session: record.id, from, total, messages };
}

async function compaction(
  record: SessionRecord,
  place: number | undefined,
): Promise<CompactionView | undefined> {
  const head = place === undefined ? undefined : record.compactions[place];
  if (head === undefined) return undefined;
  return { version: VIEW_VERSION, session: record.id, ...head, ...(await record.originals.open(head)) };
}

const MAX_HITS = 50;
const LONGEST_QUERY = 1000;

async function search(ask: URLSearchParams, store: ViewStore): Promise<SearchView> {
  const query = (ask.get("q") ?? "").slice(0, LONGEST_QUERY);
  const session = ask.get("session");
  const records = session === null ? store.searchable() : [store.get(session)];
  const found: Awaited<ReturnType<SessionRecord["originals"]["search"]>>[] = [];
  for (const record of records) {
    if (record === undefined || query.trim() === "") continue;
    found.push(await record.originals.search(query, MAX_HITS));
  }
  return {
    version: VIEW_VERSION,
    query,
    hits: found.flatMap(({ hits }) => hits).slice(0, MAX_HITS),
    problems: found.reduce((sum, { problems }) => sum + problems, 0),
  };
}

async function expand(ask: URLSearchParams, store: ViewStore): Promise<ExpandedView | undefined> {
  const record = store.get(ask.get("session") ?? "");
  const expanded = await record?.originals.expand({
    archiveId: ask.get("id") ?? undefined,
    message: wholeNumber(ask.get("message")),
    offset: wholeNumber(ask.get("offset")) ?? 0,
  });
  if (record === undefined || expanded === undefined) return undefined;
  return { version: VIEW_VERSION, session: record.id, ...expanded };
}
