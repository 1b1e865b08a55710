import type { TriggerReason } from "../packages/compact-context/src/core/policy.ts";
import type { CompactEventName } from "../packages/compact-context/src/core/report.ts";

/** One property of an event, or of a nested object. */
export interface PropertySchema {
  readonly type: "string" | "integer" | "number" | "boolean" | "object" | "strings" | "objects";
  /** Unit of a number: `token`, `message`, `ms`, `USD`, `ratio` (0 to 1 unless stated otherwise), `count`. */
  readonly unit?: string;
  readonly meaning: string;
  /** Omitted if it has no value. */
  readonly optional?: true;
  /** The possible values and their meaning. */
  readonly values?: Readonly<Record<string, string>>;
  /** Whether other values are possible. */
  readonly open?: true;
  /** The properties of an object, or of each object in a list. */
  readonly properties?: Properties;
}

export type Properties = Readonly<Record<string, PropertySchema>>;

export interface EventSchema {
  readonly when: string;
  readonly properties: Properties;
  /** The payload, if there is one. */
  readonly payload?: string;
  readonly status: "ok" | "error";
}

/** The policy's reasons to compact or not. */
export const reasons: Readonly<Record<TriggerReason, string>>;
export const eventSchema: Readonly<Record<CompactEventName, EventSchema>>;
/** The fields of every record in addition to its event's properties, as in `events.jsonl`. */
export const recordSchema: Properties;
