import type { ArchivedMessage } from "../core/archive.ts";
import type { Message } from "../core/message.ts";
import type { SegmentBuilder } from "./build.ts";
import type { PlacedSegment } from "./merge.ts";
import { searchableText } from "./searchable.ts";
import { archiveIdTerm, ownIdTerm } from "./terms.ts";

interface Known {
  readonly segments: readonly PlacedSegment[];
  readonly builder: SegmentBuilder;
}

const POINTER = /archive id ([0-9a-z]{10})/g;

/** Takes in a message that no step before had; of one that is there under another id, or emptied to a pointer to itself, only the ids. */
export function addOnce(archived: ArchivedMessage, step: number, known: Known): void {
  const { archiveId, message } = archived;
  const here = archiveIdsFor(ownIdTerm(message.id), known);
  if (archiveIdsFor(archiveIdTerm(archiveId), known).size > 0) {
    if (!here.has(archiveId)) known.builder.add(archived, step, true);
    return;
  }
  known.builder.add(archived, step, here.size > 0 && pointsInto(message, here));
}

/** Only a pointer to what the same message was before counts: anybody can write such words. */
function pointsInto(message: Message, before: ReadonlySet<string>): boolean {
  for (const [, id] of searchableText(message).matchAll(POINTER)) if (before.has(id ?? "")) return true;
  return false;
}

function archiveIdsFor(term: string, { segments, builder }: Known): ReadonlySet<string> {
  const ids = new Set(builder.find(term).map((document) => builder.archiveIdOf(document)));
  for (const { segment } of segments) {
    segment.each(term, (document) => ids.add(segment.message(document).archiveId));
  }
  return ids;
}
