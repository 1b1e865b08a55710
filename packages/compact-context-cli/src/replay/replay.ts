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
import { providerOf, type Transcript } from "../transcripts/transcript.ts";
import { type CacheSegment, tokensOf } from "./cache.ts";
import { createCostTally, type PolicyCost, type PricedModel, pricedModel } from "./cost.ts";
import { BASELINES } from "./policies.ts";
import {
  type CallListener,
  createTotals,
  type RecordedSession,
  type ReplayTotals,
  recordedSession,
  stampsOf,
  tenths,
} from "./session.ts";

// Plays a recorded session call by call under Compact and under other policies, and counts what it would have cost.

/** The result of a replay. */
export interface Replay extends ReplayTotals {
  /** Model calls of the whole session. */
  readonly calls: number;
  readonly messages: number;
  /** Milliseconds of the replay, without the policies that are played for comparison. */
  readonly elapsedMs: number;
  /** Milliseconds that the recorded session lasted; null if its messages carry no times. */
  readonly sessionMs: number | null;
  readonly economy: Economy;
}

/** Cost of the session with the provider's prompt cache simulated. */
export interface Economy {
  readonly model: PricedModel;
  /** Source of the time between calls: the session's timestamps, fixed steps, or both. */
  readonly clock: "recorded" | "assumed" | "mixed";
  /** `compact` as configured, then the baselines. */
  readonly policies: readonly PolicyCost[];
  /**
   * `compact` that also compacts before a turn that starts with an expired cache and a window more than half full.
   * Undefined if there is no such turn, if cache entries are not known to expire, and for an observer.
   */
  readonly cold: { readonly cost: PolicyCost; readonly rewrites: number } | undefined;
}

/** All messages in order, without the copies that the session's own compactions made. */
export function wholeHistory({ segments }: Transcript): Message[] {
  return segments.flatMap((segment, index) =>
    index === 0 ? segment.messages : segment.messages.slice(segment.carried),
  );
}

/** Plays the session as a live agent would run it: a preflight with the raw list before each model call. */
export async function replaySession(
  transcript: Transcript,
  settings: Settings,
  ports: ReplayPorts,
): Promise<Replay> {
  const history = ports.observer?.history ?? wholeHistory(transcript);
  const session = recordedSession(history, settings, transcript.manyAgents);
  const model = pricedModel(settings.model, settings.config.models);
  const run = { transcript, settings, ports, session, model };
  const totals = createTotals(settings);
  const own = createCostTally("compact", session, model);
  let coldTurns = 0;
  const started = ports.clock();
  await playManager(run, (raw, result, played) => {
    totals.add(raw, result, played);
    own.add({ segments: segmentsOf(result.messages, session) });
    if (!result.report.compacted && hasColdCache(run, played.call - 1, result.messages)) coldTurns += 1;
    ports.onProgress(played.call / session.calls.length);
  });
  const elapsedMs = tenths(ports.clock() - started);
  return {
    calls: session.calls.length,
    messages: history.length,
    ...totals.sums(),
    elapsedMs,
    sessionMs: durationOf(history),
    economy: {
      model,
      clock: clockOf(session),
      policies: [own.cost(), ...baselineCosts(session, model)],
      cold: coldTurns === 0 || ports.observer !== undefined ? undefined : await coldCost(run),
    },
  };
}

async function coldCost(run: ReplayRun): Promise<Economy["cold"]> {
  const tally = createCostTally("compact, also while cold", run.session, run.model);
  let rewrites = 0;
  await playManager(
    run,
    (_, { messages, report }) => {
      tally.add({ segments: segmentsOf(messages, run.session) });
      if (report.compacted && report.reason === "manual") rewrites += 1;
    },
    true,
  );
  return { cost: tally.cost(), rewrites };
}

function baselineCosts(session: RecordedSession, model: PricedModel): PolicyCost[] {
  return Object.entries(BASELINES).map(([name, policy]) => {
    const tally = createCostTally(name, session, model);
    const play = policy(session);
    for (const { end } of session.calls) tally.add(play(end));
    return tally.cost();
  });
}

/** The first call is skipped: no interval precedes it. */
function clockOf({ calls }: RecordedSession): Economy["clock"] {
  const later = calls.slice(1);
  if (later.length > 0 && later.every(({ recorded }) => recorded)) return "recorded";
  return later.some(({ recorded }) => recorded) ? "mixed" : "assumed";
}

function durationOf(history: readonly Message[]): number | null {
  const times = stampsOf(history);
  const [first, last] = [times[0], times.at(-1)];
  return first === undefined || last === undefined || last <= first ? null : last - first;
}

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
interface ReplayRun {
  readonly transcript: Transcript;
  readonly settings: Settings;
  readonly ports: ReplayPorts;
  readonly session: RecordedSession;
  readonly model: PricedModel;
}

/** The manager's id of the session. */
export const REPLAY_ID = "replay";

/** One manager, one preflight per call; with `whileCold` it also compacts where the cache has expired anyway. */
async function playManager(run: ReplayRun, onCall: CallListener, whileCold = false): Promise<void> {
  const { transcript, settings, ports, session } = run;
  const { observer } = ports;
  const clock = createSessionClock();
  const manager = managerOf(run, whileCold, clock);
  const { targetContextTokens: target } = settings.config.policy;
  const request = {
    // Neutral messages do not carry it, and it decides how the tokens of an unknown model are counted.
    format: providerOf(transcript),
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
    const elapsedMs = tenths(ports.clock() - before);
    onCall(raw, result, { call: number + 1, elapsedMs });
    await observer?.onCall(raw, result, elapsedMs);
  }
  // Delivers the last events to the observer.
  await manager.flush();
}

function managerOf(
  { settings, ports: { observer, ...ports } }: ReplayRun,
  whileCold: boolean,
  { now, later }: SessionClock,
): CompactManager {
  const { config, model, window, onOverflow, strategy } = settings;
  const { coldTriggerPct, beforeCacheLapse } = config.policy;
  // Only these settings depend on the session's pauses; otherwise events carry the time of the replay.
  const times = coldTriggerPct === undefined && beforeCacheLapse === undefined ? {} : { now, later };
  return new CompactManager(
    {
      ...config,
      model: model ?? config.model,
      maxContextTokens: window,
      policy: { ...config.policy, onOverflow, strategy },
      storage: { ...config.storage, kind: "memory" },
    },
    {
      storage: observer?.storage ?? createMemoryDriver(),
      exporters: observer === undefined ? [] : [observer.exporter],
      clock: ports.clock,
      ...times,
      onWarning: whileCold ? () => undefined : ports.onWarning,
    },
  );
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
function hasColdCache({ session, model }: ReplayRun, number: number, messages: readonly Message[]): boolean {
  const [before, call] = [session.calls[number - 1], session.calls[number]];
  if (before === undefined || call === undefined || model.rules === undefined) return false;
  if (!call.opensTurn || call.time - before.time <= model.rules.lifetime) return false;
  const tokens = tokensOf(segmentsOf(messages, session));
  return model.rules.kind !== "none" && tokens > session.window * COLD_ABOVE;
}

/** The request for a list. */
function segmentsOf(messages: readonly Message[], session: RecordedSession): CacheSegment[] {
  return [...session.fixed, ...messages.map(session.segmentOf)];
}
