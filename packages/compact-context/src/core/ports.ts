import type { Pause } from "../errors.ts";
import type { Format, Message } from "./message.ts";

// The ports of the core, implemented in other folders: Codec, TokenCounter, StorageDriver and Summarizer
// (TranscriptStore and Exporter are in `report.ts`), and the environment.

/** Clock and timers; the core has no other source of them, and none of ids and randomness. */
export interface Environment {
  now(): Date;
  /** Milliseconds of a monotonic clock. */
  clock(): number;
  /** Runs `work` after `ms`; the returned function cancels it. Does not keep the process alive. */
  later(ms: number, work: () => void): () => void;
}

// ---- Codec

/** Converts one provider format to neutral messages and back, losslessly. */
export interface Codec {
  readonly format: Format;
  /**
   * One message per native entry, same order and length, each with `native` and `format` set. `previous`: the
   * decoded messages before `list`, if only the end of a conversation is decoded (formats without call ids
   * pair a result with the preceding call). Throws `InvalidMessages` with the index and path of the entry
   * that cannot be read.
   */
  decode(list: readonly unknown[], previous?: readonly Message[]): Message[];
  /**
   * The native list. A message with an unedited `native` of this format returns that same object, an edited
   * one a shallow copy of it with the changed parts; others are built from their parts.
   */
  encode(messages: readonly Message[]): unknown[];
  /** Confidence from 0 to 1 that `list` is in this format; looks at a bounded number of entries. */
  detect(list: readonly unknown[]): number;
}

/** Reads and writes one caller's lists. */
export interface ListCodec extends Pick<Codec, "decode" | "encode"> {
  /** The provider format; for neutral messages their target format, if known. */
  readonly format: Format | undefined;
  /** True if the caller's messages are already neutral and nothing is converted. */
  readonly neutral: boolean;
  /** False if later entries can reveal another format. */
  readonly certain: boolean;
}

export interface Codecs {
  /** The codec of the given format, or of the detected one. Throws `UnknownFormat`. */
  forList(list: readonly unknown[], format: Format | undefined): ListCodec;
  /** Whether these entries identify their format; bare texts do not. */
  showFormat(entries: readonly unknown[]): boolean;
}

// ---- TokenCounter

/** A token count with its error range: `low <= tokens <= high`, whole numbers. */
export interface TokenCount {
  readonly tokens: number;
  /** True if the model's own encoding is public and was used. */
  readonly exact: boolean;
  readonly low: number;
  readonly high: number;
}

/** Tokens of a whole request by origin; the parts sum to the total. */
export interface TokenBreakdown {
  readonly system: number;
  readonly developer: number;
  readonly tools_schema: number;
  readonly messages: number;
}

export interface RequestCount extends TokenCount {
  readonly breakdown: TokenBreakdown;
}

/** Counts for one model. Every method is synchronous, deterministic and never throws. */
export interface TokenCounter {
  /** Identifies encoding, ratio and overhead: stored counts are only reused by the same counter. */
  readonly id: string;
  readonly exact: boolean;
  /** Tokens that open the reply, counted once per request. */
  readonly perRequest: number;
  /** Tokens of plain text, with the model's ratio applied. */
  countText(text: string): number;
  /** Tokens of one message, overhead included. */
  countMessage(message: Message): number;
  /** The part of a message's count that is an estimate with any encoding: media and unreadable reasoning. */
  countUncertain(message: Message): number;
  /** Tokens of a system prompt that is not in the messages; 0 if there is none. */
  countSystem(system: string | undefined): number;
  /** Tokens of the tool schemas; 0 if there are none. */
  countTools(tools: readonly unknown[] | undefined): number;
  /** The error range of a total from this counter. */
  range(tokens: number): TokenCount;
}

// ---- StorageDriver

/** A stored value and its version, to pass as `ifVersion` when overwriting it. */
export interface StoredValue {
  readonly value: string;
  readonly version: string;
}

/** Metadata of a stored value, available without reading it. */
export interface StoredEntry {
  readonly key: string;
  readonly bytes: number;
  /** Last write, in milliseconds since 1970. */
  readonly at: number;
}

export interface CallOptions {
  /** Stops waiting and rejects with `Aborted`; the operation may still complete. */
  readonly signal?: AbortSignal;
}

export interface PutOptions extends CallOptions {
  /** Overwrite only this version; `null`: only create. */
  readonly ifVersion?: string | null;
  /** Write only while this lease is held; for drivers with `leases`. */
  readonly fence?: Fence;
}

export interface ListOptions extends CallOptions {
  /** Only keys after this one. */
  readonly after?: string;
  /** Maximum number of keys per page; a shorter page is the last one. Default: all. */
  readonly limit?: number;
}

/**
 * One storage medium. Keys are relative, `/`-separated paths of safe characters; values are UTF-8 text. Every
 * call can reject with `StorageFailed`.
 */
export interface StorageDriver {
  /** Human-readable: a folder, `memory`, `s3://bucket/prefix`. */
  readonly location: string;
  get(key: string, options?: CallOptions): Promise<StoredValue | undefined>;
  /** The version that `get` would return, without the value. */
  version(key: string, options?: CallOptions): Promise<string | undefined>;
  /**
   * The value in pieces of well-formed text; empty for a missing key. All pieces belong to one version: if
   * the value is replaced meanwhile, the old one is read to its end or the iteration rejects.
   */
  stream(key: string): AsyncIterable<string>;
  /**
   * Writes the whole value, durable when the promise resolves; pieces are never joined in memory. Rejects
   * with `Conflict` if `ifVersion` or `fence` no longer holds.
   */
  put(
    key: string,
    value: string | Iterable<string>,
    options?: PutOptions,
  ): Promise<{ readonly version: string }>;
  /** Appends to a value or creates it. Every text ends with a newline; all are written in one operation. */
  append(key: string, text: string | readonly string[], options?: CallOptions): Promise<void>;
  /** The keys that start with `prefix`, sorted by character. */
  list(prefix: string, options?: ListOptions): Promise<string[]>;
  /** Deletes a value; a no-op if there is none. */
  delete(key: string, options?: CallOptions): Promise<void>;
  /** The stored values whose keys start with `prefix`, sorted by key; used by retention sweeps. */
  entries?(prefix: string): AsyncIterable<StoredEntry>;
  /**
   * Removes what interrupted writes left under `prefix` (a folder with a trailing slash) and its queued work,
   * which `list` does not return. Called when a session, a user or a tenant is deleted.
   */
  purge?(prefix: string): Promise<void>;
  /** For a medium shared by several workers: who may write. */
  readonly leases?: Leases;
  /** For a medium shared by several workers: queued work, delivered to one of them at a time. */
  readonly outbox?: Outbox;
}

/** Proof of a lease: writes with it are rejected once another worker holds the lease. */
export interface Fence {
  readonly name: string;
  /** Increases each time the lease is taken. */
  readonly token: string;
}

/** Exclusive rights until released or expired. */
export interface Leases {
  /** Milliseconds after which a lease expires unless renewed. */
  readonly ms: number;
  /** Resolves with undefined while another owner holds it. */
  take(name: string, owner: string): Promise<Fence | undefined>;
  /** Resolves with false if the lease was lost. */
  renew(fence: Fence): Promise<boolean>;
  /** A no-op if the lease was lost. */
  release(fence: Fence): Promise<void>;
}

/** Queued work with at-least-once delivery. */
export interface OutboxItem {
  /** Safe as one segment of a storage key; the same work has the same id. */
  readonly id: string;
  /** `sessionKey` of the session that queued it. */
  readonly session: string;
  /** Well-formed text. */
  readonly body: string;
}

/** An item to deliver and its number of earlier attempts. */
export interface ClaimedItem extends OutboxItem {
  readonly attempts: number;
}

/** The worker that claims an item, and for how long. */
export interface Claim {
  readonly by: string;
  readonly ms: number;
}

export type ItemName = Pick<OutboxItem, "session" | "id">;

/** Durable queue; any worker can claim an item whose claim has expired. */
export interface Outbox {
  /** Durable and claimed by the caller when it resolves; false if another worker already added it. */
  add(item: OutboxItem, claim: Claim): Promise<boolean>;
  /** Claims up to `limit` due items, oldest first. */
  claim(claim: Claim, limit: number): Promise<ClaimedItem[]>;
  /** Extends a claim; false if it was lost. */
  renew(item: ItemName, claim: Claim): Promise<boolean>;
  /** Releases a claimed item, due again in `inMs`. */
  retry(
    item: ItemName,
    by: string,
    later: { readonly inMs: number; readonly attempts: number },
  ): Promise<void>;
  remove(item: ItemName): Promise<void>;
  pending(session: string): Promise<string[]>;
  /** Milliseconds until the next item is due; undefined if the outbox is empty. */
  nextDue(): Promise<number | undefined>;
}

// ---- Summarizer

/** Purpose that a summary is written for. */
export type SummaryStrategy =
  | "task_state"
  | "decision_log"
  | "code_delta"
  | "brief"
  | "step_ledger"
  | "requirements_ledger";

export interface SummarizeOptions {
  /** Maximum tokens of the text, counted by `countText`. */
  readonly maxTokens: number;
  readonly strategy?: SummaryStrategy;
  /**
   * The text of the current summary (without its `<COMPACT-SUMMARY>` tag), which is merged into the new one.
   */
  readonly previous?: string;
  /** What a user asked the summary to preserve. */
  readonly instruction?: string;
  /** Counts tokens of text. Default: o200k_base. */
  readonly countText?: (text: string) => number;
  readonly signal?: AbortSignal;
  /** The agent's conversation as sent in its last call, for models that can continue it. */
  readonly live?: LiveConversation;
  /** The list that the summary is inserted into. */
  readonly context?: SummaryContext;
  /** Awaited between steps of long work, so that a long conversation does not block the event loop. */
  readonly pause?: Pause;
  /** Called after every model request. */
  readonly onAttempt?: (attempt: SummaryAttempt) => void;
}

/** The list that surrounds the messages to summarize. */
export interface SummaryContext {
  /** The list before the compaction, in order, including the messages to summarize. */
  readonly list: readonly Message[];
  /** The messages that stay, with their edits applied. */
  readonly kept: readonly Message[];
}

/** A live conversation in the provider's format, and the same messages in neutral form. */
export interface LiveConversation {
  readonly prefix: LivePrefix;
  readonly messages: readonly Message[];
  /** Tokens of the whole prefix: messages, system prompt and tool schemas. */
  readonly tokens: number;
  /** Has the provider compact the first entries of the prefix; omitted if it cannot. */
  readonly compact?: CompactByProvider;
}

/** Asks the provider to compact entries of a request's list. Rejects if it does not. */
export type CompactByProvider = (
  entries: readonly unknown[],
  signal: AbortSignal | undefined,
) => Promise<ProviderCompaction>;

/** The provider's compaction of the given entries. */
export interface ProviderCompaction {
  /** The entry that replaces them; plain JSON, sent back unchanged. */
  readonly entry: unknown;
  /** Its text if readable, else empty. */
  readonly text: string;
  readonly model: string;
  /** The provider's usage record, unchanged. */
  readonly usage?: unknown;
}

export interface Summary {
  /** At most `maxTokens` tokens; without the tag. */
  readonly text: string;
  readonly tokens: number;
  /** The summarizer that wrote it, such as `builtin`. */
  readonly summarizer: string;
  /** Number of messages that were read, whole or clipped. */
  readonly messagesRead: number;
  /** Share of the messages' tokens that was sent to the model, 0 to 1; omitted if everything is read. */
  readonly coverage?: number;
  readonly check?: SummaryCheck;
  /** If the provider compacted: its entry, and the number of messages it replaces. */
  readonly opening?: { readonly entry: unknown; readonly covers: number };
}

/** Summarizes messages; never decides which messages. */
export interface Summarizer {
  readonly name: string;
  /** True if `SummarizeOptions.live` is used. */
  readonly usesLivePrefix?: boolean;
  /** True if no model is called: the text never exceeds `maxTokens`. */
  readonly deterministic?: boolean;
  summarize(messages: readonly Message[], options: SummarizeOptions): Promise<Summary>;
}

/**
 * Kinds of claims in a summary that its source does not support; `outcome`: a check that ended differently.
 */
export type ClaimKind = "url" | "path" | "identifier" | "number" | "quote" | "attribution" | "outcome";

/** A claim that the source does not support. */
export interface UnfoundClaim {
  readonly kind: ClaimKind;
  /** As written in the summary. */
  readonly text: string;
}

/** Result of checking a model's text against its source. */
export interface SummaryCheck {
  readonly mode: "flag" | "remove" | "off";
  /** Number of claims looked up. */
  readonly checked: number;
  readonly unfound: readonly UnfoundClaim[];
  /** Number of `unfound` claims that were removed from the text. */
  readonly removed: number;
}

/** Why a model's answer was rejected, or why there was no answer. */
export type AttemptFailure =
  /** The call rejected: network, provider, client. */
  | "error"
  | "timeout"
  /** No text; `reasoning-only`: reasoning used up the output tokens. */
  | "empty"
  | "reasoning-only"
  /** Truncated at the token limit. */
  | "truncated"
  | "too-long"
  | "refusal"
  /** Repeats an earlier answer or a message. */
  | "stale"
  /** An error page or notice instead of an answer. */
  | "error-text"
  /** Broken Unicode, or characters without content. */
  | "malformed"
  /** Empty after removing claims that the source does not support. */
  | "unfounded"
  /** Not called because it failed too often recently. */
  | "skipped";

/** One request to a model for one part of the input. */
export interface SummaryAttempt {
  readonly model: string;
  /** Id and version of the prompt, such as `task_state@1`. */
  readonly prompt: string;
  readonly strategy: string;
  /** `text`: the messages as text; `prefix`: the agent's own conversation, followed by the request. */
  readonly input: "text" | "prefix";
  /** Part of the input, from 1, and the number of parts. */
  readonly part: number;
  readonly parts: number;
  /** Requested maximum of output tokens. */
  readonly maxTokens: number;
  readonly outcome: "accepted" | AttemptFailure;
  /** Description of the failure. */
  readonly detail?: string;
  readonly error?: unknown;
  /** The next step: `shorter`, `thinking`, `brief`, or a model's name; omitted if there is none. */
  readonly fallback?: string;
  readonly durationMs: number;
  /** By our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usage?: ReportedUsage;
  /** The model's provider, and the cost in dollars, if known. */
  readonly provider?: string;
  readonly costUsd?: number;
}

/** Tokens of one model call as reported by its provider, normalized across providers. */
export interface ReportedUsage {
  /** All input tokens, cached ones included. */
  readonly input: number;
  /** The part of `input` read from the prompt cache. */
  readonly cacheRead: number;
  /** The part of `input` written to the prompt cache, `write1h` included. */
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a one-hour lifetime. */
  readonly write1h?: number;
  /** All output tokens, reasoning included. */
  readonly output: number;
}

/** A message to a text model; only the first can be a system message. */
export interface TextModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/**
 * A live conversation in a provider's format: a model that continues it reads the agent's prefix from the
 * cache.
 */
export interface LivePrefix {
  /** The format's name, such as `anthropic`. */
  readonly format: string;
  /** Sent unchanged, before the request's own messages. */
  readonly messages: readonly unknown[];
  readonly system?: unknown;
  readonly tools?: readonly unknown[];
}

export interface TextModelRequest {
  readonly messages: readonly TextModelMessage[];
  /** Only for a model whose `prefixFormats` include the prefix's format. */
  readonly prefix?: LivePrefix;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

export interface TextModelAnswer {
  /** The answer's text without reasoning; empty if there was none. */
  readonly text: string;
  /** Stop reason: finished, token limit, refusal, or anything else (a tool call, an error). */
  readonly stop: "end" | "length" | "refusal" | "other";
  /** The provider's usage record, unchanged; read by `normalizeUsage`. */
  readonly usage?: unknown;
}

/** A language model. */
export interface TextModel {
  /** For logs and events, such as `openai:gpt-5.4-mini`. */
  readonly name: string;
  /** Tokens of input and output together, if known. */
  readonly window?: number;
  /** Formats whose live conversations can be sent as a prefix. Default: none. */
  readonly prefixFormats?: readonly string[];
  /** Rejects if the call fails; resolves with any answer. */
  generate(request: TextModelRequest): Promise<TextModelAnswer>;
}

// ---- failures

/**
 * The fallback after a failure; can also be the name of the next summarizer or model. What each
 * means: `scripts/events-schema.mjs`.
 */
export const FALLBACK = {
  none: "none",
  pruningOnly: "pruning-only",
  nothingPruned: "nothing is pruned",
  readAgain: "the session is read again",
  withoutArchive: "compacted without an archive",
  withoutMemory: "not handed to memory",
  atTrigger: "compacted at the trigger",
  asTheyAre: "kept or summarized as they are",
  summaryNotArchived: "the summary is in the list and the state, not in the archive",
} as const;

// ---- Redaction

/** Removes secrets from everything that leaves the process. */
export interface Redaction {
  readonly enabled: boolean;
  redactText(text: string): string;
  /**
   * Redacts JSON-like values by field name and inside strings; returns the same object if nothing was found.
   * Values nested deeper than `maxDepth` levels are replaced.
   */
  redactValue(value: unknown, maxDepth?: number): unknown;
}
