import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { CompactError } from "compact-context/internal/errors";

/** What a request may do; a refusal carries the status and the words that are sent. */
export type Verdict = { readonly allowed: true } | Denial;

interface Denial {
  readonly allowed: false;
  readonly status: number;
  readonly error: string;
}

/** Who may do what: see SECURITY.md. */
export interface Access {
  /** A link's way in, usable once. */
  newToken(): string;
  /** The cookie for a token that was not used before. */
  exchange(token: string, headers: Headers): { readonly cookie: string } | Denial;
  /** Any request: it must be meant for this server by its own address, which a rebound name is not. */
  addressed(headers: Headers): Verdict;
  /** Reading: from the page itself, with its cookie. */
  mayRead(headers: Headers): Verdict;
  /** Sending: from a program, never from a web page. */
  maySend(headers: Headers): Verdict;
}

interface AccessOptions {
  readonly port: number;
  /** At least 128 bits of randomness as text that needs no quoting. */
  newSecret(): string;
  /** Milliseconds of any clock. */
  now(): number;
  /** Told when somebody comes with a link that was used up and no other link is waiting. */
  spent?(): void;
}

const ALLOWED: Verdict = { allowed: true };
const WRONG_TOKENS = 10;
const PAUSE_MS = 60_000;

export function createAccess({ port, newSecret, now, spent }: AccessOptions): Access {
  const hosts = new Set(
    ["127.0.0.1", "localhost"].flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]),
  );
  const cookieName = `compact_view_${port}`;
  const tokens: Buffer[] = [];
  const cookies: Buffer[] = [];
  const used: Buffer[] = [];
  let wrong: number[] = [];

  return {
    newToken() {
      const token = newSecret();
      tokens.push(digest(token));
      return token;
    },
    exchange(token, headers) {
      // A page of another site may send anything, and must not lock the link's owner out.
      const guesses = (headers.get("sec-fetch-site") ?? "none") === "none";
      wrong = wrong.filter((at) => now() - at < PAUSE_MS);
      if (guesses && wrong.length >= WRONG_TOKENS) return denial(429, "Too many wrong links: wait a minute.");
      const place = placeOf(tokens, token);
      if (place < 0) {
        if (guesses) wrong.push(now());
        if (placeOf(used, token) < 0) return denial(403, "This link is not of this server.");
        if (tokens.length === 0) spent?.();
        return denial(403, "This link was used already. A new one is printed where compact view runs.");
      }
      used.push(...tokens.splice(place, 1));
      const secret = newSecret();
      cookies.push(digest(secret));
      return { cookie: `${cookieName}=${secret}; Path=/; HttpOnly; SameSite=Strict` };
    },
    addressed(headers) {
      return hosts.has(headers.get("host") ?? "")
        ? ALLOWED
        : denial(421, "This server answers to its own address only.");
    },
    mayRead(headers) {
      const site = headers.get("sec-fetch-site") ?? "none";
      const own = `http://${headers.get("host")}`;
      if ((site !== "same-origin" && site !== "none") || (headers.get("origin") ?? own) !== own)
        return denial(403, "Asked by another site.");
      const secret = cookieOf(headers.get("cookie") ?? "", cookieName);
      if (secret !== undefined && placeOf(cookies, secret) >= 0) return ALLOWED;
      return denial(401, "Open the link that compact view printed: it lets this browser in.");
    },
    maySend(headers) {
      // Browsers name the origin of everything they post, and where it comes from; programs do neither.
      if (headers.has("origin") || headers.has("sec-fetch-site")) {
        return denial(403, "Events come from programs, not from web pages.");
      }
      const [type = ""] = (headers.get("content-type") ?? "").split(";");
      return type.trim().toLowerCase() === "application/json"
        ? ALLOWED
        : denial(415, "Events are sent as application/json.");
    },
  };
}

function denial(status: number, error: string): Denial {
  return { allowed: false, status, error };
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Looks at every one, in the same time whatever the text. */
function placeOf(digests: readonly Buffer[], secret: string): number {
  const given = digest(secret);
  let found = -1;
  digests.forEach((known, place) => {
    if (timingSafeEqual(known, given)) found = place;
  });
  return found;
}

function cookieOf(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=");
    if (pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** A server that this computer alone reaches. */
export interface LocalServer {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Takes no more requests, waits up to `drainMs` for answers that are under way, and ends every connection. */
  close(drainMs?: number): Promise<void>;
}

interface LocalServerOptions {
  /** 0 for one that is free. */
  readonly port: number;
  /** The answer to a request; `Hono.fetch` is one. */
  readonly fetch: Parameters<typeof createAdaptorServer>[0]["fetch"];
  readonly requestTimeout: number;
  readonly maxHeaderSize: number;
  readonly maxConnections?: number;
}

/** How often connections that have nothing to answer any more are looked for at the end. */
const IDLE_MS = 50;

/** Starts to listen on 127.0.0.1; rejects with `InvalidUsage` for a port that is taken. */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { requestTimeout, maxHeaderSize, maxConnections } = options;
  const server = createAdaptorServer({
    fetch: options.fetch,
    serverOptions: { requestTimeout, headersTimeout: 10_000, maxHeaderSize },
  }) as Server;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new CompactError(
          "InvalidUsage",
          `port ${options.port} cannot be used: ${error.code ?? error.message}`,
          {
            place: "--port",
            hint: "Name another port; --port 0 takes one that is free.",
            cause: error,
          },
        ),
      );
    });
    server.listen({ host: "127.0.0.1", port: options.port }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close(drainMs = 0) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_MS);
      const cut = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
    },
  };
}
