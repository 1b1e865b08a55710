import type { Command, Invocation } from "../command.ts";
import { serveView } from "../view-page.ts";
import { openViewed } from "../viewed.ts";
import { wordOf } from "../words.ts";

export const viewCommand: Command = {
  usage: "[transcript | archive folder | events.jsonl]",
  summary: "a page in your browser: the window over the session, each compaction, spans, search",
  flags: ["port", "open", "archive", "model", "window", "format", "strategy", "on-overflow", "config"],
  notes: [
    "Without a word: the archive here, also one that is still empty, and events that come. A transcript is replayed first, as compact replay does.",
    "The page is served on this computer alone, to the browser that opens the printed link.",
    "Programs may send events to its /ingest: COMPACT_TRACING_ARIADNE names it. Ctrl-C ends it.",
  ],
  mostWords: 1,
  run: async (invocation: Invocation) => {
    const viewed = await openViewed(
      invocation,
      invocation.words.length === 0 ? undefined : wordOf(invocation.words, "view"),
    );
    return serveView(invocation, viewed);
  },
};
