import {
  type CompactionResult,
  CompactManager,
  type Exporter,
  type ManagerPorts,
  type Message,
  type StorageDriver,
} from "compact-context";
import { createMemoryDriver } from "compact-context/storage/memory";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { type CacheSegment, tokensOf } from "./cache.ts";
import type { PricedModel } from "./cost.ts";
import type { CallListener, RecordedSession } from "./session.ts";

export interface ReplayPorts {
  clock(): number;
  onWarning(text: string): void;
  /** `share` is 0 to 1. */
  onProgress(share: number): void;
  /** Follows the replay of the configured policy. */
  readonly observer?: ReplayObserver;
}

/** Follows a replay while it runs. */
export interface ReplayObserver {
  /** All messages of the session; the raw lists hold the same objects. */
  readonly history: readonly Message[];
  /** Archive of the originals. */
  readonly storage: StorageDriver;
  readonly exporter: Exporter;
  /** Called after each model call; the replay waits for it. */
  onCall(raw: readonly Message[], result: CompactionResult<Message>, elapsedMs: number): Promise<void>;
}

/** Inputs of one run over the session. */
export interface ReplayRun {
  readonly transcript: Transcript;
  readonly settings: Settings;
  readonly ports: ReplayPorts;
  readonly session: RecordedSession;
  readonly model: PricedModel;
}

/** The manager's id of the session. */
export const REPLAY_ID = "replay";

/** One manager, one preflight per call; with `whileCold` it also compacts where the cache has expired anyway. */
export async function playManager(run: ReplayRun, onCall: CallListener, whileCold = false): Promise<void> {
  const { transcript, settings, ports, session } = run;
  const observer = whileCold ? undefined : ports.observer;
  const clock = createSessionClock();
  const manager = managerOf(run, observer, whileCold, clock);
  const { targetContextTokens: target } = settings.config.policy;
  const request = {
    // Neutral messages do not carry it, and it decides how the tokens of an unknown model are counted.
    format: transcript.list,
    system: transcript.system,
    tools: transcript.tools,
  };
  for (const [number, { end, time }] of session.calls.entries()) {
    const raw = session.messages.slice(0, end);
    clock.advance(time);
    const before = ports.clock();
    let result = await manager.preflight<Message>(REPLAY_ID, raw, request);
    // A compaction that started in a pause of minutes would be ready by now.
    while (result.report.refused === "in_background") {
      await new Promise((resolve) => setTimeout(resolve, 1));
      result = await manager.preflight<Message>(REPLAY_ID, raw, { ...request, cacheCold: true });
    }
    if (whileCold && !result.report.compacted && hasColdCache(run, number, result.messages)) {
      result = await manager.manualCompact<Message>(REPLAY_ID, raw, { ...request, targetTokens: target });
    }
    const elapsedMs = ports.clock() - before;
    onCall(raw, result, { call: number + 1, elapsedMs });
    await observer?.onCall(raw, result, elapsedMs);
  }
  // Delivers the last events to the observer.
  await manager.flush();
}

function managerOf(
  { settings, ports }: ReplayRun,
  observer: ReplayObserver | undefined,
  whileCold: boolean,
  { now, later }: SessionClock,
): CompactManager {
  const { coldTriggerPct, beforeCacheLapse } = settings.config.policy;
  // Only these settings depend on the session's pauses; otherwise events carry the time of the replay.
  const times = coldTriggerPct === undefined && beforeCacheLapse === undefined ? {} : { now, later };
  return new CompactManager(managerConfig(settings), {
    storage: observer?.storage ?? createMemoryDriver(),
    exporters: observer === undefined ? [] : [observer.exporter],
    clock: ports.clock,
    ...times,
    onWarning: whileCold ? () => undefined : ports.onWarning,
  });
}

interface SessionClock extends Required<Pick<ManagerPorts, "now" | "later">> {
  /** Moves to a time of the session, in seconds, and runs the timers due until then. */
  advance(time: number): void;
}

/** A virtual clock with the session's time. */
function createSessionClock(): SessionClock {
  const timers = new Map<() => void, number>();
  let seconds = 0;
  return {
    now: () => new Date(seconds * 1000),
    later(ms, work) {
      timers.set(work, seconds + ms / 1000);
      return () => void timers.delete(work);
    },
    advance(time) {
      seconds = time;
      for (const [work, due] of [...timers]) {
        if (due > time) continue;
        timers.delete(work);
        work();
      }
    },
  };
}

/** Share of the window above which a compaction on an expired cache is tried. */
const COLD_ABOVE = 0.5;

/** True for the first call of a turn if the cache expired in the pause before it and the list is worth compacting. */
export function hasColdCache(
  { session, model }: ReplayRun,
  number: number,
  messages: readonly Message[],
): boolean {
  const [before, call] = [session.calls[number - 1], session.calls[number]];
  if (before === undefined || call === undefined || model.rules === undefined) return false;
  if (!call.opensTurn || call.time - before.time <= model.rules.lifetime) return false;
  const tokens = tokensOf(segmentsOf(messages, session));
  return model.rules.kind !== "none" && tokens > session.window * COLD_ABOVE;
}

/** The request for a list. */
export function segmentsOf(messages: readonly Message[], session: RecordedSession): CacheSegment[] {
  return [...session.fixed, ...messages.map(session.segmentOf)];
}

function managerConfig({
  config,
  model,
  window,
  onOverflow,
  strategy,
}: Settings): ConstructorParameters<typeof CompactManager>[0] {
  return {
    ...config,
    model: model ?? config.model,
    maxContextTokens: window,
    policy: { ...config.policy, onOverflow, strategy },
    storage: { ...config.storage, kind: "memory" },
  };
}
