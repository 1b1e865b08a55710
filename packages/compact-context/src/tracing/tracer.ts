import { type EventDraft, type EventLoss, type EventSink, eventAt, isLossWarning } from "../core/events.ts";
import type { CompactEvent, Exporter, Place } from "../core/ports.ts";
import { errorMessage } from "../errors.ts";
import { escapeControl } from "./escape.ts";
import { ExporterQueue, memorySize, type Report } from "./exporter-queue.ts";

export interface Tracer extends EventSink {
  /** Events that did not reach an exporter, one for each exporter; the warnings about losses do not count. */
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
  /** Milliseconds without progress after which an exporter counts as hanging; 2,000 when left out. */
  readonly patienceMs?: number;
  /** Gets one line when an exporter begins to fail, and how much it missed; standard error when left out. */
  readonly onError?: (line: string) => void;
}

/** Sends events to exporters, each at its own pace, and shields the run from all that they do. */
export function createTracer(options: TracerOptions): Tracer {
  const { exporters, redact } = options;
  const isoNow = createIsoClock(options.now);
  const report = createReport(options.onError ?? ((line) => console.error(line)), redact);
  let losses: EventLoss[] = [];
  /** Events that reached no queue: the clock or something else of ours failed. */
  let unsent = 0;
  const settings = {
    maxQueue: options.maxQueue ?? 1000,
    maxQueueBytes: options.maxQueueBytes ?? 8 * 1024 * 1024,
    patienceMs: options.patienceMs ?? 2000,
    report,
    onLoss: (loss: EventLoss): void => void losses.push(loss),
  };
  const queues = exporters.map((exporter) => new ExporterQueue(exporter, settings));

  const send = (draft: EventDraft): EventDraft => {
    const places = exporters.map(placeIn);
    const placed = draft.host === undefined ? withHost(draft, places) : draft;
    const event = eventAt(placed, placed.endedAt ?? isoNow());
    const open = once(() => freeze(redactEvent(event, redact)));
    const bytes = memorySize([event.properties, event.payload]);
    const { sessionId } = event;
    queues.forEach((queue, index) => {
      queue.push({ sessionId, open, place: places[index], bytes, isLossWarning: isLossWarning(event) });
    });
    return placed;
  };

  return {
    emit(draft) {
      if (queues.length === 0) return draft;
      try {
        return send(draft);
      } catch (error) {
        if (unsent === 0) report("compact", "events cannot be exported", error);
        unsent += 1;
        return draft;
      }
    },
    async flush() {
      await Promise.all(queues.map((queue) => queue.flush()));
    },
    takeLosses() {
      const taken = losses;
      losses = [];
      return taken;
    },
    get dropped() {
      return queues.reduce((total, queue) => total + queue.lost, unsent);
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

function redactEvent(event: CompactEvent, redact: TracerOptions["redact"]): CompactEvent {
  if (redact === undefined) return event;
  const { properties, payload } = event;
  const safe = redact.redactValue({ properties, payload }) as Pick<CompactEvent, "properties" | "payload">;
  return { ...event, properties: safe.properties, payload: safe.payload };
}

/** Several exporters get the same event: none may change it for the others. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Events come in twos and threes within a millisecond, so the text of a moment is written once. Throws for no time. */
function createIsoClock(now: () => number): () => string {
  let last: { readonly at: number; readonly text: string } | undefined;
  return () => {
    const at = now();
    if (last?.at !== at) last = { at, text: new Date(at).toISOString() };
    return last.text;
  };
}

const MAX_REASON = 300;

/** Lines like `[Ariadne] export failed: the server answered 500`, without secrets and control characters. */
function createReport(
  onError: (line: string) => void,
  redact: { redactValue(value: unknown): unknown } | undefined,
): Report {
  const reasonOf = (error: unknown): string => {
    const reason = errorMessage(error);
    const safe = String(redact === undefined ? reason : redact.redactValue(reason));
    return `: ${escapeControl(safe).replace(/\s+/g, " ").slice(0, MAX_REASON)}`;
  };
  return (name, problem, error) => {
    try {
      onError(`[${name}] ${problem}${error === undefined ? "" : reasonOf(error)}`);
    } catch {
      // Nobody is left to report this to; the run goes on.
    }
  };
}
