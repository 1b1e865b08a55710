import { createEventReader, type EventReader, type ToldEvent } from "./event-reader.ts";
import { EVENT_LAYERS } from "./layer-tokens.ts";
import { createRecord, type SessionRecord } from "./session-record.ts";
import type { SpanView } from "./session-view.ts";
import { NO_SOURCES } from "./source-index.ts";
import { summaryPieces } from "./summary-sources.ts";

/** A session that is told by events alone: no messages, no texts but the summaries. */
export interface EventSession {
  readonly record: SessionRecord;
  readonly reader: EventReader;
  /** Characters that it holds, roughly. */
  readonly weight: number;
  /** Makes room for an event of so many characters; false where the session is full. */
  take(weight: number): boolean;
  /** Keeps a span; a full session only counts it. */
  addSpan(span: SpanView): void;
  /** Keeps an event's span, and learns what it says. */
  add(event: ToldEvent): void;
}

/** Most characters of one session's spans and summaries. */
const MOST_WEIGHT = 32_000_000;

export function createEventSession(id: string, changed: () => void): EventSession {
  let reader: EventReader | undefined;
  let weight = 0;
  let full = false;
  const record = createRecord({
    id,
    source: "events",
    facts: {
      layers: EVENT_LAYERS,
      title: id,
      live: true,
      window: 0,
      trigger: 0,
      budget: 0,
      searchable: false,
    },
    originals: {
      count: () => 0,
      message: () => undefined,
      open: async ({ index }) => ({
        messages: reader?.fatesOf(index) ?? [],
        summary: summaryPieces(reader?.summaryOf(index) ?? "", { index: NO_SOURCES, has: () => false }),
      }),
      expand: async () => undefined,
      search: async () => ({ hits: [], problems: 0 }),
    },
    changed,
  });
  reader = createEventReader({ record, spansOnly: false });
  return {
    record,
    reader,
    get weight() {
      return weight;
    },
    take(more) {
      full = weight + more > MOST_WEIGHT;
      if (!full) weight += more;
      return !full;
    },
    addSpan(span) {
      if (full) record.drop();
      else record.addSpan(span);
    },
    add(event) {
      if (!full) return reader?.add(event);
      record.drop();
      reader?.learn({ ...event, payload: undefined });
    },
  };
}
