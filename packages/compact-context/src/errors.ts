/** Error codes. The set is closed: callers can switch over it. */
export type CompactErrorCode =
  /** What must stay does not fit the budget, even with the keep counts lowered to their floor. */
  | "InsufficientBudget"
  /** A configuration value is missing, unknown or out of range; the message names its path. */
  | "InvalidConfig"
  /** An argument has the wrong type. */
  | "InvalidArgument"
  /** An entry of a message list cannot be read; the message names its index and path. */
  | "InvalidMessages"
  /** The format of a list or file was not recognized. */
  | "UnknownFormat"
  /** A transcript file cannot be read; the message names file and line. */
  | "InvalidTranscript"
  /** A file, session or archived message does not exist. */
  | "NotFound"
  /** A read or write of the storage failed. */
  | "StorageFailed"
  /** Another process changed a stored value since it was read. */
  | "Conflict"
  /** Every summarizer failed. */
  | "SummarizerFailed"
  /** The caller's signal was aborted. */
  | "Aborted"
  /** The command line was used incorrectly. */
  | "InvalidUsage";

export interface CompactErrorOptions {
  /** What to do next, in one sentence. */
  readonly hint?: string;
  /** Location: file and line, message index, path in a document. */
  readonly place?: string;
  readonly cause?: unknown;
}

const BRAND = Symbol.for("compact-context.error");

/** The only error class; distinguished by `code`, with a `hint` that says what to do next. */
export class CompactError extends Error {
  readonly code: CompactErrorCode;
  readonly hint: string;
  readonly place: string | undefined;

  constructor(code: CompactErrorCode, message: string, options: CompactErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CompactError";
    this.code = code;
    this.hint = options.hint ?? "";
    this.place = options.place;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for errors of this class, including those of another copy of the package. */
  static isInstance(value: unknown): value is CompactError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
  }
}

/** True for a `CompactError` with this code. */
export function hasCode(error: unknown, code: CompactErrorCode): error is CompactError {
  return CompactError.isInstance(error) && error.code === code;
}

/** The error of a put whose `ifVersion` no longer holds. */
export function conflict(key: string): CompactError {
  return new CompactError("Conflict", "the stored value was changed by another writer", {
    place: key,
    hint: "Read it again and redo the change on what is there now.",
  });
}

/** False if another writer was faster; other failures are rethrown. */
export async function unlessOvertaken(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (hasCode(error, "Conflict")) return false;
    throw error;
  }
}

/** The message of any thrown value, else its code or name. `fetch` gives the reason in `cause` only. */
export function errorMessage(error: unknown): string {
  return messageOf(error, MOST_CAUSES);
}

/** Causes that are told; an error can be its own. */
const MOST_CAUSES = 2;

function messageOf(error: unknown, causes: number): string {
  try {
    if (!(error instanceof Error)) return String(error);
    const { message, name, code, cause } = error as Error & { readonly code?: unknown };
    if (causes > 0 && cause !== undefined && ["fetch failed", "terminated"].includes(message))
      return `${message}: ${messageOf(cause, causes - 1)}`;
    // The codes of a DOMException are numbers and say less than its name.
    return message || (typeof code === "string" && code) || name;
  } catch {
    return "an error that cannot be printed";
  }
}

const LIST_HINT = "Pass the list itself, not the request that holds it.";
const OPTIONS_HINT = "Pass an object with the settings by name; the function's type lists them.";

/** Throws `InvalidArgument` unless the value is an array. */
export function requireList(value: unknown, name = "messages", hint: string = LIST_HINT): void {
  if (!isList(value)) throw wrongKind(name, value, "an array", hint);
}

/** Throws `InvalidArgument` unless the value is an object with readable fields; `hint` says what to pass. */
export function requireOptions(value: unknown, name = "options", hint: string = OPTIONS_HINT): void {
  if (typeof value !== "object" || value === null || isList(value)) {
    throw wrongKind(name, value, "an object", hint);
  }
  readArgument(name, hint, () => {
    // A proxy can reject any field, a getter its own.
    void (value as { readonly constructor?: unknown }).constructor;
    for (const key of Object.keys(value)) void (value as Readonly<Record<string, unknown>>)[key];
  });
}

/** Throws `InvalidArgument` unless the value is a string. */
export function requireText(value: unknown, name: string, hint: string): void {
  if (typeof value !== "string") throw wrongKind(name, value, "a string", hint);
}

/** Throws `InvalidArgument` unless the value is a function. */
export function requireFunction(value: unknown, name: string, hint: string): void {
  if (typeof value !== "function") throw wrongKind(name, value, "a function", hint);
}

/**
 * Runs `read` on a caller's argument. Whatever the engine, a getter or a proxy throws for a value of the
 * wrong type becomes `InvalidArgument`; our own errors are rethrown.
 */
export function readArgument<T>(name: string, hint: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (CompactError.isInstance(cause)) throw cause;
    const problem = `${name} cannot be read: ${errorMessage(cause)}`;
    throw new CompactError("InvalidArgument", problem, { place: name, hint, cause });
  }
}

/** `Array.isArray`, also for a revoked proxy. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

function wrongKind(name: string, value: unknown, wanted: string, hint: string): CompactError {
  const problem = `${name} must be ${wanted}, not ${kindOf(value)}`;
  return new CompactError("InvalidArgument", problem, { place: name, hint });
}

/** Describes the type of a value: `an array`, `undefined`. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (isList(value)) return "an array";
  if (value === undefined) return "undefined";
  if (Number.isNaN(value)) return "NaN";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/**
 * True if the list begins with these exact objects. `Object.is` only compares the references; `===` looks up
 * each object's type, which takes 1.7 times as long over a list that is not in the processor's cache.
 */
export function startsWith(list: readonly unknown[], start: readonly unknown[]): boolean {
  if (list.length < start.length) return false;
  for (let index = start.length - 1; index >= 0; index -= 1)
    if (!Object.is(list[index], start[index])) return false;
  return true;
}

/** True for objects that are not arrays. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Throws `InvalidArgument` unless the value is an object, and for a name that is like that of an option: without types a
 * mistyped option would do nothing. Other names are those of whole objects that a program spreads.
 */
export function requireKnown<T extends object>(
  options: T,
  known: Readonly<Record<keyof NoInfer<T>, true>>,
  hint: string = OPTIONS_HINT,
): void {
  requireOptions(options, "options", hint);
  const names = Object.keys(known);
  for (const [name, value] of Object.entries(options)) {
    const meant = value === undefined || Object.hasOwn(known, name) ? "" : didYouMean(name, names);
    if (meant === "") continue;
    throw new CompactError("InvalidArgument", `${name} is not an option${meant}`, {
      place: `options.${name}`,
      hint: `The options are ${names.join(", ")}.`,
    });
  }
}

/** `; did you mean …?`: the closest valid name, else the path of the same name elsewhere, else empty. */
export function didYouMean(
  name: string,
  here: readonly string[],
  elsewhere: readonly (readonly string[])[] = [],
): string {
  const isSame = (known: string | undefined): boolean => known !== undefined && plain(known) === plain(name);
  const found =
    here.find(isSame) ??
    closest(name, here) ??
    elsewhere.find((path) => path.length > 1 && isSame(path.at(-1)))?.join(".");
  return found === undefined ? "" : `; did you mean ${found}?`;
}

/** Files, code and the environment spell the same setting differently. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** The candidate closest to a mistyped name: at most a third of its letters differ. */
export function closest(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const edits = editDistance(name, candidate);
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Number of letters to insert, delete, replace or swap with a neighbour. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  let before: number[] = [];
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[to.length] ?? 0;
}

// Asynchronous work: clocks, timers, aborting, opening once, sequencing.

/** The platform's own clock and ids. */
export const platform: {
  now(): Date;
  clock(): number;
  id(): string;
  later(ms: number, work: () => void): () => void;
} = {
  now: () => new Date(),
  clock: () => performance.now(),
  id: () => crypto.randomUUID(),
  later: (ms, work) => later(Math.min(ms, MAX_TIMER_MS), work),
};

/** Longest timer delay in milliseconds, 24.8 days: longer timers fire immediately. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** Runs `work` once after `ms`, or every `ms`, without keeping the process alive; the returned function cancels it. */
export function later(ms: number, work: () => void, repeated = false): () => void {
  const timer: unknown = repeated ? setInterval(work, ms) : setTimeout(work, ms);
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
    timer.unref();
  }
  return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
}

/** Absent in browsers; in the edge runtime of Next.js it is there and throws. */
const { setImmediate } = globalThis as unknown as { setImmediate(work: () => void): unknown };

/** Runs work in the next round of the event loop and keeps the process alive until then: a caller is waiting. */
export function nextRound(work: () => void): void {
  try {
    setImmediate(work);
  } catch {
    setTimeout(work, 0);
  }
}

/** Long work that yields where other work can run, and returns its result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Awaited by long work between steps; undefined while no pause is due. */
export type Pause = () => Promise<void> | undefined;

export function runAtOnce<T>(work: Steps<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Runs work, pausing between steps when a pause is due. */
export async function runInSteps<T>(work: Steps<T>, pause: Pause | undefined): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    const due = pause?.();
    if (due !== undefined) await due;
  }
}

/** Items per step of long work. */
const ITEMS_OF_A_STEP = 8;

/** `list.flatMap(map)` in steps. */
export function* flatMapInSteps<T, R>(
  list: readonly T[],
  map: (item: T, index: number, list: readonly T[]) => Iterable<R>,
): Steps<R[]> {
  const found: R[] = [];
  for (const [index, item] of list.entries()) {
    if (index % ITEMS_OF_A_STEP === ITEMS_OF_A_STEP - 1) yield;
    for (const one of map(item, index, list)) found.push(one);
  }
  return found;
}

/**
 * Opens on the first call and returns the same value afterwards; a failed opening is retried by the next
 * call.
 */
export function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    if (opened !== undefined) return opened;
    const opening = open();
    opened = opening;
    opening.catch(() => {
      if (opened === opening) opened = undefined;
    });
    return opening;
  };
}

/** Runs work with the same key sequentially, the first immediately; a failure does not stop the next. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<void>>();
  return (key, work) => {
    const before = tails.get(key);
    const run = before === undefined ? (async () => work())() : before.then(work);
    const tail = run.then(
      () => undefined,
      () => undefined,
    );
    tails.set(key, tail);
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    return run;
  };
}

/** Throws `Aborted` if the caller's signal is aborted. */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal.reason);
}

/** The result of `work`, awaited until the caller's signal is aborted; rejects then with `Aborted`. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortError(signal.reason));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The error of a call that its caller aborted. */
export function abortError(cause: unknown): CompactError {
  if (hasCode(cause, "Aborted")) return cause;
  return new CompactError("Aborted", "The compaction was aborted by its caller.", {
    hint: "The history is as it was; call again to compact it.",
    cause,
  });
}

/** The fields that are not undefined: for objects in which the presence of a field matters. */
export function defined<const T extends object>(fields: T): T {
  const kept: Partial<T> = {};
  for (const key of Object.keys(fields) as (keyof T)[])
    if (fields[key] !== undefined) kept[key] = fields[key];
  return kept as T;
}

// ---- a bounded map

/** The most recently used values, at most `limit` of them. */
export interface LruMap<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
}

/** `onEvict` is called with each evicted value. */
export function createLruMap<Value>(
  limit: number,
  onEvict: (value: Value) => void = () => undefined,
): LruMap<Value> {
  const values = new Map<string, Value>();
  return {
    get(key) {
      const value = values.get(key);
      if (value === undefined) return undefined;
      values.delete(key);
      values.set(key, value);
      return value;
    },
    set(key, value) {
      values.delete(key);
      values.set(key, value);
      const oldest = values.entries().next();
      if (values.size <= limit || oldest.done === true) return;
      values.delete(oldest.value[0]);
      onEvict(oldest.value[1]);
    },
    delete: (key) => void values.delete(key),
  };
}

/** The offset, or the one before it if it would split a surrogate pair. */
export function characterStart(text: string, offset: number): number {
  const code = text.charCodeAt(offset);
  return code >= 0xdc00 && code <= 0xdfff ? offset - 1 : offset;
}

// Control characters except tab and newline, then characters that hide or reorder text: soft hyphen,
// zero-width, bidi and invisible marks. A joiner stays where it joins two pictures to one.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\u200d(?:(?!\p{Extended_Pictographic})|(?<!\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?\u200d))|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/**
 * The text with every character that could move the cursor, or hide or reorder text, made visible (`\x1b`,
 * `\u202e`); newline and tab stay. Safe to print to a terminal.
 */
export function escapeControl(text: string): string {
  return replaceUnseen(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** Replaces the same characters with another notation, such as that of a data format. */
export function replaceUnseen(text: string, written: (character: string) => string): string {
  return text.replace(UNSEEN, written);
}

/** The values in order, so many at a time. */
export function batches<T>(values: readonly T[], size: number): T[][] {
  const count = Math.ceil(values.length / size);
  return Array.from({ length: count }, (_, at) => values.slice(at * size, (at + 1) * size));
}
