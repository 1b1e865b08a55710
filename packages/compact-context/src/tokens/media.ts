import type { MediaPart } from "../core/message.ts";
import type { ImageFormula } from "./models.ts";

/** Width and height in pixels. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Base64 characters that hold the header of a PNG, GIF or WebP; a multiple of four. */
const HEADER = 64;
/** A JPEG's size comes after its metadata; what lies further in is not looked for. */
const JPEG_HEADER = 400_000;

/** Width and height from the header of a PNG, JPEG, GIF or WebP in base64, the data URL prefix allowed. */
export function imageSize(data: string): ImageSize | undefined {
  const start = data.startsWith("data:") ? data.indexOf(",") + 1 : 0;
  const head = bytesOf(data.slice(start, start + HEADER));
  if (head === undefined) return undefined;
  const ascii = (from: number, to: number): string => String.fromCharCode(...head.slice(from, to));
  if (ascii(1, 4) === "PNG") return sizeAt(big32(head, 16), big32(head, 20));
  if (ascii(0, 3) === "GIF") return sizeAt(little16(head, 6), little16(head, 8));
  if (ascii(0, 4) === "RIFF" && ascii(8, 12) === "WEBP") return webpSize(head, ascii(12, 16));
  if (head[0] === 0xff && head[1] === 0xd8) return jpegSize(bytesOf(data.slice(start, start + JPEG_HEADER)));
  return undefined;
}

function bytesOf(base64: string): Uint8Array | undefined {
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

/** Walks the segments up to the first start-of-frame marker (C0 to CF but for C4, C8, CC). */
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

/** What a picture or file of unknown size or price is taken to cost. */
export const UNKNOWN_MEDIA_TOKENS = 1_500;

/** No page count is read from a PDF: one page per this many bytes is assumed. */
const PDF_BYTES_PER_PAGE = 60_000;

type Formula = (size: ImageSize, detail: string) => number;

/** OpenAI: 32-pixel patches times a factor; `high` is shrunk to 2,500 patches, `low` to 512 pixels square. */
function patches(factor: number, most: number): Formula {
  return ({ width, height }, detail) => {
    const count = Math.ceil(width / 32) * Math.ceil(height / 32);
    const limit = detail === "low" ? 256 : detail === "high" ? Math.min(most, 2_500) : most;
    return Math.ceil(Math.min(count, limit) * factor);
  };
}

/** OpenAI before patches: fitted into 2048 by 2048, short side to 768, then 512-pixel tiles; `low` is the base alone. */
function tiles(base: number, perTile: number): Formula {
  return ({ width, height }, detail) => {
    if (detail === "low") return base;
    const fit = Math.min(1, 2_048 / Math.max(width, height));
    const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
    return base + perTile * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  };
}

/** Anthropic: 28-pixel patches after the long side was brought to `side`, at most `most`, and 4 around them. */
function claude(side: number, most: number): Formula {
  return ({ width, height }) => {
    const scale = Math.min(1, side / Math.max(width, height));
    const count = Math.ceil((width * scale) / 28) * Math.ceil((height * scale) / 28);
    return Math.min(count, most) + 4;
  };
}

/** Gemini to 2.5: 258 up to 384 pixels square, else 258 for each 768-pixel tile. */
function geminiTiles({ width, height }: ImageSize): number {
  if (width <= 384 && height <= 384) return 258;
  return 258 * Math.ceil(width / 768) * Math.ceil(height / 768);
}

const RESOLUTIONS = new Map([
  ["low", 280],
  ["medium", 560],
  ["ultra", 2_240],
]);

/** Gemini from 3 on: a fixed price by `media_resolution`, high when none was asked for. */
const geminiResolution = (detail: string): number =>
  RESOLUTIONS.get(detail.toLowerCase().replace("media_resolution_", "")) ?? 1_120;

/** The formulas that the model table names; 11,970 patches are the 12 megapixels to which GPT-6 shrinks. */
const FORMULAS: Readonly<Record<Exclude<ImageFormula, "flat" | "gemini-resolution">, Formula>> = {
  "openai-patches": patches(1.2, 11_970),
  "openai-patches-10000": patches(1.2, 10_000),
  "openai-patches-1536-1.62": patches(1.62, 1_536),
  "openai-patches-1536-1.72": patches(1.72, 1_536),
  "openai-patches-1536-2.46": patches(2.46, 1_536),
  "openai-tiles-70-140": tiles(70, 140),
  "openai-tiles-85-170": tiles(85, 170),
  "openai-tiles-2833-5667": tiles(2_833, 5_667),
  "claude-1568": claude(1_568, 1_568),
  "claude-2576": claude(2_576, 4_784),
  "gemini-tiles": geminiTiles,
};

/** Tokens of one image by a provider's formula; the flat price where its size is needed and not known. */
export function imageTokens(formula: ImageFormula, size: ImageSize | undefined, detail = "auto"): number {
  if (formula === "gemini-resolution") return geminiResolution(detail);
  if (formula === "flat" || size === undefined) return UNKNOWN_MEDIA_TOKENS;
  return FORMULAS[formula](size, detail);
}

/** Tokens of one PDF page, its text and its picture; Gemini bills the picture alone. */
function pageTokens(formula: ImageFormula): number {
  if (formula === "gemini-tiles") return 258;
  return formula === "gemini-resolution" ? 560 : 3_000;
}

/** Tokens of a media part: images by formula, PDFs by estimated pages, text files by length, all else flat. */
export function mediaTokens(part: MediaPart, formula: ImageFormula): number {
  const bytes = part.data === undefined ? part.bytes : Math.floor((part.data.length * 3) / 4);
  const type = part.mediaType.toLowerCase();
  if (type.startsWith("image/")) {
    return imageTokens(formula, part.data === undefined ? undefined : imageSize(part.data), part.detail);
  }
  if (type.startsWith("text/") && bytes > 0) return Math.ceil(bytes / 4);
  if (type === "application/pdf" && bytes > 0) {
    return Math.ceil(bytes / PDF_BYTES_PER_PAGE) * pageTokens(formula);
  }
  return UNKNOWN_MEDIA_TOKENS;
}
