import type { Format, Message, Part } from "../core/message.ts";
import type { Codecs, ListCodec } from "../core/ports.ts";
import { CompactError } from "../errors.ts";
import { decode, detectList, encode } from "./formats.ts";
import { readNative } from "./native.ts";

const neutralCodec = (format: Format | undefined): ListCodec => ({
  format,
  neutral: true,
  certain: true,
  decode: (list) => [...(list as readonly Message[])],
  encode: (messages) => [...messages],
});

/** The codec for a list: of the given format, or of the one that is recognised. Throws `UnknownFormat`. */
export function listCodec(list: readonly unknown[], format: Format | undefined): ListCodec {
  return readNative("messages", () => codecOf(list, format));
}

function codecOf(list: readonly unknown[], format: Format | undefined): ListCodec {
  if (isNeutralList(list, format)) return neutralCodec(format);
  const found = format === undefined ? detectList(list) : { format, certain: true };
  if (found === undefined) {
    throw new CompactError("UnknownFormat", "the messages are in no format that is known here", {
      place: "messages",
      hint: 'Pass `format`, such as "openai-chat" or "anthropic".',
    });
  }
  return {
    ...found,
    neutral: false,
    decode: (entries, previous) => decode(entries, found.format, previous),
    encode: (messages) => encode(messages, found.format),
  };
}

/** Finds the codec of a list among all formats. */
export const listCodecs: Codecs = {
  forList: listCodec,
  showFormat: (entries) => detectList(entries)?.certain === true,
};

const NEUTRAL_PARTS: ReadonlySet<Part["type"]> = new Set([
  "text",
  "toolCall",
  "toolResult",
  "reasoning",
  "media",
]);

/** UI messages of the AI SDK look the same while they hold nothing but text: there the format decides. */
function isNeutralList(list: readonly unknown[], format: Format | undefined): boolean {
  return list.every((entry) => isNeutralMessage(entry) && (format !== "ai-sdk" || "native" in entry));
}

function isNeutralMessage(entry: unknown): entry is Message {
  if (typeof entry !== "object" || entry === null) return false;
  const { id, role, parts } = entry as Partial<Record<keyof Message, unknown>>;
  if (typeof id !== "string" || typeof role !== "string" || !Array.isArray(parts)) return false;
  return parts.every((part: unknown) => {
    const type = (part as { readonly type?: unknown } | null)?.type;
    return typeof type === "string" && NEUTRAL_PARTS.has(type as Part["type"]);
  });
}
