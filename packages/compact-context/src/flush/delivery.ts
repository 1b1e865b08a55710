import { sessionKey } from "../core/archive.ts";
import type { Message } from "../core/message.ts";
import type { CompactionPlan } from "../core/plan.ts";
import type { Claim, ClaimedItem, Outbox, OutboxItem } from "../core/ports.ts";
import type { Session } from "../core/session.ts";
import { archiveId, archiveLine, readTranscriptText } from "../core/transcript.ts";
import { CompactError, later, sha256Hex } from "../errors.ts";
import type { Redactor } from "../redaction/redactor.ts";

// Outbox encoding of the messages that leave a list, and delivery of one outbox item to the hook.

/** Second argument of a memory flush hook. */
export interface MemoryFlush {
  readonly sessionId: string;
  /** The archive step whose compaction discards the messages. */
  readonly step: number;
  /** Identical for every delivery of the same messages: skip the flush if this key was already processed. */
  readonly idempotencyKey: string;
  /** Starts at 1. */
  readonly attempt: number;
  /** Aborted when the hook times out; the flush is retried later. */
  readonly signal: AbortSignal;
}

/**
 * Receives the messages that leave the list, with secrets redacted. Delivery is at least once: if the hook
 * throws or rejects, it is called again later.
 */
export type MemoryFlushHook = (messages: readonly Message[], flush: MemoryFlush) => void | Promise<void>;

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 10 * 60_000;

/** Exponential backoff: doubles after each failure, capped at ten minutes. */
export function retryAfter(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
}

/**
 * Delivers one item to the hook and renews the claim on it meanwhile; removes it from the outbox, or rejects.
 */
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

/** Resolves to false if `work` exceeds `ms`: its signal is aborted and its later outcome is ignored. */
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

/** The messages that a compaction discards, as stored in the outbox. */
export interface FlushItem {
  readonly sessionId: string;
  /** The archive step of that compaction. */
  readonly step: number;
  /** Version of the stored state that the compaction started from; null if the session had none. */
  readonly base: string | null;
  /** ISO 8601. */
  readonly at: string;
  readonly messages: readonly Message[];
}

type Header = Omit<FlushItem, "messages">;

/**
 * The messages whose content leaves the list: summarized, cleared or truncated for the first time. Messages
 * cleared or truncated earlier have already left, and an earlier summary was never a message of the session.
 */
export function discardedMessages(session: Session, plan: CompactionPlan): Message[] {
  return session.entries.flatMap(({ message, edit }, index) => {
    const leaves = (plan.entries[index]?.action ?? "keep") !== "keep";
    const left = edit?.clear === true || edit?.elideTo !== undefined || edit?.resultsTo !== undefined;
    return leaves && !left && message.meta?.summaryVersion === undefined ? [message] : [];
  });
}

/**
 * Encodes the item with secrets redacted. The id is the same whenever the same messages are queued in the
 * same step.
 */
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

/** Throws `StorageFailed` for a damaged item. */
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
