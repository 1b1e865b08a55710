import { escapeControl } from "./escape.ts";
import {
  type CompactEvent,
  type CompactEventName,
  EVENT_VERSION,
  type Exporter,
  type HostSpan,
} from "./event.ts";
import type { EventDescription } from "./events.ts";

/** An event to send: its times are the moment of the call where they are left out. */
export interface EventDraft extends EventDescription {
  readonly sessionId: string;
  readonly host?: HostSpan;
  /** ISO 8601, UTC. */
  readonly startedAt?: string;
  readonly endedAt?: string;
}

/** A step whose beginning is noted; `end` sends its event with the time that it took, once. */
export interface Span {
  end(description: Omit<EventDescription, "name">): void;
}

export interface Tracer {
  /** Returns at once and never throws; the exporters run later. */
  emit(draft: EventDraft): void;
  start(name: CompactEventName, sessionId: string): Span;
  /** Resolves when everything has left or `deadlineMs` have passed; true when everything has left. Never rejects. */
  flush(deadlineMs: number): Promise<boolean>;
  /** Deliveries given up because an exporter was too slow, or redaction failed. */
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
  /** Told in one line when an exporter begins to fail; standard error when left out. */
  readonly onError?: (line: string) => void;
}

type Report = (problem: string, error: unknown) => void;

/** Sends events to exporters, each at its own pace, and shields the run from all that they do. */
export function createTracer(options: TracerOptions): Tracer {
  const { exporters, redact, maxQueue = 1000 } = options;
  const isoNow = createIsoClock(options.now);
  const report = createReporter(options.onError ?? ((line) => console.error(line)), redact);
  let dropped = 0;
  const drop = (): void => {
    dropped += 1;
  };
  const lanes = exporters.map((exporter) => createLane(exporter, { maxQueue, report, drop }));

  const emit = (draft: EventDraft): void => {
    if (lanes.length === 0) return;
    const event = completed(draft, isoNow);
    if (event === undefined) {
      drop();
      return;
    }
    const safeEvent = once(() => redacted(event, redact));
    for (const lane of lanes) lane.push(safeEvent);
  };

  return {
    emit,
    start(name, sessionId) {
      const startedAt = isoNow();
      let ended = false;
      return {
        end(description) {
          if (ended) return;
          ended = true;
          emit({ ...description, name, sessionId, ...(startedAt === undefined ? {} : { startedAt }) });
        },
      };
    },
    async flush(deadlineMs) {
      const done = Promise.all(lanes.map((lane) => lane.flush())).then(() => true);
      return withDeadline(done, deadlineMs);
    },
    get dropped() {
      return dropped;
    },
  };
}

interface LaneOptions {
  readonly maxQueue: number;
  readonly report: Report;
  readonly drop: () => void;
}

interface Lane {
  push(event: () => CompactEvent): void;
  flush(): Promise<void>;
}

/** The queue of one exporter: a slow one holds up nobody else. */
function createLane(exporter: Exporter, { maxQueue, report, drop }: LaneOptions): Lane {
  const waiting: (() => CompactEvent)[] = [];
  let running: Promise<void> | undefined;
  let failing = false;

  const deliver = async (work: () => void | Promise<void>): Promise<void> => {
    try {
      await work();
      failing = false;
    } catch (error) {
      if (!failing) report("an exporter fails", error);
      failing = true;
    }
  };
  const send = async (makeEvent: () => CompactEvent): Promise<void> => {
    let event: CompactEvent;
    try {
      event = makeEvent();
    } catch (error) {
      drop();
      report("an event was not exported, redaction failed", error);
      return;
    }
    await deliver(() => exporter.export(event));
  };
  const drain = async (): Promise<void> => {
    // Leaves the caller's stack before any exporter runs.
    await Promise.resolve();
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await send(next);
    running = undefined;
  };

  return {
    push(event) {
      waiting.push(event);
      while (waiting.length > maxQueue) {
        waiting.shift();
        drop();
      }
      running ??= drain();
    },
    async flush() {
      while (running !== undefined) await running;
      await deliver(() => exporter.flush?.());
    },
  };
}

function redacted(event: CompactEvent, redact: TracerOptions["redact"]): CompactEvent {
  if (redact === undefined) return event;
  const { properties, payload } = event;
  const safe = redact.redactValue({ properties, payload }) as Pick<CompactEvent, "properties" | "payload">;
  return {
    ...event,
    properties: safe.properties,
    ...(payload === undefined ? {} : { payload: safe.payload }),
  };
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
  const endedAt = draft.endedAt ?? isoNow();
  if (endedAt === undefined) return undefined;
  return { ...draft, version: EVENT_VERSION, endedAt, startedAt: draft.startedAt ?? endedAt };
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

function createReporter(onError: (line: string) => void, redact: TracerOptions["redact"]): Report {
  return (problem, error) => {
    try {
      const reason = error instanceof Error ? error.message : String(error);
      const safe = String(redact === undefined ? reason : redact.redactValue(reason));
      onError(`[compact] ${problem}: ${escapeControl(safe).replace(/\s+/g, " ").slice(0, 300)}`);
    } catch {
      // A reporter that fails has nobody left to tell; the run goes on.
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
