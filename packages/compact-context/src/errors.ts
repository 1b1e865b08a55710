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
