import type { MediaPart, MessageMeta, Role } from "../core/message.ts";
import { CompactError, defined, errorMessage, isObject, kindOf, requireList } from "../errors.ts";

export type NativeObject = Readonly<Record<string, unknown>>;

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): NativeObject {
  return isObject(value) ? value : {};
}

/** Throws `InvalidMessages` unless every entry is a neutral message. */
export function requireMessages(messages: readonly unknown[]): void {
  requireList(messages);
  const wrong = readNative("messages", () =>
    messages.findIndex((message) => !Array.isArray(objectOf(message).parts)),
  );
  if (wrong === -1) return;
  throw invalidMessages(`messages[${wrong}]`, "is no neutral message", "Pass what decode gave back.");
}

/** `InvalidMessages` for the entry at `place`, such as `messages[3].content[0].type`. */
export function invalidMessages(place: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidMessages", `${place} ${problem}`, { place, hint });
}

const SHAPE_HINT =
  "Check that the list is in the format you named, or leave the format out to have it detected.";

/** The result of `read`; errors thrown by getters, proxies or the engine become `InvalidMessages`. */
export function readNative<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (CompactError.isInstance(cause)) throw cause;
    const problem = `${place} cannot be read: ${errorMessage(cause)}`;
    throw new CompactError("InvalidMessages", problem, { place, hint: SHAPE_HINT, cause });
  }
}

/** The value as an object; throws `InvalidMessages` otherwise. */
export function objectAt(value: unknown, place: string): NativeObject {
  if (isObject(value)) return value;
  throw invalidMessages(place, `must be an object, not ${kindOf(value)}`, SHAPE_HINT);
}

/** The value as a string; throws `InvalidMessages` otherwise. */
export function stringAt(value: unknown, place: string): string {
  if (typeof value === "string") return value;
  throw invalidMessages(place, `must be a string, not ${kindOf(value)}`, SHAPE_HINT);
}

/** The value as an array; throws `InvalidMessages` otherwise. */
export function arrayAt(value: unknown, place: string): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw invalidMessages(place, `must be an array, not ${kindOf(value)}`, SHAPE_HINT);
}

/** True for a list of objects with a `type`; tools also return other lists. */
export function isBlockList(value: unknown): value is readonly NativeObject[] {
  return Array.isArray(value) && value.every((block) => isObject(block) && typeof block.type === "string");
}

type Roles = Readonly<Record<string, Role>>;
type FormatRoles = "openai-chat" | "items" | "anthropic" | "gemini" | "ai-sdk" | "ui" | "pi";

const SPEAKERS: Roles = { system: "system", user: "user", assistant: "assistant" };

/** The roles of each format. `ui`: AI SDK UI messages. LangChain has message types instead. */
export const ROLES: Readonly<Record<FormatRoles, Roles>> = {
  "openai-chat": { ...SPEAKERS, developer: "developer", tool: "tool", function: "tool" },
  items: { ...SPEAKERS, developer: "developer" },
  anthropic: SPEAKERS,
  gemini: { system: "system", user: "user", model: "assistant", function: "tool" },
  "ai-sdk": { ...SPEAKERS, tool: "tool" },
  ui: SPEAKERS,
  pi: { ...SPEAKERS, toolResult: "tool" },
};

export function isRole(word: unknown, roles: Roles): boolean {
  return typeof word === "string" && Object.hasOwn(roles, word);
}

/** The neutral role for a provider's role; throws `InvalidMessages` for an unknown role. */
export function roleAt(value: unknown, roles: Roles, place: string): Role {
  const role = typeof value === "string" && Object.hasOwn(roles, value) ? roles[value] : undefined;
  if (role !== undefined) return role;
  const shown = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
  const hint = `Use one of ${Object.keys(roles).join(", ")}.`;
  throw invalidMessages(`${place}.role`, `is ${shown}, which this format does not know`, hint);
}

export function filled(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * The input of a call if it is an object, otherwise an object that contains it: for providers that only
 * accept objects.
 */
export function inputObject(value: unknown): NativeObject {
  if (isObject(value)) return value;
  return value === undefined || value === "" ? {} : { input: value };
}

/** True if the bag, or its `meta`, `metadata` or `compact`, has `protected: true`. */
function isProtected(bag: unknown): boolean {
  if (!isObject(bag)) return false;
  const { meta, metadata, compact } = bag;
  return [bag, meta, metadata, compact].some((one) => objectOf(one).protected === true);
}

/** Neutral meta from an entry's fields, its `meta`, its `metadata` and other objects; undefined if there is none. */
export function readMeta(entry: NativeObject, ...bags: readonly unknown[]): MessageMeta | undefined {
  const timestamp = filled(entry.timestamp);
  const model = filled(entry.model);
  const kept = [entry.meta, entry.metadata, ...bags].some(isProtected);
  if (!kept && timestamp === undefined && model === undefined) return undefined;
  return defined({ protected: kept || undefined, timestamp, model });
}

/** A copy of `native` with `changes`, keeping its prototype; a change to undefined removes the field. */
export function copyWith(native: NativeObject, changes: NativeObject): Record<string, unknown> {
  // Spread, not assigned: assigning a field named `__proto__` would set the prototype.
  const copy: Record<string, unknown> = { ...native };
  const prototype = Object.getPrototypeOf(native) as object | null;
  if (prototype !== Object.prototype) Object.setPrototypeOf(copy, prototype);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) delete copy[key];
    else copy[key] = value;
  }
  return copy;
}

// ---- media of all formats as neutral parts and back, and the sizes of images

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
