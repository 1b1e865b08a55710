import type { MediaPart } from "../core/message.ts";
import { defined } from "../errors.ts";
import { filled } from "./native.ts";

// Media of all formats as neutral parts and back, and the sizes of images.

interface MediaDetails {
  readonly name?: unknown;
  readonly detail?: unknown;
}

function details({ name, detail }: MediaDetails): { name?: string; detail?: string } {
  return defined({ name: filled(name), detail: filled(detail) });
}

/** Media with base64 data. */
export function mediaFromData(data: string, mediaType: string, extra: MediaDetails = {}): MediaPart {
  return { type: "media", mediaType, bytes: data.length, data, ...details(extra) };
}

/** Media with a URL; the data and media type of a `data:` URL are extracted. */
export function mediaFromUrl(url: string, mediaType: string, extra: MediaDetails = {}): MediaPart {
  if (url.startsWith("data:")) {
    const comma = url.indexOf(",");
    const type = url.slice(5, comma === -1 ? undefined : comma).split(";", 1)[0];
    return mediaFromData(comma === -1 ? "" : url.slice(comma + 1), filled(type) ?? mediaType, extra);
  }
  return { type: "media", mediaType, bytes: 0, url, ...details(extra) };
}

/** Media with the image's size, read from its header, since raw bytes are not kept. */
export interface SizedMedia extends MediaPart {
  readonly size?: ImageSize;
}

/** Media from a field's value: a URL, a `data:` URL, base64 text or raw bytes; without one it is only referenced. */
export function mediaFromValue(value: unknown, mediaType: string, extra: MediaDetails = {}): SizedMedia {
  if (value instanceof URL) return mediaFromUrl(value.href, mediaType, extra);
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) {
    const size = imageSize(new Uint8Array(value));
    return { type: "media", mediaType, bytes: value.byteLength, ...details(extra), ...defined({ size }) };
  }
  if (typeof value !== "string") return { type: "media", mediaType, bytes: 0, ...details(extra) };
  return /^[a-z][a-z0-9+.-]*:/i.test(value)
    ? mediaFromUrl(value, mediaType, extra)
    : mediaFromData(value, mediaType, extra);
}

/** The URL of the media, or its data as a `data:` URL; "" for a reference. */
export function mediaUrl(part: MediaPart): string {
  if (part.url !== undefined) return part.url;
  return part.data === undefined ? "" : `data:${part.mediaType};base64,${part.data}`;
}

/** A text placeholder for media that a format does not support. */
export function mediaWords(part: MediaPart): string {
  return `[${[part.mediaType, part.name ?? part.url].filter((word) => word !== undefined).join(" ")}]`;
}

// ---- image sizes from file headers

/** Width and height in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Bytes that contain the header of a PNG, GIF or WebP; a multiple of three, for whole base64 groups. */
const HEADER = 48;
/** A JPEG's size follows its metadata; it is not searched for beyond this many bytes. */
const JPEG_HEADER = 300_000;

/** Width and height from the header of a PNG, JPEG, GIF or WebP: bytes or base64, with or without a data URL prefix. */
export function imageSize(data: string | Uint8Array): ImageSize | undefined {
  const head = startOf(data, HEADER);
  if (head === undefined) return undefined;
  const ascii = (from: number, to: number): string => String.fromCharCode(...head.slice(from, to));
  if (ascii(1, 4) === "PNG") return sizeAt(big32(head, 16), big32(head, 20));
  if (ascii(0, 3) === "GIF") return sizeAt(little16(head, 6), little16(head, 8));
  if (ascii(0, 4) === "RIFF" && ascii(8, 12) === "WEBP") return webpSize(head, ascii(12, 16));
  if (head[0] === 0xff && head[1] === 0xd8) return jpegSize(startOf(data, JPEG_HEADER));
  return undefined;
}

/** The first bytes; undefined if the text is not base64. */
function startOf(data: string | Uint8Array, length: number): Uint8Array | undefined {
  if (typeof data !== "string") return data.subarray(0, length);
  const start = data.startsWith("data:") ? data.indexOf(",") + 1 : 0;
  const base64 = data.slice(start, start + (length / 3) * 4);
  try {
    const whole = base64.slice(0, base64.length - (base64.length % 4));
    return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

const byteAt = (bytes: Uint8Array, index: number): number => bytes[index] ?? 0;
const big16 = (bytes: Uint8Array, at: number): number => byteAt(bytes, at) * 256 + byteAt(bytes, at + 1);
const big32 = (bytes: Uint8Array, at: number): number => big16(bytes, at) * 65_536 + big16(bytes, at + 2);
const little16 = (bytes: Uint8Array, at: number): number => byteAt(bytes, at) + byteAt(bytes, at + 1) * 256;
const little24 = (bytes: Uint8Array, at: number): number =>
  little16(bytes, at) + byteAt(bytes, at + 2) * 65_536;

const sizeAt = (width: number, height: number): ImageSize | undefined =>
  width > 0 && height > 0 ? { width, height } : undefined;

function webpSize(head: Uint8Array, chunk: string): ImageSize | undefined {
  if (chunk === "VP8X") return sizeAt(little24(head, 24) + 1, little24(head, 27) + 1);
  if (chunk === "VP8 ") return sizeAt(little16(head, 26) % 16_384, little16(head, 28) % 16_384);
  if (chunk !== "VP8L") return undefined;
  const packed = little16(head, 21) + little16(head, 23) * 65_536;
  return sizeAt((packed % 16_384) + 1, (Math.floor(packed / 16_384) % 16_384) + 1);
}

const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Scans the segments for the first start-of-frame marker (C0 to CF except C4, C8, CC). */
function jpegSize(bytes: Uint8Array | undefined): ImageSize | undefined {
  if (bytes === undefined) return undefined;
  let at = 2;
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = byteAt(bytes, at + 1);
    if (isFrame(marker)) return sizeAt(big16(bytes, at + 7), big16(bytes, at + 5));
    at += marker === 0xff ? 1 : 2 + big16(bytes, at + 2);
  }
  return undefined;
}
