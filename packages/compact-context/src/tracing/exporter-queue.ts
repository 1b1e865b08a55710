import type { CompactEvent, Exporter, Place } from "../core/ports.ts";
import { later } from "../errors.ts";

/** Tells a problem of an exporter in one line, with what was thrown where something was; never throws. */
export type Report = (name: string, problem: string, error?: unknown) => void;

/** One event on its way to one exporter. */
export interface Parcel {
  /** Makes the redacted event, once for all exporters. */
  readonly open: () => CompactEvent;
  readonly place: Place | undefined | Promise<Place | undefined>;
  /** About how much memory it holds. */
  readonly bytes: number;
}

export interface LaneOptions {
  readonly maxQueue: number;
  readonly maxQueueBytes: number;
  /** Milliseconds after which an exporter that does not answer is told of. */
  readonly patienceMs: number;
  readonly report: Report;
  /** Called for each event that did not reach the exporter. */
  readonly lost: () => void;
}

/** The queue of one exporter: a slow one holds up nobody else. */
export interface Lane {
  push(parcel: Parcel): void;
  /** Resolves when what waits has left, or was given up. */
  flush(): Promise<void>;
}

export function createLane(exporter: Exporter, options: LaneOptions): Lane {
  const name = exporter.name ?? "compact";
  const report = (problem: string, error?: unknown): void => options.report(name, problem, error);
  const waiting: Parcel[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | undefined;
  let failing = false;
  let untold = 0;

  const lose = (): void => {
    untold += 1;
    options.lost();
  };
  const tellLosses = (): void => {
    if (untold === 0) return;
    report(`${untold} ${untold === 1 ? "event was" : "events were"} not delivered`);
    untold = 0;
  };
  const take = (): Parcel | undefined => {
    const parcel = waiting.shift();
    waitingBytes -= parcel?.bytes ?? 0;
    return parcel;
  };
  const deliver = async (work: () => void | Promise<void>): Promise<boolean> => {
    const stopWaiting = later(options.patienceMs, () => {
      report("an exporter does not answer; what waits for it is dropped, the oldest first");
    });
    try {
      await work();
      if (failing) tellLosses();
      failing = false;
      return true;
    } catch (error) {
      if (!failing) report("an exporter fails", error);
      failing = true;
      return false;
    } finally {
      stopWaiting();
    }
  };
  const send = async ({ open, place }: Parcel): Promise<void> => {
    let event: CompactEvent;
    try {
      event = open();
    } catch (error) {
      options.lost();
      report("an event was not exported, redaction failed", error);
      return;
    }
    if (!(await deliver(async () => exporter.export(event, await place)))) lose();
  };
  const drain = async (): Promise<void> => {
    // Redaction and exporters run once the caller has its answer, not before it.
    await new Promise((resolve) => setTimeout(resolve, 0));
    for (let next = take(); next !== undefined; next = take()) await send(next);
    running = undefined;
  };

  return {
    push(parcel) {
      waiting.push(parcel);
      waitingBytes += parcel.bytes;
      while (waiting.length > options.maxQueue || waitingBytes > options.maxQueueBytes) {
        take();
        lose();
      }
      running ??= drain();
    },
    async flush() {
      while (running !== undefined) await running;
      await deliver(() => exporter.flush?.());
      tellLosses();
    },
  };
}

const PER_VALUE = 16;
/** Values that are looked at; more of them are taken to be of the same size as these. */
const MOST_VALUES = 2000;

/** About how many bytes of memory a JSON-like value holds: two for a character, sixteen for every value. */
export function memorySize(value: unknown): number {
  const left: unknown[] = [value];
  let bytes = 0;
  for (let seen = 0; left.length > 0; seen += 1) {
    if (seen === MOST_VALUES) return Math.round(bytes * (1 + left.length / MOST_VALUES));
    const next = left.pop();
    bytes += PER_VALUE;
    if (typeof next === "string") bytes += next.length * 2;
    else if (typeof next === "object" && next !== null) {
      for (const [key, inner] of Object.entries(next)) {
        bytes += key.length * 2;
        left.push(inner);
      }
    }
  }
  return bytes;
}
