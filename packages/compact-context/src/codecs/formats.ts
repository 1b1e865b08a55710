import type { Format, Message } from "../core/message.ts";
import type { Codecs, ListCodec } from "../core/ports.ts";
import { CompactError, isList, isObject, kindOf } from "../errors.ts";
import { aiSdkCodec } from "./ai-sdk.ts";
import { anthropicCodec, geminiCodec } from "./anthropic-gemini.ts";
import type { NativeCodec } from "./create-codec.ts";
import { firstMisfit, type Misfit } from "./detect.ts";
import { openaiAgentsCodec, openaiResponsesCodec } from "./items.ts";
import { langchainCodec } from "./langchain.ts";
import { objectOf, readNative } from "./native.ts";
import { openaiChatCodec } from "./openai-chat.ts";
import { piCodec } from "./pi.ts";

const CODECS: Readonly<Record<Format, NativeCodec>> = {
  "openai-chat": openaiChatCodec,
  "openai-responses": openaiResponsesCodec,
  "openai-agents": openaiAgentsCodec,
  anthropic: anthropicCodec,
  gemini: geminiCodec,
  "ai-sdk": aiSdkCodec,
  langchain: langchainCodec,
  pi: piCodec,
};

/** All formats with a codec; detection prefers the first of equally likely ones. */
export const FORMATS: readonly Format[] = Object.keys(CODECS) as Format[];

/** The codec of a format; throws `UnknownFormat`, with the list of formats, for other names. */
export function codecFor(format: Format): NativeCodec {
  if (typeof format === "string" && Object.hasOwn(CODECS, format)) return CODECS[format];
  const shown = typeof format === "string" ? JSON.stringify(format) : kindOf(format);
  throw new CompactError("UnknownFormat", `the format is ${shown}, which is no message format`, {
    hint: `Use one of ${FORMATS.join(", ")}.`,
  });
}

/** Neutral messages, one per native entry; `previous` as in `Codec.decode`. */
export function decode(native: readonly unknown[], format: Format, previous?: readonly Message[]): Message[] {
  return codecFor(format).decode(native, previous);
}

/** The native list in `format`; unedited messages of that format return their own objects. */
export function encode(messages: readonly Message[], format: Format): unknown[] {
  return codecFor(format).encode(messages);
}

/** Votes up to this are for content shared by several formats. */
const BARE = 0.6;

/**
 * The most likely format of a list, from a bounded sample; undefined if none matches or the list is empty. It is
 * uncertain if no entry is specific to it: a list of only `{role, content: string}` is `openai-chat`.
 */
function detectList(list: readonly unknown[]): (Pick<ListCodec, "certain"> & { format: Format }) | undefined {
  let best: Format | undefined;
  let bestScore = 0;
  for (const format of FORMATS) {
    const score = CODECS[format].detect(list);
    if (score <= bestScore) continue;
    best = format;
    bestScore = score;
  }
  return best && { format: best, certain: bestScore > BARE };
}

/** The format of a list of messages; undefined if none is detected or the value is no list. */
export function detectFormat(value: unknown): Format | undefined {
  return isList(value) ? detectList(value)?.format : undefined;
}

/** The codec for a list: of the given format, or of the detected one. Throws `UnknownFormat`. */
export function listCodec(list: readonly unknown[], format: Format | undefined): ListCodec {
  return readNative("messages", () => {
    if (isNeutralList(list, format)) return neutralCodec(format);
    const found = format === undefined ? detectList(list) : { format, certain: true };
    if (found === undefined) throw unknownFormat(list);
    const { decode, encode } = codecFor(found.format);
    return { ...found, neutral: false, decode, encode };
  });
}

const neutralCodec = (format: Format | undefined): ListCodec => ({
  format,
  neutral: true,
  certain: true,
  decode: (list) => [...(list as readonly Message[])],
  encode: (messages) => [...messages],
});

function unknownFormat(list: readonly unknown[]): CompactError {
  const message = "the messages are in no format that is known here";
  const misfit = firstMisfit(list);
  if (misfit === undefined) {
    const hint = 'Pass `format`, such as "openai-chat" or "anthropic".';
    return new CompactError("UnknownFormat", message, { place: "messages", hint });
  }
  const place = `messages[${misfit.index}]`;
  const [problem, hint] = explain(misfit, list[misfit.index]);
  return new CompactError("UnknownFormat", `${message}: ${place} ${problem}`, { place, hint });
}

/** What is wrong with an entry that no format takes, and what helps. */
function explain({ alone }: Misfit, entry: unknown): [problem: string, hint: string] {
  const role = alone ? strangeRole(entry) : undefined;
  if (role !== undefined)
    return [
      `has the role ${JSON.stringify(role)}, which no format has`,
      "Use the roles of your provider, such as system, user, assistant and tool.",
    ];
  if (!alone)
    return [
      `is ${shapeOf(entry)}, in another format than those before it`,
      "Bring the messages into one format, with `decode` and `encode`.",
    ];
  return [
    `is ${shapeOf(entry)}, a message in none`,
    "Take it out of the list, or give it the shape of the messages around it.",
  ];
}

/** The role of an entry that would be a valid message with another role. */
function strangeRole(entry: unknown): string | undefined {
  if (!isObject(entry) || typeof entry.role !== "string") return undefined;
  return detectList([{ ...entry, role: "user" }]) === undefined ? undefined : entry.role.slice(0, 40);
}

const MOST_KEYS = 8;

/** Describes an entry without revealing its values. */
function shapeOf(entry: unknown): string {
  const keys = isObject(entry) ? Object.keys(entry).slice(0, MOST_KEYS) : [];
  return keys.length === 0 ? kindOf(entry) : `an object with ${keys.join(", ")}`;
}

/** Finds the codec of a list among all formats. */
export const listCodecs: Codecs = {
  forList: listCodec,
  showFormat: (entries) => detectList(entries)?.certain === true,
};

const NEUTRAL_PARTS: ReadonlySet<unknown> = new Set(["text", "toolCall", "toolResult", "reasoning", "media"]);

/** UI messages with text only look the same in both shapes: the given format decides. */
function isNeutralList(list: readonly unknown[], format: Format | undefined): boolean {
  return list.every((entry) => isNeutralMessage(entry) && (format !== "ai-sdk" || "native" in entry));
}

function isNeutralMessage(entry: unknown): entry is Message {
  const { id, role, parts } = objectOf(entry);
  if (typeof id !== "string" || typeof role !== "string" || !Array.isArray(parts)) return false;
  return parts.every((part) => NEUTRAL_PARTS.has(objectOf(part).type));
}
