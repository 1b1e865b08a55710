import type { Malformation } from "../core/lists.ts";
import { sameJson } from "../core/lists.ts";
import type { Format, Message } from "../core/message.ts";
import { createLruMap, isObject, later, type Pause, runInSteps, type Steps, startsWith } from "../errors.ts";
import { imagesIn, marksIn } from "./anthropic-gemini.ts";
import { type CheckOptions, type Entry, type ReadList, readEntries } from "./entries.ts";
import { malformationsInSteps } from "./generic.ts";
import { uniqueName } from "./identities.ts";
import { mended, rulesFor, violationsOf } from "./index.ts";
import { pairCalls } from "./pairs.ts";
import type { Mend, Violation } from "./rule.ts";

/** The growing list of a conversation; only new entries are checked. */
export interface GrowingList {
  /** The first error. */
  check(list: readonly unknown[], format: ShownFormat): Steps<Violation | undefined>;
  /** The list without errors; the same array if it has none. Without mends if there are no new ones. */
  mend<T>(list: readonly T[], format: ShownFormat): Steps<{ messages: readonly T[]; mends: readonly Mend[] }>;
}

/**
 * Detects the format of entries: of a new list, or of the entries added to a list without a detected format.
 */
type ShownFormat = (entries: readonly unknown[]) => Format | undefined;

/** A list without errors, or after mending. */
interface Known {
  readonly format: Format;
  /** The list as received, and after mending; the same array if nothing was mended. */
  readonly given: unknown[];
  readonly clean: unknown[];
  /** Start of the entries in `clean` that are independent of all earlier entries, except `lead`. */
  cut: number;
  /** The user entry before `cut` that opens the list; some providers require one. */
  lead: unknown;
  /** Ids that no later call or entry may have. */
  readonly ids: Set<string>;
}

export function createGrowingList(): GrowingList {
  let known: Known | undefined;
  /** A list that matches several formats; it is not checked. */
  let unsure: unknown[] | undefined;

  /** True if the list continues an ambiguous one and its new entries are ambiguous too. */
  const staysUnsure = (list: readonly unknown[], format: ShownFormat): boolean => {
    if (unsure === undefined || !startsWith(list, unsure)) return false;
    const fresh = list.slice(unsure.length);
    if (format(fresh.length > 0 ? fresh : list) !== undefined) return false;
    for (const entry of fresh) unsure.push(entry);
    return true;
  };

  /** True if the list continues the known one without an error; the known list is then updated. */
  const goesOn = (list: readonly unknown[]): boolean =>
    known !== undefined && begins(list, known) && advance(known, list.slice(known.given.length));

  /** Reads a list from the start and remembers it if it has no errors. */
  const readAnew = (list: readonly unknown[], format: ShownFormat): Found => {
    const same = known !== undefined && begins(list, known) ? known.format : undefined;
    known = undefined;
    const found = list.length === 0 ? undefined : (same ?? format(list));
    unsure = found === undefined && list.length > 0 ? [...list] : undefined;
    if (found === undefined) return {};
    const read = readEntries(list, found, IN_SESSION);
    const error = firstError(read);
    if (error === undefined) known = knownOf(read, list, list);
    return { format: found, error };
  };

  /** Checks a list with many new entries in parts. An error in one part may disappear in the whole list. */
  function* readAhead(list: readonly unknown[], format: ShownFormat): Steps<void> {
    const seen = known?.given.length ?? 0;
    if (list.length <= seen + STEP_ENTRIES) return;
    const from = known !== undefined && begins(list, known) ? seen : 0;
    for (const end of stopsIn(list, from)) {
      const part = list.slice(0, end);
      if (!goesOn(part)) readAnew(part, format);
      if (known === undefined) return;
      yield;
    }
  }

  function* look(list: readonly unknown[], format: ShownFormat): Steps<Found> {
    if (staysUnsure(list, format)) return {};
    yield* readAhead(list, format);
    return goesOn(list) ? {} : readAnew(list, format);
  }

  return {
    *check(list, format) {
      // A mended list still has its original errors.
      if (known?.clean !== known?.given) known = undefined;
      const { error } = yield* look(list, format);
      return error;
    },
    *mend<T>(list: readonly T[], format: ShownFormat) {
      const found = yield* look(list, format);
      if (found.format === undefined || found.error === undefined) {
        const isMended = known !== undefined && known.clean !== known.given;
        return { messages: isMended ? ([...(known?.clean ?? [])] as T[]) : list, mends: [] };
      }
      const { messages, mends } = mended(list, found.format, IN_SESSION);
      // A mend of the newest entry may become unnecessary when the list grows.
      if (messages.at(-1) === list.at(-1))
        known = knownOf(readEntries(messages, found.format, IN_SESSION), list, messages);
      return { messages: mends.length === 0 ? list : (messages as T[]), mends };
    },
  };
}

/** The format of a list that was read from its start, and its first error. */
interface Found {
  readonly format?: Format;
  readonly error?: Violation;
}

/** The state of a list without errors; undefined for a list that must always be checked as a whole. */
function knownOf(read: ReadList, given: readonly unknown[], clean: readonly unknown[]): Known | undefined {
  const { format } = read;
  // Removal orders affect earlier entries.
  if (read.removals.length > 0 || read.faults.length > 0) return undefined;
  const own = [...given];
  const cut = cutOf(read);
  return {
    format,
    given: own,
    clean: clean === given ? own : [...clean],
    cut,
    lead: leadOf(read, cut),
    ids: new Set(read.entries.flatMap((entry) => idsOf(format, entry))),
  };
}

/** True if the list begins with the known entries, or with equal ones, which then replace them. */
function begins(list: readonly unknown[], { given, clean }: Known): boolean {
  if (startsWith(list, given)) return true;
  if (clean !== given || list.length < given.length) return false;
  const isSame = (entry: unknown, index: number): boolean =>
    entry !== list[index] && sameJson(entry, list[index]);
  if (!given.every(isSame)) return false;
  for (const index of given.keys()) given[index] = list[index];
  return true;
}

/** Checks new entries together with the entries they depend on. False if the whole list must be checked. */
function advance(known: Known, fresh: readonly unknown[]): boolean {
  if (fresh.length === 0) return true;
  const { format, given, clean, cut, ids } = known;
  const head = cut === 0 || known.lead === undefined ? [] : [known.lead];
  const before = [...head, ...clean.slice(cut)];
  const read = readEntries([...before, ...fresh], format, IN_SESSION);
  if (firstError(read) !== undefined || read.removals.length > 0) return false;
  const newest = read.entries.slice(before.length);
  // Images and cache marks are limited for the whole list.
  const own = { ...read, entries: newest };
  if (format === "anthropic" && imagesIn(own).length + marksIn(own).length > 0) return false;
  const added = newest.flatMap((entry) => idsOf(format, entry));
  if (added.some((id) => ids.has(id))) return false;
  for (const id of added) ids.add(id);
  for (const entry of fresh) {
    given.push(entry);
    if (clean !== given) clean.push(entry);
  }
  const next = cutOf(read);
  if (next <= head.length) return true;
  known.cut = cut + next - head.length;
  known.lead = leadOf(read, next);
  return true;
}

const IN_SESSION: CheckOptions = { imagesStay: true };

const STEP_ENTRIES = 64;

/** Indexes at which a long list can be split: an answer of the model after results or a user message. */
function* stopsIn(list: readonly unknown[], from: number): Generator<number> {
  let next = from + STEP_ENTRIES;
  for (let index = next; index < list.length; index += 1) {
    if (index < next || !isAnswer(list[index]) || !isAnswered(list[index - 1])) continue;
    yield index;
    next = index + STEP_ENTRIES;
  }
}

function isAnswer(entry: unknown): boolean {
  return isObject(entry) && (entry.role === "assistant" || entry.role === "model");
}

function isAnswered(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  return entry.role === "user" || entry.role === "tool" || entry.type === "function_call_output";
}

function firstError(read: ReadList): Violation | undefined {
  const errors = rulesFor(read.format).filter(({ severity }) => severity === "error");
  return violationsOf(read, errors)[0];
}

/** Ids that later entries may not repeat. */
function idsOf(format: Format, entry: Entry): string[] {
  const own = uniqueName(format, entry);
  const calls =
    format === "anthropic"
      ? entry.message.parts.flatMap((part) => (part.type === "toolCall" ? [`call ${part.id}`] : []))
      : [];
  return own === undefined ? calls : [`entry ${own}`, ...calls];
}

/** The last index that no call and no run of assistant entries spans; 0 if there is none. */
function cutOf(read: ReadList): number {
  const { entries } = read;
  const calls = [...pairCalls(read).calls];
  for (let index = entries.length - 1; index > 0; index -= 1) {
    for (let call = calls.at(-1); call !== undefined && call.entry.position >= index; call = calls.at(-1))
      calls.pop();
    const isInside = calls.some(({ result, excused }) =>
      result === undefined ? !excused : result.entry.position >= index,
    );
    if (isInside || entries[index - 1]?.message.role === "assistant" || !opens(entries[index])) continue;
    return index;
  }
  return 0;
}

function opens(entry: Entry | undefined): boolean {
  return entry?.message.role === "assistant" || (entry !== undefined && isAsk(entry));
}

function isAsk({ message }: Entry): boolean {
  return message.role === "user" && !message.parts.some((part) => part.type === "toolResult");
}

function leadOf({ entries }: ReadList, cut: number): unknown {
  return entries.slice(0, cut).findLast(isAsk)?.native;
}

export interface LiveListsOptions {
  /** Whether lists are mended before they are sent, unless a call overrides it. */
  readonly repair: boolean;
  /** Undefined if there is nothing to lint: neutral messages, or a list that matches several formats. */
  formatOf(list: readonly unknown[], format: Format | undefined): Format | undefined;
  /** Reports a mend, or an error that a provider may refuse; each rule once per session. */
  report(sessionId: string, code: "list_mended" | "malformed_list", message: string): void;
  readonly pause: Pause;
}

interface LiveList {
  readonly list: GrowingList;
  /** Rules already reported. */
  readonly reported: Set<string>;
}

/** The maximum of sessions in a manager's memory: evicted ones are dropped here too. */
const MAX_SESSIONS = 4096;

/**
 * The lists of sessions before they are sent: mended if `repair` is set. Otherwise they are linted after the
 * call has continued, so that no call waits for a warning.
 */
export class LiveLists {
  readonly #options: LiveListsOptions;
  readonly #sessions = createLruMap<LiveList>(MAX_SESSIONS);
  readonly #waiting = new Map<string, { readonly list: readonly unknown[]; readonly format?: Format }>();
  #linting: Promise<void> = Promise.resolve();

  constructor(options: LiveListsOptions) {
    this.#options = options;
  }

  /** The list to send: mended, or unchanged. */
  async prepare<T>(
    sessionId: string,
    list: readonly T[],
    { format, repair = this.#options.repair }: { readonly format?: Format; readonly repair?: boolean },
  ): Promise<readonly T[]> {
    const session = this.#sessions.get(sessionId) ?? { list: createGrowingList(), reported: new Set() };
    this.#sessions.set(sessionId, session);
    if (!repair) {
      if (session.reported.size > 0) return list;
      if (this.#waiting.size === 0) later(0, () => void this.lintWaiting());
      this.#waiting.set(sessionId, { list, format });
      return list;
    }
    const mending = session.list.mend(list, (entries) => this.#options.formatOf(entries, format));
    const { messages, mends } = await runInSteps(mending, this.#options.pause);
    for (const { rule, explanation, removed } of mends) {
      if (session.reported.has(rule)) continue;
      session.reported.add(rule);
      const lost =
        removed === undefined ? "" : "; what was removed is in the host's own list only, not in the archive";
      const message = `the list broke ${rule} and was mended: ${explanation}${lost}`;
      this.#options.report(sessionId, "list_mended", message);
    }
    return messages;
  }

  /** Lints the pending lists; resolves when done. */
  lintWaiting(): Promise<void> {
    this.#linting = this.#linting.then(() => this.#lintNow());
    return this.#linting;
  }

  async #lintNow(): Promise<void> {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [sessionId, { list, format }] of waiting) {
      const session = this.#sessions.get(sessionId);
      if (session === undefined) continue;
      const checking = session.list.check(list, (entries) => this.#options.formatOf(entries, format));
      const error = await runInSteps(checking, this.#options.pause);
      if (error === undefined) continue;
      session.reported.add(error.rule);
      const message =
        `a provider may refuse the list of session "${sessionId}": ${error.path}: ${error.explanation} (${error.rule}). ` +
        "`new CompactManager(config, { repair: true })` mends such lists";
      this.#options.report(sessionId, "malformed_list", message);
    }
  }

  /** Malformations of neutral messages that hold for every provider. */
  findFaults(messages: readonly Message[]): Steps<readonly Malformation[]> {
    return malformationsInSteps(messages);
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#waiting.delete(sessionId);
  }
}
