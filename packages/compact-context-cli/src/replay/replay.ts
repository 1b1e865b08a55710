import type { Message } from "compact-context";
import type { Settings } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { createCostTally, type PolicyCost, type PricedModel, pricedModel } from "./cost.ts";
import { opensCold, playManager, type ReplayPorts, type Stage, segmentsOf } from "./live.ts";
import { RIVALS } from "./policies.ts";
import { createTally, type RecordedSession, recordedSession, stampsOf, type Tallied } from "./session.ts";

// Plays a whole session call by call, as if Compact had been there, and counts what it would have cost.

/** What a session came to when it was played. */
export interface Replay extends Tallied {
  /** Model calls of the whole session. */
  readonly calls: number;
  readonly messages: number;
  /** Milliseconds of the whole replay, what is played besides for comparison left out. */
  readonly elapsedMs: number;
  /** Milliseconds that the session itself lasted, where its messages say so. */
  readonly sessionMs: number | undefined;
  readonly economy: Economy;
}

/** What the session costs with the provider's cache simulated. */
export interface Economy {
  readonly model: PricedModel;
  /** Where the time between calls comes from: the session's time stamps, fixed steps, or both. */
  readonly clock: "recorded" | "assumed" | "mixed";
  /** `compact` as configured, then what others do. */
  readonly policies: readonly PolicyCost[];
  /**
   * `compact` that also rewrites before a turn that opens on a lapsed cache with the window more than half full.
   * Undefined where no turn did, or where entries are not known to lapse.
   */
  readonly cold: { readonly cost: PolicyCost; readonly rewrites: number } | undefined;
}

/** Every message in the order of the session, copies that its own compactions made left out. */
export function wholeHistory({ segments }: Transcript): Message[] {
  return segments.flatMap((segment, index) =>
    index === 0 ? segment.messages : segment.messages.slice(segment.carried),
  );
}

/** Plays the session as a live agent would have run it: a preflight with the raw list before each model call. */
export async function replaySession(
  transcript: Transcript,
  settings: Settings,
  ports: ReplayPorts,
): Promise<Replay> {
  const history = ports.watcher?.history ?? wholeHistory(transcript);
  const session = recordedSession(history, settings, transcript.manyAgents);
  const model = pricedModel(settings.model, settings.config.models);
  const stage = { transcript, settings, ports, session, model };
  const tally = createTally(settings);
  const own = createCostTally("compact", session, model);
  let coldTurns = 0;
  const started = ports.clock();
  await playManager(stage, (raw, result, played) => {
    tally.add(raw, result, played);
    own.add({ segments: segmentsOf(result.messages, session) });
    if (!result.report.compacted && opensCold(stage, played.call - 1, result.messages)) coldTurns += 1;
    ports.onProgress(played.call / session.calls.length);
  });
  const elapsedMs = ports.clock() - started;
  return {
    calls: session.calls.length,
    messages: history.length,
    ...tally.sums(),
    elapsedMs,
    sessionMs: durationOf(history),
    economy: {
      model,
      clock: clockOf(session),
      policies: [own.cost(), ...rivalCosts(session, model)],
      cold: coldTurns === 0 ? undefined : await coldCost(stage),
    },
  };
}

async function coldCost(stage: Stage): Promise<Economy["cold"]> {
  const tally = createCostTally("compact, also while cold", stage.session, stage.model);
  let rewrites = 0;
  await playManager(
    stage,
    (_, { messages, report }) => {
      tally.add({ segments: segmentsOf(messages, stage.session) });
      if (report.compacted && report.reason === "manual") rewrites += 1;
    },
    true,
  );
  return { cost: tally.cost(), rewrites };
}

function rivalCosts(session: RecordedSession, model: PricedModel): PolicyCost[] {
  return Object.entries(RIVALS).map(([name, policy]) => {
    const tally = createCostTally(name, session, model);
    const play = policy(session);
    for (const { end } of session.calls) tally.add(play(end));
    return tally.cost();
  });
}

/** The first call has nothing before it: its time is no interval. */
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
