import type { CompactEvent, Exporter, Place } from "../core/report.ts";
import { later } from "../errors.ts";

/** Events not delivered to a target, such as `Ariadne`. */
export interface EventLoss {
  readonly target: string;
  /** Session of the newest lost event. */
  readonly sessionId: string;
  readonly count: number;
}

// One exporter's queue: a slow exporter delays no other, and every loss is counted and reported.

/** Reports an exporter's problem in one line, with the reason if something was thrown; never throws. */
export type Report = (exporter: string, problem: string, error?: unknown) => void;

/** One event queued for one exporter. */
export interface QueuedEvent {
  readonly sessionId: string;
  /** Creates the redacted event, once for all exporters. */
  readonly open: () => CompactEvent;
  readonly place: Place | undefined | Promise<Place | undefined>;
  /** Approximate memory in bytes. */
  readonly bytes: number;
  /** The event reports losses, so its own loss is not reported again. */
  readonly isLossWarning: boolean;
}

export interface ExporterQueueOptions {
  readonly maxQueue: number;
  readonly maxQueueBytes: number;
  /** Milliseconds without progress until an exporter counts as hanging. */
  readonly patienceMs: number;
  readonly report: Report;
  /** Called after the line that reports lost events. */
  readonly onLoss: (loss: EventLoss) => void;
}

interface Numbered extends QueuedEvent {
  readonly number: number;
  /** Abandoned by a flush while the exporter was still processing it. */
  abandoned: boolean;
}

/** A flush waiting for the events up to a number. */
interface PendingFlush {
  readonly last: number;
  readonly patience: Patience;
  readonly resolve: () => void;
}

/** After this many consecutive events, the queue yields. */
const EVENTS_PER_TURN = 16;

export class ExporterQueue {
  readonly #exporter: Exporter;
  readonly #options: ExporterQueueOptions;
  readonly #name: string;
  readonly #waiting: Numbered[] = [];
  readonly #flushes = new Set<PendingFlush>();
  #waitingBytes = 0;
  #pushed = 0;
  #draining = false;
  /** The event being exported. */
  #current: Numbered | undefined;
  /** The exporter did not finish `#current` in time. */
  #hanging = false;
  #failing = false;
  #overflowing = false;
  #unreported: { readonly count: number; readonly sessionId: string } | undefined;

  constructor(exporter: Exporter, options: ExporterQueueOptions) {
    this.#exporter = exporter;
    this.#options = options;
    this.#name = exporter.name ?? "compact";
  }

  /** Returns at once; the exporter runs later. */
  push(event: QueuedEvent): void {
    const { maxQueue, maxQueueBytes } = this.#options;
    this.#pushed += 1;
    this.#waiting.push({ ...event, number: this.#pushed, abandoned: false });
    this.#waitingBytes += event.bytes;
    while (this.#waiting.length > maxQueue || this.#waitingBytes > maxQueueBytes) this.#overflow();
    if (this.#draining) return;
    this.#draining = true;
    void this.#drain();
  }

  /**
   * Resolves once every event pushed before was delivered, failed, or was abandoned because nothing was
   * delivered for `patienceMs`; then flushes the exporter. Never rejects.
   */
  async flush(): Promise<void> {
    const last = this.#pushed;
    if (this.#hanging) this.#giveUp(last);
    if (this.#oldest() <= last) {
      await new Promise<void>((resolve) => {
        const patience = startPatience(this.#options.patienceMs, () => this.#giveUp(last), true);
        this.#flushes.add({ last, patience, resolve });
      });
    }
    if (!this.#hanging) await this.#flushExporter();
    this.#reportLosses();
  }

  async #drain(): Promise<void> {
    for (let sent = 0; this.#waiting.length > 0; sent += 1) {
      // Redaction and exporters run after the caller's call returns, and yield in between.
      if (sent % EVENTS_PER_TURN === 0) await new Promise((resolve) => setTimeout(resolve, 0));
      const event = this.#take();
      if (event !== undefined) await this.#send(event);
    }
    this.#draining = false;
    this.#overflowing = false;
    if (!this.#failing) this.#reportLosses();
  }

  async #send(event: Numbered): Promise<void> {
    this.#current = event;
    const patience = startPatience(this.#options.patienceMs, () => this.#hang());
    let problem = "redaction failed, so nothing is exported";
    try {
      const opened = event.open();
      problem = "export failed";
      await this.#exporter.export(opened, await event.place);
      if (this.#failing) this.#reportLosses();
      this.#failing = false;
      for (const flush of this.#flushes) flush.patience.restart();
    } catch (error) {
      if (!event.abandoned) this.#lose(event);
      this.#fail(problem, error);
    } finally {
      patience.stop();
      this.#hanging = false;
      this.#current = undefined;
      this.#endFlushes();
    }
  }

  async #flushExporter(): Promise<void> {
    const { patienceMs } = this.#options;
    let patience: Patience | undefined;
    const late = new Promise<void>((resolve) => {
      patience = startPatience(patienceMs, resolve, true);
    }).then(() => this.#fail(`its flush did not end within ${patienceMs / 1000} s`));
    try {
      await Promise.race([this.#exporter.flush?.(), late]);
    } catch (error) {
      this.#fail("its flush failed", error);
    } finally {
      patience?.stop();
    }
  }

  #hang(): void {
    const { patienceMs, maxQueue } = this.#options;
    this.#hanging = true;
    if (this.#flushes.size === 0) {
      this.#fail(`no answer for ${patienceMs / 1000} s; at most ${maxQueue} events wait for one`);
    }
    this.#failing = true;
    for (const { last } of this.#flushes) this.#giveUp(last);
  }

  /** Drops everything up to `last`; an event that the exporter is processing may still arrive. */
  #giveUp(last: number): void {
    while ((this.#waiting[0]?.number ?? Number.POSITIVE_INFINITY) <= last) this.#lose(this.#take());
    const current = this.#current;
    if (current !== undefined && current.number <= last && !current.abandoned) {
      current.abandoned = true;
      this.#lose(current);
    }
    this.#reportLosses(`nothing was delivered for ${this.#options.patienceMs / 1000} s: `);
    this.#endFlushes();
  }

  #endFlushes(): void {
    const oldest = this.#oldest();
    for (const flush of this.#flushes) {
      if (oldest <= flush.last) continue;
      flush.patience.stop();
      this.#flushes.delete(flush);
      flush.resolve();
    }
  }

  /** Number of the oldest event that may still be delivered. */
  #oldest(): number {
    if (this.#current?.abandoned === false) return this.#current.number;
    return this.#waiting[0]?.number ?? Number.POSITIVE_INFINITY;
  }

  #take(): Numbered | undefined {
    const event = this.#waiting.shift();
    this.#waitingBytes -= event?.bytes ?? 0;
    return event;
  }

  #overflow(): void {
    this.#lose(this.#take());
    if (!this.#overflowing && !this.#failing) {
      this.#options.report(this.#name, "events come faster than it takes them; the oldest are dropped");
    }
    this.#overflowing = true;
    this.#endFlushes();
  }

  #lose(event: QueuedEvent | undefined): void {
    if (event === undefined || event.isLossWarning) return;
    this.#unreported = { count: (this.#unreported?.count ?? 0) + 1, sessionId: event.sessionId };
  }

  #reportLosses(reason = ""): void {
    if (this.#unreported === undefined) return;
    const { count, sessionId } = this.#unreported;
    this.#unreported = undefined;
    const events = count === 1 ? "event was" : "events were";
    this.#options.report(this.#name, `${reason}${count} ${events} not delivered`);
    this.#options.onLoss({ target: this.#name, sessionId, count });
  }

  /** Reports only the first of consecutive failures. */
  #fail(problem: string, error?: unknown): void {
    if (!this.#failing) this.#options.report(this.#name, problem, error);
    this.#failing = true;
  }
}

interface Patience {
  restart(): void;
  stop(): void;
}

const SLICES = 10;

/**
 * Calls `onEnd` after `ms` during which the process could run: exporters cannot answer while the event loop
 * is blocked, so a block costs at most one slice. Keeps the process alive only with `keepsAlive`.
 */
function startPatience(ms: number, onEnd: () => void, keepsAlive = false): Patience {
  let left = SLICES;
  const tick = (): void => {
    left -= 1;
    if (left > 0) return;
    stop();
    onEnd();
  };
  const timer = keepsAlive ? setInterval(tick, ms / SLICES) : undefined;
  const stop = timer === undefined ? later(ms / SLICES, tick, true) : () => clearInterval(timer);
  return {
    restart() {
      left = SLICES;
    },
    stop,
  };
}

const BYTES_PER_VALUE = 16;
/** Maximum values visited; the rest are assumed to have the same average size. */
const MAX_VALUES = 2000;

/** Approximate memory of a JSON-like value in bytes: two per character, sixteen per value. */
export function memorySize(value: unknown): number {
  const left: unknown[] = [value];
  let bytes = 0;
  for (let seen = 0; left.length > 0; seen += 1) {
    if (seen === MAX_VALUES) return Math.round(bytes * (1 + left.length / MAX_VALUES));
    const next = left.pop();
    bytes += BYTES_PER_VALUE;
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
