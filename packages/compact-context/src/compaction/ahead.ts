import { contentHash } from "../messages/content-hash.ts";
import type { Message } from "../messages/message.ts";
import type { PlannedMessage } from "./plan.ts";
import type { CompactionReport } from "./report.ts";
import { commitRound, type PreparedRound, type RoundInput, type RoundPorts } from "./round.ts";
import type { LiveSession } from "./session.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** A copy of a session that stays as it is while the session goes on. */
function snapshotOf(session: LiveSession): LiveSession {
  return { ...session, view: [...session.view], entries: [...session.entries], log: [...session.log] };
}

/** A compaction that was begun before it was due. */
interface AheadRound {
  /** What it was begun for. */
  readonly snapshot: LiveSession;
  /** Undefined while it runs, and when it came to nothing. */
  prepared: PreparedRound | undefined;
  running: boolean;
  /** Settles, without ever rejecting, when it no longer runs. */
  readonly done: Promise<void>;
  cancel(): void;
}

/** Compactions that run beside their sessions, one each; nothing of them shows before they are taken over. */
export interface AheadRounds {
  /** Begins `work` on a snapshot, unless the session has one already; `failed` hears of what went wrong. */
  begin(
    session: LiveSession,
    work: (snapshot: LiveSession, signal: AbortSignal) => Promise<PreparedRound | undefined>,
    failed: (error: unknown) => void,
  ): void;
  isRunning(sessionId: string): boolean;
  /**
   * Takes over what was prepared, waiting for it if need be; a manual compaction does not. Undefined when there is
   * nothing, the session no longer begins with what it was prepared for, or the result would not fit.
   */
  takeOver(input: RoundInput, ports: RoundPorts): Promise<CompactionReport | undefined>;
  forget(sessionId: string): void;
}

export function createAheadRounds(): AheadRounds {
  const rounds = new Map<string, AheadRound>();
  const forget = (sessionId: string): void => {
    rounds.get(sessionId)?.cancel();
    rounds.delete(sessionId);
  };
  return {
    forget,
    isRunning: (sessionId) => rounds.get(sessionId)?.running === true,
    begin(session, work, failed) {
      if (!rounds.has(session.id)) rounds.set(session.id, begun(session, work, failed));
    },
    async takeOver(input, ports) {
      const round = rounds.get(input.session.id);
      if (round === undefined) return undefined;
      if (input.decision.reason !== "manual") await unlessAborted(round.done, input.signal);
      const prepared = carriedOver(round, input.session, input.ports.count);
      forget(input.session.id);
      if (prepared === undefined || prepared.applied.tokensAfter > input.budget) return undefined;
      return input.decision.reason === "manual" ? undefined : commitRound(input, ports, prepared);
    },
  };
}

function begun(
  session: LiveSession,
  work: (snapshot: LiveSession, signal: AbortSignal) => Promise<PreparedRound | undefined>,
  failed: (error: unknown) => void,
): AheadRound {
  const snapshot = snapshotOf(session);
  const controller = new AbortController();
  const finished = work(snapshot, controller.signal).then(
    (prepared) => {
      round.prepared = prepared;
    },
    (error: unknown) => {
      if (!controller.signal.aborted) failed(error);
    },
  );
  const round: AheadRound = {
    snapshot,
    prepared: undefined,
    running: true,
    done: finished.then(() => {
      round.running = false;
    }),
    cancel: () => controller.abort(),
  };
  return round;
}

/**
 * The prepared compaction for the session as it is now: what came meanwhile stays behind it. Undefined when the
 * session no longer begins with what it was prepared for, message by message.
 */
function carriedOver(
  { snapshot, prepared }: AheadRound,
  session: LiveSession,
  count: (message: Message) => number,
): PreparedRound | undefined {
  const length = snapshot.view.length;
  if (prepared === undefined || session.view.length < length) return undefined;
  const same = snapshot.view.every((message, index) => isSame(message, session.view[index]));
  if (!same) return undefined;
  const added = session.view.slice(length);
  const entries = added.map((message, offset) => keptAsItIs(message, length + offset, count(message)));
  const tokens = entries.reduce((total, entry) => total + entry.tokens, 0);
  const { plan, applied } = prepared;
  return {
    ...prepared,
    plan: {
      ...plan,
      entries: [...plan.entries, ...entries],
      tokensBefore: plan.tokensBefore + tokens,
      tokensAfter: plan.tokensAfter + tokens,
    },
    applied: {
      ...applied,
      messages: [...applied.messages, ...added],
      tokensAfter: applied.tokensAfter + tokens,
    },
  };
}

function isSame(before: Message, now: Message | undefined): boolean {
  if (before === now) return true;
  return now !== undefined && before.id === now.id && contentHash(before) === contentHash(now);
}

function keptAsItIs(message: Message, index: number, tokens: number): PlannedMessage {
  return {
    index,
    id: message.id,
    role: message.role,
    layer: "recent",
    action: "keep",
    tokens,
    tokensAfter: tokens,
    reason: "came while the compaction was prepared",
  };
}
