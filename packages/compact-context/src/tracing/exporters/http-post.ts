import { eventLine } from "../../core/archive.ts";
import type { CompactEvent, Exporter } from "../../core/report.ts";
import { CompactError, escapeControl, requireOptions } from "../../errors.ts";

// Sending to a collector over HTTP: which URLs are allowed, and one request at a time.

/** Sends one body as JSON; resolves with the status of the answer, rejects when there was none in time. */
export type Post = (body: string) => Promise<number>;

export interface PostOptions {
  readonly url: URL;
  /** Milliseconds for the whole of one request, its answer included. */
  readonly timeoutMs: number;
  /** Used in place of Node's own client. */
  readonly fetch?: typeof fetch;
}

/** A longer answer is an error. */
export const MAX_ANSWER_BYTES: number = 64 * 1024;

/** A `Post` over `fetch`; the body of the answer is not read. */
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
    // A redirect that is not followed has the status 0 in some runtimes.
    return answer.type === "opaqueredirect" ? 302 : answer.status;
  };
}

/**
 * The URL of a collector, checked: `http` or `https`, without a user name, and no link-local address, where clouds
 * keep their machines' credentials. Throws `InvalidConfig`. Loopback and private addresses are allowed: a collector
 * is named by whoever runs the program, never by a settings file of the working directory.
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

/** True for addresses of 169.254.0.0/16, also as IPv6, and of fe80::/10, as `URL` or a name server writes them. */
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

// Exporters that stay in the process: a file, the terminal.

/** Writes one JSON record a line through `append`, which gets the line with its newline. */
export function createJsonlExporter(options: {
  readonly append: (line: string) => void | Promise<void>;
}): Exporter {
  return { export: (event: CompactEvent) => options.append(eventLine(event)) };
}

const MAX_VALUE = 120;

/**
 * Writes one line per event through `write` (without its newline), standard error when left out: words for people
 * when `terminal` is true, JSON otherwise. Without `terminal`, whether standard error is one decides.
 */
export function createConsoleExporter(
  options: { readonly write?: (line: string) => void; readonly terminal?: boolean } = {},
): Exporter {
  requireOptions(options);
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

/** JSON.stringify leaves C1 controls and bidi marks as they are; a log viewer may obey them. */
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
