import { codecFor } from "../codecs/formats.ts";
import type { NativeObject } from "../codecs/native.ts";
import type { Format, Message } from "../core/message.ts";
import { CompactError, isObject } from "../errors.ts";
import { type Cell, cellsOf, fieldsOf } from "./cells.ts";

/** An entry that could be read. */
export interface Entry {
  readonly native: NativeObject;
  /** Index in the list that is looked at. */
  readonly position: number;
  readonly message: Message;
  readonly cells: readonly Cell[];
}

/** An entry that no reader understands. */
export interface Fault {
  readonly native: unknown;
  readonly position: number;
  readonly path: string;
  readonly problem: string;
}

export interface ReadList {
  readonly format: Format;
  /** Entries that could be read, in order. */
  readonly entries: readonly Entry[];
  readonly faults: readonly Fault[];
  /** LangChain's orders to remove messages: they carry none. */
  readonly removals: readonly { readonly position: number; readonly id: unknown }[];
  readonly length: number;
}

/** The id by which LangGraph removes every message. */
export const REMOVE_ALL = "__remove_all__";

/** Reads a list entry by entry; what cannot be read becomes a fault. */
export function readEntries(list: readonly unknown[], format: Format): ReadList {
  const whole = decodeWhole(list, format);
  if (whole !== undefined) {
    const entries = whole.map((message, position) => toEntry(format, list[position], message, position));
    return { format, entries, faults: [], removals: [], length: list.length };
  }
  return readOneByOne(list, format);
}

function decodeWhole(list: readonly unknown[], format: Format): Message[] | undefined {
  try {
    return codecFor(format).decode(list);
  } catch {
    return undefined;
  }
}

function readOneByOne(list: readonly unknown[], format: Format): ReadList {
  const codec = codecFor(format);
  const previous: Message[] = [];
  const entries: Entry[] = [];
  const faults: Fault[] = [];
  const removals: { position: number; id: unknown }[] = [];
  const add = (native: unknown, position: number): void => {
    try {
      const [message] = codec.decode([native], previous);
      if (message === undefined) return;
      entries.push(toEntry(format, native, message, position));
      previous.push(message);
    } catch (error) {
      faults.push(toFault(native, position, error, `messages[${previous.length}]`));
    }
  };
  const remove = (native: NativeObject, position: number): void => {
    const { id } = fieldsOf(format, native);
    removals.push({ position, id });
    // What stands before is gone: the list that counts begins here.
    if (id === REMOVE_ALL) for (const before of [previous, entries, faults]) before.length = 0;
  };
  list.forEach((native, position) => {
    if (format === "langchain" && isRemoval(native)) remove(native, position);
    else add(native, position);
  });
  return { format, entries, faults, removals, length: list.length };
}

function isRemoval(native: unknown): native is NativeObject {
  if (!isObject(native)) return false;
  if (native.lc === 1 && Array.isArray(native.id)) return native.id.at(-1) === "RemoveMessage";
  const getType = native.getType ?? native._getType;
  if (typeof getType === "function") return (getType as () => unknown).call(native) === "remove";
  return native.type === "remove" || native.role === "remove";
}

function toEntry(format: Format, native: unknown, message: Message, position: number): Entry {
  const object = isObject(native) ? native : {};
  return {
    native: object,
    position,
    message,
    cells: cellsOf(format, object, message, `messages[${position}]`),
  };
}

function toFault(native: unknown, position: number, error: unknown, said: string): Fault {
  const path = `messages[${position}]`;
  if (!CompactError.isInstance(error)) return { native, position, path, problem: "cannot be read" };
  const place = error.place ?? said;
  const problem = error.message.startsWith(place) ? error.message.slice(place.length).trim() : error.message;
  return { native, position, path: place.replace(said, path), problem };
}
