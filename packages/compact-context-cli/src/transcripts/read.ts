import type { Format } from "compact-context";
import { detectFormat, FORMATS } from "compact-context/internal/codecs/formats";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import { aider } from "./aider.ts";
import {
  agentDojo,
  inspectAi,
  moatless,
  openHands,
  sweAgent,
  tau2Bench,
  tauBench,
  whoAndWhen,
} from "./benchmarks.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { copilotCli } from "./copilot-cli.ts";
import { geminiCli, geminiCliLines } from "./gemini-cli.ts";
import { type Chunks, isRecord, type Line, linesOf, parseLine } from "./json.ts";
import { cline, langchainRecording, listIn, plainFormat, readEntryLines } from "./lists.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import {
  type DocumentFormat,
  ReadLog,
  type RecordFormat,
  type Session,
  type SourceRecord,
  type Transcript,
  type TranscriptFormat,
} from "./transcript.ts";

/** Formats with one record per line. */
const RECORD_FORMATS: readonly RecordFormat[] = [codex, claudeCode, pi, copilotCli, geminiCliLines];

/** Formats with one document per file; the first that recognizes the document reads it, so plain lists come last. */
const DOCUMENT_FORMATS: readonly DocumentFormat[] = [
  aider,
  geminiCli,
  opencode,
  moatless,
  sweAgent,
  whoAndWhen,
  tauBench,
  tau2Bench,
  agentDojo,
  inspectAi,
  openHands,
  cline,
  langchainRecording,
  ...FORMATS.map(plainFormat),
];

/** Every name that `readTranscript` accepts. */
export const TRANSCRIPT_FORMATS: readonly TranscriptFormat[] = [
  ...new Set([...RECORD_FORMATS, ...DOCUMENT_FORMATS].map((one) => one.format)),
];

interface ReadOptions {
  /** The file's name in error messages. */
  readonly name?: string;
  /** Default: detected. */
  readonly format?: TranscriptFormat;
}

interface Source extends ReadOptions {
  /** All lines of the file; read once. */
  readonly lines: AsyncIterable<Line>;
  readonly log: ReadLog;
}

/** Lines read before the kind of file is decided. */
const HEAD_LINES = 40;

/**
 * Reads a session file of any known format. Broken lines are reported in `problems` and the rest is read;
 * throws `UnknownFormat` or `InvalidTranscript` if nothing can be read.
 */
export async function readTranscript(
  chunks: Chunks | string,
  options: ReadOptions = {},
): Promise<Transcript> {
  const log = new ReadLog();
  const lines = linesOf(chunks);
  const head: Line[] = [];
  while (head.length < HEAD_LINES) {
    const { value } = await lines.next();
    if (value === undefined) break;
    head.push(value);
  }
  async function* all(): AsyncGenerator<Line> {
    yield* head;
    yield* lines;
  }
  const session = await readSession(head, { ...options, lines: all(), log });
  let at = 0;
  const compactions = session.segments.flatMap(({ messages, carried, endedBy }) => {
    at += messages.length - carried;
    return endedBy === undefined ? [] : [{ ...endedBy, at }];
  });
  return {
    ...session,
    name: options.name,
    messages: session.segments.at(-1)?.messages ?? [],
    compactions,
    problems: log.problems,
    leftOut: Object.fromEntries(log.leftOut),
  };
}

/** Judges by the first lines: records of a known format, one entry per line, or one document. */
async function readSession(head: readonly Line[], source: Source): Promise<Session> {
  const { format } = source;
  const documents = DOCUMENT_FORMATS.filter((one) => format === undefined || one.format === format);
  const asked = RECORD_FORMATS.find((one) => one.format === format);
  if (asked !== undefined && documents.length === 0) return readRecords(asked, source);
  const filled = head.map(({ text }) => text).filter((text) => text.trim() !== "");
  const values = filled.map(parseLine).map((line) => (line.rest === "" ? line.values : []));
  const found = RECORD_FORMATS.find((one) => values.flat().some((value) => one.recognises(value)));
  // In a document that spans lines, a record on a line of its own is only a part.
  if (found !== undefined && !/^\s*[[{]\s*$/.test(filled[0] ?? "")) {
    if (format === undefined || format === found.format) return readRecords(found, source);
    const hint = `Name the format ${found.format}, or leave it out to have it detected.`;
    throw refusal("UnknownFormat", `is a ${found.format} file, not ${format}`, hint, source);
  }
  const readable = values.filter((list) => list.some(isRecord)).length;
  const several = filled.length > 1 || head.length === HEAD_LINES;
  // A session of two lines, the second of which is truncated.
  const isTorn = filled.length === 2 && readable === 1 && values[1]?.length === 0;
  const areEntries = isTorn || (readable > 1 && readable * 2 > filled.length);
  return several && areEntries ? readEntries(source) : readDocument(documents, source);
}

async function readRecords(format: RecordFormat, { lines, log }: Source): Promise<Session> {
  let ended = true;
  async function* records(): AsyncGenerator<SourceRecord> {
    for await (const line of lines) {
      ended = line.ended;
      yield* recordsIn(line, log);
    }
  }
  const session = await format.read(records(), log);
  if (ended) return session;
  return {
    ...session,
    write(compacted, ports) {
      const { mode, chunks } = session.write(compacted, ports);
      return { mode, chunks: mode === "append" ? onNewLine(chunks) : chunks };
    },
  };
}

function* onNewLine(chunks: Iterable<string>): Iterable<string> {
  yield "\n";
  yield* chunks;
}

/** Every JSON value of a line; unreadable content is reported. */
function* recordsIn({ text, number: line, ended }: Line, log: ReadLog): Generator<SourceRecord> {
  if (text.trim() === "") return;
  const { values, rest } = parseLine(text);
  if (values.length > 1)
    log.problem({ line, message: `${values.length} records on one line; all were read` });
  if (rest !== "") {
    const what = ended ? "not JSON, left out" : "the last line is cut off";
    const kept = values.length > 0 ? "; the record before it was read" : "";
    log.problem({ line, message: what + kept });
    log.leaveOut("broken line");
  }
  const whole = values.length === 1 && rest === "";
  for (const value of values) if (log.accepts(value, { line })) yield { value, whole };
}

/** The lines are the entries of a list; kept in memory, since the list is processed. */
async function readEntries(source: Source): Promise<Session> {
  const entries: unknown[] = [];
  for await (const line of source.lines)
    for (const { value } of recordsIn(line, source.log)) entries.push(value);
  const found = entryFormat(entries, source);
  if (found === undefined) throw unknownFormat(source);
  return readEntryLines(found, entries, source.log);
}

function entryFormat(entries: readonly unknown[], { format }: Source): Format | undefined {
  return format === undefined ? detectFormat(entries) : FORMATS.find((known) => known === format);
}

async function readDocument(readers: readonly DocumentFormat[], source: Source): Promise<Session> {
  const pieces: string[] = [];
  for await (const { text, ended } of source.lines) pieces.push(text, ended ? "\n" : "");
  const text = pieces.join("");
  const { value, problem } = parseDocument(text);
  const recognised = readers.find((reader) => reader.recognises(value));
  // A value that is itself an entry, in a file with one line.
  const isEntry = recognised === undefined && isRecord(value) && listIn(value) === undefined;
  const entry = isEntry ? entryFormat([value], source) : undefined;
  if (entry !== undefined) return readEntryLines(entry, [value], source.log);
  const isNamed = source.format !== undefined && typeof value !== "string";
  const reader = recognised ?? (isNamed ? readers.at(-1) : undefined);
  if (reader !== undefined) return reader.read({ value, text }, source.log);
  if (Array.isArray(value) && value.length === 0) {
    const again = "Check that the session was saved; export it again if need be.";
    throw refusal("InvalidTranscript", "holds an empty list", again, source);
  }
  if (problem === undefined || !/^\s*[[{]/.test(text)) throw unknownFormat(source);
  const hint = "The file may be cut off; export it again, or repair the end by hand.";
  throw refusal("InvalidTranscript", `is no valid JSON: ${problem}`, hint, source);
}

/** The JSON value of the text; the text itself if it is not JSON, and why. */
function parseDocument(text: string): { readonly value: unknown; readonly problem?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { value: text, problem: errorMessage(error) };
  }
}

function unknownFormat(source: Source): CompactError {
  const hint = `If it is one of these, say so with --format NAME: ${TRANSCRIPT_FORMATS.join(", ")}.`;
  return refusal("UnknownFormat", "is in no known transcript format", hint, source);
}

function refusal(
  code: "UnknownFormat" | "InvalidTranscript",
  problem: string,
  hint: string,
  { name }: Source,
): CompactError {
  return new CompactError(code, `${name ?? "transcript"} ${problem}`, { place: name, hint });
}
