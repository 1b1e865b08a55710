import { type EventDraft, type EventSink, eventAt } from "../core/events.ts";
import type { CompactEvent, Exporter, Place } from "../core/ports.ts";
import { escapeControl } from "./escape.ts";
import { createLane, memorySize, type Report } from "./exporter-queue.ts";

export interface Tracer extends EventSink {
  /**
   * Returns at once and never throws; the exporters run later. What it gives back is the draft with the host's
   * span, where an exporter knows it.
   */
  emit(draft: EventDraft): EventDraft;
  /** Resolves when everything has left or `deadlineMs` have passed; true when everything has left. Never rejects. */
  flush(deadlineMs: number): Promise<boolean>;
  /** Deliveries that came to nothing: the exporter was too slow or failed, or redaction did. */
  readonly dropped: number;
}

export interface TracerOptions {
  readonly exporters: readonly Exporter[];
  /** Takes secrets out of properties and payload; an event that it throws on is not exported. */
  readonly redact?: { redactValue(value: unknown): unknown };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Events that wait for each exporter at most; the oldest go first. 1,000 when left out. */
  readonly maxQueue?: number;
  /** Bytes of memory that they may hold, about; 8 MiB when left out. */
  readonly maxQueueBytes?: number;
  /** Milliseconds after which an exporter that does not answer is told of; 2,000 when left out. */
  readonly patienceMs?: number;
  /** Told in one line when an exporter begins to fail, and how much it missed; standard error when left out. */
  readonly onError?: (line: string) => void;
}

/** Sends events to exporters, each at its own pace, and shields the run from all that they do. */
export function createTracer(options: TracerOptions): Tracer {
  const { exporters, redact } = options;
  const isoNow = createIsoClock(options.now);
  const report = createReport(options.onError ?? ((line) => console.error(line)), redact);
  let dropped = 0;
  const lost = (): void => {
    dropped += 1;
  };
  const lanes = exporters.map((exporter) =>
    createLane(exporter, {
      maxQueue: options.maxQueue ?? 1000,
      maxQueueBytes: options.maxQueueBytes ?? 8 * 1024 * 1024,
      patienceMs: options.patienceMs ?? 2000,
      report,
      lost,
    }),
  );

  const send = (draft: EventDraft): EventDraft => {
    const places = exporters.map(placeIn);
    const placed = draft.host === undefined ? withHost(draft, places) : draft;
    const event = completed(placed, isoNow);
    if (event === undefined) {
      lost();
      return placed;
    }
    const open = once(() => frozen(redacted(event, redact)));
    const bytes = memorySize([event.properties, event.payload]);
    lanes.forEach((lane, index) => {
      lane.push({ open, place: places[index], bytes });
    });
    return placed;
  };
  const emit = (draft: EventDraft): EventDraft => {
    if (lanes.length === 0) return draft;
    try {
      return send(draft);
    } catch (error) {
      lost();
      report("compact", "an event was not exported", error);
      return draft;
    }
  };

  return {
    emit,
    async flush(deadlineMs) {
      const done = Promise.all(lanes.map((lane) => lane.flush())).then(() => true);
      return withDeadline(done, deadlineMs);
    },
    get dropped() {
      return dropped;
    },
  };
}

type FoundPlace = Place | undefined | Promise<Place | undefined>;

/** A place that cannot be found is no reason to lose the event. */
function placeIn(exporter: Exporter): FoundPlace {
  try {
    const place = exporter.here?.();
    return place instanceof Promise ? place.catch(() => undefined) : place;
  } catch {
    return undefined;
  }
}

/** The span of the first exporter that knows it at once. */
function withHost(draft: EventDraft, places: readonly FoundPlace[]): EventDraft {
  for (const place of places) {
    if (place === undefined || place instanceof Promise || place.host === undefined) continue;
    return { ...draft, host: place.host };
  }
  return draft;
}

function redacted(event: CompactEvent, redact: TracerOptions["redact"]): CompactEvent {
  if (redact === undefined) return event;
  const { properties, payload } = event;
  const safe = redact.redactValue({ properties, payload }) as Pick<CompactEvent, "properties" | "payload">;
  return { ...event, properties: safe.properties, payload: safe.payload };
}

/** Several exporters get the same event: none may change it for the others. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

type IsoClock = () => string | undefined;

/** Nothing where the clock itself fails: an event without a time is of no use. */
function completed(draft: EventDraft, isoNow: IsoClock): CompactEvent | undefined {
  const at = draft.endedAt ?? isoNow();
  return at === undefined ? undefined : eventAt(draft, at);
}

/** Events come in twos and threes within a millisecond: its text is written once. */
function createIsoClock(now: () => number): IsoClock {
  let last: { readonly at: number; readonly text: string } | undefined;
  return () => {
    try {
      const at = now();
      if (last?.at !== at) last = { at, text: new Date(at).toISOString() };
      return last.text;
    } catch {
      return undefined;
    }
  };
}

async function withDeadline(done: Promise<boolean>, deadlineMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), deadlineMs);
  });
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}

const LONGEST_REASON = 300;

/** Lines like `[Ariadne] an exporter fails: the server answered 500`, without secrets and control characters. */
function createReport(
  onError: (line: string) => void,
  redact: { redactValue(value: unknown): unknown } | undefined,
): Report {
  const reasonOf = (error: unknown): string => {
    const reason = error instanceof Error ? error.message : String(error);
    const safe = String(redact === undefined ? reason : redact.redactValue(reason));
    return `: ${escapeControl(safe).replace(/\s+/g, " ").slice(0, LONGEST_REASON)}`;
  };
  return (name, problem, error) => {
    try {
      onError(`[${name}] ${problem}${error === undefined ? "" : reasonOf(error)}`);
    } catch {
      // A reporter that fails has nobody left to tell; the run goes on.
    }
  };
}
