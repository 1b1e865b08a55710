import type { MediaPart, Message, Part } from "./message.ts";

/**
 * Bytes that a message takes on the wire, roughly: media by their base64 length, text and arguments by their
 * length in characters. Only media ever make a request that fits the window too large for the wire.
 */
export function wireBytes(message: Message): number {
  let bytes = 0;
  for (const part of message.parts) bytes += partBytes(part);
  return bytes;
}

/** Bytes of the media in a message; what leaving them out would save. */
export function mediaBytes(message: Message): number {
  let bytes = 0;
  for (const part of message.parts) for (const piece of pieces(part)) bytes += piece.bytes;
  return bytes;
}

function pieces(part: Part): readonly MediaPart[] {
  if (part.type === "media") return [part];
  if (part.type !== "toolResult" || typeof part.content === "string") return [];
  return part.content.filter((piece) => piece.type === "media");
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
