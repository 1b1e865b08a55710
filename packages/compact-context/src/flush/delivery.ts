import { sessionKey } from "../core/archive.ts";
import type { Message } from "../core/message.ts";
import { actionsFor, type CompactionPlan } from "../core/plan.ts";
import type { Claim, ClaimedItem, Outbox, OutboxItem } from "../core/ports.ts";
import type { Session } from "../core/session.ts";
import { archiveId, archiveLine, readTranscriptText } from "../core/transcript.ts";
import { CompactError, later, sha256Hex } from "../errors.ts";
import type { Redactor } from "../redaction/redactor.ts";

// What leaves a list as it waits in the outbox, and how one item of it is handed to a hook.

/** What a memory flush hook is told beside the messages. */
export interface MemoryFlush {
  readonly sessionId: string;
  /** The archive step whose compaction discards the messages. */
  readonly step: number;
  /** The same whenever the same messages are handed on again: what was taken in under it can be passed over. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborted when the hook takes too long and is given up: it is called again later. */
  readonly signal: AbortSignal;
}

/**
 * Takes in messages that leave the list, their secrets taken out, at least once each; after a throw or a rejection
 * it is called again later.
 */
export type MemoryFlushHook = (messages: readonly Message[], flush: MemoryFlush) => void | Promise<void>;

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10 * 60_000;

/** Twice as long after every failure, up to ten minutes. */
export function retryAfter(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
}

/** Hands one item to the hook, keeping others off it meanwhile; takes it out of the outbox, or rejects. */
export async function deliver(
  outbox: Outbox,
  claimed: ClaimedItem,
  {
    hook,
    claim,
    timeoutMs,
  }: { readonly hook: MemoryFlushHook; readonly claim: Claim; readonly timeoutMs: number },
): Promise<void> {
  const { sessionId, step, messages } = decodeFlushItem(claimed);
  const about = {
    sessionId,
    step,
    idempotencyKey: `${claimed.session}/${claimed.id}`,
    attempt: claimed.attempts + 1,
  };
  const renew = (): void => {
    void outbox.renew(claimed, claim).catch(() => undefined);
  };
  const stopRenewing = later(claim.ms / 3, renew, true);
  try {
    const inTime = await within(timeoutMs, async (signal) => hook(messages, { ...about, signal }));
    if (!inTime) throw new Error(`the hook took longer than ${timeoutMs} ms`);
  } finally {
    stopRenewing();
  }
  await outbox.remove(claimed);
}

/** False when `work` takes longer: its signal is aborted then, and what it does afterwards is nobody's business. */
export async function within(ms: number, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  const controller = new AbortController();
  let callOff = (): void => undefined;
  const late = new Promise<boolean>((resolve) => {
    callOff = later(ms, () => {
      controller.abort(new Error(`it took longer than ${ms} ms`));
      resolve(false);
    });
  });
  try {
    return await Promise.race([work(controller.signal).then(() => true), late]);
  } finally {
    callOff();
  }
}

// ---- an item

/** Messages that a compaction discards, as they wait to be handed on. */
export interface FlushItem {
  readonly sessionId: string;
  /** The archive step of that compaction. */
  readonly step: number;
  /** The stored state that the compaction began from; null for a session that had none. */
  readonly base: string | null;
  /** ISO 8601. */
  readonly at: string;
  readonly messages: readonly Message[];
}

type Header = Omit<FlushItem, "messages">;

/**
 * The messages whose content leaves the list: summarized, emptied or cut for the first time. What was emptied or
 * cut before has left already, and an earlier summary was never a message of the session.
 */
export function discardedMessages(session: Session, plan: CompactionPlan): Message[] {
  const fates = actionsFor(plan, session.entries);
  return session.entries.flatMap(({ message, edit }, index) => {
    const leaves = (fates[index]?.action ?? "keep") !== "keep";
    const left = edit?.clear === true || edit?.elideTo !== undefined || edit?.resultsTo !== undefined;
    return leaves && !left && message.meta?.summaryVersion === undefined ? [message] : [];
  });
}

/** The item with its secrets taken out; its id is the same whenever the same messages are queued in the same step. */
export function encodeFlushItem(
  { messages, ...header }: FlushItem,
  redact: Pick<Redactor, "redactText" | "redactValue">,
): OutboxItem {
  const { sessionId, step, base, at } = header;
  const key = { session_id: sessionId, step, base, at };
  const lines = messages.map((message, index) => archiveLine(message, index + 1, messages.length, redact));
  const content = sha256Hex(messages.map((message) => `${message.id} ${archiveId(message)}`).join("\n"));
  return {
    session: sessionKey(sessionId),
    id: `${String(step).padStart(3, "0")}-${content.slice(0, 20)}`,
    body: `${JSON.stringify(key)}\n${lines.join("")}`,
  };
}

/** Throws `StorageFailed` for an item that was damaged. */
export function decodeFlushItem({ session, id, body }: OutboxItem): FlushItem {
  const end = body.indexOf("\n");
  const { messages, problems } = readTranscriptText(body.slice(end + 1));
  if (end === -1 || problems.length > 0) {
    throw new CompactError("StorageFailed", "a queued memory flush is damaged", {
      place: `${session}/${id}`,
      hint: "The messages are in the session's archive as well.",
    });
  }
  const header = JSON.parse(body.slice(0, end)) as { session_id: string } & Omit<Header, "sessionId">;
  const { session_id, step, base, at } = header;
  return { sessionId: session_id, step, base, at, messages: messages.map(({ message }) => message) };
}
