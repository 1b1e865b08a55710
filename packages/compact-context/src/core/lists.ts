import { type Steps, startsWith } from "../errors.ts";
import { archiveId, hashesOf, imageCount, type Message, markSummaries, wireBytes } from "./message.ts";
import { isPinned } from "./policy.ts";
import type { Codecs, ListCodec, TokenCounter } from "./ports.ts";
import type { PreflightRequest, SessionSettings } from "./request.ts";
import {
  appendEntry,
  assemble,
  type LoggedMessage,
  project,
  type SessionState,
  unloggedEntry,
  type ViewContext,
  type ViewEntry,
} from "./view.ts";

// The lists of a session, and the view that the latest gives: of a list that begins with a known one, only the new
// messages are read; any other is projected as a whole.

/** A native list that maps to the session's view, with its decoded messages. */
interface KnownList {
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
function codecFor(
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
function withNatives(
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

// ---- the view

/**
 * New messages that are read at once, and the step size for reading a longer list: each step scans everything
 * known.
 */
const STEP_MESSAGES = 64;
const MAX_STEPS = 256;
/** The first step is small because it may also load a vocabulary. */
const FIRST_MESSAGES = 8;

/** How a list is read, counted and limited. */
export interface SessionContext extends ViewContext {
  readonly settings: SessionSettings;
}

/** The view that the latest list gives: what the model gets, the log of the list, and what the view costs. */
export class View {
  /** How the list is read and counted; undefined before the first one and after an undo. */
  context: SessionContext | undefined;
  entries: ViewEntry[] = [];
  messages: Message[] = [];
  log: LoggedMessage[] = [];
  /**
   * Tokens of the messages; of them, what is an estimate with any encoding (media and unreadable reasoning), and what
   * is in system and in developer messages.
   */
  totals = { tokens: 0, uncertain: 0, system: 0, developer: 0 };
  bytes = 0;
  images = 0;
  /** The list is the view. */
  asGiven = true;
  /** The list has a different history than the state: nothing in the view has been compacted yet. */
  leftBehind = false;
  /** The same, and no warning was sent yet. */
  reset = false;
  /** The raw list, and the view if that is another list. */
  #lists: KnownList[] = [];

  get current(): SessionContext {
    if (this.context === undefined) throw new Error("the session has seen no list yet");
    return this.context;
  }

  /** A copy that is independent of later changes. */
  copy(): View {
    const copy = Object.assign(new View(), this);
    copy.messages = [...this.messages];
    copy.entries = [...this.entries];
    copy.log = [...this.log];
    copy.totals = { ...this.totals };
    return copy;
  }

  /**
   * Reads a list with many new messages in steps, so that `read` finds most of it known. A list that is
   * new to a session with a history is left to `read`: only the whole list shows what it continues.
   */
  *readAhead(...[list, request, settings, state]: Parameters<View["read"]>): Steps<void> {
    const longest = Math.max(0, ...this.#lists.map(({ natives }) => natives.length));
    if (list.length <= longest + STEP_MESSAGES) return;
    const known = this.#startOf(list);
    if (known === undefined && (this.context !== undefined || state.log.length > 0)) return;
    const step = Math.max(STEP_MESSAGES, Math.ceil(list.length / MAX_STEPS));
    for (let end = (known?.natives.length ?? 0) + FIRST_MESSAGES; end < list.length; end += step) {
      this.read(list.slice(0, end), request, settings, state);
      yield;
    }
  }

  /** Throws `UnknownFormat` and `InvalidMessages`; a list that cannot be read changes nothing. */
  read(
    list: readonly unknown[],
    request: PreflightRequest,
    settings: SessionSettings,
    state: SessionState,
  ): void {
    const before = this.context;
    const known = this.#startOf(list);
    const seen = known && before && { codec: before.codec, seen: known.natives.length };
    const codec = codecFor(list, request, settings.codecs, seen);
    const counter = settings.counterFor(codec.format);
    const context = { codec, counter, policy: settings.policy, archiveId, settings };
    // Read again if the format turned out to be another (first messages look alike), or if another model
    // counts.
    const same = codec.format === before?.codec.format && counter.id === before?.counter.id;
    const isKnown = same && known !== undefined && this.#append(list, known, context);
    // A caller that continues our output does not return to the raw list.
    if (isKnown && known.isView) this.#lists = [known];
    if (!isKnown) this.#project(list, state, context);
    // Assigned only now: a list that cannot be read changes nothing.
    this.context = context;
  }

  /** The known list that this one begins with, in the same or in equal objects. */
  #startOf(list: readonly unknown[]): KnownList | undefined {
    if (this.context === undefined) return undefined;
    const { codec } = this.context;
    const lists = this.#lists.filter(({ natives }) => natives.length > 0);
    const same = lists.find(({ natives }) => startsWith(list, natives));
    // A list that left its history can return to it, which only the whole list shows.
    if (same !== undefined || this.leftBehind) return same;
    const equal = lists.find((known) => sharedWith(list, known, codec) === known.natives.length);
    if (equal === undefined) return undefined;
    takeOver(list, equal, equal.natives.length);
    // Messages shared by several lists keep the objects of only one.
    this.#lists = [equal];
    return equal;
  }

  /** Decodes a list again, except for leading messages equal to those of the latest list in the same format. */
  #decode(list: readonly unknown[], codec: ListCodec): Message[] {
    const before = this.#lists.find(({ decoded }) => decoded);
    const sameFormat = codec.format === this.context?.codec.format;
    const shared = sameFormat && before !== undefined ? sharedWith(list, before, codec) : 0;
    if (before === undefined || shared === 0) return markSummaries(codec.decode(list));
    const messages = before.messages.slice(0, shared);
    for (const message of markSummaries(codec.decode(list.slice(shared), messages))) messages.push(message);
    takeOver(list, before, shared);
    return messages;
  }

  #project(list: readonly unknown[], state: SessionState, context: SessionContext): void {
    const { codec, settings } = context;
    const messages = this.#decode(list, codec);
    const { kept, summary, log, asGiven, reset } = project(messages, state, context);
    this.log = [...log];
    this.asGiven = asGiven;
    this.reset = reset;
    this.leftBehind = reset;
    const own = (message: Message): ViewEntry => unloggedEntry(message, false, context);
    this.#set(
      assemble(kept, summary, { summaryRole: settings.summaryRole, format: codec.format }, own),
      context,
    );
    this.#lists = [{ natives: [...list], messages, isView: asGiven, decoded: true }];
  }

  /** Adds the new messages of a known list; false if one of them is our own summary. */
  #append(list: readonly unknown[], known: KnownList, context: SessionContext): boolean {
    const added = list.slice(known.natives.length);
    const messages = added.length === 0 ? [] : markSummaries(context.codec.decode(added, known.messages));
    if (messages.some((message) => message.meta?.summaryVersion !== undefined)) return false;
    this.asGiven = known.isView;
    const hashOf = hashesOf(messages);
    for (const [index, message] of messages.entries()) {
      const entry = isPinned(message, context.policy)
        ? unloggedEntry(message, true, context)
        : appendEntry(this.log, message, hashOf(index, message), context);
      this.#add(entry, context.counter);
    }
    for (const known of this.#lists) {
      // One by one: a very long list would overflow the stack as arguments of one call.
      for (const native of added) known.natives.push(native);
      for (const message of messages) known.messages.push(message);
    }
    return true;
  }

  #set(entries: readonly ViewEntry[], { counter }: ViewContext): void {
    this.entries = [];
    this.messages = [];
    this.totals = { tokens: 0, uncertain: 0, system: 0, developer: 0 };
    this.bytes = 0;
    this.images = 0;
    for (const entry of entries) this.#add(entry, counter);
  }

  #add(entry: ViewEntry, counter: TokenCounter): void {
    const { message, tokens } = entry;
    const { role, meta } = message;
    this.entries.push(entry);
    this.messages.push(message);
    this.bytes += wireBytes(message);
    this.images += imageCount(message);
    this.totals.tokens += tokens;
    this.totals.uncertain += counter.countUncertain(message);
    const isSummary = meta?.summaryVersion !== undefined;
    if (!isSummary && (role === "system" || role === "developer")) this.totals[role] += tokens;
  }

  /** Shows the result of a compaction; raw list and output both map to it from now on. */
  replace(entries: readonly ViewEntry[], log: readonly LoggedMessage[]): void {
    const { codec } = this.current;
    const messages = entries.map(({ message }) => message);
    const natives = codec.encode(messages);
    const shown = withNatives(messages, natives, codec);
    this.log = [...log];
    this.#set(
      entries.map((entry, index) => ({ ...entry, message: shown[index] as Message })),
      this.current,
    );
    this.asGiven = false;
    this.leftBehind = false;
    const raw = this.#lists.slice(0, 1).map((known): KnownList => {
      // The codec reads them here: it remembers of this list what it needs to decode what follows.
      codec.decode([], known.messages);
      const inView = new Set(shown);
      for (const [index, message] of known.messages.entries())
        if (!inView.has(message)) known.messages[index] = COMPACTED;
      return { ...known, isView: false, decoded: false };
    });
    this.#lists = [...raw, { natives, messages: [...shown], isView: true, decoded: false }];
  }

  /** Waits for the next list, to read it as a whole. */
  forget(): void {
    this.context = undefined;
    this.leftBehind = false;
    this.#lists = [];
  }
}

// ---- the check of a list before it is read

type MalformationKind =
  | "orphan result"
  | "unanswered call"
  | "duplicate result"
  | "duplicate call"
  | "duplicate id"
  | "unknown role";

export interface Malformation {
  readonly kind: MalformationKind;
  readonly index: number;
  readonly explanation: string;
}

/** Checks the lists of sessions before they are read. */
export interface ListCheck {
  /** The list to read: repaired if requested, else the same list. */
  prepare<T>(
    sessionId: string,
    list: readonly T[],
    request: Pick<PreflightRequest, "format" | "repair">,
  ): Promise<readonly T[]>;
  /** Completes pending checks. */
  lintWaiting(): Promise<void>;
  /** Finds malformations that no provider accepts. */
  findFaults(messages: readonly Message[]): Steps<readonly Malformation[]>;
  forget(sessionId: string): void;
}
