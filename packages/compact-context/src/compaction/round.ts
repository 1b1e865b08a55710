import { CompactError } from "../errors.ts";
import { findMalformations } from "../messages/well-formed.ts";
import type { TriggerDecision } from "../policy/trigger.ts";
import type { Archive } from "../storage/archive.ts";
import { archiveId } from "../storage/archive-line.ts";
import type { LiveConversation, Summarizer } from "../summarizers/summarizer.ts";
import { archival, failure } from "../tracing/events.ts";
import {
  type Announce,
  askCutEvents,
  attemptEvent,
  decisionEvent,
  failureEvent,
  messageOf,
  prunedEvent,
  type StepTimes,
  summaryEvent,
} from "./announce.ts";
import { type Applied, applyPlan } from "./apply.ts";
import type { CompactConfig } from "./config.ts";
import type { PlanInput } from "./draft.ts";
import type { ListCodec } from "./list-codec.ts";
import type { MemoryFlushing, QueuedFlush } from "./memory-flush.ts";
import { nextState } from "./next-state.ts";
import { nextVersion } from "./one-shot.ts";
import { type CompactionPlan, planBytes, planShortening, planView } from "./plan.ts";
import { priced } from "./priced.ts";
import { recalledIn } from "./recalled.ts";
import { type ArchiveReceipt, type CompactionReport, reportOf } from "./report.ts";
import { type LiveSession, type SessionPorts, settle, standingState } from "./session.ts";
import { toldWith } from "./told.ts";

export interface RoundInput {
  readonly session: LiveSession;
  readonly ports: SessionPorts;
  readonly config: CompactConfig;
  readonly decision: TriggerDecision;
  /** Tokens beside the messages. */
  readonly fixedTokens: number;
  /** Most tokens of the whole request, and what to aim for. */
  readonly budget: number;
  readonly target: number | undefined;
  /** Tokens below which the next compaction is far enough away. */
  readonly preferred: number | undefined;
  readonly maxSummaryTokens: number;
  /** The model takes signed reasoning back only behind an unchanged prefix. */
  readonly reasoningBound: boolean;
  readonly note: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** The conversation as the agent's last call sent it. */
  readonly live: () => LiveConversation | undefined;
}

export interface RoundPorts {
  readonly archive: Archive;
  readonly summarizers: readonly Summarizer[];
  readonly announce: Announce;
  now(): string;
  clock(): number;
  /** Makes the new state durable; rejects with `Conflict` when somebody else was quicker. */
  save(session: LiveSession, state: LiveSession["state"]): Promise<string>;
  /** Queues what leaves the list, where a memory wants it. */
  readonly flush?: MemoryFlushing["queue"] | undefined;
}

/** A compaction that was made but not taken over yet: the session is as before. */
export interface PreparedRound {
  readonly plan: CompactionPlan;
  readonly applied: Applied;
  readonly receipt: ArchiveReceipt | undefined;
  /** Its number in the session; the archive's files have the same. */
  readonly step: number;
  /** Milliseconds of the steady clock that the work took so far. */
  readonly spentMs: number;
  /** ISO 8601: when the plan was made. */
  readonly decidedAt: string;
  /** When the plan was applied, summary included. */
  readonly times: StepTimes;
}

/**
 * One compaction of a session: plan, archive, apply, save, in that order. Undefined when there is
 * nothing to gain. Whatever it rejects with, the session is as before.
 */
export async function compactSession(
  input: RoundInput,
  ports: RoundPorts,
): Promise<CompactionReport | undefined> {
  const prepared = await prepareRound(input, ports);
  return prepared === undefined ? undefined : commitRound(input, ports, prepared);
}

/** Plans, archives and summarizes; changes nothing in the session. */
export async function prepareRound(input: RoundInput, ports: RoundPorts): Promise<PreparedRound | undefined> {
  const started = ports.clock();
  const { models } = input.config;
  const plan = planFor(input);
  if (!isWorthwhile(plan, input)) return undefined;
  const decidedAt = ports.now();
  announceMalformed(input, ports);
  const receipt = await archiveView(input, ports, decidedAt);
  const step = receipt?.step ?? input.session.state.step + 1;
  const startedAt = ports.now();
  const applied = await applyPlan(input.session.view, plan, {
    counter: input.ports.counter,
    summarizers: toldWith(ports.summarizers, {
      step: receipt?.step,
      countText: (text) => input.ports.counter.countText(text),
    }),
    strategy: input.config.policy.strategy,
    instruction: input.note,
    shape: input.ports.shape,
    isPinned: input.ports.isPinned,
    version: Math.max(nextVersion(input.session.view), (input.session.state.summary?.version ?? 0) + 1),
    archiveId,
    signal: input.signal,
    live: input.live,
    onAttempt: (attempt) => ports.announce(attemptEvent(priced(attempt, models), step)),
    onFailure: ({ error, fallback, attempt }) => {
      const asked = attempt === undefined ? undefined : priced(attempt, models);
      ports.announce(failureEvent(error, fallback, { attempt: asked, step }));
    },
  });
  const times = { startedAt, endedAt: ports.now() };
  return { plan, applied, receipt, step, decidedAt, spentMs: ports.clock() - started, times };
}

/** Makes a prepared compaction the session's own; the session's view is the one it was prepared for. */
export async function commitRound(
  input: RoundInput,
  ports: RoundPorts,
  prepared: PreparedRound,
): Promise<CompactionReport> {
  const started = ports.clock();
  const startedAt = ports.now();
  const { plan, applied, receipt } = prepared;
  await commit(input, ports, { plan, applied, step: Math.max(receipt?.step ?? 0, input.session.state.step) });
  const report = reportOf({
    plan,
    applied,
    reason: input.decision.reason,
    format: input.ports.codec.format,
    range: input.ports.counter.range(applied.tokensAfter),
    archive: receipt,
    elapsedMs: prepared.spentMs + ports.clock() - started,
  });
  await saveSummary(input, ports, report, applied);
  announceDone(input, ports, { report, prepared, startedAt });
  return report;
}

function planFor(input: RoundInput): CompactionPlan {
  const { policy } = input.config;
  const asked: PlanInput = {
    messages: input.session.view,
    counter: input.ports.counter,
    fixedTokens: input.fixedTokens,
    budget: input.budget,
    target: input.target,
    ...(input.preferred === undefined ? {} : { preferred: input.preferred }),
    keep: policy,
    clearToolResults: policy.clearToolResults,
    onOverflow: policy.onOverflow,
    reasoningBound: input.reasoningBound,
    maxSummaryTokens: input.maxSummaryTokens,
    maxBytes: policy.maxRequestBytes,
    archiveId,
    recalled: recalledIn(input.session),
  };
  if (input.decision.reason === "max_bytes") return planBytes(asked);
  if (input.decision.reason !== "tool_output" || policy.maxToolResultTokens === undefined) {
    return planView(asked);
  }
  return planShortening(asked, policy.maxToolResultTokens);
}

/**
 * Automatic rounds must shrink the list; a manual one only needs something to summarize, or to archive, that the last
 * compaction did not see: a summary of a summary says less than the one that is there.
 */
function isWorthwhile(plan: CompactionPlan, { decision, session, budget, target }: RoundInput): boolean {
  const changed = plan.entries.filter((entry) => entry.action !== "keep");
  if (changed.length === 0 || decision.reason === "max_bytes") return changed.length > 0;
  const isNew =
    session.log.length > (standingState(session).epochStart ?? 0) ||
    changed.some(({ index }) => session.view[index]?.meta?.summaryVersion === undefined);
  if (decision.reason === "manual" && isNew) return true;
  const wanted = decision.reason !== "manual" || plan.tokensBefore > Math.min(budget, target ?? budget);
  return wanted && plan.tokensAfter < plan.tokensBefore;
}

function announceMalformed(input: RoundInput, ports: RoundPorts): void {
  const faults = findMalformations(input.session.view);
  if (faults.length === 0) return;
  const told = faults.slice(0, 8).map((fault) => `messages[${fault.index}]: ${fault.explanation}`);
  ports.announce(
    failure({
      errorType: "MalformedMessages",
      message: told.join("; "),
      fallback: "kept or summarized as they are",
    }),
  );
}

/** Nothing is dropped before this resolves; undefined when the policy goes on without an archive. */
async function archiveView(
  input: RoundInput,
  ports: RoundPorts,
  startedAt: string,
): Promise<ArchiveReceipt | undefined> {
  const step = input.session.state.step + 1;
  try {
    const saved = await ports.archive.saveTranscript(input.session.id, step, input.session.view);
    ports.announce(
      archival({
        sessionId: input.session.id,
        step: saved.step,
        storageAdapter: input.config.storage.kind,
        location: saved.location,
        messages: saved.ids.length,
      }),
      { startedAt },
    );
    return saved;
  } catch (error) {
    const goesOn = input.config.storage.onFailure === "continue";
    ports.announce(
      failureEvent(error, goesOn ? "compacted without an archive" : "nothing is pruned", { step }),
    );
    if (goesOn) return undefined;
    throw storageFailed("the archive could not be written", error, "an archive");
  }
}

/** What failed says itself best what to do about it, and where. */
function storageFailed(what: string, error: unknown, lacking: string): CompactError {
  const { hint = "", place } = CompactError.isInstance(error) ? error : {};
  const first = hint === "" ? "Mend the storage." : hint;
  return new CompactError("StorageFailed", `${what}: ${messageOf(error)}`, {
    hint: `${first} Or set storage.onFailure to "continue" to prune without ${lacking}.`,
    ...(place === undefined ? {} : { place }),
    cause: error,
  });
}

async function commit(
  input: RoundInput,
  ports: RoundPorts,
  outcome: { readonly plan: CompactionPlan; readonly applied: Applied; readonly step: number },
): Promise<void> {
  const { session } = input;
  const { state, entries } = nextState({
    session,
    ...outcome,
    counter: input.ports.counter.id,
    at: ports.now(),
    edit: input.ports.edit,
    rewrote: input.decision.reason !== "tool_output",
  });
  const queued = await queueFlush(input, ports, outcome);
  const flushes = queued?.flushes ?? session.state.flushes;
  const committed = flushes === undefined ? state : { ...state, flushes };
  const storedVersion = await saved(session, committed, ports, outcome.step);
  const natives = input.ports.codec.encode(outcome.applied.messages);
  settle(
    session,
    {
      state: committed,
      entries,
      view: withNatives(outcome.applied.messages, natives, input.ports.codec),
      natives,
    },
    input.ports.counter,
  );
  session.storedVersion = storedVersion;
  queued?.handOn();
}

async function saved(
  session: LiveSession,
  state: LiveSession["state"],
  ports: RoundPorts,
  step: number,
): Promise<string> {
  try {
    return await ports.save(session, state);
  } catch (error) {
    const overtaken = CompactError.isInstance(error) && error.code === "Conflict";
    const fallback = overtaken ? "the session is read again" : "nothing is pruned";
    ports.announce(failureEvent(error, fallback, { step }));
    throw error;
  }
}

/** RUN-5: durable before the compaction is, and due only after it. */
async function queueFlush(
  { session, config }: RoundInput,
  ports: RoundPorts,
  { plan, step }: { readonly plan: CompactionPlan; readonly step: number },
): Promise<QueuedFlush | undefined> {
  try {
    return await ports.flush?.(session, plan, step);
  } catch (error) {
    const goesOn = config.storage.onFailure === "continue";
    ports.announce(failureEvent(error, goesOn ? "not handed to memory" : "nothing is pruned", { step }));
    if (goesOn) return undefined;
    throw storageFailed("the memory flush could not be queued", error, "a memory");
  }
}

/** The summary keeps the native that was made for it, so that every later call hands out the same object. */
function withNatives(
  messages: Applied["messages"],
  natives: readonly unknown[],
  { format, neutral }: ListCodec,
): Applied["messages"] {
  if (neutral || format === undefined || natives.length !== messages.length) return messages;
  return messages.map((message, index) => {
    if (message.meta?.summaryVersion === undefined && message.edited !== true) return message;
    const { edited: _, ...rest } = message;
    return { ...rest, native: natives[index], format };
  });
}

async function saveSummary(
  input: RoundInput,
  ports: RoundPorts,
  report: CompactionReport,
  applied: Applied,
): Promise<void> {
  if (applied.summary === undefined || report.archive === undefined) return;
  try {
    await ports.archive.saveSummary(input.session.id, report.archive.step, {
      version: applied.summary.version,
      text: applied.summary.text,
      strategy: input.config.policy.strategy,
      summarizer: applied.summarizer ?? "none",
      at: ports.now(),
      tokens: applied.summaryTokens,
      tokensBefore: report.tokensBefore,
      tokensAfter: report.tokensAfter,
    });
  } catch (error) {
    const { step } = report.archive;
    ports.announce(
      failureEvent(error, "the summary is in the list and the state, not in the archive", { step }),
    );
  }
}

function announceDone(
  input: RoundInput,
  { announce }: RoundPorts,
  {
    report,
    prepared: { applied, step, decidedAt, times },
    startedAt,
  }: { readonly report: CompactionReport; readonly prepared: PreparedRound; readonly startedAt: string },
): void {
  const { policy } = input.config;
  announce(decisionEvent(input.decision, policy, { report, note: input.note, step }), {
    startedAt: decidedAt,
    endedAt: decidedAt,
  });
  if (applied.summary !== undefined) {
    announce(summaryEvent(report, input.config, { text: applied.summary.text, step }), times);
  }
  announce(prunedEvent(report, step), { startedAt });
  for (const event of askCutEvents(report)) announce(event);
}
