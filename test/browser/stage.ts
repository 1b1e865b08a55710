import { mkdtempSync, readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { type LiveNotice, VIEW_VERSION } from "../../packages/compact-context-cli/src/view/session-view.ts";
import { bundlePage } from "../../scripts/bundle-page.mjs";
import type { Fixture } from "./fixture.ts";

const built = mkdtempSync(join(tmpdir(), "compact-page-"));
let bundling: Promise<void> | undefined;
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};
/** The same policy as the real server's: what it blocks there must fail here too. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface Stage {
  readonly url: string;
  /** The served sessions; can be replaced at any time. */
  sessions: readonly Fixture[];
  notify(notice: LiveNotice): void;
  close(): Promise<void>;
}

/** Serves the page from its source, with made-up sessions. */
export async function openStage(sessions: readonly Fixture[]): Promise<Stage> {
  bundling ??= bundlePage(built);
  await bundling;
  const hearers = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname === "/api/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify({ type: "hello", version: VIEW_VERSION })}\n\n`);
      hearers.add(response);
      response.on("close", () => hearers.delete(response));
    } else if (url.pathname.startsWith("/api/")) {
      const body = answer(stage.sessions, url);
      response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body ?? { error: "There is no such session." }));
    } else serve(url.pathname, response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const stage: Stage = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    sessions,
    notify(notice) {
      for (const hearer of hearers) hearer.write(`data: ${JSON.stringify(notice)}\n\n`);
    },
    close() {
      for (const hearer of hearers) hearer.end();
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
  return stage;
}

function serve(path: string, response: ServerResponse): void {
  const name = path === "/" ? "index.html" : path.replace(/^\/page\//, "");
  try {
    const body = readFileSync(join(built, name));
    response.writeHead(200, {
      "content-type": TYPES[extname(name)] ?? "text/plain",
      "content-security-policy": POLICY,
    });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
}

function answer(sessions: readonly Fixture[], { pathname, searchParams }: URL): unknown {
  const number = (name: string): number => Number(searchParams.get(name) ?? 0);
  const [, , route, id = "", part, index] = pathname.split("/").map(decodeURIComponent);
  if (route === "sessions" && id === "") return { sessions: sessions.map(({ head }) => head), dropped: 0 };
  if (route === "search") return search(sessions, searchParams);
  const name = route === "expand" ? searchParams.get("session") : id;
  const found = sessions.find(({ head }) => head.id === name);
  if (found === undefined) return undefined;
  if (route === "expand") return expand(found, searchParams);
  if (part === "messages") {
    const messages = found.messages.slice(number("from"), number("to"));
    return { total: found.messages.length, messages };
  }
  if (part === "compactions") return found.compactions[Number(index)];
  const from = { steps: number("steps"), compactions: number("compactions"), spans: number("spans") };
  const { steps, compactions, spans } = found.view;
  return {
    ...found.view,
    from,
    steps: steps.slice(from.steps),
    compactions: compactions.slice(from.compactions),
    spans: spans.slice(from.spans),
  };
}

function search(sessions: readonly Fixture[], given: URLSearchParams): unknown {
  const query = given.get("q") ?? "";
  const those = sessions.filter(
    ({ head }) => given.get("session") === null || head.id === given.get("session"),
  );
  const hits = those.flatMap(({ head, texts }) =>
    texts.flatMap((text, message) =>
      text.includes(query)
        ? [
            {
              session: head.id,
              archiveId: `arc-${message}`,
              message,
              role: "tool",
              step: 1,
              snippet: text.slice(0, 300),
            },
          ]
        : [],
    ),
  );
  return { query, hits: hits.slice(0, 100), problems: 0 };
}

const PIECE = 20_000;

function expand({ texts }: Fixture, given: URLSearchParams): unknown {
  const message = Number(given.get("message") ?? given.get("id")?.replace("arc-", ""));
  const text = texts[message];
  const offset = Number(given.get("offset") ?? 0);
  if (text === undefined) return undefined;
  const next = offset + PIECE < text.length ? { next: offset + PIECE } : {};
  return {
    archiveId: `arc-${message}`,
    message,
    role: "tool",
    text: text.slice(offset, offset + PIECE),
    offset,
    characters: text.length,
    ...next,
    redacted: false,
  };
}
