import { describe, expect, it } from "vitest";
import { imageSize, mediaFromValue } from "../codecs/native.ts";
import { imageTokens, mediaTokens, UNKNOWN_MEDIA_TOKENS } from "./media.ts";

const base64 = (bytes: readonly number[]): string => btoa(String.fromCharCode(...bytes));
const ascii = (text: string): number[] => [...text].map((character) => character.charCodeAt(0));
const zeros = (count: number): number[] => new Array<number>(count).fill(0);
const big16 = (value: number): number[] => [value >> 8, value & 255];
const little16 = (value: number): number[] => [value & 255, value >> 8];
const little24 = (value: number): number[] => [value & 255, (value >> 8) & 255, value >> 16];

const png = (width: number, height: number): string =>
  base64([
    0x89,
    ...ascii("PNG\r\n\x1a\n"),
    0,
    0,
    0,
    13,
    ...ascii("IHDR"),
    0,
    0,
    ...big16(width),
    0,
    0,
    ...big16(height),
    ...zeros(9),
  ]);
const gif = (width: number, height: number): string =>
  base64([...ascii("GIF89a"), ...little16(width), ...little16(height), ...zeros(40)]);
const jpeg = (width: number, height: number, frame = 0xc0, metadata = 20_000): string =>
  base64([
    0xff,
    0xd8,
    0xff,
    0xe1,
    ...big16(metadata + 2),
    ...zeros(metadata),
    0xff,
    0xc4,
    ...big16(6),
    ...zeros(4),
    0xff,
    frame,
    ...big16(17),
    8,
    ...big16(height),
    ...big16(width),
    ...zeros(12),
  ]);
const webp = (chunk: string, body: readonly number[]): string =>
  base64([
    ...ascii("RIFF"),
    ...zeros(4),
    ...ascii("WEBP"),
    ...ascii(chunk),
    ...zeros(4),
    ...body,
    ...zeros(20),
  ]);

const fromBase64 = (data: string): Uint8Array =>
  Uint8Array.from(atob(data.slice(data.indexOf(",") + 1)), (character) => character.charCodeAt(0));

const part = (data: string, mediaType = "image/png") => ({
  type: "media" as const,
  mediaType,
  bytes: data.length,
  data,
});

describe("imageSize", () => {
  const size = { width: 1920, height: 1080 };
  const bits = (1919 + 1079 * 16_384) >>> 0;
  it.each([
    ["PNG", png(1920, 1080)],
    ["GIF", gif(1920, 1080)],
    ["baseline JPEG behind 20 kB of metadata", jpeg(1920, 1080)],
    ["progressive JPEG", jpeg(1920, 1080, 0xc2, 100)],
    ["extended WebP", webp("VP8X", [...zeros(4), ...little24(1919), ...little24(1079)])],
    ["lossy WebP", webp("VP8 ", [...zeros(3), 0x9d, 0x01, 0x2a, ...little16(1920), ...little16(1080)])],
    ["lossless WebP", webp("VP8L", [0x2f, bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, bits >>> 24])],
    ["a data URL", `data:image/png;base64,${png(1920, 1080)}`],
  ])("reads %s", (_kind, data) => {
    expect(imageSize(data)).toEqual(size);
    expect(imageSize(fromBase64(data))).toEqual(size);
  });

  it.each([
    ["nothing", ""],
    ["text that is no base64", "not base64 at all!"],
    ["another format", base64(ascii("%PDF-1.7 something or other that goes on and on and on"))],
    ["a cut PNG", png(1920, 1080).slice(0, 16)],
    ["a JPEG without a frame", base64([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
    ["a JPEG whose segments go astray", base64([0xff, 0xd8, ...zeros(60)])],
    ["an unknown WebP chunk", webp("ALPH", zeros(20))],
  ])("does not know the size of %s", (_kind, data) => {
    expect(imageSize(data)).toBeUndefined();
  });
});

describe("imageTokens", () => {
  const at = (width: number, height: number) => ({ width, height });
  it.each([
    ["openai-patches", at(1024, 1024), "auto", 1_229],
    ["openai-patches", at(1920, 1080), "auto", 2_448],
    ["openai-patches", at(3840, 2160), "auto", 9_792],
    ["openai-patches", at(4032, 3024), "auto", 14_364],
    ["openai-patches", at(3840, 2160), "high", 3_000],
    ["openai-patches", at(3840, 2160), "low", 308],
    ["openai-patches-10000", at(4032, 3024), "auto", 12_000],
    ["openai-patches-1536-1.62", at(4032, 3024), "auto", 2_489],
    ["openai-tiles-85-170", at(1024, 1024), "high", 765],
    ["openai-tiles-85-170", at(2048, 4096), "high", 1_105],
    ["openai-tiles-85-170", at(4096, 8192), "low", 85],
    ["openai-tiles-85-170", at(256, 256), "high", 255],
    ["claude-1568", at(1568, 784), "", 56 * 28 + 4],
    ["claude-1568", at(4000, 4000), "", 1_572],
    ["claude-2576", at(1920, 1080), "", 2_695],
    ["claude-2576", at(3840, 2160), "", 4_788],
    ["gemini-tiles", at(384, 384), "", 258],
    ["gemini-tiles", at(1024, 1024), "", 4 * 258],
    ["gemini-resolution", at(10, 10), "", 1_120],
    ["gemini-resolution", at(10, 10), "MEDIA_RESOLUTION_LOW", 280],
    ["flat", at(10, 10), "", 1_500],
  ] as const)("%s of %o at %s is %d", (formula, size, detail, tokens) => {
    expect(imageTokens(formula, size, detail)).toBe(tokens);
  });

  it("is flat where the size is needed and not known", () => {
    expect(imageTokens("openai-tiles-85-170", undefined)).toBe(UNKNOWN_MEDIA_TOKENS);
  });
});

describe("mediaTokens", () => {
  it("TOK-1 counts a picture by its pixels, whatever its base64 weighs", () => {
    const small = png(1024, 1024);
    const heavy = `${small.slice(0, 64)}${"A".repeat(400_000)}`;
    expect(mediaTokens(part(small), "openai-patches")).toBe(1_229);
    expect(mediaTokens(part(heavy), "openai-patches")).toBe(1_229);
  });

  it("TOK-1 counts a picture that is given as bytes by its pixels, too", () => {
    const bytes = fromBase64(jpeg(1920, 1080));
    const whole = new Uint8Array(bytes).buffer;
    const within = new Uint8Array([...zeros(7), ...bytes]).subarray(7);
    for (const value of [bytes, whole, within, Buffer.from(bytes)]) {
      const read = mediaFromValue(value, "image/*");
      expect(read).toMatchObject({ bytes: bytes.length, size: { width: 1920, height: 1080 } });
      expect(mediaTokens(read, "openai-patches")).toBe(2_448);
    }
    const unknown = mediaFromValue(new Uint8Array(100), "image/png");
    expect(unknown).toEqual({ type: "media", mediaType: "image/png", bytes: 100 });
    expect(mediaTokens(unknown, "openai-patches")).toBe(UNKNOWN_MEDIA_TOKENS);
  });

  it("takes a referenced picture, audio and unknown types flat", () => {
    const url = { type: "media" as const, mediaType: "image/*", bytes: 0, url: "https://example.org/a.png" };
    expect(mediaTokens(url, "openai-patches")).toBe(UNKNOWN_MEDIA_TOKENS);
    expect(mediaTokens(url, "gemini-resolution")).toBe(1_120);
    expect(mediaTokens(part("AAAA", "audio/wav"), "openai-patches")).toBe(UNKNOWN_MEDIA_TOKENS);
  });

  it("counts a PDF by estimated pages and a text file by length", () => {
    const pdf = part("A".repeat(240_000), "application/pdf");
    expect(mediaTokens(pdf, "claude-1568")).toBe(3 * 3_000);
    expect(mediaTokens(pdf, "gemini-resolution")).toBe(3 * 560);
    expect(mediaTokens(part("A".repeat(1_600), "text/plain"), "claude-1568")).toBe(300);
  });
});
