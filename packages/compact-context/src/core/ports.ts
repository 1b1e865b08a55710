import type { Format, Message } from "./message.ts";

// The five ports that the core needs and every other folder implements: Codec, TokenCounter, StorageDriver,
// Summarizer and Exporter. Beside them stands the environment: clock, ids, randomness.

/** Clock, ids and randomness. Nothing in the core reads them from anywhere else. */
export interface Environment {
  /** Wall clock. */
  now(): Date;
  /** Milliseconds of a steady clock. */
  clock(): number;
  /** A new unique id. */
  id(): string;
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
   * an edited one a shallow copy of it with the changed parts; others are built anew.
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
  /** False where the list may turn out to be in another format once it says more. */
  readonly certain: boolean;
}

/** Finds the codec of a list. */
export interface Codecs {
  /** The codec of the given format, or of the one that is detected. Throws `UnknownFormat`. */
  forList(list: readonly unknown[], format: Format | undefined): ListCodec;
  /** Whether these entries show which format they are in; bare texts do not. */
  showFormat(entries: readonly unknown[]): boolean;
}

// ---- TokenCounter

/** Tokens with how far off they may be; `low <= tokens <= high`, all whole numbers. */
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
  /** Tokens of one message: content, calls as JSON, reasoning, media, plus the per-message overhead. */
  countMessage(message: Message): number;
  /** The part of a message's count that is an estimate whatever the encoding: media and unreadable reasoning. */
  countUncertain(message: Message): number;
  /** Tokens of the system prompt given beside the messages; 0 for none. */
  countSystem(system: string | undefined): number;
  /** Tokens of the tool schemas as the provider puts them into the prompt; 0 for none. */
  countTools(tools: readonly unknown[] | undefined): number;
  /** The range around a total that this counter made. */
  range(tokens: number): TokenCount;
}

// ---- StorageDriver

/** A stored value and the version to hand back when writing over it. */
export interface StoredValue {
  readonly value: string;
  readonly version: string;
}

export interface CallOptions {
  /** Stops the waiting: the call rejects with `Aborted`. What was asked for may be done all the same. */
  readonly signal?: AbortSignal;
}

export interface PutOptions extends CallOptions {
  /** Only over this version; `null`: only where nothing is yet. */
  readonly ifVersion?: string | null;
  /** Only while this lease holds; for drivers with `leases`. */
  readonly fence?: Fence;
}

export interface ListOptions extends CallOptions {
  /** Only keys that come behind this one. */
  readonly after?: string;
  /** At most so many; a page that has fewer is the last. All when left out. */
  readonly limit?: number;
}

/**
 * One medium. Keys are relative, `/`-separated paths made of safe characters; values are UTF-8 text.
 * Every call may reject with `StorageFailed`.
 */
export interface StorageDriver {
  /** Where things go, for people: a folder, `memory`, `s3://bucket/prefix`. */
  readonly location: string;
  get(key: string, options?: CallOptions): Promise<StoredValue | undefined>;
  /** The version that `get` would give, without the value. */
  version(key: string, options?: CallOptions): Promise<string | undefined>;
  /**
   * The value in pieces, in order, each well-formed text by itself; nothing for an absent key. The pieces are those
   * of one version: a value that is replaced half-way is read to its end, or the reading rejects.
   */
  stream(key: string): AsyncIterable<string>;
  /**
   * Writes the whole value, durable when it resolves; given in pieces, it is these joined and never one string in
   * memory. Rejects with `Conflict` when `ifVersion` or `fence` no longer holds.
   */
  put(
    key: string,
    value: string | Iterable<string>,
    options?: PutOptions,
  ): Promise<{ readonly version: string }>;
  /** Adds to the end of a value, creating it; every text ends with a newline, and all of them go in one write. */
  append(key: string, text: string | readonly string[], options?: CallOptions): Promise<void>;
  /** The keys that start with `prefix`, sorted by their characters. */
  list(prefix: string, options?: ListOptions): Promise<string[]>;
  /** Removes a value; no error where there is none. */
  delete(key: string, options?: CallOptions): Promise<void>;
  /** For a medium that many workers share: who may write. */
  readonly leases?: Leases;
  /** For a medium that many workers share: queued work, handed to one of them at a time. */
  readonly outbox?: Outbox;
}

/** Proof of a lease: what is written with it is refused once another worker has taken the lease over. */
export interface Fence {
  readonly name: string;
  /** Rises each time the lease is taken. */
  readonly token: string;
}

/** The right to work on something alone, until it is released or its time is over. */
export interface Leases {
  /** How long a lease holds without being renewed, in milliseconds. */
  readonly ms: number;
  /** Nothing while another owner holds it. */
  take(name: string, owner: string): Promise<Fence | undefined>;
  /** False when it was lost meanwhile. */
  renew(fence: Fence): Promise<boolean>;
  /** No error where it was lost. */
  release(fence: Fence): Promise<void>;
}

/** Something queued that must be handed on at least once. */
export interface OutboxItem {
  /** Safe as one segment of a storage key; the same for the same work. */
  readonly id: string;
  /** `sessionKey` of the session that it comes from. */
  readonly session: string;
  /** Well-formed text. */
  readonly body: string;
}

/** An item to hand on now, and how often that was tried before. */
export interface ClaimedItem extends OutboxItem {
  readonly attempts: number;
}

/** Who works on an item, and for how long nobody else may. */
export interface Claim {
  readonly by: string;
  readonly ms: number;
}

/** Names one item. */
export type ItemName = Pick<OutboxItem, "session" | "id">;

/** Queued work that outlives the process; a claim that runs out makes the item free for anybody again. */
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
  /** Removes an item: it was handed on, or must not be. */
  remove(item: ItemName): Promise<void>;
  /** The ids of a session's items. */
  pending(session: string): Promise<string[]>;
  /** Milliseconds until an item is due, 0 for at once; nothing when the outbox is empty. */
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
  /** What a person asked the summary to look after. */
  readonly instruction?: string;
  /** Counts tokens of text; o200k_base when left out. */
  readonly countText?: (text: string) => number;
  readonly signal?: AbortSignal;
  /** The agent's conversation as its last call sent it, for models that can go on from it. */
  readonly live?: LiveConversation;
  /** The list that the summary will stand in, for deterministic summarizers. */
  readonly context?: SummaryContext;
  /** Called with every request to a model, as it ends. */
  readonly onAttempt?: (attempt: SummaryAttempt) => void;
}

/** A list around the messages that a summary is made of. */
export interface SummaryContext {
  /** The list before the compaction, in order; the messages to summarize are among them. */
  readonly list: readonly Message[];
  /** What stays beside the summary as it will stand there: whole, truncated or cleared. */
  readonly kept: readonly Message[];
}

/** A live conversation, and the same messages in neutral form. */
export interface LiveConversation {
  readonly prefix: LivePrefix;
  readonly messages: readonly Message[];
  /** Tokens of the whole prefix: messages, system prompt and tool schemas. */
  readonly tokens: number;
}

export interface Summary {
  /** At most `maxTokens` tokens; no tag around it. */
  readonly text: string;
  readonly tokens: number;
  /** Which summarizer wrote it, such as `builtin`. */
  readonly summarizer: string;
  /** How many of the given messages were read, whole or clipped. */
  readonly messagesRead: number;
  /** Share of the given messages' tokens that the writer was sent, 0 to 1; left out where everything is read. */
  readonly coverage?: number;
  /** What the check of a model's text against its source found. */
  readonly check?: SummaryCheck;
}

/** Turns messages into a summary; never decides which messages. */
export interface Summarizer {
  readonly name: string;
  /** True where `SummarizeOptions.live` is of use. */
  readonly usesLivePrefix?: boolean;
  /** True where no model is asked: it keeps to `maxTokens`, costs nothing to ask again and reads `SummarizeOptions.context`. */
  readonly deterministic?: boolean;
  summarize(messages: readonly Message[], options: SummarizeOptions): Promise<Summary>;
}

/** What kind of claim a summary makes that its source does not bear out. */
export type ClaimKind = "url" | "path" | "identifier" | "number" | "quote" | "attribution";

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

/** Why an answer of a model is no summary, or why there was none. */
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
  /** Says what an earlier request was answered with, or repeats a message. */
  | "stale"
  /** An error page or notice in place of a text. */
  | "error-text"
  /** Broken Unicode, or characters that say nothing. */
  | "malformed"
  /** Nothing was left of it once what the source does not hold was taken out. */
  | "unfounded"
  /** Not asked: it failed too often of late. */
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
  /** What is done next: `shorter`, `thinking`, `brief`, or a model's name; left out where this summarizer gives up. */
  readonly fallback?: string;
  readonly durationMs: number;
  /** By our own count. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What the provider reported, where it did. */
  readonly usage?: ReportedUsage;
  /** Whose model it is, and what it cost in dollars, where that is known. */
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

/** What a text model is told; a system text comes first or not at all. */
export interface TextModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/**
 * A live conversation in a provider's own format. A model that is asked to go on from it reads the same
 * bytes as the agent's last call, so that the provider's cache serves them.
 */
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

/** The only door to a language model. */
export interface TextModel {
  /** For people and events, such as `openai:gpt-5.4-mini`. */
  readonly name: string;
  /** Tokens of input and output together, where known. */
  readonly window?: number;
  /** Formats whose live conversations can be sent as a prefix; none when left out. */
  readonly prefixFormats?: readonly string[];
  /** Rejects with whatever went wrong; an answer that came is returned, however poor. */
  generate(request: TextModelRequest): Promise<TextModelAnswer>;
}

// ---- Exporter

/** Every event that Compact emits; the set is closed. */
export type CompactEventName =
  | "compact.token_estimate"
  | "compact.trigger_decision"
  | "compact.summary_created"
  | "compact.pruned_messages"
  | "compact.archival"
  | "compact.error"
  | "compact.warning";

/** Version of the event schema; it rises when a property changes its meaning or goes, not when one is added. */
export const EVENT_VERSION = 1;

export interface CompactEvent {
  readonly version: typeof EVENT_VERSION;
  readonly name: CompactEventName;
  readonly sessionId: string;
  /** Where an exporter knows the host's trace. */
  readonly host?: HostSpan;
  /** ISO 8601, UTC, milliseconds: when the step began. */
  readonly startedAt: string;
  /** ISO 8601: when it ended; the same as `startedAt` for a moment. */
  readonly endedAt: string;
  readonly status: "ok" | "error";
  /** Flat snake_case properties. */
  readonly properties: Readonly<Record<string, unknown>>;
  /** The thing itself, where there is one: the summary's text. */
  readonly payload?: unknown;
}

/** The span of the host's own trace that was current when something happened; ids as the host writes them. */
export interface HostSpan {
  readonly traceId: string;
  readonly spanId?: string;
}

/** Where in the host's own trace an event happened, in the words of the exporter that found out. */
export interface Place {
  readonly host?: HostSpan;
}

/** Receives events; may be slow or fail: the tracer shields the run from it. */
export interface Exporter {
  /** Stands before what is reported about it; `compact` when left out. */
  readonly name?: string;
  /** `place`: what `here` found when the event happened. */
  export(event: CompactEvent, place?: Place): void | Promise<void>;
  /** Asked while the host's own context is current, before `export`, which runs later. */
  here?(): Place | undefined | Promise<Place | undefined>;
  /** Resolves when everything handed over so far has left. */
  flush?(): Promise<void>;
}

// ---- what else comes from outside

/** Takes secrets out of whatever leaves the process. */
export interface Redaction {
  readonly enabled: boolean;
  redactText(text: string): string;
  /**
   * JSON-like values, by field name and inside strings; gives the same object back where nothing was found.
   * What lies deeper than `maxDepth` levels is replaced.
   */
  redactValue(value: unknown, maxDepth?: number): unknown;
}
