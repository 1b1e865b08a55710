import { contentHash } from "../messages/content-hash.ts";
import { afterCompaction } from "../tokens/calibration.ts";
import type { Applied } from "./apply.ts";
import type { LiveSummary } from "./assemble.ts";
import { applyEdit, type Edit, type EditContext } from "./edit.ts";
import { type CompactionPlan, fatesOf, type PlannedMessage } from "./plan.ts";
import type { ViewEntry } from "./project.ts";
import { type LiveSession, standingState } from "./session.ts";
import {
  fingerprintOf,
  type KeptMessage,
  type LoggedMessage,
  type SessionState,
  type StoredSummary,
} from "./state.ts";

/** The state of a session as it stands, its newest messages logged: what a later process resumes from. */
export function currentState(session: LiveSession, counter: string): SessionState {
  const log: LoggedMessage[] = [...session.log];
  return {
    ...session.state,
    counter,
    log,
    kept: session.entries.flatMap((entry) => keptMessage(entry, log)),
  };
}

export interface NextStateInput {
  readonly session: LiveSession;
  readonly plan: CompactionPlan;
  readonly applied: Applied;
  readonly step: number;
  /** The counter of the plan. */
  readonly counter: string;
  /** ISO 8601. */
  readonly at: string;
  readonly edit: EditContext;
  /** False where only messages were touched that had not been sent yet: the next compaction is no nearer. */
  readonly rewrote: boolean;
}

/** The state after a compaction, and the entries of the new view. */
export function nextState(input: NextStateInput): {
  readonly state: SessionState;
  readonly entries: readonly ViewEntry[];
} {
  const { session, plan, applied } = input;
  const fates = fatesOf(plan, session.entries);
  const log: LoggedMessage[] = [...session.log];
  const entries: ViewEntry[] = [];
  const summarized: string[] = [];
  for (const [index, entry] of session.entries.entries()) {
    const fate = fates[index];
    if (fate?.action === "summarize") {
      if (entry.message.meta?.summaryVersion === undefined) summarized.push(entry.message.id);
      continue;
    }
    entries.push(keptEntry(entry, fate, input.edit));
  }
  const previous = standingState(session);
  const summary = summaryAfter(input);
  const state: SessionState = {
    format: 1,
    counter: input.counter,
    log,
    kept: entries.flatMap((entry) => keptMessage(entry, log)),
    summary,
    summaryCount: previous.summaryCount + (applied.summary === undefined ? 0 : 1),
    summarizedMessageIds: summary === undefined ? [] : [...previous.summarizedMessageIds, ...summarized],
    step: input.step,
    epochStart: input.rewrote ? log.length : (previous.epochStart ?? 0),
    tokensAfter: input.rewrote ? applied.tokensAfter : previous.tokensAfter,
    calibration: input.rewrote ? afterCompaction(previous.calibration) : previous.calibration,
  };
  return { state, entries };
}

/** The new summary, or the one that the plan left in the view. */
function summaryAfter({ session, plan, applied, at, step }: NextStateInput): StoredSummary | undefined {
  if (applied.summary !== undefined) return { ...stored(applied.summary, applied.summaryTokens, at), step };
  const { summary } = standingState(session);
  const carried = session.view.some(
    (message, index) =>
      message.meta?.summaryVersion === summary?.version && plan.entries[index]?.action === "keep",
  );
  return carried ? summary : undefined;
}

function stored(summary: LiveSummary, tokens: number, at: string): StoredSummary {
  return { ...summary, fingerprint: fingerprintOf(summary.text), at, tokens };
}

function keptEntry(entry: ViewEntry, fate: PlannedMessage | undefined, context: EditContext): ViewEntry {
  if (fate?.edit === undefined) return entry;
  const message = applyEdit(entry.message, fate.edit, context);
  if (message === entry.message) return entry;
  return { ...entry, tokens: fate.tokensAfter, message, edit: followed(entry.edit, fate.edit) };
}

/** All edits of a message, in the order in which they were made. */
function followed(before: Edit | undefined, now: Edit): Edit {
  if (before === undefined) return now;
  return { ...before, next: before.next === undefined ? now : followed(before.next, now) };
}

function keptMessage(entry: ViewEntry, log: readonly LoggedMessage[]): KeptMessage[] {
  if (entry.at === undefined) return [];
  if (entry.edit === undefined) return [{ at: entry.at }];
  const hash = contentHash(entry.message);
  return [{ at: entry.at, edit: entry.edit, ...(hash === log[entry.at]?.[0] ? {} : { hash }) }];
}
