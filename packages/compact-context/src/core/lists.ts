import { startsWith } from "../errors.ts";
import { type Message, markSummaries } from "./message.ts";
import type { Codecs, ListCodec } from "./ports.ts";
import type { PreflightRequest } from "./usage.ts";

// The lists that a session has seen, and how they are told: of one that begins with a known list, only the new
// messages are read.

/** A native list that maps to the session's view, with its decoded messages. */
export interface KnownList {
  readonly natives: unknown[];
  readonly messages: Message[];
  /** The list is the view: it can be returned to the caller unchanged. */
  readonly isView: boolean;
  /**
   * The messages are complete and as decoded by the codec; those of a compaction's result keep their earlier
   * ids.
   */
  readonly decoded: boolean;
}

/** Stands for a message that is no longer in the view; a long session has thousands of them. */
const COMPACTED: Message = { id: "", role: "assistant", parts: [] };

/** The raw list of a session, and its view if that is another list. */
export class KnownLists {
  #lists: KnownList[] = [];

  /** Length of the longest one. */
  get length(): number {
    return this.#lists.reduce((most, { natives }) => Math.max(most, natives.length), 0);
  }

  /** Forgets all lists but these. */
  keep(...lists: KnownList[]): void {
    this.#lists = lists;
  }

  /** The known list that this one begins with: the same objects. */
  sameStart(list: readonly unknown[]): KnownList | undefined {
    return this.#lists.find(({ natives }) => natives.length > 0 && startsWith(list, natives));
  }

  /** The known list that this one begins with, in other objects. It then has the objects of this one. */
  equalStart(list: readonly unknown[], codec: ListCodec): KnownList | undefined {
    const equal = this.#lists.find(
      (known) => known.natives.length > 0 && sharedWith(list, known, codec) === known.natives.length,
    );
    if (equal === undefined) return undefined;
    takeOver(list, equal, equal.natives.length);
    // Messages shared by several lists keep the objects of only one.
    this.#lists = [equal];
    return equal;
  }

  /** Decodes a list again; `sameFormat`: except for leading messages equal to those of the latest list. */
  decode(list: readonly unknown[], codec: ListCodec, sameFormat: boolean): Message[] {
    const before = this.#lists.find(({ decoded }) => decoded);
    const shared = sameFormat && before !== undefined ? sharedWith(list, before, codec) : 0;
    if (before === undefined || shared === 0) return markSummaries(codec.decode(list));
    const messages = before.messages.slice(0, shared);
    for (const message of markSummaries(codec.decode(list.slice(shared), messages))) messages.push(message);
    takeOver(list, before, shared);
    return messages;
  }

  /** Adds new messages to all lists. */
  append(added: readonly unknown[], decoded: readonly Message[]): void {
    for (const { natives, messages } of this.#lists) {
      // One by one: a very long list would overflow the stack as arguments of one call.
      for (const native of added) natives.push(native);
      for (const message of decoded) messages.push(message);
    }
  }

  /** After a compaction: the raw list, of whose messages only those in the view are kept, and the new view. */
  compacted(natives: unknown[], view: readonly Message[], { decode }: ListCodec): void {
    const raw = this.#lists.slice(0, 1).map(({ natives: list, messages }): KnownList => {
      // The codec reads them here: it remembers of this list what it needs to decode what follows.
      decode([], messages);
      const shown = new Set(view);
      for (const [index, message] of messages.entries()) if (!shown.has(message)) messages[index] = COMPACTED;
      return { natives: list, messages, isView: false, decoded: false };
    });
    this.#lists = [...raw, { natives, messages: [...view], isView: true, decoded: false }];
  }
}

/**
 * The number of leading messages that the list shares with a known one: equal content in new objects, such as
 * JSON parsed from the wire. Stops at an object that was already there: the caller may have mutated it since
 * it was read.
 */
function sharedWith(list: readonly unknown[], { natives, messages }: KnownList, codec: ListCodec): number {
  if (codec.neutral) return 0;
  const most = Math.min(list.length, natives.length, messages.length);
  let shared = 0;
  while (
    shared < most &&
    (messages[shared] === COMPACTED || messages[shared]?.native === natives[shared]) &&
    natives[shared] !== list[shared] &&
    sameJson(natives[shared], list[shared])
  )
    shared += 1;
  return shared;
}

/** Replaces equal objects by the list's first objects, so that the caller's latest objects are kept. */
function takeOver(list: readonly unknown[], { natives, messages }: KnownList, shared: number): void {
  for (let index = 0; index < shared; index += 1) {
    natives[index] = list[index];
    if (messages[index] !== COMPACTED) (messages[index] as { native?: unknown }).native = list[index];
  }
}

/**
 * The codec that has read the list so far, unless new entries show another format; otherwise that of the
 * given or detected format.
 */
export function codecFor(
  list: readonly unknown[],
  { format }: PreflightRequest,
  codecs: Codecs,
  known: { readonly codec: ListCodec; readonly seen: number } | undefined,
): ListCodec {
  if (known === undefined) return codecs.forList(list, format);
  const agrees = format === undefined || format === known.codec.format;
  const stays = agrees && (known.codec.certain || !codecs.showFormat(list.slice(known.seen)));
  return stays ? known.codec : codecs.forList(list, format);
}

/** Keeps the natives created for summary and edited messages, so that later calls return the same objects. */
export function withNatives(
  messages: readonly Message[],
  natives: readonly unknown[],
  { format, neutral }: ListCodec,
): readonly Message[] {
  if (neutral || format === undefined || natives.length !== messages.length) return messages;
  return messages.map((message, index) => {
    if (message.meta?.summaryVersion === undefined && message.edited !== true) return message;
    const { edited: _, ...rest } = message;
    return { ...rest, native: natives[index], format };
  });
}

/** Deep equality of JSON values with keys in the same order; false for class instances. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one)) return Array.isArray(other) && sameItems(one, other);
  return isPlain(one) && isPlain(other) && sameFields(one, other);
}

function sameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) if (!sameJson(one[index], other[index])) return false;
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

const isPlain = (value: object): value is Fields => Object.getPrototypeOf(value) === Object.prototype;

function sameFields(one: Fields, other: Fields): boolean {
  const keys = Object.keys(one);
  const others = Object.keys(other);
  if (keys.length !== others.length) return false;
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] as string;
    if (key !== others[index] || !sameJson(one[key], other[key])) return false;
  }
  return true;
}
