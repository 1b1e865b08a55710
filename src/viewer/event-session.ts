import { createEventReader, type EventReader } from "./event-reader.ts";
import { EVENT_LAYERS } from "./layer-tokens.ts";
import { createRecord, type SessionRecord } from "./session-record.ts";
import { summaryPieces } from "./summary-sources.ts";

/** A session that is told by events alone: no messages, no texts but the summaries. */
export interface EventSession {
  readonly record: SessionRecord;
  readonly reader: EventReader;
}

export function createEventSession(id: string, changed: () => void): EventSession {
  let reader: EventReader | undefined;
  const record = createRecord({
    id,
    source: "events",
    layers: EVENT_LAYERS,
    facts: { title: id, live: true, window: 0, trigger: 0, budget: 0, searchable: false },
    originals: {
      count: () => 0,
      message: () => undefined,
      open: async ({ index }) => ({
        messages: [],
        summary: summaryPieces(reader?.summaryOf(index) ?? "", []),
      }),
      expand: async () => undefined,
      search: async () => ({ hits: [], problems: 0 }),
    },
    changed,
  });
  reader = createEventReader({ record, spansOnly: false });
  return { record, reader };
}
