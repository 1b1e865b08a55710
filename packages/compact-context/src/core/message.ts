import { isObject } from "../errors.ts";

/** Provider formats that a codec reads and writes. */
export type Format =
  | "openai-chat"
  | "openai-responses"
  | "openai-agents"
  | "anthropic"
  | "gemini"
  | "ai-sdk"
  | "langchain"
  | "pi";

export type Role = "system" | "developer" | "user" | "assistant" | "tool";

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

export interface ToolCallPart {
  readonly type: "toolCall";
  /** Pairs the call with its result; unique among calls that are open at the same time. */
  readonly id: string;
  readonly name: string;
  /**
   * As on the wire: JSON text in the OpenAI formats, a value elsewhere. Read it with `argumentsText` or
   * `argumentsValue`.
   */
  readonly arguments: unknown;
  /** Executed by the provider: the host sends no result. */
  readonly providerExecuted?: boolean;
}

export interface ToolResultPart {
  readonly type: "toolResult";
  /** The id of the call that this result answers. */
  readonly id: string;
  readonly name?: string;
  /** Text, or text and media in order. Read it with `resultText`. */
  readonly content: string | readonly (TextPart | MediaPart)[];
  readonly isError?: boolean;
}

export interface ReasoningPart {
  readonly type: "reasoning";
  /** Readable reasoning; empty if the provider hides it. */
  readonly text: string;
  /** Length in characters of encrypted or otherwise unreadable content sent with it. */
  readonly opaqueLength?: number;
  /** Bound to its prefix by a signature or id: it can be removed, but never edited. */
  readonly signed?: boolean;
}

export interface MediaPart {
  readonly type: "media";
  /** IANA media type, such as `image/png`; `image/*` if the format does not specify one. */
  readonly mediaType: string;
  /** Length of the base64 text or the raw bytes; 0 if the content is only referenced. */
  readonly bytes: number;
  /** Base64 data, from which width and height are read; omitted if referenced by URL or id. */
  readonly data?: string;
  readonly url?: string;
  readonly name?: string;
  /** The provider's value for the requested resolution, such as `low` or `high`. */
  readonly detail?: string;
}

export type Part = TextPart | ToolCallPart | ToolResultPart | ReasoningPart | MediaPart;

export interface MessageMeta {
  /** Stays unchanged in every output and is never sent to a summarizer. */
  readonly protected?: boolean;
  /** Added by a program (hook output, injected reminder), not typed by a person. */
  readonly synthetic?: boolean;
  /** Version of the summary in this message, if it is one of ours. */
  readonly summaryVersion?: number;
  /** When the message was created, ISO 8601. */
  readonly timestamp?: string;
  readonly model?: string;
}

/** One message of a conversation in neutral form. */
export interface Message {
  /** Unique in its list: the native id, or one derived from the content. */
  readonly id: string;
  /** The native id, if it was not unique and `id` differs. */
  readonly callerId?: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly meta?: MessageMeta;
  /** The caller's object; `encode` returns it for a message that was not edited. */
  readonly native?: unknown;
  /** The format of `native`. */
  readonly format?: Format;
  /** True when `parts` differ from `native`: `encode` then writes a copy of `native` with these parts. */
  readonly edited?: boolean;
}

/** A call's arguments as JSON text. */
export function argumentsText(part: ToolCallPart): string {
  if (typeof part.arguments === "string") return part.arguments;
  return part.arguments === undefined ? "" : (JSON.stringify(part.arguments) ?? "");
}

/** A call's arguments as a value; the text itself if it is not JSON. */
export function argumentsValue(part: ToolCallPart): unknown {
  if (typeof part.arguments !== "string") return part.arguments;
  try {
    return JSON.parse(part.arguments) as unknown;
  } catch {
    return part.arguments;
  }
}

/** The readable text of a tool result, without media. */
export function resultText(part: ToolResultPart): string {
  return typeof part.content === "string" ? part.content : messageText({ parts: part.content });
}

/** The text parts of a message joined by newlines, without calls, results or reasoning. */
export function messageText({ parts }: Pick<Message, "parts">): string {
  const texts: string[] = [];
  for (const part of parts) if (part.type === "text") texts.push(part.text);
  return texts.join("\n");
}

/** Tool names by call id. */
export function callNames(messages: readonly Message[]): Map<string, string> {
  return new Map(messages.flatMap(toolCalls).map(({ id, name }) => [id, name]));
}

export function toolCalls(message: Message): ToolCallPart[] {
  return message.parts.filter((part) => part.type === "toolCall");
}

export function toolResults(message: Message): ToolResultPart[] {
  return message.parts.filter((part) => part.type === "toolResult");
}

/** Returns, for each message of a list, the ids of its calls and results of the named tools. */
export function callsOfTools(
  messages: readonly Message[],
  names: ReadonlySet<string>,
): (message: Message) => readonly string[] {
  if (names.size === 0) return () => [];
  const ids = new Set(messages.flatMap(toolCalls).flatMap(({ id, name }) => (names.has(name) ? [id] : [])));
  return ({ parts }) =>
    parts.flatMap((part) =>
      (part.type === "toolCall" || part.type === "toolResult") && ids.has(part.id) ? [part.id] : [],
    );
}

// ---- the provider's own compaction, sizes, offsets

/**
 * True for a message that begins with the provider's own compaction: opaque, and the only thing the provider
 * reads of earlier messages. False for one that belongs to our own summary.
 */
export function carriesCompaction({ parts, native, meta }: Message): boolean {
  if (parts[0]?.type !== "reasoning" || !isObject(native) || meta?.summaryVersion !== undefined) return false;
  const first = Array.isArray(native.content) ? native.content[0] : undefined;
  return isCompactionType(native.type) || (isObject(first) && isCompactionType(first.type));
}

/** True for a provider's compaction without tool calls, which another message can follow. */
export function endsWithCompaction(message: Message): boolean {
  return carriesCompaction(message) && toolCalls(message).length === 0;
}

/** True for the type names of providers' own compactions. */
export function isCompactionType(type: unknown): boolean {
  return type === "compaction" || type === "compaction_summary";
}

/**
 * Approximate bytes of a message on the wire: base64 length of media, character count of text and arguments.
 */
export function wireBytes(message: Message): number {
  return message.parts.reduce((bytes, part) => bytes + partBytes(part), 0);
}

export function mediaBytes(message: Message): number {
  return mediaOf(message).reduce((bytes, piece) => bytes + piece.bytes, 0);
}

/** Number of images, including those in results. */
export function imageCount(message: Message): number {
  return mediaOf(message).filter(({ mediaType }) => mediaType.startsWith("image/")).length;
}

function mediaOf({ parts }: Message): readonly MediaPart[] {
  const found: MediaPart[] = [];
  for (const part of parts) {
    const held = part.type === "toolResult" ? part.content : [part];
    if (typeof held !== "string") for (const piece of held) if (piece.type === "media") found.push(piece);
  }
  return found;
}

function partBytes(part: Part): number {
  switch (part.type) {
    case "text":
      return part.text.length;
    case "reasoning":
      return part.text.length + (part.opaqueLength ?? 0);
    case "media":
      return part.bytes;
    case "toolCall":
      return typeof part.arguments === "string" ? part.arguments.length : 0;
    case "toolResult":
      return typeof part.content === "string"
        ? part.content.length
        : part.content.reduce((total, piece) => total + partBytes(piece), 0);
  }
}

// ---- the tag of a summary message

const OPENING = /^\s*<COMPACT-SUMMARY v(\d{1,9})>[ \t]*\r?\n?/;
const CLOSING = "</COMPACT-SUMMARY>";
const FORGED = /<(?=\s{0,8}\/?\s{0,8}COMPACT-SUMMARY)/gi;

/** Escapes summary tags in a text: `<COMPACT-SUMMARY` becomes `<\COMPACT-SUMMARY`. Idempotent. */
export function escapeSummaryTags(text: string): string {
  return text.replace(FORGED, "<\\");
}

/** The complete text of a summary message; tags inside `text` are escaped first. */
export function wrapSummary(text: string, version: number): string {
  return `<COMPACT-SUMMARY v${version}>\n${escapeSummaryTags(text)}\n${CLOSING}`;
}

/** Version and inner text of a message that starts with a summary tag; undefined for any other text. */
export function readSummary(messageText: string): { version: number; text: string } | undefined {
  const opening = OPENING.exec(messageText);
  if (opening === null) return undefined;
  const body = messageText.slice(opening[0].length).trimEnd();
  const text = body.endsWith(CLOSING) ? body.slice(0, -CLOSING.length).trimEnd() : body;
  return { version: Number(opening[1]), text };
}

/** The text of a summary as parsed back from its message; summaries are recognized by it. */
export function readBack(text: string, version: number): string {
  return readSummary(wrapSummary(text, version))?.text ?? text;
}

/** A summary in a list. */
export interface LiveSummary {
  readonly version: number;
  /** The text between the tags. */
  readonly text: string;
  /** Number of kept messages before the summary when it was created; it keeps that position. */
  readonly after?: number;
  /**
   * The provider's own compaction that this summary accompanies: the first entry of the list, sent unchanged.
   */
  readonly opening?: unknown;
  /**
   * Number of kept messages covered by the compaction that come right before our summary instead of after it.
   */
  readonly behind?: number;
}

/** A summary as a separate message. */
export function summaryMessage(summary: LiveSummary, role: Role): Message {
  return {
    id: `compact-summary-v${summary.version}`,
    role,
    parts: [{ type: "text", text: wrapSummary(summary.text, summary.version) }],
    meta: { synthetic: true, summaryVersion: summary.version },
  };
}

/** The provider's own compaction that belongs to a summary, as a message. */
export function openingMessage({ version, opening }: LiveSummary, format: Format | undefined): Message {
  const content = isObject(opening) && Array.isArray(opening.content) ? opening.content[0] : opening;
  const text = isObject(content) && typeof content.content === "string" ? content.content : "";
  return {
    id: `compact-opening-v${version}`,
    role: "assistant",
    parts: [
      { type: "reasoning", text, signed: true, opaqueLength: JSON.stringify(opening).length - text.length },
    ],
    meta: { synthetic: true, summaryVersion: version },
    native: opening,
    format,
  };
}

/**
 * Marks messages that look like our summaries by their tag; returns the same list if there are none. Anyone
 * can type the tag: only the session's state tells whether a summary is the session's own.
 */
export function markSummaries<List extends readonly Message[]>(messages: List): List | Message[] {
  const isTagged = (message: Message): boolean =>
    message.meta?.summaryVersion === undefined && summaryOf(message) !== undefined;
  if (!messages.some(isTagged)) return messages;
  const end = endOfOpening(messages);
  return messages.map((message, index) => {
    const summary = index < end && isTagged(message) ? summaryOf(message) : undefined;
    return summary === undefined
      ? message
      : { ...message, meta: { ...message.meta, summaryVersion: summary.version } };
  });
}

/**
 * Index of the model's first own message, or the length of the list: our summary comes before it. Next to the
 * provider's own compaction it can be anywhere.
 */
export function endOfOpening(messages: readonly Message[]): number {
  if (messages.some(carriesCompaction)) return messages.length;
  const answer = messages.findIndex(
    (message) =>
      message.role === "assistant" && message.meta?.protected !== true && summaryOf(message) === undefined,
  );
  return answer === -1 ? messages.length : answer;
}

/** A message that looks like our summary: text only, in our tag, any role except `tool`. */
export function summaryOf(message: Message): LiveSummary | undefined {
  if (message.role === "tool" || message.parts.some((part) => part.type !== "text")) return undefined;
  return readSummary(messageText(message));
}

// ---- fingerprints

/** A string unchanged, anything else as JSON; empty for null and undefined. */
export function jsonText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return String(value);
  }
}

/**
 * A 62-bit fingerprint of role and content, 12 characters in base 36; equal content has equal fingerprints.
 * Ids, call ids and meta are ignored. The mixing follows cyrb53 (bryc, public domain).
 */
export function contentHash({ role, parts }: Pick<Message, "role" | "parts">): string {
  const state: HashState = { high: 0xdeadbeef, low: 0x41c6ce57 };
  mix(state, role);
  for (const part of parts) mixPart(state, part);
  const { first, second } = finished(state);
  return base36(second >>> 1) + base36(first >>> 1);
}

/** Ten base-36 characters derived from role and content: the id in stubs and summaries. */
export function archiveId(message: Message): string {
  try {
    return contentHash(message).slice(-10);
  } catch {
    // Arguments that are too deep or not JSON.
    return contentHash({ role: message.role, parts: [{ type: "text", text: message.id }] }).slice(-10);
  }
}

/** A 53-bit fingerprint of a text; equal texts have equal ones. */
export function textHash(text: string): number {
  const state: HashState = { high: 0xdeadbeef, low: 0x41c6ce57 };
  mix(state, text);
  const { first, second } = finished(state);
  return (second >>> 11) * 2 ** 32 + (first >>> 0);
}

/** Keyed by list, not by message: thousands of entries in a WeakMap cost more than hashing. */
const hashesByList = new WeakMap<readonly Message[], readonly (string | undefined)[]>();

/** Stores hashes computed while decoding, by index, for `hashesOf` of the same list. */
export function keepHashes(messages: readonly Message[], hashes: readonly (string | undefined)[]): void {
  hashesByList.set(messages, hashes);
}

/** The content hash of the message at an index of the list. */
export function hashesOf(messages: readonly Message[]): (index: number, message: Message) => string {
  const kept = hashesByList.get(messages);
  return (index, message) => kept?.[index] ?? contentHash(message);
}

interface HashState {
  high: number;
  low: number;
}

/** Below this length, calling the encoder costs more than it saves. */
const SHORT = 64;
const PIECE = 4096;
const encoder = new TextEncoder();
const bytes = new Uint8Array(PIECE);
const words = new DataView(bytes.buffer);

function mix(state: HashState, text: string): void {
  const { length } = text;
  if (length < SHORT) mixCodes(state, text);
  else if (length <= PIECE) mixPiece(state, text);
  else for (let at = 0; at < length; at += PIECE) mixPiece(state, text.slice(at, at + PIECE));
  // The length terminates a field, so that "ab" + "c" and "a" + "bc" differ.
  mixWord(state, length ^ 0x10000);
}

function mixWord(state: HashState, word: number): void {
  state.high = Math.imul(((state.high << 15) | (state.high >>> 17)) ^ word, 2654435761);
  state.low = Math.imul(((state.low << 13) | (state.low >>> 19)) ^ word, 1597334677);
}

/** Mixes ASCII four characters at a time, other text by code unit. */
function mixPiece(state: HashState, text: string): void {
  const { read, written } = encoder.encodeInto(text, bytes);
  if (read !== text.length || written !== read) {
    mixCodes(state, text);
    return;
  }
  let { high, low } = state;
  const whole = written & ~3;
  for (let index = 0; index < whole; index += 4) {
    const word = words.getInt32(index, true);
    high = Math.imul(((high << 15) | (high >>> 17)) ^ word, 2654435761);
    low = Math.imul(((low << 13) | (low >>> 19)) ^ word, 1597334677);
  }
  state.high = high;
  state.low = low;
  for (let index = whole; index < written; index++) mixWord(state, bytes[index] ?? 0);
}

function mixCodes(state: HashState, text: string): void {
  let { high, low } = state;
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    high = Math.imul(((high << 15) | (high >>> 17)) ^ code, 2654435761);
    low = Math.imul(((low << 13) | (low >>> 19)) ^ code, 1597334677);
  }
  state.high = high;
  state.low = low;
}

function finished({ high, low }: HashState): { readonly first: number; readonly second: number } {
  let first = Math.imul(high ^ (high >>> 16), 2246822507);
  first ^= Math.imul(low ^ (low >>> 13), 3266489909);
  let second = Math.imul(low ^ (low >>> 16), 2246822507);
  second ^= Math.imul(first ^ (first >>> 13), 3266489909);
  return { first, second };
}

/** All pairs of base-36 digits; three pairs make one number. */
const PAIRS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, pair) =>
  pair.toString(36).padStart(2, "0"),
);

/** Six digits for 31 bits; `toString(36)` takes longer than hashing a short message. */
function base36(bits: number): string {
  const upper = Math.floor(bits / 1296);
  return `${PAIRS[Math.floor(upper / 1296)]}${PAIRS[upper % 1296]}${PAIRS[bits % 1296]}`;
}

function mixPart(state: HashState, part: Part): void {
  mix(state, part.type);
  if (part.type !== "toolResult") for (const field of fieldsOf(part)) mix(state, field);
  else if (typeof part.content === "string") mix(state, part.content);
  else for (const piece of part.content) mixPart(state, piece);
}

function fieldsOf(part: Exclude<Part, ToolResultPart>): readonly string[] {
  switch (part.type) {
    case "text":
      return [part.text];
    case "toolCall":
      return [part.name, jsonText(part.arguments)];
    case "reasoning":
      return [part.text, String(part.opaqueLength ?? 0)];
    case "media":
      return [part.mediaType, String(part.bytes), part.url ?? part.name ?? ""];
  }
}
