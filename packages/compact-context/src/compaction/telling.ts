import type { Redactor } from "../redaction/redactor.ts";
import { REDACTION_OFF_WARNING } from "../redaction/redactor.ts";
import type { Archive } from "../storage/archive.ts";
import type { Exporter } from "../tracing/event.ts";
import { type EventDescription, warning } from "../tracing/events.ts";
import { createTracer, type EventDraft, eventOf } from "../tracing/tracer.ts";
import { type Announce, messageOf } from "./announce.ts";

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
  const own = createEventLog(options);
  const others = createTracer({
    exporters: options.exporters,
    redact: options.redactor,
    now: () => options.now().getTime(),
    onError: options.warn,
  });
  let warned = options.redactor.enabled;
  return {
    announcer(sessionId) {
      const say: Announce = (description: EventDescription, times) => {
        const draft = { ...description, sessionId, ...times };
        own.add(others.emit(draft));
      };
      if (!warned) {
        warned = true;
        say(warning({ severity: "high", code: "redaction_off", message: REDACTION_OFF_WARNING }));
      }
      return say;
    },
    keep: own.write,
    async flush() {
      await Promise.all([own.write(), others.flush(FLUSH_DEADLINE_MS)]);
    },
  };
}

interface EventLog {
  add(draft: EventDraft): void;
  /** Resolves when the events so far stand beside the archive; what fails is told, not thrown. */
  write(): Promise<void>;
}

/** Keeps events in memory until they are written, which follows every compaction: the disk is not touched before. */
function createEventLog({ archive, now, warn }: TellingOptions): EventLog {
  let waiting: { readonly draft: EventDraft; readonly at: Date }[] = [];
  return {
    add(draft) {
      waiting.push({ draft, at: now() });
      if (waiting.length > MAX_WAITING) waiting.shift();
    },
    async write() {
      const batch = waiting;
      waiting = [];
      if (batch.length === 0) return;
      try {
        const target = await archive();
        for (const { draft, at } of batch) {
          // The archive takes secrets out itself.
          await target.appendEvent(draft.sessionId, eventOf(draft, at.toISOString()));
        }
      } catch (error) {
        warn(`events could not be stored beside the archive: ${messageOf(error)}`);
      }
    },
  };
}
