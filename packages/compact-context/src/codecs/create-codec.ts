import {
  contentHash,
  type Format,
  keepHashes,
  type Message,
  type MessageMeta,
  type Part,
  type Role,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { requireList } from "../errors.ts";
import { likelihood } from "./detect.ts";
import { arrayAt, type NativeObject, objectAt, readNative, requireMessages } from "./native.ts";
import { partsOf, type Slot } from "./slots.ts";

/** What a codec reads from one native entry. Calls and results without a native id have the id "". */
export interface Reading {
  readonly role: Role;
  readonly slots: readonly Slot[];
  readonly id?: string;
  readonly meta?: MessageMeta;
}

/**
 * Gives calls and results without a native id one: a call takes it from its message's id, a result from the first open
 * call, one of the same name before others, a newer turn's before one that the user left behind. `previous` is what came before the list.
 */
interface Pairing {
  identify(message: Pick<Message, "id" | "role" | "parts">): readonly Part[];
}

function createPairing(previous: readonly Message[]): Pairing {
  const open = openCalls(previous);
  return {
    identify({ id, role, parts }) {
      if (goesOn(role, parts)) leaveBehind(open);
      const minted = parts.some(lacksId) ? parts.map(mint(id, parts, open)) : parts;
      if (minted === parts) for (const part of parts) note(open, part);
      return minted;
    },
  };
}

interface OpenCalls {
  calls: ToolCallPart[];
  /** Calls that were still open when the user went on: results are theirs only where no newer call fits. */
  left: ToolCallPart[];
  /** True once a result followed the calls: the next call starts a new step. */
  answered: boolean;
}

function goesOn(role: Role, parts: readonly Part[]): boolean {
  return role === "user" && parts.length > 0 && !parts.some((part) => part.type === "toolResult");
}

function leaveBehind(open: OpenCalls): void {
  open.left.push(...open.calls);
  open.calls = [];
}

function lacksId(part: Part): boolean {
  return (part.type === "toolCall" || part.type === "toolResult") && part.id === "";
}

function mint(messageId: string, parts: readonly Part[], open: OpenCalls): (part: Part) => Part {
  return (part) => {
    const identified = lacksId(part) ? withId(part, `${messageId}_${parts.indexOf(part) + 1}`, open) : part;
    note(open, identified);
    return identified;
  };
}

function withId(part: Part, suffix: string, open: OpenCalls): Part {
  if (part.type === "toolCall") return { ...part, id: `call_${suffix}` };
  if (part.type !== "toolResult") return part;
  const isNamed = (call: ToolCallPart): boolean => part.name !== undefined && call.name === part.name;
  const call = open.calls.find(isNamed) ?? open.left.find(isNamed) ?? open.calls[0] ?? open.left[0];
  return { ...part, id: call?.id ?? `result_${suffix}` };
}

function note(open: OpenCalls, part: Part): void {
  if (part.type === "toolCall") noteCall(open, part);
  else if (part.type === "toolResult") noteResult(open, part);
}

function noteCall(open: OpenCalls, call: ToolCallPart): void {
  if (open.answered) {
    open.calls = [];
    open.left = [];
  }
  open.answered = false;
  open.calls.push(call);
}

function noteResult(open: OpenCalls, result: ToolResultPart): void {
  open.answered = true;
  for (const calls of [open.calls, open.left]) {
    const index = calls.findIndex((call) => call.id === result.id);
    if (index !== -1) calls.splice(index, 1);
  }
}

interface KnownOpen {
  readonly open: OpenCalls;
  /** How many messages of the list are in `open`. */
  upTo: number;
}

/** A conversation only grows, and its end is decoded before every call: each message is looked at once. */
const openByList = new WeakMap<readonly Message[], KnownOpen>();

function openCalls(previous: readonly Message[]): OpenCalls {
  let known = openByList.get(previous);
  if (known === undefined || known.upTo > previous.length) {
    known = { open: { calls: [], left: [], answered: false }, upTo: 0 };
    openByList.set(previous, known);
  }
  const { open } = known;
  for (; known.upTo < previous.length; known.upTo++) {
    const { role, parts } = previous[known.upTo] ?? { role: "user" as const, parts: [] };
    if (goesOn(role, parts)) leaveBehind(open);
    for (const part of parts) note(open, part);
  }
  return { calls: [...open.calls], left: [...open.left], answered: open.answered };
}

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
interface CodecSpec {
  readonly format: Format;
  /** `place` names the entry, such as `messages[3]`, for errors. */
  readonly read: (entry: NativeObject, place: string) => Reading;
  /** A copy of `native` with these parts, everything else kept; never called without parts. */
  readonly rewrite: (native: NativeObject, parts: readonly Part[]) => unknown;
  /** An entry that can stand without the reasoning before it, which was taken out. */
  readonly withoutReasoning?: (entry: unknown) => unknown;
  /** Entries for consecutive messages that have no native of this format. */
  readonly build: (run: readonly Message[], context: BuildContext) => readonly unknown[];
}

/** A codec that also tells where in an entry each part was read. */
export interface NativeCodec extends Codec {
  /** Throws as `decode` does; `placeOf` names an entry by its index, for errors and paths. */
  read(list: readonly unknown[], previous: readonly Message[], placeOf: PlaceOf): ReadList;
}

type PlaceOf = (index: number) => string;

interface ReadList {
  readonly messages: Message[];
  /** By message, with the parts that have no id yet. */
  readonly slots: readonly (readonly Slot[])[];
}

/** The codec that a spec describes: ids, pairing, identity of untouched natives and detection are the same for all. */
export function createCodec(spec: CodecSpec): NativeCodec {
  return {
    format: spec.format,
    decode: (list, previous = []) => {
      requireList(list);
      requireList(previous, "previous", "Pass what decode gave back for the entries before these.");
      const placeOf: PlaceOf = (index) => `messages[${previous.length + index}]`;
      return readNative("messages", () => readList(spec, list, previous, placeOf).messages);
    },
    read: (list, previous, placeOf) => readList(spec, list, previous, placeOf),
    encode: (messages) => {
      requireMessages(messages);
      return readNative("messages", () => encodeList(spec, messages));
    },
    detect: (list) => {
      requireList(list);
      return likelihood(list, spec.format);
    },
  };
}

function readList(
  spec: CodecSpec,
  list: readonly unknown[],
  previous: readonly Message[],
  placeOf: PlaceOf,
): ReadList {
  const uniqueId = createIds(previous);
  const pairing = createPairing(previous);
  const hashes: (string | undefined)[] = [];
  const slotsOf: (readonly Slot[])[] = [];
  const messages = arrayAt(list, "messages").map((native, index): Message => {
    const place = placeOf(index);
    const { role, slots, id: nativeId, meta } = spec.read(objectAt(native, place), place);
    slotsOf.push(slots);
    const read = partsOf(slots);
    const hash = nativeId === undefined ? contentHash({ role, parts: read }) : undefined;
    hashes.push(hash);
    const id = uniqueId(nativeId ?? hash ?? "");
    const parts = pairing.identify({ id, role, parts: read });
    const { format } = spec;
    const message: Message =
      meta === undefined ? { id, role, parts, native, format } : { id, role, parts, meta, native, format };
    return nativeId === undefined || nativeId === id ? message : { ...message, callerId: nativeId };
  });
  keepHashes(messages, hashes);
  return { messages, slots: slotsOf };
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
export function createIds(previous: readonly Message[]): (base: string) => string {
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
  // True behind reasoning that was taken out, until somebody else speaks or other reasoning follows.
  let isBare = false;
  for (const message of messages) {
    if (message.role !== "assistant" || message.parts.some(({ type }) => type === "reasoning"))
      isBare = false;
    if (!isNative(message, spec.format)) {
      run.push(message);
      continue;
    }
    flush();
    const entry = nativeOf(message, spec);
    // A message whose every part was taken out says nothing any more: no entry is left of it.
    if (entry === undefined) isBare = message.role === "assistant";
    else list.push(isBare && spec.withoutReasoning !== undefined ? spec.withoutReasoning(entry) : entry);
  }
  flush();
  return list;
}

function nativeOf(message: Message, { rewrite }: CodecSpec): unknown {
  if (message.edited !== true) return message.native;
  return message.parts.length === 0
    ? undefined
    : rewrite(objectAt(message.native, message.id), message.parts);
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
