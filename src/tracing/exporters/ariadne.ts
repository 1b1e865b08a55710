import type { CompactEvent, Exporter } from "../event.ts";

export interface AriadneOptions {
  /** Where Ariadne takes events; `http://127.0.0.1:5175/ingest` when left out. */
  readonly url?: string;
  /** Milliseconds that one request may take; 2,000 when left out. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  /** Makes an id that no other span has. */
  readonly newId?: () => string;
  /** Milliseconds of a steady clock. */
  readonly now?: () => number;
}

/** Ariadne refuses bodies over 262,144 bytes, and cuts texts at 102,400 characters. */
const LONGEST_TEXT = 40_000;
/** Failures in a row after which nothing is sent for this many milliseconds. */
const FAILURES = 3;
const PAUSE_MS = 30_000;

/** A trace of one session's compactions: what is part of one round stands below a span of its own. */
interface Trace {
  readonly id: string;
  /** The round that is under way. */
  round: { readonly span: string; startedAt: string; failed: boolean } | undefined;
}

/**
 * Sends every event as a span to Ariadne, a viewer of traces: one trace for each session and process, one span for each
 * round of compaction, above its steps. `export` rejects when a span did not arrive; after three in a row nothing is
 * sent for half a minute. The tracer bounds what waits and keeps all of it from the run.
 */
export function createAriadneExporter(options: AriadneOptions = {}): Exporter {
  const now = options.now ?? (() => performance.now());
  const newId = options.newId ?? (() => crypto.randomUUID());
  const target: Target = {
    url: options.url ?? "http://127.0.0.1:5175/ingest",
    timeoutMs: options.timeoutMs ?? 2_000,
    fetch: options.fetch ?? fetch,
  };
  const traces = new Map<string, Trace>();
  let failed = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return {
    async export(event) {
      const trace = traces.get(event.sessionId) ?? { id: `${event.sessionId} ${newId()}`, round: undefined };
      traces.set(event.sessionId, trace);
      const spans = spansOf(event, trace, newId);
      if (now() < pausedUntil) return;
      try {
        await post(spans, target);
        failed = 0;
      } catch (error) {
        failed += 1;
        if (failed >= FAILURES) pausedUntil = now() + PAUSE_MS;
        const words = error instanceof Error ? error.message : String(error);
        throw new Error(`[Ariadne] ${words}`, { cause: error });
      }
    },
  };
}

/** The event's own span and, with the last step of a round, the span of the round. */
function spansOf(event: CompactEvent, trace: Trace, newId: () => string): string[] {
  if (event.name === "compact.archival")
    trace.round ??= { span: newId(), startedAt: event.startedAt, failed: false };
  const { round } = trace;
  const own = spanText(event, { trace: trace.id, span: newId(), parent: round?.span });
  if (round === undefined) return [own];
  if (event.startedAt < round.startedAt) round.startedAt = event.startedAt;
  round.failed ||= event.status === "error";
  if (event.name !== "compact.pruned_messages") return [own];
  trace.round = undefined;
  const whole: CompactEvent = {
    version: event.version,
    name: event.name,
    sessionId: event.sessionId,
    startedAt: round.startedAt,
    endedAt: event.endedAt,
    status: round.failed ? "error" : "ok",
    properties: {},
  };
  return [own, spanText(whole, { trace: trace.id, span: round.span, parent: undefined, name: "compact" })];
}

interface Place {
  readonly trace: string;
  readonly span: string;
  readonly parent: string | undefined;
  readonly name?: string;
}

/** Each span is sent once, at its end, and never ends before it began; fields without a value are left out, for Ariadne refuses `null`. */
function spanText(event: CompactEvent, { trace, span, parent, name }: Place): string {
  const output = event.payload === undefined ? undefined : shortened(textOf(event.payload));
  return JSON.stringify({
    type: "span",
    trace_id: trace,
    span_id: span,
    ...(parent === undefined ? {} : { parent_id: parent }),
    kind: "compact",
    name: name ?? event.name,
    started_at: event.startedAt,
    ended_at: [event.startedAt, event.endedAt].sort().at(-1),
    status: event.status,
    data: {
      session_id: event.sessionId,
      ...(JSON.parse(shortenedJson(event.properties)) as object),
      ...(output === undefined ? {} : { output }),
    },
  });
}

function textOf(payload: unknown): string {
  return typeof payload === "string" ? payload : (JSON.stringify(payload) ?? "");
}

function shortened(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}…`;
}

function shortenedJson(properties: CompactEvent["properties"]): string {
  return JSON.stringify(properties, (_key, value: unknown) =>
    typeof value === "string" ? shortened(value) : value,
  );
}

interface Target {
  readonly url: string;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
}

async function post(spans: readonly string[], target: Target): Promise<void> {
  const status = await send(`{"batch":[${spans.join(",")}]}`, target);
  if (status >= 300) throw new Error(`the server answered ${status}`);
}

async function send(body: string, { url, timeoutMs, fetch: request }: Target): Promise<number> {
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
}
