import type { MediaPart } from "../core/message.ts";
import { defined } from "../errors.ts";
import { filled } from "./native.ts";

interface MediaDetails {
  readonly name?: unknown;
  readonly detail?: unknown;
}

function details(extra: MediaDetails): { name?: string; detail?: string } {
  const name = filled(extra.name);
  const detail = filled(extra.detail);
  return defined({ name, detail });
}

/** Media whose base64 text is at hand. */
export function mediaFromData(data: string, mediaType: string, extra: MediaDetails = {}): MediaPart {
  return { type: "media", mediaType, bytes: data.length, data, ...details(extra) };
}

/** Media that is only referenced, by an id or by nothing that can be fetched. */
export function mediaReference(mediaType: string, extra: MediaDetails = {}): MediaPart {
  return { type: "media", mediaType, bytes: 0, ...details(extra) };
}

/** Media behind a URL; a `data:` URL gives its content and its own media type. */
export function mediaFromUrl(url: string, mediaType: string, extra: MediaDetails = {}): MediaPart {
  if (url.startsWith("data:")) {
    const comma = url.indexOf(",");
    const type = url.slice(5, comma === -1 ? undefined : comma).split(";", 1)[0];
    return mediaFromData(comma === -1 ? "" : url.slice(comma + 1), filled(type) ?? mediaType, extra);
  }
  return { type: "media", mediaType, bytes: 0, url, ...details(extra) };
}

/** Media from what a field holds: a URL, a `data:` URL, base64 text or raw bytes. */
export function mediaFromValue(value: unknown, mediaType: string, extra: MediaDetails = {}): MediaPart {
  if (value instanceof URL) return mediaFromUrl(value.href, mediaType, extra);
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) {
    return { type: "media", mediaType, bytes: value.byteLength, ...details(extra) };
  }
  if (typeof value !== "string") return mediaReference(mediaType, extra);
  return /^[a-z][a-z0-9+.-]*:/i.test(value)
    ? mediaFromUrl(value, mediaType, extra)
    : mediaFromData(value, mediaType, extra);
}

/** The URL of the media, its content as a `data:` URL where it has no other; empty for a mere reference. */
export function mediaUrl(part: MediaPart): string {
  if (part.url !== undefined) return part.url;
  return part.data === undefined ? "" : `data:${part.mediaType};base64,${part.data}`;
}

/** Words that stand for media which a provider's format has no place for. */
export function mediaWords(part: MediaPart): string {
  return `[${[part.mediaType, part.name ?? part.url].filter((word) => word !== undefined).join(" ")}]`;
}
