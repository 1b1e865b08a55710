import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { CompactError } from "compact-context/internal/errors";

/** Why a request is refused, as it is answered. */
export interface Denial {
  readonly status: number;
  readonly error: string;
}

interface AccessOptions {
  readonly port: number;
  /** Returns at least 128 random bits as URL-safe text. */
  newSecret(): string;
  /** Milliseconds; need not be wall-clock time. */
  now(): number;
  /** Called when a used token is presented again and no unused one is left. */
  onUsedToken(): void;
}

const MAX_WRONG_TOKENS = 10;
const LOCKOUT_MS = 60_000;

/** Access control of the page: see SECURITY.md. The checks return the denial, if any. */
export class Access {
  readonly #options: AccessOptions;
  readonly #hosts: readonly string[];
  readonly #cookieName: string;
  readonly #tokens: Buffer[] = [];
  readonly #cookies: Buffer[] = [];
  readonly #used: Buffer[] = [];
  #wrongAttempts: number[] = [];

  constructor(options: AccessOptions) {
    const { port } = options;
    this.#options = options;
    this.#hosts = ["127.0.0.1", "localhost"].flatMap((name) =>
      port === 80 ? [name, `${name}:80`] : [`${name}:${port}`],
    );
    this.#cookieName = `compact_view_${port}`;
  }

  /** Creates a single-use token for a link. */
  newToken(): string {
    const token = this.#options.newSecret();
    this.#tokens.push(digest(token));
    return token;
  }

  /** Exchanges an unused token for a session cookie. */
  exchange(token: string, headers: Headers): { readonly cookie: string } | Denial {
    const now = this.#options.now();
    // Attempts by other sites are not counted: they could lock the link's owner out.
    const isCounted = (headers.get("sec-fetch-site") ?? "none") === "none";
    this.#wrongAttempts = this.#wrongAttempts.filter((at) => now - at < LOCKOUT_MS);
    if (isCounted && this.#wrongAttempts.length >= MAX_WRONG_TOKENS)
      return { status: 429, error: "Too many invalid links: wait a minute." };
    const index = indexOfSecret(this.#tokens, token);
    if (index < 0) {
      if (isCounted) this.#wrongAttempts.push(now);
      if (indexOfSecret(this.#used, token) < 0)
        return { status: 403, error: "This link belongs to another server." };
      if (this.#tokens.length === 0) this.#options.onUsedToken();
      return { status: 403, error: "This link was already used. compact view has printed a new one." };
    }
    this.#used.push(...this.#tokens.splice(index, 1));
    const secret = this.#options.newSecret();
    this.#cookies.push(digest(secret));
    return { cookie: `${this.#cookieName}=${secret}; Path=/; HttpOnly; SameSite=Strict` };
  }

  /** For every request: `Host` must be this server's own address, which stops DNS rebinding. */
  checkHost(headers: Headers): Denial | undefined {
    if (this.#hosts.includes(headers.get("host") ?? "")) return undefined;
    return { status: 421, error: "This server answers only to its own address." };
  }

  /** For reads: from the page itself, with its cookie. */
  checkRead(headers: Headers): Denial | undefined {
    const site = headers.get("sec-fetch-site") ?? "none";
    const ownOrigin = `http://${headers.get("host")}`;
    if ((site !== "same-origin" && site !== "none") || (headers.get("origin") ?? ownOrigin) !== ownOrigin)
      return { status: 403, error: "Requests from other sites are refused." };
    const secret = cookieValue(headers.get("cookie") ?? "", this.#cookieName);
    if (secret !== undefined && indexOfSecret(this.#cookies, secret) >= 0) return undefined;
    return { status: 401, error: "Open the link that compact view printed to sign this browser in." };
  }

  /** For writes: from programs, never from a web page. */
  checkSend(headers: Headers): Denial | undefined {
    // Browsers send one of these headers with every POST; programs send neither.
    if (headers.has("origin") || headers.has("sec-fetch-site"))
      return { status: 403, error: "Events are accepted from programs, not from web pages." };
    const [type = ""] = (headers.get("content-type") ?? "").split(";");
    if (type.trim().toLowerCase() === "application/json") return undefined;
    return { status: 415, error: "Send events as application/json." };
  }
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The index of the secret's digest, -1 if there is none; takes constant time for a list. */
function indexOfSecret(digests: readonly Buffer[], secret: string): number {
  const given = digest(secret);
  let found = -1;
  digests.forEach((known, index) => {
    if (timingSafeEqual(known, given)) found = index;
  });
  return found;
}

function cookieValue(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=");
    if (pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** A server on the loopback interface. */
export interface LocalServer {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Stops accepting requests, waits up to `drainMs` for pending responses, then closes every connection. */
  close(drainMs?: number): Promise<void>;
}

interface LocalServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** The request handler, such as `Hono.fetch`. */
  readonly fetch: Parameters<typeof createAdaptorServer>[0]["fetch"];
  readonly requestTimeout: number;
  readonly maxHeaderSize: number;
  readonly maxConnections?: number;
}

/** How often `close` drops the connections that became idle. */
const IDLE_CHECK_MS = 50;

/** Listens on 127.0.0.1; rejects with `InvalidUsage` if the port cannot be used. */
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
            hint: "Name another port; --port 0 takes any free one.",
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
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
      const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearInterval(idle);
      clearTimeout(deadline);
    },
  };
}
