/** Every way in which Compact refuses to go on. The set is closed: callers may switch over it. */
export type CompactErrorCode =
  /** What must stay does not fit the budget, even with the keep counts lowered to their floor. */
  | "InsufficientBudget"
  /** A configuration value is missing, unknown or out of range; the message names its path. */
  | "InvalidConfig"
  /** An argument of a call is of the wrong kind. */
  | "InvalidArgument"
  /** An entry of a message list cannot be read; the message names its index and path. */
  | "InvalidMessages"
  /** The format of a list or file was not recognised. */
  | "UnknownFormat"
  /** A transcript file cannot be read; the message names file and line. */
  | "InvalidTranscript"
  /** A file, session or archived message is not there. */
  | "NotFound"
  /** A medium refused to read or write. */
  | "StorageFailed"
  /** A stored value was changed by somebody else since it was read. */
  | "Conflict"
  /** The summarizer failed on every rung it was given. */
  | "SummarizerFailed"
  /** The caller's signal was aborted. */
  | "Aborted"
  /** The command line was used wrongly. */
  | "InvalidUsage";

export interface CompactErrorOptions {
  /** What the reader can do next, one sentence. */
  readonly hint?: string;
  /** Where it happened: file and line, message index, path in a document. */
  readonly place?: string;
  readonly cause?: unknown;
}

const BRAND = Symbol.for("compact-context.error");

/** The one error class; told apart by `code`, each with a `hint` that says what to do next. */
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

  /** True for errors of this class, also those thrown by another copy of the package. */
  static isInstance(value: unknown): value is CompactError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
  }
}

/** True for a `CompactError` with this code. */
export function hasCode(error: unknown, code: CompactErrorCode): boolean {
  return CompactError.isInstance(error) && error.code === code;
}

/** The message of anything that was thrown; its name where it says nothing. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? error.message || error.name : String(error);
  } catch {
    return "an error that cannot be printed";
  }
}

const LIST_HINT = "Pass the list itself, not the request that holds it.";
const OPTIONS_HINT = "Pass an object with the settings by name; the function's type lists them.";

/** Throws `InvalidArgument` unless the value is an array. */
export function requireList(value: unknown, name = "messages", hint: string = LIST_HINT): void {
  if (!Array.isArray(value)) throw wrongKind(name, value, { wanted: "an array", hint });
}

/** Throws `InvalidArgument` unless the value is an object; `hint` says what to pass. */
export function requireOptions(value: unknown, name = "options", hint: string = OPTIONS_HINT): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw wrongKind(name, value, { wanted: "an object", hint });
}

/** Throws `InvalidArgument` unless the value is a string. */
export function requireText(value: unknown, name: string, hint: string): void {
  if (typeof value !== "string") throw wrongKind(name, value, { wanted: "a string", hint });
}

/** Throws `InvalidArgument` unless the value is a function. */
export function requireFunction(value: unknown, name: string, hint: string): void {
  if (typeof value !== "function") throw wrongKind(name, value, { wanted: "a function", hint });
}

function wrongKind(
  name: string,
  value: unknown,
  { wanted, hint }: { readonly wanted: string; readonly hint: string },
): CompactError {
  const problem = `${name} must be ${wanted}, not ${kindOf(value)}`;
  return new CompactError("InvalidArgument", problem, { place: name, hint });
}

/** What a value is, in words: `an array`, `missing`. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === undefined) return "missing";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** True for objects that are not arrays. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Work that takes time: timers, aborting, opening once, one after the other.

/** Most milliseconds that a timer takes, 24.8 days: set to more, it fires at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** Runs `work` once after `ms`, or every `ms`, without keeping the process alive; the returned function cancels it. */
export function later(ms: number, work: () => void, repeated = false): () => void {
  const timer: unknown = repeated ? setInterval(work, ms) : setTimeout(work, ms);
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
    timer.unref();
  }
  return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
}

/** Opens on the first call and gives the same value from then on; a failed opening is tried again by the next call. */
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

/** Runs work under the same key one after the other, the first at once; a failure does not stop the next. */
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

/** Throws `Aborted` once the caller's signal is. */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal.reason);
}

/** The result of `work`, awaited no longer than the caller's signal allows. Rejects with `Aborted`. */
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
  if (CompactError.isInstance(cause) && cause.code === "Aborted") return cause;
  return new CompactError("Aborted", "The compaction was aborted by its caller.", {
    hint: "The history is as it was; call again to compact it.",
    cause,
  });
}

/** The fields that have a value: for objects in which a field that is there counts, whatever it holds. */
export function defined<const T extends object>(fields: T): T {
  const kept: Partial<T> = {};
  for (const key of Object.keys(fields) as (keyof T)[])
    if (fields[key] !== undefined) kept[key] = fields[key];
  return kept as T;
}
