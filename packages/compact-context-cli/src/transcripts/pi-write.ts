import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { argumentsText, resultText } from "compact-context/internal/core/message";
import type { JsonRecord } from "./json.ts";
import type { PiEntry } from "./pi-tree.ts";
import { splitAtSummary } from "./session.ts";
import type { CompactedSession, WritePorts } from "./transcript.ts";

interface PiFile {
  readonly entries: readonly PiEntry[];
  readonly entryOf: ReadonlyMap<unknown, PiEntry>;
  readonly isTree: boolean;
  readonly lastId: string | undefined;
  /** The index that pi gives the next entry. */
  readonly nextIndex: number;
  readonly endsWithNewline: boolean;
}

const NO_SUMMARY = "Earlier messages were removed from the context; they remain in this session file.";

/**
 * A compaction entry that points at the kept end of the file. Where the kept messages are not that end as it
 * stands (some were cleared, some lie apart), copies of them follow the entry instead.
 */
export function* writePi(file: PiFile, compacted: CompactedSession, ports: WritePorts): Iterable<string> {
  if (!file.endsWithNewline) yield "\n";
  const { before, summary, after } = splitAtSummary(compacted);
  let parentId = file.lastId ?? null;
  const line = (fields: JsonRecord, id: string): string => {
    const place = file.isTree ? { id, parentId } : {};
    parentId = id;
    return `${JSON.stringify({ ...fields, ...place, timestamp: ports.now() })}\n`;
  };
  const firstKept = keptEnd(file, after);
  const firstCopyId = ports.newId();
  const copies = firstKept === undefined ? codecFor("pi").encode(after) : [];
  const pointer = firstKept === undefined ? { id: firstCopyId, index: file.nextIndex + 1 } : firstKept;
  yield line(
    {
      type: "compaction",
      summary: [summary ?? NO_SUMMARY, ...told(before)].join("\n\n"),
      firstKeptEntryId: file.isTree ? pointer.id : undefined,
      firstKeptEntryIndex: file.isTree ? undefined : pointer.index,
      tokensBefore: compacted.tokensBefore,
      details: { copies: copies.length },
      fromHook: true,
    },
    ports.newId(),
  );
  for (const [index, message] of copies.entries()) {
    yield line({ type: "message", message }, index === 0 ? firstCopyId : ports.newId());
  }
}

/** The entry from which on the live messages are exactly the kept ones; undefined when there is none. */
function keptEnd(file: PiFile, kept: readonly Message[]): { id: string; index: number } | undefined {
  const first = file.entryOf.get(kept[0]?.native);
  if (first === undefined || kept.some((message) => message.edited === true)) return undefined;
  const live = [...file.entryOf].map(([native]) => native);
  const end = live.slice(live.indexOf(kept[0]?.native));
  const same = end.length === kept.length && end.every((native, index) => native === kept[index]?.native);
  if (
    !same ||
    first.index === undefined ||
    end.some((native) => file.entryOf.get(native)?.index === undefined)
  ) {
    return undefined;
  }
  return { id: first.id ?? "", index: first.index };
}

/** pi puts the summary first, so what is kept before it is told in it. */
function told(messages: readonly Message[]): string[] {
  if (messages.length === 0) return [];
  return ["## Kept word for word from before the summary", ...messages.map(asText)];
}

function asText(message: Message): string {
  const pieces = message.parts.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "toolCall") return `[call ${part.name}] ${argumentsText(part)}`;
    if (part.type === "toolResult")
      return `[result${part.isError === true ? ", error" : ""}] ${resultText(part)}`;
    return part.type === "media" ? `[${part.mediaType}]` : "";
  });
  return `### ${message.role}\n\n${pieces.filter((piece) => piece !== "").join("\n\n")}`;
}
