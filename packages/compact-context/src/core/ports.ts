import type { Pause } from "../errors.ts";
import type { Format, Message } from "./message.ts";

// The ports of the core, which other folders implement: Codec, TokenCounter, StorageDriver and Summarizer; Exporter stands in
// `report.ts`. And the environment: clock, ids, randomness.

/** Clock, ids and randomness. Nothing in the core reads them from anywhere else. */
export interface Environment {
  now(): Date;
  /** Milliseconds of a steady clock. */
  clock(): number;
  id(): string;
  /** Runs `work` after `ms`; the returned function cancels it. It does not keep the process alive. */
  later(ms: number, work: () => void): () => void;
}

// ---- Codec

/** Translates one provider format to neutral messages and back, losslessly. */
export interface Codec {
  readonly format: Format;
  /**
   * One message per native entry, same order and length, each with `native` and `format` set.
   * `previous`: the decoded messages before `list`, when only the end of a conversation is decoded
   * (formats without call ids pair a result with the call before it).
   * Throws `InvalidMessages` with the index and path of the entry that cannot be read.
   */
  decode(list: readonly unknown[], previous?: readonly Message[]): Message[];
  /**
   * The native list. A message with an unedited `native` of this format gives back that very object;
   * an edited one a shallow copy of it with the changed parts; others are built from their parts.
   */
  encode(messages: readonly Message[]): unknown[];
  /** 0 (certainly not) to 1 (certainly) that `list` is in this format; looks at a bounded number of entries. */
  detect(list: readonly unknown[]): number;
}

/** Reads and writes the lists of one caller. */
export interface ListCodec extends Pick<Codec, "decode" | "encode"> {
  /** The provider format; for neutral messages the one they are meant for, if that is known. */
  readonly format: Format | undefined;
  /** True where the caller's messages are neutral already, so that nothing is translated. */
  readonly neutral: boolean;
  /** False where later entries may show another format. */
  readonly certain: boolean;
}

export interface Codecs {
  /** The codec of the given format, or of the one that is detected. Throws `UnknownFormat`. */
  forList(list: readonly unknown[], format: Format | undefined): ListCodec;
  /** Whether these entries show their format; bare texts do not. */
  showFormat(entries: readonly unknown[]): boolean;
}

// ---- TokenCounter

/** Tokens with their error range: `low <= tokens <= high`, whole numbers. */
export interface TokenCount {
  readonly tokens: number;
  /** True when the model's own encoding is public and was used. */
  readonly exact: boolean;
  readonly low: number;
  readonly high: number;
}

/** Tokens of a whole request by origin; the parts add up to the total. */
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
  /** Names encoding, ratio and overhead, so that stored counts are only reused with the same counter. */
  readonly id: string;
  readonly exact: boolean;
  /** Tokens that open the reply, once per request. */
  readonly perRequest: number;
  /** Tokens of bare text, the model's ratio applied. */
  countText(text: string): number;
  /** Tokens of one message with its overhead. */
  countMessage(message: Message): number;
  /** The part of a message's count that is an estimate whatever the encoding: media and unreadable reasoning. */
  countUncertain(message: Message): number;
  /** Tokens of the system prompt given beside the messages; 0 for none. */
  countSystem(system: string | undefined): number;
  /** Tokens of the tool schemas; 0 for none. */
  countTools(tools: readonly unknown[] | undefined): number;
  /** The error range of a total of this counter. */
  range(tokens: number): TokenCount;
}

// ---- StorageDriver

/** A stored value and the version to hand back when writing over it. */
export interface StoredValue {
  readonly value: string;
  readonly version: string;
}

/** What a medium knows of a value without reading it. */
export interface StoredEntry {
  readonly key: string;
  readonly bytes: number;
  /** When it was written last, in milliseconds since 1970. */
  readonly at: number;
}

export interface CallOptions {
  /** Ends the waiting with `Aborted`; the operation may still be completed. */
  readonly signal?: AbortSignal;
}

export interface PutOptions extends CallOptions {
  /** Only over this version; `null`: only where nothing is yet. */
  readonly ifVersion?: string | null;
  /** Only while this lease holds; for drivers with `leases`. */
  readonly fence?: Fence;
}

export interface ListOptions extends CallOptions {
  /** Only keys after this one. */
  readonly after?: string;
  /** Most keys of a page; a shorter page is the last. All when left out. */
  readonly limit?: number;
}

/**
 * One medium. Keys are relative, `/`-separated paths made of safe characters; values are UTF-8 text.
 * Every call may reject with `StorageFailed`.
 */
export interface StorageDriver {
  /** For people: a folder, `memory`, `s3://bucket/prefix`. */
  readonly location: string;
  get(key: string, options?: CallOptions): Promise<StoredValue | undefined>;
  /** The version that `get` would give, without the value. */
  version(key: string, options?: CallOptions): Promise<string | undefined>;
  /**
   * The value in pieces of well-formed text; nothing for an absent key. All pieces are of one version: when the value is
   * replaced meanwhile, the old one is read to its end or the reading rejects.
   */
  stream(key: string): AsyncIterable<string>;
  /**
   * Writes the whole value, durable when it resolves; pieces are never joined in memory. Rejects with `Conflict` when
   * `ifVersion` or `fence` no longer holds.
   */
  put(
    key: string,
    value: string | Iterable<string>,
    options?: PutOptions,
  ): Promise<{ readonly version: string }>;
  /** Appends to a value or creates it; every text ends with a newline, and all are written at once. */
  append(key: string, text: string | readonly string[], options?: CallOptions): Promise<void>;
  /** The keys that start with `prefix`, sorted by their characters. */
  list(prefix: string, options?: ListOptions): Promise<string[]>;
  /** Removes a value; no error where there is none. */
  delete(key: string, options?: CallOptions): Promise<void>;
  /** The stored values whose keys start with `prefix`, sorted by key: what a sweep weighs. */
  entries?(prefix: string): AsyncIterable<StoredEntry>;
  /**
   * Takes out what writes that ended half-way left under `prefix`, a folder with a slash at its end, and its queued work:
   * what `list` does not name. Called when a session, a user or a tenant is deleted.
   */
  purge?(prefix: string): Promise<void>;
  /** For a medium that many workers share: who may write. */
  readonly leases?: Leases;
  /** For a medium that many workers share: queued work, handed to one of them at a time. */
  readonly outbox?: Outbox;
}

/** Proof of a lease: writes with it are refused once another worker has the lease. */
export interface Fence {
  readonly name: string;
  /** Rises each time the lease is taken. */
  readonly token: string;
}

/** Exclusive rights until they are released or expire. */
export interface Leases {
  /** Milliseconds until a lease expires that is not renewed. */
  readonly ms: number;
  /** Undefined while another owner has it. */
  take(name: string, owner: string): Promise<Fence | undefined>;
  /** False when it was lost. */
  renew(fence: Fence): Promise<boolean>;
  /** No error where it was lost. */
  release(fence: Fence): Promise<void>;
}

/** Queued work that must be delivered at least once. */
export interface OutboxItem {
  /** Safe as one segment of a storage key; the same for the same work. */
  readonly id: string;
  /** `sessionKey` of the session that it comes from. */
  readonly session: string;
  /** Well-formed text. */
  readonly body: string;
}

/** An item to deliver, with the number of earlier attempts. */
export interface ClaimedItem extends OutboxItem {
  readonly attempts: number;
}

/** A worker's claim of an item and its duration. */
export interface Claim {
  readonly by: string;
  readonly ms: number;
}

export type ItemName = Pick<OutboxItem, "session" | "id">;

/** Durable queued work; any worker may claim an item whose claim has expired. */
export interface Outbox {
  /** Durable when it resolves and claimed by the caller; false when it was there already and belongs to another worker. */
  add(item: OutboxItem, claim: Claim): Promise<boolean>;
  /** Claims up to `limit` items that are due, oldest first. */
  claim(claim: Claim, limit: number): Promise<ClaimedItem[]>;
  /** Extends a claim; false when it was lost. */
  renew(item: ItemName, claim: Claim): Promise<boolean>;
  /** Frees a claimed item, due again in `inMs`. */
  retry(
    item: ItemName,
    by: string,
    later: { readonly inMs: number; readonly attempts: number },
  ): Promise<void>;
  remove(item: ItemName): Promise<void>;
  pending(session: string): Promise<string[]>;
  /** Milliseconds until an item is due; undefined when the outbox is empty. */
  nextDue(): Promise<number | undefined>;
}

// ---- Summarizer

/** What a summary is shaped for. */
export type SummaryStrategy =
  | "task_state"
  | "decision_log"
  | "code_delta"
  | "brief"
  | "step_ledger"
  | "requirements_ledger";

export interface SummarizeOptions {
  /** Most tokens the text may have, in the units of `countText`. */
  readonly maxTokens: number;
  readonly strategy?: SummaryStrategy;
  /** The text of the summary so far (without its `<COMPACT-SUMMARY>` tag): it is folded into the new one. */
  readonly previous?: string;
  /** What a person asked the summary to preserve. */
  readonly instruction?: string;
  /** Counts tokens of text; o200k_base when left out. */
  readonly countText?: (text: string) => number;
  readonly signal?: AbortSignal;
  /** The agent's conversation as its last call sent it, for models that can continue it. */
  readonly live?: LiveConversation;
  /** The list that the summary will stand in. */
  readonly context?: SummaryContext;
  /** Awaited between the steps of long work, so that a long conversation does not hold up the event loop. */
  readonly pause?: Pause;
  /** Called after every request to a model. */
  readonly onAttempt?: (attempt: SummaryAttempt) => void;
}

/** The list around the messages to summarize. */
export interface SummaryContext {
  /** The list before the compaction, in order; the messages to summarize are among them. */
  readonly list: readonly Message[];
  /** The messages that stay, with their edits. */
  readonly kept: readonly Message[];
}

/** A live conversation, and the same messages in neutral form. */
export interface LiveConversation {
  readonly prefix: LivePrefix;
  readonly messages: readonly Message[];
  /** Tokens of the whole prefix: messages, system prompt and tool schemas. */
  readonly tokens: number;
  /** Has the provider compact the first entries of the prefix; left out where it cannot. */
  readonly compact?: CompactByProvider;
}

/** Asks the provider of a call to compact entries of its list. Rejects where it does not. */
export type CompactByProvider = (
  entries: readonly unknown[],
  signal: AbortSignal | undefined,
) => Promise<ProviderCompaction>;

/** What a provider made of the entries that it was given. */
export interface ProviderCompaction {
  /** The entry that stands for them from now on; plain JSON, sent back as it came. */
  readonly entry: unknown;
  /** Its text, where that can be read; else empty. */
  readonly text: string;
  readonly model: string;
  /** The provider's usage record, as it came. */
  readonly usage?: unknown;
}

export interface Summary {
  /** At most `maxTokens` tokens; no tag around it. */
  readonly text: string;
  readonly tokens: number;
  /** Which summarizer wrote it, such as `builtin`. */
  readonly summarizer: string;
  /** How many of the messages were read, whole or clipped. */
  readonly messagesRead: number;
  /** Share of the given messages' tokens that the writer was sent, 0 to 1; left out where everything is read. */
  readonly coverage?: number;
  readonly check?: SummaryCheck;
  /** Where the provider compacted: its entry, and how many messages of the list it stands for. */
  readonly opening?: { readonly entry: unknown; readonly covers: number };
}

/** Turns messages into a summary; never decides which messages. */
export interface Summarizer {
  readonly name: string;
  /** True where `SummarizeOptions.live` is of use. */
  readonly usesLivePrefix?: boolean;
  /** True where no model is called: it keeps to `maxTokens`. */
  readonly deterministic?: boolean;
  summarize(messages: readonly Message[], options: SummarizeOptions): Promise<Summary>;
}

/** Kinds of claims that a summary makes and its source does not hold; `outcome`: checks ended otherwise. */
export type ClaimKind = "url" | "path" | "identifier" | "number" | "quote" | "attribution" | "outcome";

/** A claim that the source does not hold. */
export interface UnfoundClaim {
  readonly kind: ClaimKind;
  /** As the summary writes it. */
  readonly text: string;
}

/** What the check of a model's text against its source found. */
export interface SummaryCheck {
  readonly mode: "flag" | "remove" | "off";
  /** Claims that were looked up. */
  readonly checked: number;
  readonly unfound: readonly UnfoundClaim[];
  /** Those of `unfound` that were taken out of the text. */
  readonly removed: number;
}

/** Why a model's answer is not a summary, or why there was none. */
export type AttemptFailure =
  /** The call was rejected: network, provider, client. */
  | "error"
  | "timeout"
  /** No text; with `reasoning-only` the answer's room went into thinking. */
  | "empty"
  | "reasoning-only"
  /** Cut off at the token limit. */
  | "truncated"
  | "too-long"
  | "refusal"
  /** Repeats an earlier answer or a message. */
  | "stale"
  /** An error page or notice. */
  | "error-text"
  /** Broken Unicode, or characters that say nothing. */
  | "malformed"
  /** Empty after removing what the source does not hold. */
  | "unfounded"
  /** Not called: it failed too often recently. */
  | "skipped";

/** One request to a model for one part of the input. */
export interface SummaryAttempt {
  readonly model: string;
  /** Id and version of the prompt, such as `task_state@1`. */
  readonly prompt: string;
  readonly strategy: string;
  /** `text`: the messages written out; `prefix`: the agent's own conversation, with the request behind it. */
  readonly input: "text" | "prefix";
  /** Which part of the input, from 1, and how many there are. */
  readonly part: number;
  readonly parts: number;
  /** Most tokens that were asked for. */
  readonly maxTokens: number;
  readonly outcome: "accepted" | AttemptFailure;
  /** What went wrong, in words. */
  readonly detail?: string;
  readonly error?: unknown;
  /** The next step: `shorter`, `thinking`, `brief`, or a model's name; left out where there is none. */
  readonly fallback?: string;
  readonly durationMs: number;
  /** By our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usage?: ReportedUsage;
  /** The model's provider, and the cost in dollars, where known. */
  readonly provider?: string;
  readonly costUsd?: number;
}

/** Tokens of one model call as its provider reported them, the same whatever the provider calls them. */
export interface ReportedUsage {
  /** Everything that was read, cache included. */
  readonly input: number;
  /** The part of `input` that came from the prompt cache. */
  readonly cacheRead: number;
  /** The part of `input` that was written to it, `write1h` included. */
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that lives an hour. */
  readonly write1h?: number;
  /** Everything that was generated, reasoning included. */
  readonly output: number;
}

/** A message to a text model; only the first may be a system message. */
export interface TextModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** A live conversation in a provider's format: a model that continues it reads the agent's bytes from the cache. */
export interface LivePrefix {
  /** The format's name, such as `anthropic`. */
  readonly format: string;
  /** Sent as they are, before the request's own messages. */
  readonly messages: readonly unknown[];
  readonly system?: unknown;
  readonly tools?: readonly unknown[];
}

export interface TextModelRequest {
  readonly messages: readonly TextModelMessage[];
  /** Only for a model whose `prefixFormats` name the prefix's format. */
  readonly prefix?: LivePrefix;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

export interface TextModelAnswer {
  /** The answer's text without reasoning; empty when there was none. */
  readonly text: string;
  /** Why the model stopped: at its end, at the token limit, by refusing, or otherwise (a tool call, an error). */
  readonly stop: "end" | "length" | "refusal" | "other";
  /** The provider's usage record as it came; `normalizeUsage` reads it. */
  readonly usage?: unknown;
}

/** A language model. */
export interface TextModel {
  /** For people and events, such as `openai:gpt-5.4-mini`. */
  readonly name: string;
  /** Tokens of input and output together, where known. */
  readonly window?: number;
  /** Formats whose live conversations can be sent as a prefix; none when left out. */
  readonly prefixFormats?: readonly string[];
  /** Rejects where the call fails; returns any answer. */
  generate(request: TextModelRequest): Promise<TextModelAnswer>;
}

// ---- failures

/** What is done instead of what failed; the name of the next summarizer or model as well. `tracing/schema` explains them. */
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

/** Removes secrets from what leaves the process. */
export interface Redaction {
  readonly enabled: boolean;
  redactText(text: string): string;
  /**
   * Redacts JSON-like values by field name and inside strings; returns the same object where nothing was found. Replaces
   * values deeper than `maxDepth` levels.
   */
  redactValue(value: unknown, maxDepth?: number): unknown;
}
