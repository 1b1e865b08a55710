import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactError } from "compact-context/internal/errors";
import { type Access, createAccess } from "./access.ts";
import { HEADERS, refuse, sendJson, sendText } from "./answers.ts";
import { ingest } from "./ingest.ts";
import { createLiveStream, type LiveStream } from "./live-stream.ts";
import type { PageFile } from "./page-files.ts";
import { readJsonBody } from "./read-body.ts";
import { readRoute } from "./routes.ts";
import type { ViewStore } from "./view-store.ts";

export interface ViewServerOptions {
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
export interface ViewServer {
  readonly port: number;
  /** Where programs send Ariadne's protocol to. */
  readonly ingestUrl: string;
  /** A link that lets one browser in, once. */
  newLink(): string;
  /** Resolves when a page listens for the first time. */
  readonly watched: Promise<void>;
  close(): Promise<void>;
}

/** As Ariadne has it. */
const MOST_BODY_BYTES = 262_144;
/** Idle ones cost little, and a page must not be shut out by what some other program holds open. */
const MOST_CONNECTIONS = 2048;

/** Starts to listen on 127.0.0.1; rejects with `InvalidUsage` for a port that is taken. */
export async function startViewServer(options: ViewServerOptions): Promise<ViewServer> {
  const { store, newSecret, now } = options;
  const live = createLiveStream(store);
  const server = createServer({ requestTimeout: 20_000, headersTimeout: 10_000, maxHeaderSize: 16_384 });
  server.maxConnections = MOST_CONNECTIONS;
  const port = await listen(server, options.port);
  const origin = `http://127.0.0.1:${port}`;
  const newLink = (): string => `${origin}/open?token=${access.newToken()}`;
  const access = createAccess({ port, newSecret, now, spent: () => options.renewed?.(newLink()) });
  let seen = (): void => undefined;
  const watched = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const context: Context = { ...options, access, live, seen };
  server.on("request", (request, response) => {
    answer(request, response, context).catch(() => fail(response));
  });
  return {
    port,
    ingestUrl: `${origin}/ingest`,
    newLink,
    watched,
    async close() {
      live.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Context extends ViewServerOptions {
  readonly access: Access;
  readonly live: LiveStream;
  seen(): void;
}

async function answer(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const { access, files } = context;
  const addressed = access.addressed(request);
  if (!addressed.allowed) return refuse(response, addressed.status, addressed.error);
  const target = request.url ?? "/";
  if (!URL.canParse(target, "http://viewer")) return refuse(response, 400, "This address cannot be read.");
  const url = new URL(target, "http://viewer");
  if (url.pathname === "/ingest") return takeIn(request, response, context);
  if (request.method !== "GET") return refuse(response, 405, "Only reading is possible here.");
  if (url.pathname === "/open") return letIn(url, response, access);
  if (url.pathname.startsWith("/api/")) return read(url, { request, response }, context);
  const file = files.get(url.pathname);
  if (file === undefined) return refuse(response, 404, "There is nothing here.");
  sendText(response, 200, file);
}

/** The link's token becomes a cookie and leaves the address. */
function letIn(url: URL, response: ServerResponse, access: Access): void {
  const exchanged = access.exchange(url.searchParams.get("token") ?? "");
  if ("cookie" in exchanged) {
    response.writeHead(303, { ...HEADERS, location: "/", "set-cookie": exchanged.cookie });
    response.end();
    return;
  }
  refuse(response, exchanged.status, exchanged.error);
}

async function read(
  url: URL,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  { access, live, store, seen }: Context,
): Promise<void> {
  const verdict = access.mayRead(request);
  if (!verdict.allowed) return refuse(response, verdict.status, verdict.error);
  if (url.pathname === "/api/events") {
    if (!live.add(response)) return refuse(response, 503, "Too many pages are open.");
    return seen();
  }
  try {
    const found = await readRoute(url, store);
    if (found === undefined) refuse(response, 404, "There is nothing here.");
    else sendJson(response, 200, found);
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    refuse(response, error.code === "NotFound" ? 404 : 422, error.message);
  }
}

async function takeIn(
  request: IncomingMessage,
  response: ServerResponse,
  { access, store }: Context,
): Promise<void> {
  if (request.method !== "POST") return refuse(response, 405, "Events are posted here.");
  const verdict = access.maySend(request);
  if (!verdict.allowed) return refuse(response, verdict.status, verdict.error);
  const body = await readJsonBody(request, MOST_BODY_BYTES);
  if (!("value" in body)) {
    response.setHeader("connection", "close");
    return refuse(response, body.status, body.error);
  }
  const taken = ingest(body.value, store);
  if ("count" in taken) sendJson(response, 200, { success: true, ...taken });
  else sendJson(response, 400, taken);
}

/** What went wrong inside is nobody's business outside. */
function fail(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else refuse(response, 500, "The server made a mistake.");
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new CompactError("InvalidUsage", `port ${port} cannot be used: ${error.code ?? error.message}`, {
          place: "--port",
          hint: "Name another port, or leave --port out for one that is free.",
          cause: error,
        }),
      );
    });
    server.listen({ host: "127.0.0.1", port }, resolve);
  });
  return (server.address() as AddressInfo).port;
}
