import type { CompactEvent, Exporter, HostSpan, Place } from "../../core/report.ts";
import { createLruMap } from "../../errors.ts";
import type { SpanLike, TracingFunctions } from "./sdk.ts";

/** Turns events into custom spans of the SDK's own trace. */
export interface SpanExporter extends Exporter {
  /** Attaches the session's later events to the current span. */
  attach(sessionId: string): void;
}

/** Sessions whose span is remembered; the oldest is evicted first. */
const MAX_PLACES = 256;

/**
 * OBS-4: creates a span for every event under the agent's turn if a trace is open and the SDK's tracing is
 * on. `tracing`: the SDK's module, or its three functions.
 */
export function createSpanExporter<Span extends SpanLike, Trace>(
  tracing: TracingFunctions<Span, Trace>,
): SpanExporter {
  const places = createLruMap<Span | Trace>(MAX_PLACES);
  const here = (): Span | Trace | null => tracing.getCurrentSpan() ?? tracing.getCurrentTrace();
  return {
    attach(sessionId) {
      const place = here();
      if (place === null) places.delete(sessionId);
      else places.set(sessionId, place);
    },
    here() {
      const at = here();
      return at === null ? undefined : { at, ...idsOf(at) };
    },
    export(event, place) {
      const { at } = (place ?? {}) as { readonly at?: Span | Trace };
      const parent = places.get(event.sessionId) ?? at ?? here();
      if (parent === null) return;
      write(tracing.createCustomSpan({ data: { name: event.name, data: dataOf(event) } }, parent), event);
    },
  };
}

/** A trace has one id, a span has two. */
function idsOf(at: unknown): Place {
  const { traceId, spanId } = at as Partial<HostSpan>;
  if (typeof traceId !== "string") return {};
  return { host: { traceId, spanId: typeof spanId === "string" ? spanId : undefined } };
}

function dataOf(event: CompactEvent): Record<string, unknown> {
  const output = event.payload === undefined ? {} : { output: event.payload };
  return { session_id: event.sessionId, ...event.properties, ...output };
}

function write(span: SpanLike, event: CompactEvent): void {
  span.start();
  // A span takes its times from these calls; the event has the step's actual times.
  const shown = { configurable: true, enumerable: true };
  Object.defineProperty(span, "startedAt", { ...shown, value: event.startedAt });
  Object.defineProperty(span, "endedAt", { ...shown, value: event.endedAt });
  if (event.status === "error") {
    const { message } = event.properties;
    span.setError({ message: String(message ?? event.name), data: { ...event.properties } });
  }
  span.end();
}
