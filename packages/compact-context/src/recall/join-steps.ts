import type { ArchivedMessage } from "../core/archive.ts";
import type { Message } from "../core/message.ts";
import { readableMessage } from "./readable.ts";

const POINTER = /archive id ([0-9a-z]{10})/g;

/**
 * The originals so far and what a later step adds: its list begins with what a compaction left of them, in order,
 * with a summary of ours among it, and goes on with what is new.
 */
export function joinSteps(
  originals: readonly ArchivedMessage[],
  later: readonly ArchivedMessage[],
): readonly ArchivedMessage[] {
  const added: ArchivedMessage[] = [];
  let from = 0;
  for (const archived of later.filter(({ message }) => message.meta?.summaryVersion === undefined)) {
    const fixed = isFixed(archived);
    // What stays of the originals stands before everything new; instructions may be anywhere.
    const stays = fixed || added.length === 0;
    const at = stays ? placeOf(archived, originals, fixed ? 0 : from) : -1;
    if (at < 0) added.push(archived);
    from = fixed ? from : at + 1;
  }
  return [...originals, ...added];
}

function isFixed({ message }: ArchivedMessage): boolean {
  return message.role === "system" || message.role === "developer";
}

function placeOf(archived: ArchivedMessage, originals: readonly ArchivedMessage[], from: number): number {
  const pointers = pointersIn(archived.message);
  for (let at = from; at < originals.length; at++) {
    const original = originals[at];
    if (original === undefined) continue;
    if (original.archiveId === archived.archiveId) return at;
    if (original.message.role !== archived.message.role) continue;
    if (original.message.id === archived.message.id || pointers.has(original.archiveId)) return at;
  }
  return -1;
}

function pointersIn(message: Message): ReadonlySet<string> {
  return new Set([...readableMessage(message).matchAll(POINTER)].map(([, id = ""]) => id));
}
