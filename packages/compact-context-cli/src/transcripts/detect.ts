import { detectListFormat } from "compact-context/internal/codecs/formats";
import { DOCUMENT_FORMATS, RECORD_FORMATS } from "./formats.ts";
import { isRecord, parseLine } from "./json.ts";
import type { RecordFormat, TranscriptFormat } from "./transcript.ts";

/** Lines looked at before it is decided what kind of file it is. */
export const HEAD_LINES = 40;

/** What the first lines say: records of a known kind, entries one on a line, or one document over all lines. */
export type Layout =
  | { readonly kind: "records"; readonly format: RecordFormat }
  | { readonly kind: "entries" }
  | { readonly kind: "document" };

/** Judges by the first lines that are not blank; `complete` when they are the whole text. */
export function layoutOfLines(lines: readonly string[], complete: boolean): Layout {
  const filled = lines.filter((line) => line.trim() !== "");
  const values = filled.map(wholeValues);
  const format = values
    .flat()
    .map(recordFormatOf)
    .find((one) => one !== undefined);
  // In a document over many lines, a record that happens to fill one line is only a part of it.
  if (format !== undefined && !/^\s*[[{]\s*$/.test(filled[0] ?? "")) return { kind: "records", format };
  const readable = values.filter((list) => list.some(isRecord)).length;
  const several = filled.length > 1 || !complete;
  return { kind: several && readable > 1 && readable * 2 > filled.length ? "entries" : "document" };
}

function wholeValues(line: string): readonly unknown[] {
  const { values, rest } = parseLine(line);
  return rest === "" ? values : [];
}

function recordFormatOf(value: unknown): RecordFormat | undefined {
  return RECORD_FORMATS.find((format) => format.recognises(value));
}

/**
 * The format of a parsed document, a list (of messages or of a file's records), or a text (JSON, JSON lines,
 * Markdown); undefined when nothing is recognised.
 */
export function detectFormat(value: unknown): TranscriptFormat | undefined {
  if (typeof value === "string") return detectText(value.startsWith("\uFEFF") ? value.slice(1) : value);
  return detectValue(value);
}

function detectValue(value: unknown): TranscriptFormat | undefined {
  if (Array.isArray(value)) {
    const record = value
      .slice(0, HEAD_LINES)
      .map(recordFormatOf)
      .find((one) => one !== undefined);
    if (record !== undefined) return record.format;
  }
  return DOCUMENT_FORMATS.find((format) => format.recognises(value))?.format;
}

function detectText(text: string): TranscriptFormat | undefined {
  const head = firstLines(text);
  const layout = layoutOfLines(head.lines, head.complete);
  if (layout.kind === "records") return layout.format.format;
  if (layout.kind === "entries") {
    const format = detectListFormat(head.lines.flatMap((line) => wholeValues(line)));
    if (format !== undefined) return format;
  }
  return detectValue(parseDocument(text));
}

/** The JSON value of the text; the text itself when it is no JSON. */
export function parseDocument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function firstLines(text: string): { lines: string[]; complete: boolean } {
  const lines: string[] = [];
  let start = 0;
  while (start < text.length && lines.length < HEAD_LINES) {
    const end = text.indexOf("\n", start);
    lines.push(text.slice(start, end < 0 ? text.length : end));
    start = end < 0 ? text.length : end + 1;
  }
  return { lines, complete: start >= text.length };
}
