import type { CompactEvent, CompactEventName, Exporter } from "../../core/report.ts";
import { createLruMap, requireKnown } from "../../errors.ts";
import { notBefore, roundStep } from "../tracer.ts";
import { collectorUrl, type Post, type PostOptions, postByFetch } from "./http-post.ts";

export interface AriadneOptions {
  /** Ariadne's ingest URL. Default: `http://127.0.0.1:5175/ingest`. */
  readonly url?: string;
  /** Timeout of one request in milliseconds. Default: 1,800, less than the tracer's patience. */
  readonly timeoutMs?: number;
  /** Used instead of Node's own client. */
  readonly fetch?: typeof fetch;
  /** Returns a unique span id. */
  readonly newId?: () => string;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** After this many failures in a row, sending pauses for this many milliseconds. */
const FAILURES = 3;
const PAUSE_MS = 30_000;
/** Maximum sessions whose traces are kept; an evicted session starts a new trace. */
const MAX_TRACES = 1000;

/**
 * Sends every event as a span to Ariadne, a trace viewer: one trace per session and process, one span per
 * compaction round as the parent of its steps. `export` rejects if a span did not arrive; after three
 * failures in a row, sending pauses for half a minute. Throws `InvalidConfig` for a disallowed URL.
 */
export function createAriadneExporter(options: AriadneOptions = {}): Exporter {
  requireKnown(options, { url: true, timeoutMs: true, fetch: true, newId: true, now: true });
  const now = options.now ?? (() => performance.now());
  const newId = options.newId ?? (() => crypto.randomUUID());
  const url = collectorUrl(options.url ?? "http://127.0.0.1:5175/ingest", "the URL of Ariadne");
  const post = createPost({ url, timeoutMs: options.timeoutMs ?? 1_800 }, options.fetch);
  const traces = createLruMap<(event: CompactEvent) => string[]>(MAX_TRACES);
  let failed = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return {
    name: "Ariadne",
    async export(event) {
      const trace = (): string => `${event.sessionId.slice(0, 200)} ${newId()}`;
      const spansOf = traces.get(event.sessionId) ?? createAriadneSpans(trace(), newId);
      traces.set(event.sessionId, spansOf);
      const spans = spansOf(event);
      if (now() < pausedUntil)
        throw new Error("the server failed three times in a row; it is tried again after 30 s");
      try {
        const status = await post(`{"batch":[${spans.join(",")}]}`);
        if (status < 200 || status >= 300) throw new Error(`the server answered ${status}`);
        failed = 0;
      } catch (error) {
        failed += 1;
        if (failed >= FAILURES) pausedUntil = now() + PAUSE_MS;
        throw error;
      }
    },
  };
}

/** Ariadne truncates texts at 102,400 characters and rejects bodies over 262,144 bytes, which holds two such spans. */
const MAX_TEXT = 40_000;
const MAX_SPAN_BYTES = 120_000;
/** Maximum concurrent compactions of one session; older ones ended without a last event. */
const MAX_ROUNDS = 8;

interface Round {
  readonly span: string;
  startedAt: string;
  /** The text of the summary, once known. */
  summary?: unknown;
}

/**
 * Turns the events of one session into spans of one trace, as JSON: the event's own and, with the last step
 * of a round, the round's. Each is created once, at its end: Ariadne keeps the first one it receives.
 */
function createAriadneSpans(trace: string, newId: () => string): (event: CompactEvent) => string[] {
  const rounds = createLruMap<Round>(MAX_ROUNDS);
  return (event) => {
    const place = roundStep(event);
    if (place === undefined) return [spanText(event, { trace, span: newId() })];
    const key = String(place.step);
    const round = rounds.get(key) ?? { span: newId(), startedAt: event.startedAt };
    rounds.set(key, round);
    if (event.startedAt < round.startedAt) round.startedAt = event.startedAt;
    round.summary = event.payload ?? round.summary;
    const own = spanText(event, { trace, span: newId(), parent: round.span });
    if (!place.last) return [own];
    rounds.delete(key);
    const whole = { ...event, startedAt: round.startedAt, payload: round.summary };
    return [own, spanText(whole, { trace, span: round.span, name: "compact" })];
  };
}

interface Ids {
  readonly trace: string;
  readonly span: string;
  readonly parent?: string;
  readonly name?: string;
}

/** A span never ends before it starts, and fields without a value are omitted: Ariadne rejects `null`. */
function spanText(event: CompactEvent, { trace, span, parent, name }: Ids): string {
  const { startedAt, endedAt } = event;
  const fixed = { type: "span", trace_id: trace, span_id: span, parent_id: parent, kind: "compact" };
  const times = { started_at: startedAt, ended_at: notBefore(endedAt, startedAt) };
  const text = (data: object): string =>
    JSON.stringify({ ...fixed, name: name ?? event.name, ...times, status: event.status, data });
  for (const longest of [MAX_TEXT, MAX_TEXT / 10, MAX_TEXT / 100]) {
    const whole = text(dataOf(event, longest));
    if (new TextEncoder().encode(whole).length <= MAX_SPAN_BYTES) return whole;
  }
  const left_out = "too long for Ariadne";
  return text({ session_id: truncate(event.sessionId, 200), left_out, output: left_out });
}

function dataOf({ name, sessionId, host, properties, payload }: CompactEvent, longest: number): object {
  const shorten = (_key: string, value: unknown): unknown =>
    typeof value === "string" ? truncate(value, longest) : value;
  const data = {
    session_id: sessionId,
    host_trace_id: host?.traceId,
    host_span_id: host?.spanId,
    ...properties,
    output: outputOf(name, properties, payload),
  };
  return JSON.parse(JSON.stringify(data, shorten)) as object;
}

/**
 * The text of Ariadne's first tab; without `output` it picks another property. A summary's span shows the
 * summary, every other span a line of figures, a whole compaction both.
 */
function outputOf(name: CompactEventName, properties: CompactEvent["properties"], payload: unknown): string {
  if (payload === undefined) return sentenceOf[name](properties);
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  return name === "compact.summary_created" ? text : `${sentenceOf[name](properties)}\n\n${text}`;
}

const sentenceOf: Readonly<Record<CompactEventName, (of: CompactEvent["properties"]) => string>> = {
  "compact.token_estimate": ({ t_est, max_tokens, usage_pct, model }) =>
    `${t_est} of ${max_tokens} tokens (${Math.round(Number(usage_pct) * 100)} %), ${model}`,
  "compact.trigger_decision": ({ triggered, reason, outcome, error_type, pruned_count }) => {
    if (triggered !== true) return `not compacted: ${reason}`;
    if (outcome === "failed") return `compaction failed (${reason}): ${error_type}`;
    return `compacted (${reason}): ${pruned_count} messages left the list`;
  },
  "compact.archival": ({ messages, location }) => `${messages ?? "all"} messages saved to ${location}`,
  "compact.undone": ({ step, tokens_before, tokens_after }) =>
    `compaction ${step} undone: ${tokens_before} → ${tokens_after} tokens`,
  "compact.summary_created": ({ summary_tokens, input_messages, summarizer }) =>
    `${summary_tokens} tokens for ${input_messages} messages, by ${summarizer ?? "no summarizer"}`,
  "compact.pruned_messages": ({ tokens_before, tokens_after, pruned_count, cleared_count = 0 }) =>
    `${tokens_before} → ${tokens_after} tokens: ${pruned_count} messages left the list, ${cleared_count} were cleared`,
  "compact.error": ({ error_type, message, fallback }) => `${error_type}: ${message}; instead: ${fallback}`,
  "compact.warning": ({ code, message }) => `${code}: ${message}`,
};

function truncate(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

// ---- sending

/**
 * Uses Node's own client if available, whose idle sockets do not keep the process alive; otherwise `fetch`.
 * Redirects are not followed, proxy variables are ignored, and at most 64 KB of a response are read.
 */
function createPost(options: PostOptions, given: typeof fetch | undefined): Post {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (given !== undefined || process?.versions?.node === undefined)
    return postByFetch(options, given ?? fetch);
  let post: Promise<Post> | undefined;
  return async (body) => {
    post ??= import("./node-post.ts").then(({ createNodePost }) => createNodePost(options));
    return (await post)(body);
  };
}
