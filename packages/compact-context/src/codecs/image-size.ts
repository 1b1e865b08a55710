// What the header of an image says of its size.

/** Width and height in pixels. */
export interface ImageSize {
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
