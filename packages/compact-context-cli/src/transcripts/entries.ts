import type { Message, Part, Role } from "compact-context";
import { contentHash, type MessageMeta } from "compact-context/internal/core/message";
import { isTooDeep, type JsonRecord, stringOf } from "./json.ts";
import { withMeta } from "./session.ts";
import type { ReadLog } from "./transcript.ts";

/** What a reader says of one message of a format that no codec knows. */
export interface Reading {
  readonly role: Role;
  readonly parts: readonly Part[];
  /** The entry of the file; several messages may come from one. */
  readonly native: unknown;
  readonly id?: string;
  readonly meta?: MessageMeta;
}

/** Messages with unique ids: the entry's own, or a fingerprint of the content. */
export function messagesFrom(readings: readonly Reading[]): Message[] {
  const numbers = new Map<string, number>();
  const taken = new Set<string>();
  return readings.map(({ role, parts, native, id: wished, meta }) => {
    const base = wished ?? contentHash({ role, parts });
    let id = base;
    while (taken.has(id)) {
      const number = (numbers.get(base) ?? 1) + 1;
      numbers.set(base, number);
      id = `${base}-${number}`;
    }
    taken.add(id);
    return withMeta({ id, role, parts, native }, meta ?? {});
  });
}

/** Makes the entry for messages that come from one entry (`original`, some of it changed or missing) or from none. */
type EntryBuilder = (group: readonly Message[], original: JsonRecord | undefined) => unknown;

/** The list of entries for the compacted messages: untouched entries are the file's own objects. */
export function rebuildEntries(
  live: readonly Message[],
  compacted: readonly Message[],
  build: EntryBuilder,
): unknown[] {
  const sizes = new Map<unknown, number>();
  for (const message of live) sizes.set(message.native, (sizes.get(message.native) ?? 0) + 1);
  return groupByNative(compacted).map((group) => {
    const native = group[0]?.native;
    if (native === undefined) return build(group, undefined);
    const whole = group.length === sizes.get(native) && group.every((message) => message.edited !== true);
    return whole ? native : build(group, native as JsonRecord);
  });
}

function groupByNative(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last !== undefined && message.native !== undefined && last[0]?.native === message.native)
      last.push(message);
    else groups.push([message]);
  }
  return groups;
}

/** The entries that can be walked safely; the others are reported and counted. */
export function readableEntries(entries: readonly unknown[], path: string, log: ReadLog): readonly unknown[] {
  return entries.filter((entry, index) => {
    if (!isTooDeep(entry)) return true;
    log.problem({ place: `${path}[${index}]`, message: "nests too deep to be read; left out" });
    log.leaveOut("too deep");
    return false;
  });
}

/** A text part, or none for empty text. */
export function textParts(text: string | undefined): Part[] {
  return text === undefined || text === "" ? [] : [{ type: "text", text }];
}

/** The value as a part's text when it is a string. */
export function textPartsOf(value: unknown): Part[] {
  return textParts(stringOf(value));
}
