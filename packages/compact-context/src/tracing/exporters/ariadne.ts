import type { CompactEvent, Exporter } from "../../core/ports.ts";
import { requireOptions } from "../../errors.ts";
import { createNewestMap } from "../round.ts";
import { createAriadneSpans } from "./ariadne-spans.ts";
import { collectorUrl } from "./collector-url.ts";
import { createPost } from "./create-post.ts";

export interface AriadneOptions {
  /** Where Ariadne takes events; `http://127.0.0.1:5175/ingest` when left out. */
  readonly url?: string;
  /** Milliseconds that one request may take; 2,000 when left out. */
  readonly timeoutMs?: number;
  /** Used in place of Node's own client. */
  readonly fetch?: typeof fetch;
  /** Makes an id that no other span has. */
  readonly newId?: () => string;
  /** Milliseconds of a steady clock. */
  readonly now?: () => number;
}

/** Failures in a row after which nothing is sent for this many milliseconds. */
const FAILURES = 3;
const PAUSE_MS = 30_000;
/** Sessions whose traces are remembered; a session that was forgotten gets another one. */
const MOST_TRACES = 1000;

/**
 * Sends every event as a span to Ariadne, a viewer of traces: one trace for each session and process, one span for each
 * round of compaction, above its steps. `export` rejects when a span did not arrive; after three in a row nothing is
 * sent for half a minute. The tracer bounds what waits and keeps all of it from the run. Throws `InvalidConfig` for a
 * URL that events are not sent to.
 */
export function createAriadneExporter(options: AriadneOptions = {}): Exporter {
  requireOptions(options);
  const now = options.now ?? (() => performance.now());
  const newId = options.newId ?? (() => crypto.randomUUID());
  const post = createPost({
    url: collectorUrl(options.url ?? "http://127.0.0.1:5175/ingest", "the URL of Ariadne"),
    timeoutMs: options.timeoutMs ?? 2_000,
    fetch: options.fetch,
  });
  const traces = createNewestMap<(event: CompactEvent) => string[]>(MOST_TRACES);
  let failed = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return {
    name: "Ariadne",
    async export(event) {
      const trace = (): string => `${event.sessionId.slice(0, 200)} ${newId()}`;
      const spansOf = traces.get(event.sessionId) ?? createAriadneSpans(trace(), newId);
      traces.set(event.sessionId, spansOf);
      const spans = spansOf(event);
      if (now() < pausedUntil) throw new Error("the server failed too often; it is asked again in a while");
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
