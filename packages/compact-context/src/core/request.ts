import { CompactError, didYouMean, isList, isObject, kindOf, requireOptions, type Steps } from "../errors.ts";
import type { TooLong } from "./calibration.ts";
import type { Format, LiveSummary, Message } from "./message.ts";
import type { Policy, TriggerReason } from "./policy.ts";
import type {
  Codecs,
  CompactByProvider,
  ListCodec,
  LiveConversation,
  TokenBreakdown,
  TokenCounter,
} from "./ports.ts";

// What a call asks for, the settings that it runs under, what its request costs by our count, the request for a
// compaction, and how the fields of what a caller passes are checked.

/** What a call sends in addition to its messages. */
export interface PreflightRequest {
  /**
   * The model that receives the list; determines window, thresholds and counting of this call. Default: the
   * manager's.
   */
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly unknown[];
  /** Pending user input that is not in the list yet. */
  readonly input?: string;
  /** The provider's usage record of the previous call, in its own shape; calibrates later estimates. */
  readonly usage?: unknown;
  /**
   * Whether the provider's prompt cache has evicted this session. Default: cold after
   * `policy.cacheTtlSeconds` without a call; warm if the process does not know the last call.
   */
  readonly cacheCold?: boolean;
  /**
   * Maximum tokens of the answer (the request's own limit), subtracted from the window if input and output
   * share it.
   */
  readonly maxOutputTokens?: number;
  /** Default: detected from the list. */
  readonly format?: Format;
  /** Whether the list is repaired before it is read. Default: the manager's setting. */
  readonly repair?: boolean;
  readonly signal?: AbortSignal;
  /** Asks the provider to compact entries, for `summarizer.kind: "provider"`. */
  readonly compact?: CompactByProvider;
}

export interface ManualRequest extends PreflightRequest {
  /** The user's reason; included in the event and passed to the summarizer as an instruction. */
  readonly note?: string;
  /** Target in tokens; if omitted, everything eligible is summarized. */
  readonly targetTokens?: number;
  /**
   * The provider refused this list as too long: the target is below what it accepts, and later lists are
   * compacted in time.
   */
  readonly refused?: TooLong;
}

const REQUEST_FIELDS: Fields<ManualRequest> = {
  model: "text",
  system: "text",
  tools: "list",
  input: "text",
  usage: "unchecked",
  cacheCold: "flag",
  maxOutputTokens: "number",
  format: "unchecked",
  repair: "flag",
  signal: "signal",
  compact: "function",
  note: "text",
  targetTokens: "number",
  refused: "object",
};

/** Throws `InvalidArgument` for a value that is not a request. */
export function requireRequest(request: ManualRequest): void {
  requireFields(request, REQUEST_FIELDS, "request");
}

/** Settings that all sessions share. */
export interface SessionSettings {
  readonly policy: Policy;
  readonly summaryRole: "assistant" | "user" | "system";
  readonly maxContextTokens: number;
  /** Maximum tokens of a summary. Default: a tenth of the window, at most 8,192. */
  readonly maxSummaryTokens: number | undefined;
  /** The model's name, for events. */
  readonly model: string | undefined;
  /** The model accepts signed reasoning only after an unchanged prefix. */
  readonly reasoningBound: boolean;
  readonly codecs: Codecs;
  /** The counter of the model; if no model is named, the default for lists of this format. */
  counterFor(format: ListCodec["format"]): TokenCounter;
  /** Input tokens of a provider's usage record; undefined if it has none. */
  readUsage(usage: unknown): number | undefined;
  /** True if the window limits the input alone, so that the answer takes nothing from it. */
  limitsInputOnly(format: ListCodec["format"]): boolean;
}

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

/** A list to compact with its counter and limits: the input of planning, applying and reporting. */
export interface CompactionRequest {
  readonly messages: readonly Message[];
  /** Format of the caller's list; undefined for neutral messages of unknown format. */
  readonly format: Format | undefined;
  readonly counter: TokenCounter;
  readonly policy: Policy;
  readonly reason: TriggerReason;
  /** Tokens sent in addition to the messages. */
  readonly fixedTokens: number;
  readonly budget: number;
  /** Maximum images. Default: no limit. */
  readonly mostImages?: number;
  /** Tokens of the window that the answer takes from the budget. Default: 0. */
  readonly answerTokens?: number;
  /** Target in tokens; missed if what must stay is larger. If omitted, everything eligible is summarized. */
  readonly target?: number;
  /**
   * Size in tokens below which the next compaction is far enough away; limits what is restored or removed as
   * a last resort.
   */
  readonly preferred?: number;
  readonly maxSummaryTokens: number;
  /** Tokens reserved for the whole summary message; if omitted, its size depends on what it replaces. */
  readonly summaryReserve?: number;
  readonly summaryRole: "assistant" | "user" | "system";
  /** Creates the summary message, marked with its version. Default: a message with our tag. */
  readonly summaryAs?: (summary: LiveSummary) => Message;
  /** Version of the newest summary that is not in the list; 0 if there is none. */
  readonly lastSummaryVersion?: number;
  /** The model accepts signed reasoning only after an unchanged prefix. */
  readonly reasoningBound: boolean;
  /** The archive id of a message; omitted if nothing is archived. */
  readonly archiveId?: (message: Message) => string;
  /** Recalled results that stay whole while there is room: the model has just requested them. */
  readonly recalled?: ReadonlySet<Message>;
  /** Project instructions: pinned as long as they leave enough room for the conversation. */
  readonly instructions?: ReadonlySet<Message>;
  /** Messages that always stay, with everything that belongs to them. */
  readonly held?: ReadonlySet<Message>;
  /** What the user asked the compaction to preserve. */
  readonly note?: string;
  readonly signal?: AbortSignal;
  /** The conversation as sent in the agent's last call; called if a summarizer can use it. */
  readonly live?: () => LiveConversation | undefined;
}

/** Tokens of the messages in a view. */
export interface MessageTotals {
  readonly tokens: number;
  /** The part of `tokens` that is an estimate with any encoding: media and unreadable reasoning. */
  readonly uncertain: number;
  /** The part of `tokens` in system and developer messages. */
  readonly system: number;
  readonly developer: number;
}

/** Tokens of a request by origin: the messages of a view and what is sent along with them. */
export function requestBreakdown(
  totals: MessageTotals,
  { system, tools, input }: Pick<PreflightRequest, "system" | "tools" | "input">,
  counter: TokenCounter,
): TokenBreakdown {
  const pending = input === undefined ? 0 : counter.countText(input);
  return {
    system: totals.system + counter.countSystem(system),
    developer: totals.developer,
    tools_schema: counter.countTools(tools),
    messages: totals.tokens - totals.system - totals.developer + pending + counter.perRequest,
  };
}

export function totalOf({ system, developer, tools_schema, messages }: TokenBreakdown): number {
  return system + developer + tools_schema + messages;
}

// ---- the fields of what a caller passes

// Without types, a misspelled name would do nothing, and a value of the wrong kind would fail far from the call, or not
// at all.

interface Kind {
  readonly wanted: string;
  accepts(value: unknown): boolean;
}

type KindName = "text" | "flag" | "number" | "positive" | "list" | "object" | "function" | "signal";

const KINDS: Readonly<Record<KindName, Kind>> = {
  text: { wanted: "a string", accepts: (value) => typeof value === "string" },
  flag: { wanted: "true or false", accepts: (value) => typeof value === "boolean" },
  number: { wanted: "a number, 0 or more", accepts: (value) => isFrom(0, value) },
  positive: { wanted: "a number above 0", accepts: (value) => isFrom(Number.MIN_VALUE, value) },
  list: { wanted: "an array", accepts: isList },
  object: { wanted: "an object", accepts: isObject },
  function: { wanted: "a function", accepts: (value) => typeof value === "function" },
  signal: { wanted: "an AbortSignal", accepts: isSignal },
};

/** The kind of a field's value, or its possible values. `unchecked`: whoever reads it checks it, or takes anything. */
type FieldKind = KindName | "unchecked" | readonly string[];

/** The kinds of all fields of an object. */
export type Fields<T> = Readonly<Record<keyof T, FieldKind>>;

/** What a caller's object is, with a word for one of its fields and for all of them. */
const OWNERS = {
  options: { one: "an option", all: "options" },
  ports: { one: "a port of a manager", all: "ports" },
  request: { one: "a field of a request", all: "fields" },
  owner: { one: "a part of an owner", all: "parts" },
  retention: { one: "a limit of a retention", all: "limits" },
};

/**
 * Throws `InvalidArgument` unless the value is an object, for a field that does not exist, and for a value of another
 * kind; `hint` says what to pass in place of what is no object.
 */
export function requireFields<T extends object>(
  given: T,
  fields: Fields<NoInfer<T>>,
  place: keyof typeof OWNERS = "options",
  hint?: string,
): void {
  requireOptions(given, place, hint);
  const kinds: Readonly<Record<string, FieldKind>> = fields;
  for (const [name, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) {
      const names = Object.keys(kinds);
      const { one, all } = OWNERS[place];
      throw new CompactError("InvalidArgument", `${name} is not ${one}${didYouMean(name, names)}`, {
        place: `${place}.${name}`,
        hint: `The ${all} are ${names.join(", ")}.`,
      });
    }
    if (value === undefined || kind === "unchecked") continue;
    const { wanted, accepts }: Kind = typeof kind === "string" ? KINDS[kind] : oneOf(kind);
    if (accepts(value)) continue;
    throw new CompactError("InvalidArgument", `${place}.${name} must be ${wanted}, not ${shown(value)}`, {
      place: `${place}.${name}`,
      hint: `Pass ${wanted}, or leave it out where it is optional.`,
    });
  }
}

function oneOf(values: readonly string[]): Kind {
  return {
    wanted: `one of ${values.join(", ")}`,
    accepts: (value: unknown) => values.includes(value as string),
  };
}

function shown(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.length <= 40 ? JSON.stringify(value) : kindOf(value);
}

function isFrom(least: number, value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= least;
}

/** Any object with the interface: a runtime or a test may have a class of its own. */
function isSignal(value: unknown): boolean {
  return (
    isObject(value) && typeof value.aborted === "boolean" && typeof value.addEventListener === "function"
  );
}
