import type { Format } from "compact-context";
import { detectListFormat, FORMATS } from "compact-context/internal/codecs/formats";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import { DOCUMENT_FORMATS, RECORD_FORMATS, TRANSCRIPT_FORMATS } from "./formats.ts";
import {
  type Chunks,
  createReadLog,
  isRecord,
  isTooDeep,
  type LineCursor,
  lineCursor,
  parseLine,
} from "./json.ts";
import { listIn, readEntryLines } from "./lists.ts";
import type {
  DocumentFormat,
  Problem,
  ReadLog,
  RecordFormat,
  Session,
  SourceLine,
  Transcript,
  TranscriptFormat,
} from "./transcript.ts";

interface ReadOptions {
  /** The file's name in error messages. */
  readonly name?: string;
  /** Default: detected. */
  readonly format?: TranscriptFormat;
}

interface Source extends ReadOptions {
  readonly cursor: LineCursor;
  readonly log: ReadLog;
  /** Lines already read to detect the kind of file. */
  readonly head: readonly string[];
}

/**
 * Reads a session file of any known format. Broken lines are reported in `problems` and the rest is read;
 * throws `UnknownFormat` or `InvalidTranscript` if nothing can be read.
 */
export async function readTranscript(
  chunks: Chunks | string,
  options: ReadOptions = {},
): Promise<Transcript> {
  const problems: Problem[] = [];
  const cursor = lineCursor(chunks);
  const head = await takeHead(cursor);
  const source: Source = { ...options, cursor, log: createReadLog(problems), head };
  const session = await readSession(source);
  const { segments } = session;
  return {
    ...session,
    name: options.name,
    messages: segments.at(-1)?.messages ?? [],
    compactions: segments.flatMap((segment) => segment.endedBy ?? []),
    problems,
  };
}

async function takeHead(cursor: LineCursor): Promise<string[]> {
  const head: string[] = [];
  while (head.length < HEAD_LINES) {
    const line = await cursor.next();
    if (line === undefined) break;
    head.push(line);
  }
  return head;
}

async function readSession(source: Source): Promise<Session> {
  const asked = RECORD_FORMATS.find(({ format }) => format === source.format);
  if (asked !== undefined && documentsOf(source).length === 0) return readRecords(asked, source);
  const layout = layoutOf(source.head);
  if (layout.kind === "entries") return readEntries(source);
  if (layout.kind === "document") return readDocument(await wholeText(source), source);
  const { format } = layout.format;
  if (source.format !== undefined && source.format !== format) throw otherFormat(format, source);
  return readRecords(layout.format, source);
}

interface Line {
  readonly text: string;
  /** 1-based. */
  readonly number: number;
  /** The file ends in this line, without a newline. */
  readonly cutOff: boolean;
}

/** The lines of the file, starting with those already read. */
async function* linesOf({ head, cursor }: Source): AsyncGenerator<Line> {
  let number = 0;
  let before: string | undefined;
  async function* texts(): AsyncGenerator<string> {
    yield* head;
    for (let text = await cursor.next(); text !== undefined; text = await cursor.next()) yield text;
  }
  for await (const text of texts()) {
    if (before !== undefined) yield { text: before, number, cutOff: false };
    number += 1;
    before = text;
  }
  if (before !== undefined) yield { text: before, number, cutOff: !cursor.endedWithNewline() };
}

/** Every JSON value of the file with its line; unreadable content is reported. */
async function* valuesOf(source: Source): AsyncGenerator<{ value: unknown; line: SourceLine }> {
  for await (const line of linesOf(source)) {
    if (line.text.trim() === "") continue;
    const { number } = line;
    const { values, rest } = parseLine(line.text);
    const whole = values.length === 1 && rest === "";
    reportLine(line, { values: values.length, rest }, source.log);
    for (const value of values) {
      if (isTooDeep(value)) {
        source.log.problem({ line: number, message: "nests too deep to be read; left out" });
        source.log.leaveOut("too deep");
      } else yield { value, line: { number, whole } };
    }
  }
}

function reportLine(
  { number, cutOff }: Line,
  { values, rest }: { readonly values: number; readonly rest: string },
  log: ReadLog,
): void {
  if (values > 1) log.problem({ line: number, message: `${values} records on one line; all were read` });
  if (rest === "") return;
  const kept = values > 0 ? "; the record before it was read" : "";
  log.problem({
    line: number,
    message: `${cutOff ? "the last line is cut off" : "not JSON, left out"}${kept}`,
  });
  log.leaveOut("broken line");
}

async function readRecords(format: RecordFormat, source: Source): Promise<Session> {
  const reader = format.open(source.log);
  for await (const { value, line } of valuesOf(source)) reader.add(value, line);
  return guarded(source, () => reader.end(source.cursor.endedWithNewline()));
}

async function wholeText({ head, cursor }: Source): Promise<string> {
  const rest = await cursor.rest();
  const ended = cursor.endedWithNewline() || rest !== "";
  return head.join("\n") + (ended && head.length > 0 ? "\n" : "") + rest;
}

/** The lines are the entries of a list; kept in memory, since the list is processed. */
async function readEntries(source: Source): Promise<Session> {
  const entries: unknown[] = [];
  for await (const { value } of valuesOf(source)) entries.push(value);
  const asked =
    source.format === undefined
      ? detectListFormat(entries)
      : FORMATS.find((format) => format === source.format);
  if (asked === undefined) throw unknownFormat(source);
  return guarded(source, () => readEntryLines(asked, entries, source.log));
}

/** The candidate documents. */
function documentsOf({ format }: Source): readonly DocumentFormat[] {
  return DOCUMENT_FORMATS.filter((one) => format === undefined || one.format === format);
}

function readDocument(text: string, source: Source): Session {
  const value = parseDocument(text);
  const readers = documentsOf(source);
  const recognised = readers.find((reader) => reader.recognises(value));
  const entryFormat = recognised === undefined ? formatOfEntry(value, source) : undefined;
  if (entryFormat !== undefined) {
    return guarded(source, () => readEntryLines(entryFormat, [value], source.log));
  }
  const reader =
    recognised ?? (source.format === undefined || typeof value === "string" ? undefined : readers.at(-1));
  if (reader !== undefined) return guarded(source, () => reader.read({ value, text }, source.log));
  if (typeof value === "string" && /^\s*[[{]/.test(text)) throw brokenJson(text, source);
  throw unknownFormat(source);
}

/**
 * The format of a value that is itself an entry, in a file with one line; undefined for a value that holds a
 * list.
 */
function formatOfEntry(value: unknown, { format: asked }: Source): Format | undefined {
  if (!isRecord(value) || listIn(value) !== undefined) return undefined;
  return asked === undefined ? detectListFormat([value]) : FORMATS.find((format) => format === asked);
}

/** Adds the file's name to errors of the codecs. */
function guarded(source: Source, read: () => Session): Session {
  try {
    return read();
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    throw new CompactError("InvalidTranscript", `${source.name ?? "transcript"}: ${error.message}`, {
      cause: error,
      hint: error.hint,
      place: error.place,
    });
  }
}

function brokenJson(text: string, source: Source): CompactError {
  let reason = "";
  try {
    JSON.parse(text);
  } catch (error) {
    reason = errorMessage(error);
  }
  return new CompactError("InvalidTranscript", `${source.name ?? "transcript"} is no valid JSON: ${reason}`, {
    place: source.name,
    hint: "The file may be cut off; export it again, or repair the end by hand.",
  });
}

function otherFormat(found: TranscriptFormat, source: Source): CompactError {
  const name = source.name ?? "transcript";
  return new CompactError("UnknownFormat", `${name} is a ${found} file, not ${source.format}`, {
    place: name,
    hint: `Name the format ${found}, or leave it out to have it detected.`,
  });
}

function unknownFormat(source: Source): CompactError {
  return new CompactError("UnknownFormat", `${source.name ?? "transcript"}: no known transcript format`, {
    place: source.name,
    hint: `If it is one of these, say so with --format NAME: ${TRANSCRIPT_FORMATS.join(", ")}.`,
  });
}

/** Lines read before the kind of file is decided. */
const HEAD_LINES = 40;

/** The kind of file by its first lines: records of a known format, one entry per line, or one document. */
type Layout =
  | { readonly kind: "records"; readonly format: RecordFormat }
  | { readonly kind: "entries" }
  | { readonly kind: "document" };

/** Judges by the first lines that are not blank. */
function layoutOf(lines: readonly string[]): Layout {
  const filled = lines.filter((line) => line.trim() !== "");
  const values = filled.map(wholeValues);
  const format = RECORD_FORMATS.find((one) => values.flat().some((value) => one.recognises(value)));
  // In a document that spans lines, a record on a line of its own is only a part.
  if (format !== undefined && !/^\s*[[{]\s*$/.test(filled[0] ?? "")) return { kind: "records", format };
  const readable = values.filter((list) => list.some(isRecord)).length;
  const several = filled.length > 1 || lines.length === HEAD_LINES;
  // A session of two lines, the second of which is truncated.
  const isTorn = filled.length === 2 && readable === 1 && values[1]?.length === 0;
  const areEntries = isTorn || (readable > 1 && readable * 2 > filled.length);
  return { kind: several && areEntries ? "entries" : "document" };
}

function wholeValues(line: string): readonly unknown[] {
  const { values, rest } = parseLine(line);
  return rest === "" ? values : [];
}

/** The JSON value of the text; the text itself if it is not JSON. */
function parseDocument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
