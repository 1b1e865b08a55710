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
import type { RecordedSession } from "./session.ts";

export interface ReplayPorts {
  clock(): number;
  onWarning(text: string): void;
  /** Hears how far the replay is, 0 to 1. */
  onProgress(share: number): void;
  /** Looks on while the session is played as configured. */
  readonly watcher?: ReplayWatcher;
}

/** Somebody who looks at a replay while it runs. */
export interface ReplayWatcher {
  /** Every message of the session: the raw lists begin with them, and are these very objects. */
  readonly history: readonly Message[];
  /** Where the originals go. */
  readonly storage: StorageDriver;
  readonly exporter: Exporter;
  /** After each call; the replay goes on when it resolves. */
  hear(raw: readonly Message[], result: CompactionResult<Message>, elapsedMs: number): Promise<void>;
}

/** Everything that one run over the session needs. */
export interface Stage {
  readonly transcript: Transcript;
  readonly settings: Settings;
  readonly ports: ReplayPorts;
  readonly session: RecordedSession;
  readonly model: PricedModel;
}

/** What the manager calls the session. */
export const REPLAYED = "replay";

type Played = { readonly call: number; readonly elapsedMs: number };
/** Hears each call: the raw list, and what the manager made of it. */
export type Hear = (raw: readonly Message[], result: CompactionResult<Message>, played: Played) => void;

/** One manager, one preflight per call; with `whileCold` a rewrite besides where the cache has lapsed anyway. */
export async function playManager(stage: Stage, hear: Hear, whileCold = false): Promise<void> {
  const { transcript, settings, ports, session } = stage;
  const watcher = whileCold ? undefined : ports.watcher;
  const clock = createSessionClock();
  const manager = managerOf(stage, watcher, whileCold, clock);
  const { targetContextTokens: target } = settings.config.policy;
  const request = {
    // Neutral messages do not say it, and a model that is not known is counted by it.
    format: transcript.list,
    system: transcript.system,
    tools: transcript.tools,
  };
  for (const [number, { end, time }] of session.calls.entries()) {
    const raw = session.messages.slice(0, end);
    clock.advance(time);
    const before = ports.clock();
    let result = await manager.preflight<Message>(REPLAYED, raw, request);
    // What was prepared in a pause of minutes is ready by now.
    while (result.report.refused === "in_background") {
      await new Promise((resolve) => setTimeout(resolve, 1));
      result = await manager.preflight<Message>(REPLAYED, raw, { ...request, cacheCold: true });
    }
    if (whileCold && !result.report.compacted && opensCold(stage, number, result.messages)) {
      result = await manager.manualCompact<Message>(REPLAYED, raw, { ...request, targetTokens: target });
    }
    const elapsedMs = ports.clock() - before;
    hear(raw, result, { call: number + 1, elapsedMs });
    await watcher?.hear(raw, result, elapsedMs);
  }
  // What was told to the watcher is on its way until then.
  await manager.flush();
}

function managerOf(
  { settings, ports }: Stage,
  watcher: ReplayWatcher | undefined,
  whileCold: boolean,
  { now, later }: SessionClock,
): CompactManager {
  const { coldTriggerPct, beforeCacheLapse } = settings.config.policy;
  // Only these settings look at the pauses of a session; events have the time of the replay otherwise.
  const times = coldTriggerPct === undefined && beforeCacheLapse === undefined ? {} : { now, later };
  return new CompactManager(managerConfig(settings), {
    storage: watcher?.storage ?? createMemoryDriver(),
    exporters: watcher === undefined ? [] : [watcher.exporter],
    clock: ports.clock,
    ...times,
    onWarning: whileCold ? () => undefined : ports.onWarning,
  });
}

interface SessionClock extends Required<Pick<ManagerPorts, "now" | "later">> {
  /** Goes to a time of the session, in seconds, and runs what is due until then. */
  advance(time: number): void;
}

/** The time of the session that is played, with timers on it. */
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

/** Share of the window from which a rewrite on a lapsed cache is tried. */
const COLD_ABOVE = 0.5;

/** True for a call that opens a turn after a pause in which the whole cache lapsed, with a list worth rewriting. */
export function opensCold({ session, model }: Stage, number: number, messages: readonly Message[]): boolean {
  const [before, call] = [session.calls[number - 1], session.calls[number]];
  if (before === undefined || call === undefined || model.rules === undefined) return false;
  if (!call.opensTurn || call.time - before.time <= model.rules.lifetime) return false;
  const tokens = tokensOf(segmentsOf(messages, session));
  return model.rules.kind !== "none" && tokens > session.window * COLD_ABOVE;
}

/** The request that such a list makes. */
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
