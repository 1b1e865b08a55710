import { eventLine } from "../../archive/store.ts";
import type { CompactEvent, Exporter } from "../../core/report.ts";
import { CompactError, escapeControl, requireKnown } from "../../errors.ts";

// HTTP requests to a collector: which URLs are allowed, and one request at a time.

/** Sends one body as JSON; resolves with the response status, rejects if there is no response in time. */
export type Post = (body: string) => Promise<number>;

export interface PostOptions {
  readonly url: URL;
  /** Timeout of one request in milliseconds, response included. */
  readonly timeoutMs: number;
}

/** A longer response is an error. */
export const MAX_ANSWER_BYTES: number = 64 * 1024;

/** A `Post` over `fetch`; the response body is not read. */
export function postByFetch({ url, timeoutMs }: PostOptions, request: typeof fetch): Post {
  return async (body) => {
    const answer = await request(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.body?.cancel();
    // In some runtimes an unfollowed redirect has status 0.
    return answer.type === "opaqueredirect" ? 302 : answer.status;
  };
}

/**
 * Validates a collector's URL: `http` or `https`, no user name, and no link-local address, where clouds serve
 * machine credentials. Throws `InvalidConfig`. Loopback and private addresses are allowed: the user names the
 * collector, never a settings file in the working directory.
 */
export function collectorUrl(text: string, place: string): URL {
  const refuse = (problem: string, hint: string): CompactError =>
    new CompactError("InvalidConfig", `${place}: ${problem}`, { place, hint });
  if (!URL.canParse(text)) throw refuse("not a URL", "Name it like http://127.0.0.1:5175/ingest.");
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw refuse(`events are not sent over ${url.protocol}`, "Use http or https.");
  }
  if (url.username !== "" || url.password !== "") {
    throw refuse("a URL with a user name or password", "Leave them out: they would show in logs.");
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isLinkLocal(host)) throw refuse("a link-local address", "Name the collector's own address.");
  return url;
}

/** True for 169.254.0.0/16, also as IPv6, and fe80::/10, in the spelling of `URL` or a name server. */
export function isLinkLocal(address: string): boolean {
  const plain = address.toLowerCase();
  return (
    plain.startsWith("169.254.") ||
    /^fe[89ab][0-9a-f]:/.test(plain) ||
    /^::ffff:(?:0:)?(?:a9fe:|169\.254\.)/.test(plain) ||
    /^64:ff9b::(?:a9fe:|169\.254\.)/.test(plain) ||
    plain === "fd00:ec2::254"
  );
}

// Exporters within the process: a file, the terminal.

/** Writes one JSON record per line through `append`, which is called with the line and its newline. */
export function createJsonlExporter(options: {
  readonly append: (line: string) => void | Promise<void>;
}): Exporter {
  return { export: (event: CompactEvent) => options.append(eventLine(event)) };
}

const MAX_VALUE = 120;

/**
 * Writes one line per event through `write`, without its newline; default: standard error. The line is
 * readable text if `terminal` is true, JSON otherwise. Default of `terminal`: whether standard error is one.
 */
export function createConsoleExporter(
  options: { readonly write?: (line: string) => void; readonly terminal?: boolean } = {},
): Exporter {
  requireKnown(options, { write: true, terminal: true });
  const { write = (line) => console.error(line), terminal = isTerminal() } = options;
  return {
    export(event) {
      write(terminal ? readableLine(event) : asciiJson(eventLine(event).trimEnd()));
    },
  };
}

function isTerminal(): boolean {
  const { process } = globalThis as { process?: { stderr?: { isTTY?: boolean } } };
  return process?.stderr?.isTTY === true;
}

/** JSON.stringify leaves C1 controls and bidi marks unescaped; a log viewer may interpret them. */
function asciiJson(json: string): string {
  return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function readableLine(event: CompactEvent): string {
  const time = event.startedAt.slice(11, 23);
  const took = Date.parse(event.endedAt) - Date.parse(event.startedAt);
  const words = [time, event.status === "error" ? `${event.name} FAILED` : event.name, event.sessionId];
  for (const [name, value] of Object.entries(event.properties)) words.push(`${name}=${shown(value)}`);
  if (took > 0) words.push(`(${took} ms)`);
  return escapeControl(words.join(" ")).replace(/[\n\t]/g, " ");
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const short = text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
  return typeof value === "string" && /\s/.test(short) ? JSON.stringify(short) : short;
}
