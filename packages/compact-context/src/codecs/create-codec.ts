import { contentHash, type Format, keepHashes, type Message, type Part } from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { type Vote, weighVotes } from "./detection.ts";
import { arrayAt, type NativeObject, objectAt } from "./native.ts";
import { createPairing } from "./pairing.ts";
import { partsOf, type Reading } from "./slots.ts";

/** What a codec may look at when it builds entries anew. */
export interface BuildContext {
  /** The first native entry of this format in the list: its style is followed where the format has several. */
  readonly sample: unknown;
  /** All of them. */
  natives(): readonly unknown[];
  /** The name of the call with this id, from anywhere in the list; empty when there is none. */
  callName(id: string): string;
}

/** The parts of a codec that differ from format to format. */
export interface CodecSpec {
  readonly format: Format;
  /** `place` names the entry, such as `messages[3]`, for errors. */
  readonly read: (entry: NativeObject, place: string) => Reading;
  /** A copy of `native` with these parts, everything else kept; never called without parts. */
  readonly rewrite: (native: NativeObject, parts: readonly Part[]) => unknown;
  /** Entries for consecutive messages that have no native of this format. */
  readonly build: (run: readonly Message[], context: BuildContext) => readonly unknown[];
  readonly vote: (entry: NativeObject) => Vote;
}

/** The codec that a spec describes: ids, pairing, identity of untouched natives and detection are the same for all. */
export function createCodec(spec: CodecSpec): Codec {
  return {
    format: spec.format,
    decode: (list, previous = []) => decodeList(spec, list, previous),
    encode: (messages) => encodeList(spec, messages),
    detect: (list) => weighVotes(list, spec.vote),
  };
}

function decodeList(spec: CodecSpec, list: readonly unknown[], previous: readonly Message[]): Message[] {
  const uniqueId = createIds(previous);
  const pairing = createPairing(previous);
  const hashes: (string | undefined)[] = [];
  const messages = arrayAt(list, "messages").map((native, index): Message => {
    const place = `messages[${previous.length + index}]`;
    const { role, slots, id: nativeId, meta } = spec.read(objectAt(native, place), place);
    const read = partsOf(slots);
    const hash = nativeId === undefined ? contentHash({ role, parts: read }) : undefined;
    hashes.push(hash);
    const id = uniqueId(nativeId ?? hash ?? "");
    const parts = pairing.identify({ id, role, parts: read });
    const { format } = spec;
    return meta === undefined
      ? { id, role, parts, native, format }
      : { id, role, parts, meta, native, format };
  });
  keepHashes(messages, hashes);
  return messages;
}

interface TakenIds {
  readonly ids: Set<string>;
  /** For an id, the number up to which it is taken with every number behind it. */
  readonly numbered: Map<string, number>;
  /** How many messages of the list are in `ids`. */
  upTo: number;
}

/** A conversation only grows, and its end is decoded before every call: its ids are collected once. */
const takenByList = new WeakMap<readonly Message[], TakenIds>();

function idsOf(previous: readonly Message[]): TakenIds {
  let taken = takenByList.get(previous);
  if (taken === undefined || taken.upTo > previous.length) {
    taken = { ids: new Set(), numbered: new Map(), upTo: 0 };
    takenByList.set(previous, taken);
  }
  for (; taken.upTo < previous.length; taken.upTo++) taken.ids.add(previous[taken.upTo]?.id ?? "");
  return taken;
}

/** Remembered, because a text that is said again and again would be counted from the beginning each time. */
function lastNumber({ ids, numbered }: TakenIds, base: string): number {
  let number = numbered.get(base) ?? 1;
  while (ids.has(`${base}-${number + 1}`)) number++;
  numbered.set(base, number);
  return number;
}

/** Turns wished ids into unique ones: the first keeps its own, later ones get `-2`, `-3`. */
function createIds(previous: readonly Message[]): (base: string) => string {
  const before = idsOf(previous);
  /** Every id that was given out, with the newest number behind it. */
  const taken = new Map<string, number>();
  return (base) => {
    const newest = taken.get(base);
    if (newest === undefined && !before.ids.has(base)) {
      taken.set(base, 1);
      return base;
    }
    let number = newest ?? lastNumber(before, base);
    let id: string;
    do {
      number++;
      id = `${base}-${number}`;
    } while (taken.has(id) || before.ids.has(id));
    taken.set(base, number);
    taken.set(id, 1);
    return id;
  };
}

function encodeList(spec: CodecSpec, messages: readonly Message[]): unknown[] {
  const context = buildContext(spec.format, messages);
  const list: unknown[] = [];
  let run: Message[] = [];
  const flush = (): void => {
    if (run.length > 0) for (const entry of spec.build(run, context)) list.push(entry);
    run = [];
  };
  for (const message of messages) {
    if (!isNative(message, spec.format)) {
      run.push(message);
      continue;
    }
    flush();
    if (message.edited !== true) list.push(message.native);
    // A message whose every part was taken out says nothing any more: no entry is left of it.
    else if (message.parts.length > 0)
      list.push(spec.rewrite(objectAt(message.native, message.id), message.parts));
  }
  flush();
  return list;
}

function isNative(message: Message, format: Format): boolean {
  return message.native !== undefined && message.format === format;
}

function buildContext(format: Format, messages: readonly Message[]): BuildContext {
  let names: Map<string, string> | undefined;
  return {
    sample: messages.find((message) => isNative(message, format))?.native,
    natives: () => messages.filter((message) => isNative(message, format)).map(({ native }) => native),
    callName(id) {
      names ??= callNames(messages);
      return names.get(id) ?? "";
    },
  };
}

function callNames(messages: readonly Message[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const message of messages) {
    for (const part of message.parts) if (part.type === "toolCall") names.set(part.id, part.name);
  }
  return names;
}
