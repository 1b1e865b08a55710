/** Every event that Compact emits; the set is closed. */
export type CompactEventName =
  | "compact.token_estimate"
  | "compact.trigger_decision"
  | "compact.summary_created"
  | "compact.pruned_messages"
  | "compact.archival"
  | "compact.error"
  | "compact.warning";

/** Of the shape that `eventSchema` describes; it rises when a property changes its meaning or goes, not when one is added. */
export const EVENT_VERSION = 1;

/** The span of the host's own trace that was current when something happened; ids as the host writes them. */
export interface HostSpan {
  readonly traceId: string;
  readonly spanId?: string;
}

export interface CompactEvent {
  readonly version: typeof EVENT_VERSION;
  readonly name: CompactEventName;
  readonly sessionId: string;
  /** Where an exporter knows the host's trace. */
  readonly host?: HostSpan;
  /** ISO 8601, UTC, milliseconds: when the step began. */
  readonly startedAt: string;
  /** ISO 8601: when it ended; the same as `startedAt` for a moment. */
  readonly endedAt: string;
  readonly status: "ok" | "error";
  /** Flat snake_case properties. */
  readonly properties: Readonly<Record<string, unknown>>;
  /** The thing itself, where there is one: the summary's text. */
  readonly payload?: unknown;
}

/** Where in the host's own trace an event happened, in the words of the exporter that found out. */
export interface Place {
  readonly host?: HostSpan;
}

/** Receives events; may be slow or fail: the tracer shields the run from it. */
export interface Exporter {
  /** Stands before what is told about it; `compact` when left out. */
  readonly name?: string;
  /** `place`: what `here` found when the event happened. */
  export(event: CompactEvent, place?: Place): void | Promise<void>;
  /** Asked while the host's own context is current, before `export`, which runs later. */
  here?(): Place | undefined | Promise<Place | undefined>;
  /** Resolves when everything handed over so far has left. */
  flush?(): Promise<void>;
}
