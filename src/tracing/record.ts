import type { CompactEvent } from "./event.ts";

/** An event as it is written down: snake_case, ready for JSON. */
export interface EventRecord {
  readonly version: number;
  readonly name: string;
  readonly session_id: string;
  /** The host's trace and its current span, as OpenTelemetry names them in log records. */
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly started_at: string;
  readonly ended_at: string;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

/** The record of an event, as in `events.jsonl`. */
function eventRecord(event: CompactEvent): EventRecord {
  return {
    version: event.version,
    name: event.name,
    session_id: event.sessionId,
    trace_id: event.host?.traceId,
    span_id: event.host?.spanId,
    started_at: event.startedAt,
    ended_at: event.endedAt,
    status: event.status,
    properties: event.properties,
    payload: event.payload,
  };
}

/** The record on one line, newline included. JSON escapes line ends, so no content can forge a second record. */
export function eventLine(event: CompactEvent): string {
  return `${JSON.stringify(eventRecord(event))}\n`;
}
