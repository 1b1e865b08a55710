import { type ImageSize, imageSize, type NativeObject, objectOf, type SizedMedia } from "../codecs/native.ts";
import type { ImageFormula } from "./models.ts";

/** Assumed cost of an image or file of unknown size or price. */
export const UNKNOWN_MEDIA_TOKENS = 1_500;

/** PDF page counts are not read: one page is assumed per this many bytes. */
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

/** Anthropic: 28-pixel patches after scaling the long side to `side`, at most `most`, plus 4. */
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

/** Gemini from 3 on: a fixed price by `media_resolution`. Default: high. */
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

/** Tokens of one image by a provider's formula; the flat price if its size is needed but unknown. */
export function imageTokens(formula: ImageFormula, size: ImageSize | undefined, detail = "auto"): number {
  if (formula === "gemini-resolution") return geminiResolution(detail);
  if (formula === "flat" || size === undefined) return UNKNOWN_MEDIA_TOKENS;
  return FORMULAS[formula](size, detail);
}

/** Tokens of one PDF page, as text and image; Gemini bills the image only. */
function pageTokens(formula: ImageFormula): number {
  if (formula === "gemini-tiles") return 258;
  return formula === "gemini-resolution" ? 560 : 3_000;
}

/**
 * Tokens of a media part: images by formula, PDFs by estimated pages, text files by length, anything else
 * flat.
 */
export function mediaTokens(part: SizedMedia, formula: ImageFormula): number {
  const bytes = part.data === undefined ? part.bytes : Math.floor((part.data.length * 3) / 4);
  const type = part.mediaType.toLowerCase();
  if (type.startsWith("image/")) {
    const size = part.data === undefined ? part.size : imageSize(part.data);
    return imageTokens(formula, size, part.detail);
  }
  if (type.startsWith("text/") && bytes > 0) return Math.ceil(bytes / 4);
  if (type === "application/pdf" && bytes > 0) {
    return Math.ceil(bytes / PDF_BYTES_PER_PAGE) * pageTokens(formula);
  }
  return UNKNOWN_MEDIA_TOKENS;
}

type CountText = (text: string) => number;

/** Tokens that OpenAI spends around a function and its parts (cookbook, "How to count tokens with tiktoken"). */
const LINES = {
  function: 7,
  oldFunction: 10,
  properties: 3,
  property: 3,
  enumeration: -3,
  enumItem: 3,
  end: 12,
};

/** A tool's own fields, without the provider's wrapper. */
function functionOf(tool: unknown): NativeObject {
  const outer = objectOf(tool);
  return "function" in outer ? objectOf(outer.function) : outer;
}

function schemaOf(fields: NativeObject): NativeObject {
  return objectOf(fields.parameters ?? fields.input_schema ?? fields.inputSchema);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.replace(/\.$/, "") : "");

/**
 * Tools as OpenAI renders them: `name:description` and a line per property. Properties of nested objects and of
 * array items count like those of the top. `old`: the models before gpt-4o, with 10 instead of 7 per function.
 */
export function toolLinesTokens(tools: readonly unknown[], count: CountText, old: boolean): number {
  let total = LINES.end;
  for (const tool of tools) {
    const fields = functionOf(tool);
    if (typeof fields.name !== "string") {
      total += toolJsonTokens([tool], count);
      continue;
    }
    total += old ? LINES.oldFunction : LINES.function;
    total += count(`${fields.name}:${textOf(fields.description)}`);
    total += propertiesTokens(schemaOf(fields), count, 0);
  }
  return total;
}

/** Maximum depth of a schema; also ends recursion for a cyclic one. */
const DEEPEST = 16;

function propertiesTokens(schema: NativeObject, count: CountText, depth: number): number {
  const properties = Object.entries(objectOf(schema.properties));
  if (properties.length === 0 || depth > DEEPEST) return 0;
  let total = LINES.properties;
  for (const [name, value] of properties) {
    const property = objectOf(value);
    total += LINES.property + enumTokens(property.enum, count);
    total += count(`${name}:${typeName(property.type)}:${textOf(property.description)}`);
    total += propertiesTokens(property, count, depth + 1);
    total += propertiesTokens(objectOf(property.items), count, depth + 1);
  }
  return total;
}

const typeName = (type: unknown): string => (Array.isArray(type) ? type.join("|") : String(type ?? "any"));

function enumTokens(values: unknown, count: CountText): number {
  if (!Array.isArray(values)) return 0;
  let total = LINES.enumeration;
  for (const value of values) total += LINES.enumItem + count(String(value));
  return total;
}

/** Tools as JSON text; a tool that cannot be serialized counts by its name alone. */
export function toolJsonTokens(tools: readonly unknown[], count: CountText): number {
  let total = 0;
  for (const tool of tools) total += count(jsonText(tool));
  return total;
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return textOf(functionOf(value).name);
  }
}
