import { archiveId, archiveLine, readTranscriptText, sessionKey } from "../core/archive.ts";
import { sha256Hex } from "../core/checksum.ts";
import type { Message } from "../core/message.ts";
import { actionsFor, type CompactionPlan } from "../core/plan.ts";
import type { OutboxItem } from "../core/ports.ts";
import type { Session } from "../core/session.ts";
import { CompactError } from "../errors.ts";
import type { Redactor } from "../redaction/redactor.ts";

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
