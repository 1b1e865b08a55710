import type { ArchiveStore } from "../archive/store.ts";
import { FALLBACK } from "../core/ports.ts";
import {
  type Announce,
  type CompactEvent,
  EVENT_VERSION,
  type EventRecorder,
  type Exporter,
  type HostSpan,
  type Place,
  type SessionEvent,
  type StepTimes,
} from "../core/report.ts";
import { batches, createKeyedMutex, errorMessage, escapeControl, hasCode } from "../errors.ts";
import { type DescriptionContext, describeEvent, type EventDescription } from "./descriptions.ts";
import { type EventLoss, ExporterQueue, memorySize, type Report } from "./exporter-queue.ts";

/** Sends events to exporters. */
export interface Tracer {
  /**
   * Returns at once and never throws; exporters run later. Returns the draft with the host's span, if an
   * exporter knows it.
   */
  emit(draft: EventDraft): EventDraft;
  /**
   * Resolves once every exporter has taken the events so far, failed, or was abandoned because it made no
   * progress. Never rejects.
   */
  flush(): Promise<void>;
  /** Losses since the last call, those of warnings about losses aside. */
  takeLosses(): readonly EventLoss[];
}

export interface TracerOptions {
  readonly exporters: readonly Exporter[];
  /** Redacts properties and payload; an event for which it throws is not exported. */
  readonly redact?: { redactValue(value: unknown): unknown };
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Maximum queued events per exporter; the oldest are dropped first. Default: 1,000. */
  readonly maxQueue?: number;
  /** Approximate memory limit of a queue in bytes. Default: 8 MiB. */
  readonly maxQueueBytes?: number;
  /** Milliseconds without progress until an exporter counts as hanging. Default: 2,000. */
  readonly patienceMs?: number;
  /** Called with one line when an exporter starts to fail, and with how much it missed. Default: standard error. */
  readonly onError?: (line: string) => void;
}

/** Sends events to exporters, each at its own pace, and isolates the run from their failures. */
export function createTracer(options: TracerOptions): Tracer {
  const { exporters, redact } = options;
  const report = createReport(options.onError ?? ((line) => console.error(line)), redact);
  let losses: EventLoss[] = [];
  /** An event reached no queue because of an internal failure, such as a clock that throws; only the first is reported. */
  let wasReported = false;
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
    const host = draft.host ?? hostIn(places);
    const placed = host === undefined ? draft : { ...draft, host };
    const event = eventAt(placed, placed.endedAt ?? new Date(options.now()).toISOString());
    const open = once(() => freeze(redactEvent(event, redact)));
    const bytes = memorySize([event.properties, event.payload]);
    const { sessionId, name, properties } = event;
    const isLossWarning = name === "compact.warning" && properties.code === LOSS_CODE;
    queues.forEach((queue, index) => {
      queue.push({ sessionId, open, place: places[index], bytes, isLossWarning });
    });
    return placed;
  };

  return {
    emit(draft) {
      if (queues.length === 0) return draft;
      try {
        return send(draft);
      } catch (error) {
        if (!wasReported) report("compact", "events cannot be exported", error);
        wasReported = true;
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
  };
}

type FoundPlace = Place | undefined | Promise<Place | undefined>;

/** Failing to find the place must not lose the event. */
function placeIn(exporter: Exporter): FoundPlace {
  try {
    const place = exporter.here?.();
    return place instanceof Promise ? place.catch(() => undefined) : place;
  } catch {
    return undefined;
  }
}

/** The span of the first exporter that knows it synchronously. */
function hostIn(places: readonly FoundPlace[]): HostSpan | undefined {
  for (const place of places) if (!(place instanceof Promise) && place?.host !== undefined) return place.host;
  return undefined;
}

function redactEvent(event: CompactEvent, redact: TracerOptions["redact"]): CompactEvent {
  if (redact === undefined) return event;
  const { properties, payload } = event;
  const safe = redact.redactValue({ properties, payload }) as Pick<CompactEvent, "properties" | "payload">;
  return { ...event, properties: safe.properties, payload: safe.payload };
}

/** All exporters share one event: none may change it for the others. */
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

const MAX_REASON = 300;

/** Formats lines like `[Ariadne] export failed: the server answered 500`, without secrets and control characters. */
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
      // There is nowhere left to report this; the run continues.
    }
  };
}

// ---- events and their times

export interface EventDraft extends EventDescription, StepTimes {
  readonly sessionId: string;
  readonly host?: HostSpan;
}

/** The event of a draft sent at `at` (ISO 8601). It never ends before it starts, even if the clock was set back. */
function eventAt(draft: EventDraft, at: string): CompactEvent {
  const startedAt = draft.startedAt ?? draft.endedAt ?? at;
  const endedAt = draft.endedAt ?? at;
  const isBackwards = endedAt < startedAt;
  return { ...draft, version: EVENT_VERSION, startedAt, endedAt: isBackwards ? startedAt : endedAt };
}

/** An error with one of these fallbacks ends its compaction. */
const GIVEN_UP: ReadonlySet<unknown> = new Set([FALLBACK.nothingPruned, FALLBACK.readAgain]);

/**
 * The compaction that an event belongs to, by its number within the session, and whether the event is its last one;
 * undefined for events outside of compactions, such as estimates.
 */
export function roundStep({ name, properties }: CompactEvent): { step: number; last: boolean } | undefined {
  const { step, fallback } = properties;
  if (typeof step !== "number") return undefined;
  const last = name === "compact.pruned_messages" || (name === "compact.error" && GIVEN_UP.has(fallback));
  return { step, last };
}

/** The later of `time` and `start`; both ISO 8601 in UTC. */
export function notBefore(time: string, start: string): string {
  return time < start ? start : time;
}

const LOSS_CODE = "events_dropped";

// ---- events for the archive

/** Maximum events waiting to be written, across all sessions. */
const MAX_WAITING = 1000;
/** Sessions whose events are written concurrently; if all of them fail, the others are not tried. */
const WRITTEN_AT_ONCE = 8;

/** Codes of warnings that a person can act on: also reported to `onWarning`. */
const TOLD_TO_USER: ReadonlySet<unknown> = new Set(["fixed_over_trigger", "compacts_often", "ask_cut"]);

interface WaitingEvent {
  readonly draft: EventDraft;
  readonly at: Date;
}

interface RecorderOptions extends DescriptionContext {
  readonly sink: Tracer;
  /** Announced first. */
  readonly first: SessionEvent | undefined;
  archive(): Promise<ArchiveStore>;
  now(): Date;
  warn(message: string): void;
}

/**
 * Sends a manager's events to its archive and to the exporters, independently. Events for the archive are
 * buffered in memory until a compaction.
 */
export class ArchivingRecorder implements EventRecorder {
  readonly #options: RecorderOptions;
  #first: SessionEvent | undefined;
  readonly #inTurn = createKeyedMutex();
  /** By session, longest-waiting first. */
  readonly #waiting = new Map<string, WaitingEvent[]>();
  #waitingCount = 0;
  #overflow: EventLoss | undefined;
  #overflowReported = false;
  #failing = false;
  #sweeping = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#first = options.first;
  }

  announcer(sessionId: string): Announce {
    return (told, times) => {
      if (this.#first !== undefined) this.#announce(sessionId, this.#first);
      this.#first = undefined;
      this.#announceLosses();
      this.#announce(sessionId, told, times);
    };
  }

  /**
   * Resolves once the session's events are in the archive; those of other sessions follow. Never rejects:
   * events that cannot be written cause a warning and are kept for the next attempt.
   */
  async write(sessionId: string): Promise<void> {
    const written = await this.#writeSession(sessionId);
    if (this.#sweeping || !written) return;
    this.#sweeping = true;
    void this.#writeAll().finally(() => {
      this.#sweeping = false;
    });
  }

  /** Writes the events of all sessions and flushes the exporters; reports losses. */
  async flush(): Promise<void> {
    const { sink } = this.#options;
    await Promise.all([this.#writeAll(), sink.flush()]);
    if (this.#announceLosses()) await Promise.all([this.#writeAll(), sink.flush()]);
  }

  #announce(sessionId: string, told: SessionEvent, times?: StepTimes): void {
    const { warn } = this.#options;
    for (const description of describeEvent(sessionId, told, this.#options)) {
      this.#emit({ ...description, sessionId, ...times });
      const { code, message } = description.properties;
      if (TOLD_TO_USER.has(code)) warn(String(message));
    }
  }

  #emit(draft: EventDraft): void {
    const { sink, now } = this.#options;
    // The event is built when it is written: an invalid time must not break the call.
    const event = { draft: sink.emit(draft), at: now() };
    const events = this.#waiting.get(draft.sessionId);
    if (events === undefined) this.#waiting.set(draft.sessionId, [event]);
    else events.push(event);
    this.#waitingCount += 1;
    if (this.#waitingCount > MAX_WAITING) this.#dropOldest();
  }

  /** True if anything was lost since the last call. */
  #announceLosses(): boolean {
    const losses = [...this.#options.sink.takeLosses()];
    // Among events that fill the memory, it would itself push one out, at each call.
    if (this.#overflow !== undefined && this.#waitingCount < MAX_WAITING) {
      losses.push(this.#overflow);
      this.#overflow = undefined;
    }
    for (const loss of losses) this.#announce(loss.sessionId, lossWarning(loss));
    return losses.length > 0;
  }

  /** Drops the oldest event of the longest-waiting session. */
  #dropOldest(): void {
    const [sessionId, events] = this.#waiting.entries().next().value ?? [];
    if (sessionId === undefined || events === undefined) return;
    events.shift();
    this.#waitingCount -= 1;
    if (events.length === 0) this.#waiting.delete(sessionId);
    this.#overflow = { target: "events.jsonl", sessionId, count: (this.#overflow?.count ?? 0) + 1 };
    if (this.#overflowReported) return;
    this.#overflowReported = true;
    this.#options.warn(
      `more than ${MAX_WAITING} events wait to be stored beside the archive; the oldest are dropped. ` +
        "Events are stored when their session is compacted, and by flush()",
    );
  }

  async #writeAll(): Promise<void> {
    for (const some of batches([...this.#waiting.keys()], WRITTEN_AT_ONCE)) {
      const written = await Promise.all(some.map((id) => this.#writeSession(id)));
      if (!written.includes(true)) return;
    }
  }

  #writeSession(sessionId: string): Promise<boolean> {
    return this.#inTurn(sessionId, async () => {
      try {
        const events = this.#waiting.get(sessionId);
        if (events !== undefined) await this.#append(sessionId, events);
        if (this.#waiting.size === 0) this.#failing = false;
        return true;
      } catch (error) {
        if (hasCode(error, "NotFound")) {
          // The session was deleted: drop its pending events.
          this.#waitingCount -= this.#waiting.get(sessionId)?.length ?? 0;
          this.#waiting.delete(sessionId);
          return true;
        }
        // The guard has already reported storage failures.
        if (!this.#failing && !hasCode(error, "StorageFailed"))
          this.#options.warn(
            `events could not be stored beside the archive, and wait: ${errorMessage(error)}`,
          );
        this.#failing = true;
        return false;
      }
    });
  }

  async #append(sessionId: string, events: WaitingEvent[]): Promise<void> {
    const archive = await this.#options.archive();
    while (events.length > 0) {
      const batch = [...events];
      // The archive redacts secrets itself.
      await archive.appendEvents(
        sessionId,
        batch.map(({ draft, at }) => eventAt(draft, at.toISOString())),
      );
      for (const event of batch) {
        // May have been dropped in the meantime.
        if (events[0] !== event) continue;
        events.shift();
        this.#waitingCount -= 1;
      }
    }
    if (this.#waiting.get(sessionId) === events) this.#waiting.delete(sessionId);
  }
}

function lossWarning({ target, count }: EventLoss): SessionEvent {
  const message = `${count} ${count === 1 ? "event was" : "events were"} not delivered to ${target}`;
  return { kind: "warning", severity: "medium", code: LOSS_CODE, message, count };
}
