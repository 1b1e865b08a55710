import type { Message } from "compact-context";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { createCostTally, type PolicyCost, type PricedModel, pricedModel } from "./cost.ts";
import { hasColdCache, playManager, type ReplayPorts, type ReplayRun, segmentsOf } from "./live.ts";
import { BASELINES } from "./policies.ts";
import {
  createTotals,
  type RecordedSession,
  type ReplayTotals,
  recordedSession,
  stampsOf,
} from "./session.ts";

// Plays a recorded session call by call under Compact and under other policies, and counts what it would have cost.

/** The result of a replay. */
export interface Replay extends ReplayTotals {
  /** Model calls of the whole session. */
  readonly calls: number;
  readonly messages: number;
  /** Milliseconds of the replay, without the policies that are played for comparison. */
  readonly elapsedMs: number;
  /** Milliseconds that the recorded session lasted; undefined if its messages carry no times. */
  readonly sessionMs: number | undefined;
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
   * Undefined if there is no such turn, or if cache entries are not known to expire.
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
  const elapsedMs = ports.clock() - started;
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
      cold: coldTurns === 0 ? undefined : await coldCost(run),
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

function durationOf(history: readonly Message[]): number | undefined {
  const times = stampsOf(history);
  const [first, last] = [times[0], times.at(-1)];
  return first === undefined || last === undefined || last <= first ? undefined : last - first;
}
