import {
  contentHash,
  type Format,
  keepHashes,
  type Message,
  type MessageMeta,
  type Part,
  type Role,
} from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { requireList } from "../errors.ts";
import { likelihood } from "./detect.ts";
import { createIds } from "./ids.ts";
import { arrayAt, type NativeObject, objectAt, readNative, requireMessages } from "./native.ts";
import { holdsOnlyResults, partsOf, type Slot } from "./slots.ts";
import { type Step, toSteps } from "./steps.ts";

/** What a codec reads from one native entry. Calls and results without a native id have the id "". */
export interface Reading {
  readonly role: Role;
  readonly slots: readonly Slot[];
  readonly id?: string;
  readonly meta?: MessageMeta;
}

/** Context for building new entries. */
export interface BuildContext {
  /**
   * The first native entry of this format in the list; new entries follow its style if the format has
   * several.
   */
  readonly sample: unknown;
  /** All native entries of this format. */
  natives(): readonly unknown[];
  /** The name of the call with this id, from anywhere in the list; "" if there is none. */
  callName(id: string): string;
}

/** The parts of a codec that differ from format to format. */
interface CodecSpec {
  readonly format: Format;
  /** `place` is the entry's path, such as `messages[3]`, for errors. */
  readonly read: (entry: NativeObject, place: string) => Reading;
  /** A copy of `native` with these parts, everything else unchanged; never called without parts. */
  readonly rewrite: (native: NativeObject, parts: readonly Part[]) => unknown;
  /** An entry that is valid without the removed reasoning before it. */
  readonly withoutReasoning?: (entry: unknown) => unknown;
  /** Entries for the steps of consecutive messages that have no native of this format. */
  readonly build: (steps: readonly Step[], context: BuildContext) => readonly unknown[];
}

/** A codec that also reports where in an entry each part was read. */
export interface NativeCodec extends Codec {
  /**
   * Decodes, and adds the slots of each message to `slots`. Slots have the parts as on the wire; the
   * message's parts may have generated ids. `placeOf` returns an entry's path by its index, for errors.
   */
  read(
    list: readonly unknown[],
    previous: readonly Message[],
    placeOf: (index: number) => string,
    slots: (readonly Slot[])[],
  ): Message[];
}

/**
 * The codec for a spec; ids, pairing, reuse of unchanged natives and detection are the same for all formats.
 */
export function createCodec(spec: CodecSpec): NativeCodec {
  return {
    format: spec.format,
    decode: (list, previous = []) => {
      requireList(list);
      requireList(previous, "previous", "Pass what decode gave back for the entries before these.");
      const placeOf = (index: number): string => `messages[${previous.length + index}]`;
      return readNative("messages", () => decodeList(spec, list, previous, placeOf));
    },
    read: (list, previous, placeOf, slots) => decodeList(spec, list, previous, placeOf, slots),
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

/** `kept` collects the slots of each message; without it they are freed with the message. */
function decodeList(
  spec: CodecSpec,
  list: readonly unknown[],
  previous: readonly Message[],
  placeOf: (index: number) => string,
  kept?: (readonly Slot[])[],
): Message[] {
  const ids = createIds(previous);
  const hashes: (string | undefined)[] = [];
  const messages = arrayAt(list, "messages").map((native, index): Message => {
    const place = placeOf(index);
    const { slots, id: nativeId, meta, ...read } = spec.read(objectAt(native, place), place);
    const role = read.role === "user" && holdsOnlyResults(slots) ? "tool" : read.role;
    kept?.push(slots);
    const wire = partsOf(slots);
    const hash = nativeId === undefined ? contentHash({ role, parts: wire }) : undefined;
    hashes.push(hash);
    const id = ids.unique(nativeId ?? hash ?? "");
    const parts = ids.identify({ id, role, parts: wire });
    const { format } = spec;
    const message: Message =
      meta === undefined ? { id, role, parts, native, format } : { id, role, parts, meta, native, format };
    return nativeId === undefined || nativeId === id ? message : { ...message, callerId: nativeId };
  });
  keepHashes(messages, hashes);
  return messages;
}

function encodeList(spec: CodecSpec, messages: readonly Message[]): unknown[] {
  const context = buildContext(spec.format, messages);
  const list: unknown[] = [];
  let run: Message[] = [];
  const flush = (): void => {
    if (run.length > 0) for (const entry of spec.build(toSteps(run), context)) list.push(entry);
    run = [];
  };
  // True after removed reasoning, until another role or new reasoning follows.
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
    // A message that lost all its parts has no entry.
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
