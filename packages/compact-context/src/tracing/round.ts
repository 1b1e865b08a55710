import type { CompactEvent } from "../core/ports.ts";

/** What became of a compaction that an `error` event with one of these fallbacks tells of: nothing. */
const GIVEN_UP: ReadonlySet<unknown> = new Set(["nothing is pruned", "the session is read again"]);

/** Where an event stands in the compaction that it is a step of. */
export interface RoundStep {
  /** The number of the compaction in its session. */
  readonly step: number;
  /** Whether it is the last one. */
  readonly last: boolean;
}

/** Undefined for what is no part of a compaction, such as an estimate. */
export function roundStep({ name, properties }: CompactEvent): RoundStep | undefined {
  const { step, fallback } = properties;
  if (typeof step !== "number") return undefined;
  const last = name === "compact.pruned_messages" || (name === "compact.error" && GIVEN_UP.has(fallback));
  return { step, last };
}

/** The time, or the start where it lies before that; both ISO 8601 in UTC. */
export function notBefore(time: string, start: string): string {
  return time < start ? start : time;
}

/** The newest values by key, `most` of them; whoever is pushed out is handed to `forgotten`. */
export interface NewestMap<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
}

export function createNewestMap<Value>(
  most: number,
  forgotten: (value: Value) => void = () => undefined,
): NewestMap<Value> {
  const values = new Map<string, Value>();
  return {
    get: (key) => values.get(key),
    set(key, value) {
      values.delete(key);
      values.set(key, value);
      const oldest = values.entries().next();
      if (values.size <= most || oldest.done === true) return;
      values.delete(oldest.value[0]);
      forgotten(oldest.value[1]);
    },
    delete: (key) => void values.delete(key),
  };
}
