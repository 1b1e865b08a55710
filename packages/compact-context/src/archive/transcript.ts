import {
  archiveId,
  type Format,
  type Message,
  type MessageMeta,
  type Part,
  type Role,
} from "../core/message.ts";
import type { Redaction } from "../core/ports.ts";
import { crc32Hex } from "../core/records.ts";
import { CompactError, isObject } from "../errors.ts";

// A transcript: one line with a checksum per message. A message in an earlier transcript is referenced by its
// place there, so that each original is stored once. Everything is redacted before it is written.

/** What the archive needs of redaction. */
export type Redact = Pick<Redaction, "redactText" | "redactValue">;

/** An archived message, redacted. */
export interface ArchivedMessage {
  /** The id in stubs and summaries; equal for equal content. */
  readonly archiveId: string;
  readonly n: number;
  readonly message: Message;
  /** True if a secret was removed: the text differs from the original there. */
  readonly redacted: boolean;
  /** Why something is missing, such as a native object nested too deeply. */
  readonly leftOut?: string;
}

/** Place of a message in the transcripts: step and number, from 1. */
export type ArchivePlace = readonly [step: number, n: number];

/** The start of a line. */
export interface LineHead {
  readonly n: number;
  readonly of: number;
  readonly id: string;
  readonly hash: string;
  readonly role: Role;
  /** CRC-32 of the original message: two messages with the same archive id can have different call ids. */
  readonly own?: string;
  /** The line ends here: the message is in an earlier transcript. */
  readonly at?: ArchivePlace;
  readonly redacted?: true;
  readonly left_out?: string;
  /** In `native`, `{"=": i}` stands for long text number `i` of `message`. */
  readonly shared?: true;
}

/** Everything in a line except its checksum, in the order in which it is written. */
interface LineContent extends LineHead {
  readonly message: { readonly parts: readonly Part[]; readonly meta?: MessageMeta };
  readonly native?: unknown;
  readonly format?: Format;
}

// JSON.stringify overflows the stack at about 4,100 levels on an empty stack: this leaves room for a full
// one.
const MAX_DEPTH = 400;
const CHECKSUM = /,"c":"([0-9a-f]{8})"\}$/;

/**
 * One line of a transcript, including the newline; `n` of `of`, both from 1. Throws `InvalidArgument` for
 * parts that are not JSON.
 */
export function archiveLine(
  message: Message,
  place: Pick<LineHead, "n" | "of"> & Partial<Pick<LineHead, "hash" | "own">>,
  redactor: Redact,
): string {
  const { n, of, hash = archiveId(message), own = ownChecksum(message) } = place;
  const { parts, meta, native, format } = message;
  const neutral = { parts, meta };
  const body = jsonOfParts(neutral, n, redactor);
  const whole = jsonOfNative(native, redactor, body.safe);
  const leftOut = [body.leftOut, whole.leftOut].filter((reason) => reason !== undefined).join("; ");
  const head = {
    n,
    of,
    id: message.id,
    hash,
    role: message.role,
    own,
    redacted: body.redacted || whole.redacted ? true : undefined,
    left_out: leftOut === "" ? undefined : leftOut,
    shared: whole.shared,
  };
  const nativeJson = whole.json === undefined ? "" : `,"native":${whole.json}`;
  const formatJson = format === undefined ? "" : `,"format":${JSON.stringify(format)}`;
  return signed(`${JSON.stringify(head).slice(0, -1)},"message":${body.json}${nativeJson}${formatJson}`);
}

/** The line of a message that is stored in an earlier transcript. */
export function referringLine(
  { id, role }: Message,
  head: Pick<LineHead, "n" | "of" | "hash" | "own" | "at">,
): string {
  const { n, of, hash, own, at } = head;
  return signed(JSON.stringify({ n, of, id, hash, role, own, at }).slice(0, -1));
}

/** See `LineHead.own`; undefined for a message that is not JSON, which is stored again each time. */
export function ownChecksum({ parts, meta, native }: Message): string | undefined {
  try {
    return crc32Hex(JSON.stringify([native ?? parts, meta]));
  } catch {
    return undefined;
  }
}

function signed(content: string): string {
  return `${content},"c":"${crc32Hex(content)}"}\n`;
}

/** The contents of a line up to `end`, or a description of what is wrong with it. */
function contentOf(line: string, end = -1): LineContent | string {
  const checksum = CHECKSUM.exec(line);
  if (checksum === null) return "the line has no checksum: it was cut or written by something else";
  if (crc32Hex(line.slice(0, checksum.index)) !== checksum[1]) return "the line does not match its checksum";
  try {
    return JSON.parse(end === -1 ? line : `${line.slice(0, end)}}`) as LineContent;
  } catch {
    return "the line is no JSON";
  }
}

/** The start of a line, or a description of what is wrong with it. */
export function readLineHead(line: string): LineHead | string {
  // Inside JSON text, these quotes would be escaped.
  return contentOf(line, line.indexOf(',"message":'));
}

/**
 * The message of a line (or its head if an earlier transcript has it) and the number of messages in its own
 * transcript; otherwise a description of what is wrong with it.
 */
export function readArchiveLine(
  line: string,
): { readonly archived?: ArchivedMessage; readonly head: LineHead } | string {
  const content = contentOf(line);
  if (typeof content === "string") return content;
  if (content.at !== undefined) return { head: content };
  const parts: unknown = content.message?.parts;
  if (!Array.isArray(parts) || !parts.every(isObject)) return "the line holds no message";
  return { archived: fromContent(content), head: content };
}

function fromContent(content: LineContent): ArchivedMessage {
  const { n, id, hash, role, redacted = false, left_out, message, format } = content;
  const { parts, meta } = message;
  const native = content.shared === true ? withTexts(content.native, longTexts(message)) : content.native;
  return {
    archiveId: hash,
    n,
    redacted,
    leftOut: left_out,
    message: { id, role, parts, meta, native, format },
  };
}

interface Encoded {
  readonly json: string | undefined;
  readonly redacted: boolean;
  /** The written value, redacted. */
  readonly safe?: unknown;
  readonly shared?: true;
  readonly leftOut?: string;
}

// A caller's message mostly repeats its neutral form: long texts are stored once.

const LONG_TEXT = 40;
const SHARED = "=";

/** The long texts of a value, in JSON order. */
function longTexts(value: unknown, found: string[] = []): string[] {
  if (typeof value === "string" && value.length >= LONG_TEXT) found.push(value);
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) longTexts(inner, found);
  }
  return found;
}

/**
 * JSON with references to `texts` in place of those texts; undefined if it contains none, or if a key would
 * be misread.
 */
function sharedJson(value: unknown, texts: readonly string[]): string | undefined {
  if (texts.length === 0) return undefined;
  const places = new Map(texts.map((text, index) => [text, { [SHARED]: index }]));
  const ours = new Set<unknown>(places.values());
  let shared = false;
  let clashes = false;
  const json = JSON.stringify(value, function (this: unknown, key, inner: unknown) {
    if (key === SHARED && !ours.has(this)) clashes = true;
    const place = typeof inner === "string" && inner.length >= LONG_TEXT ? places.get(inner) : undefined;
    shared ||= place !== undefined;
    return place ?? inner;
  });
  return shared && !clashes ? json : undefined;
}

function withTexts(value: unknown, texts: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => withTexts(inner, texts));
  const place = (value as Record<string, unknown>)[SHARED];
  if (typeof place === "number") return texts[place];
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withTexts(inner, texts)]));
}

function jsonOfParts(neutral: LineContent["message"], n: number, redactor: Redact): Encoded {
  const deep = isTooDeep(neutral);
  try {
    const safe = withOwnNames(neutral, redactor.redactValue(neutral, deep ? MAX_DEPTH : undefined));
    const json = JSON.stringify(safe);
    const redacted = safe !== neutral;
    const leftOut = deep ? `values deeper than ${MAX_DEPTH} levels` : undefined;
    return { json, redacted, safe, leftOut };
  } catch (cause) {
    throw new CompactError("InvalidArgument", "a message cannot be archived: its parts are no JSON", {
      place: `messages[${n - 1}]`,
      hint: "Tool call arguments must be JSON text or plain JSON values: no BigInt, no throwing getter.",
      cause,
    });
  }
}

/** Fields of a neutral message that hold parts, or our own names. */
const NEUTRAL: ReadonlySet<string> = new Set(["parts", "content", "meta"]);

/** Restores the names in a redacted value: a pattern can match `parts` or `text`, which only we write. */
function withOwnNames(given: unknown, safe: unknown): unknown {
  if (Array.isArray(given) && Array.isArray(safe))
    return given.map((item, index) => withOwnNames(item, safe[index]));
  if (safe === given || !isObject(given) || !isObject(safe)) return safe;
  const values = Object.values(safe);
  const named = Object.entries(given).map(([name, own], index): [string, unknown] => {
    if (name === "type") return [name, own];
    return [name, NEUTRAL.has(name) ? withOwnNames(own, values[index]) : values[index]];
  });
  return Object.fromEntries(named);
}

/**
 * The caller's native object, stored along with its neutral form; omitted with a note in the line if it is
 * not JSON.
 */
function jsonOfNative(native: unknown, redactor: Redact, neutral: unknown): Encoded {
  if (native === undefined) return { json: undefined, redacted: false };
  const without = (reason: string): Encoded => ({
    json: undefined,
    redacted: false,
    leftOut: `native: ${reason}`,
  });
  try {
    if (isTooDeep(native)) return without(`nested deeper than ${MAX_DEPTH} levels`);
    const safe = redactor.redactValue(native);
    const redacted = safe !== native;
    const shared = sharedJson(safe, longTexts(neutral));
    return shared === undefined
      ? { json: JSON.stringify(safe), redacted }
      : { json: shared, redacted, shared: true };
  } catch {
    return without("no JSON");
  }
}

/** A circular value counts as too deep. */
function isTooDeep(value: unknown): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== "object" || next.value === null || ArrayBuffer.isView(next.value)) continue;
    if (next.depth > MAX_DEPTH) return true;
    for (const inner of Object.values(next.value)) open.push({ value: inner, depth: next.depth + 1 });
  }
  return false;
}

// ---- reading a transcript

/** A line of a stored value, from 1. */
interface StoredLine {
  readonly line: number;
  readonly text: string;
  /** Why this is the last line and not a whole one. */
  readonly torn?: string;
}

const CUT_OFF = "the last line was cut off";
/** Characters of a line; no provider takes a message of this size. */
const LONGEST_LINE = 2 ** 28;
const TOO_LONG = `the line is longer than ${LONGEST_LINE} characters: it and all that follows is left unread`;

/** The lines of a value read in pieces; stopping early closes the value. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<StoredLine> {
  let open: string[] = [];
  let size = 0;
  let line = 1;
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", from)) {
      const tail = piece.slice(from, end);
      yield { line, text: open.length === 0 ? tail : open.join("") + tail };
      open = [];
      size = 0;
      line += 1;
      from = end + 1;
    }
    if (from < piece.length) open.push(piece.slice(from));
    size += piece.length - from;
    if (size <= LONGEST_LINE) continue;
    yield { line, text: "", torn: TOO_LONG };
    return;
  }
  if (open.length > 0) yield { line, text: open.join(""), torn: CUT_OFF };
}

export interface ArchiveProblem {
  /** From 1. */
  readonly line: number;
  readonly problem: string;
}

/** An entry of a transcript file, in file order; problems have `problem`. */
export type ArchiveEntry = ArchivedMessage | ArchiveProblem;

export interface ArchivedTranscript {
  readonly messages: readonly ArchivedMessage[];
  readonly problems: readonly ArchiveProblem[];
}

/**
 * Parses transcript text without references to other transcripts: its messages, and its damaged, missing and
 * truncated lines.
 */
export function readTranscriptText(text: string): ArchivedTranscript {
  const reading = createReading();
  const lines = text.split("\n");
  const torn = lines.pop() ?? "";
  const entries = lines.flatMap((line) => reading.take(line));
  if (torn !== "") entries.push(...reading.take(torn, CUT_OFF));
  return sorted([...entries, ...reading.end()].filter((entry): entry is ArchiveEntry => !isReference(entry)));
}

/** A line whose message is stored in an earlier transcript. */
interface ArchiveReference {
  /** The number of the line, from 1. */
  readonly line: number;
  readonly head: LineHead & { readonly at: ArchivePlace };
}

export function isReference(entry: ArchiveEntry | ArchiveReference): entry is ArchiveReference {
  return "head" in entry;
}

/** The entries of a file read in pieces, in file order. */
async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<ArchiveEntry | ArchiveReference> {
  const reading = createReading();
  for await (const { text, torn } of linesOf(pieces)) yield* reading.take(text, torn);
  yield* reading.end();
}

/** The originals of references, by step and line; unreadable ones are missing. */
async function originalsOf(
  references: readonly ArchiveReference[],
  stream: (step: number) => AsyncIterable<string>,
): Promise<ReadonlyMap<string, ArchivedMessage>> {
  const found = new Map<string, ArchivedMessage>();
  for (const step of new Set(references.map(({ head }) => head.at[0]))) {
    const ofStep = references.filter(({ head }) => head.at[0] === step);
    const wanted = new Map(ofStep.map(({ head }) => [head.at[1], head.hash]));
    for await (const { line, text } of linesOf(stream(step))) {
      const hash = wanted.get(line);
      if (hash === undefined) continue;
      wanted.delete(line);
      const read = readArchiveLine(text);
      if (typeof read !== "string" && read.archived?.archiveId === hash) {
        found.set(`${step},${line}`, read.archived);
      }
      if (wanted.size === 0) break;
    }
  }
  return found;
}

/**
 * The entries of a file, references resolved. Everything after the first reference is held in memory: such a
 * transcript is about as long as the window.
 */
export async function* readTranscriptPieces(
  pieces: AsyncIterable<string>,
  stream: (step: number) => AsyncIterable<string>,
): AsyncGenerator<ArchiveEntry> {
  const held: (ArchiveEntry | ArchiveReference)[] = [];
  for await (const entry of readLines(pieces)) {
    if (held.length > 0 || isReference(entry)) held.push(entry);
    else yield entry;
  }
  const originals = await originalsOf(held.filter(isReference), stream);
  for (const entry of held) {
    if (!isReference(entry)) yield entry;
    else {
      const { line, head } = entry;
      const original = originals.get(head.at.join(","));
      yield original === undefined
        ? { line, problem: `its message is line ${head.at[1]} of step ${head.at[0]}, which cannot be read` }
        : { ...original, n: head.n };
    }
  }
}

/** The error for a missing transcript; lists the existing ones. */
export function noTranscript(sessionId: string, step: number, steps: readonly number[]): CompactError {
  return new CompactError(
    "NotFound",
    `session ${JSON.stringify(sessionId)} has no transcript of step ${step}`,
    {
      hint:
        steps.length === 0
          ? "Nothing of this session is in the archive: look at the ids of the sessions that are."
          : `There are transcripts of the steps ${steps.join(", ")}.`,
    },
  );
}

export interface Reading {
  /** The contents of the next line; `torn` as in `StoredLine`. */
  take(text: string, torn?: string): (ArchiveEntry | ArchiveReference)[];
  /** Problems for the lines that are missing at the end. */
  end(): ArchiveProblem[];
  /** The number of messages stated by the lines so far; 0 if none could be read. */
  stated(): number;
}

export function createReading(): Reading {
  let line = 0;
  let expected = 1;
  let total: number | undefined;
  let isTorn = false;
  return {
    take(text, torn) {
      line += 1;
      isTorn = torn !== undefined;
      const read = torn ?? readArchiveLine(text);
      if (typeof read === "string") {
        expected += 1;
        return [{ line, problem: read }];
      }
      const { archived, head } = read;
      const gap = { line, problem: `message ${head.n} follows where ${expected} should` };
      const entry = archived ?? { line, head: head as ArchiveReference["head"] };
      const entries = head.n === expected ? [entry] : [gap, entry];
      expected = head.n + 1;
      total = head.of;
      return entries;
    },
    end() {
      const behind = isTorn ? line : line + 1;
      if (total === undefined) {
        return !isTorn && expected === 1 ? [{ line: behind, problem: "the file is empty" }] : [];
      }
      const missing = `messages ${expected} to ${total} are missing`;
      return expected <= total ? [{ line: behind, problem: missing }] : [];
    },
    stated: () => total ?? 0,
  };
}

export function sorted(entries: readonly ArchiveEntry[]): ArchivedTranscript {
  const isProblem = (entry: ArchiveEntry): entry is ArchiveProblem => "problem" in entry;
  const messages = entries.filter((entry): entry is ArchivedMessage => !isProblem(entry));
  return { messages, problems: entries.filter(isProblem) };
}
