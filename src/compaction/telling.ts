import type { Redactor } from "../redaction/redactor.ts";
import { REDACTION_OFF_WARNING } from "../redaction/redactor.ts";
import type { Archive } from "../storage/archive.ts";
import type { CompactEvent, Exporter } from "../tracing/event.ts";
import { type EventDescription, warning } from "../tracing/events.ts";
import { createTracer, type Tracer } from "../tracing/tracer.ts";
import type { Announce } from "./announce.ts";

export interface TellingOptions {
  readonly exporters: readonly Exporter[];
  readonly redactor: Redactor;
  /** Where each session's events are kept. */
  archive(): Promise<Archive>;
  now(): Date;
  warn(message: string): void;
}

/** Carries a manager's events to its archive and to the exporters, neither waiting for the other. */
export interface Telling {
  announcer(sessionId: string): Announce;
  /** Resolves when the events so far stand beside the archive. */
  keep(): Promise<void>;
  /** `keep`, and the exporters had their time. */
  flush(): Promise<void>;
}

/** An exporter that hangs holds nobody longer. */
const FLUSH_DEADLINE_MS = 2000;

/** Estimates of sessions that are never compacted are worth little: the oldest leave first. */
const MAX_WAITING = 1000;

export function createTelling(options: TellingOptions): Telling {
  const common = { now: () => options.now().getTime(), onError: options.warn };
  // The archive takes secrets out itself.
  const own = createTracer({ ...common, exporters: [archiveExporter(options.archive)] });
  const others = createTracer({ ...common, exporters: options.exporters, redact: options.redactor });
  let warned = options.redactor.enabled;
  return {
    announcer(sessionId) {
      const say = (description: EventDescription, startedAt?: string): void => {
        const draft = { ...description, sessionId, ...(startedAt === undefined ? {} : { startedAt }) };
        for (const tracer of [own, others] satisfies Tracer[]) tracer.emit(draft);
      };
      if (!warned) {
        warned = true;
        say(warning({ severity: "high", code: "redaction_off", message: REDACTION_OFF_WARNING }));
      }
      return say;
    },
    async keep() {
      await own.flush(FLUSH_DEADLINE_MS);
    },
    async flush() {
      await Promise.all([own.flush(FLUSH_DEADLINE_MS), others.flush(FLUSH_DEADLINE_MS)]);
    },
  };
}

/** Keeps events in memory until they are flushed, which follows every compaction: the disk is not touched before. */
function archiveExporter(archive: () => Promise<Archive>): Exporter {
  let waiting: CompactEvent[] = [];
  return {
    export: (event) => {
      waiting.push(event);
      if (waiting.length > MAX_WAITING) waiting.shift();
    },
    flush: async () => {
      const batch = waiting;
      waiting = [];
      if (batch.length === 0) return;
      const target = await archive();
      for (const event of batch) await target.appendEvent(event.sessionId, event);
    },
  };
}
