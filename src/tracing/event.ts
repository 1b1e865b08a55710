/** Every event that Compact emits; the set is closed. */
export type CompactEventName =
  | "compact.token_estimate"
  | "compact.trigger_decision"
  | "compact.summary_created"
  | "compact.pruned_messages"
  | "compact.archival"
  | "compact.error"
  | "compact.warning";

export interface CompactEvent {
  readonly name: CompactEventName;
  readonly sessionId: string;
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

/** Receives events; may be slow or fail: the tracer shields the run from it. */
export interface Exporter {
  export(event: CompactEvent): void | Promise<void>;
  /** Resolves when everything handed over so far has left. */
  flush?(): Promise<void>;
}
