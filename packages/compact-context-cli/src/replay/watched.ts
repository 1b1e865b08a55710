import { setImmediate } from "node:timers/promises";
import type { Message, StorageDriver } from "compact-context";
import { spentOn } from "compact-context/internal/agent/event";
import { createArchive } from "compact-context/internal/search/archive";
import { createRedactor } from "compact-context/redaction";
import { createMemoryDriver } from "compact-context/storage/memory";
import { titleOf } from "../render/headline.ts";
import { sessionNameOf } from "../sessions/job.ts";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { searchArchive } from "../view/originals.ts";
import { createPlayedRecord, type PlayedSession } from "../view/played-session.ts";
import type { Originals } from "../view/session-record.ts";
import type { CostView } from "../view/session-view.ts";
import type { ViewStore } from "../view/view-store.ts";
import { REPLAY_ID, type ReplayObserver, type ReplayPorts } from "./live.ts";
import { type Economy, type Replay, replaySession, wholeHistory } from "./replay.ts";

/** Plays a session as `replaySession` does and records it in `store` for the page. */
export async function replayWatched(
  transcript: Transcript,
  settings: Settings,
  { store, ...ports }: ReplayPorts & { readonly store: ViewStore },
): Promise<Replay> {
  const { config } = settings;
  const redactor = createRedactor(config.redaction);
  const storage = createMemoryDriver();
  const history = wholeHistory(transcript);
  const id = sessionNameOf(transcript);
  const played = store.open((changed) =>
    createPlayedRecord(
      {
        id,
        history,
        system: transcript.system,
        tools: transcript.tools,
        title: titleOf(transcript).slice(0, 200),
        format: transcript.format,
        model: settings.model,
        window: settings.window,
        budget: settings.budget,
        policy: config.policy,
        counter: settings.counter,
        reported: reportedOf(transcript, history, settings),
        redactText: (text) => redactor.redactText(text),
        search: searchOf(createArchive(yielding(storage), { redact: redactor }), history, id),
      },
      changed,
    ),
  );
  const observer: ReplayObserver = {
    history,
    storage,
    exporter: { export: (event) => played.onEvent(event) },
    async onCall(raw, result, elapsedMs) {
      played.onCall(raw, result, elapsedMs);
      // The page's server runs in the same thread.
      await setImmediate();
    },
  };
  const replay = await replaySession(transcript, settings, { ...ports, observer });
  played.end(costOf(replay.economy));
  return replay;
}

/** The usage that the provider reported, by the number of messages before the call. */
function reportedOf(
  { usage, segments }: Transcript,
  history: readonly Message[],
  { model, config }: Settings,
): PlayedSession["reported"] {
  const places = new Map(history.map((message, place) => [message, place]));
  const records = new Map(
    usage.flatMap(({ segment, index, usage: record, dollars: recorded }) => {
      const answer = segments[segment]?.messages[index];
      const place = answer === undefined ? undefined : places.get(answer);
      const { inputTokens, cachedTokens, dollars } = spentOn(record, model ?? "", config.models);
      return place === undefined || inputTokens === 0
        ? []
        : [[place, { reported: inputTokens, cached: cachedTokens, dollars: recorded ?? dollars }] as const];
    }),
  );
  return (messages) => records.get(messages);
}

/** Searches all messages; the first search archives those that never left the prompt. */
function searchOf(
  archive: ReturnType<typeof createArchive>,
  history: Parameters<typeof archive.saveTranscript>[2],
  session: string,
): Originals["search"] {
  let whole: Promise<unknown> | undefined;
  return async (text, limit) => {
    whole ??= archive
      .steps(REPLAY_ID)
      .then((steps) => archive.saveTranscript(REPLAY_ID, (steps.at(-1) ?? 0) + 1, history));
    await whole;
    return searchArchive(archive, { sessionId: REPLAY_ID, session, text, limit });
  };
}

function costOf({ policies }: Economy): CostView | undefined {
  const [own] = policies;
  const none = policies.find(({ name }) => name === "none");
  if (own?.dollars === undefined) return undefined;
  return {
    compact: own.dollars,
    none: none?.dollars === undefined || none.overWindow > 0 ? undefined : none.dollars,
  };
}

/** Characters written before yielding to the event loop. */
const SLICE = 65_536;

/** A storage that yields to the event loop between reads and writes. */
function yielding(driver: StorageDriver): StorageDriver {
  return {
    ...driver,
    async get(key) {
      await setImmediate();
      return driver.get(key);
    },
    async *stream(key) {
      for await (const piece of driver.stream(key)) {
        yield piece;
        await setImmediate();
      }
    },
    async put(key, value, options) {
      await setImmediate();
      if (typeof value === "string") return driver.put(key, value, options);
      const written: string[] = [];
      let characters = 0;
      for (const piece of value) {
        written.push(piece);
        characters += piece.length;
        if (characters < SLICE) continue;
        characters = 0;
        await setImmediate();
      }
      return driver.put(key, written, options);
    },
  };
}
