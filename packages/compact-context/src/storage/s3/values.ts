import { conflict } from "../../core/archive.ts";
import type { Bucket, ObjectBytes, ObjectFacts } from "./bucket.ts";
import type { Condition, Written } from "./client.ts";

/**
 * Each write stores a random name with the object, in front of the names of the last few writes. It makes
 * versions of equal content distinct, and tells a write whose response was lost whether it succeeded, even if
 * others have written since.
 */
const WRITES = "compact-writes";
const REMEMBERED_WRITES = 12;
const PART_BYTES = 8_388_608;

export type Notes = Readonly<Record<string, string>>;

/** The notes of a write named `write` that replaces an object with the notes `before`. */
export function notesOfWrite(write: string, before: Notes = {}): Notes {
  const earlier = writesOf(before).slice(0, REMEMBERED_WRITES - 1);
  return { [WRITES]: [write, ...earlier].join(" ") };
}

/** The name of the newest write; empty for objects written by other tools. */
function newestWrite(notes: Notes): string {
  return writesOf(notes)[0] ?? "";
}

/** Distinct for every write, even of the same content. */
export function versionOf({ etag, notes }: Pick<ObjectFacts, "etag" | "notes">): string {
  return `${etag}.${newestWrite(notes)}`;
}

/** The outcome of a conditional write: done (even if its response was lost) or refused. */
async function wasWritten(
  bucket: Bucket,
  name: string,
  outcome: { readonly written: Written; readonly write: string },
): Promise<string | undefined> {
  const { written, write } = outcome;
  if (written !== undefined) return `${written}.${write}`;
  const now = await bucket.facts(name);
  if (now === undefined || !writesOf(now.notes).includes(write)) return undefined;
  return newestWrite(now.notes) === write ? versionOf(now) : `overwritten.${write}`;
}

/** Writes a value given in chunks: one request if it is small, otherwise parts of eight megabytes. */
export async function writeValue(
  bucket: Bucket,
  name: string,
  value: { readonly chunks: AsyncIterable<string>; readonly condition: Condition; readonly notes: Notes },
): Promise<string> {
  const { chunks, condition, notes } = value;
  const parts = byteParts(chunks);
  const { value: first = new Uint8Array() } = await parts.next();
  const second = await parts.next();
  const write = newestWrite(notes);
  const written =
    second.done === true
      ? await bucket.write(name, first, { condition, notes })
      : await writeParts(bucket, name, { parts: both(first, second.value, parts), condition, notes });
  const version = await wasWritten(bucket, name, { written, write });
  if (version === undefined) throw conflict(name);
  return version;
}

async function writeParts(
  bucket: Bucket,
  name: string,
  value: { readonly parts: AsyncIterable<Uint8Array>; readonly condition: Condition; readonly notes: Notes },
): Promise<Written> {
  const upload = await bucket.startUpload(name, value.notes);
  try {
    let number = 0;
    for await (const part of value.parts) await upload.part(++number, part);
    // Servers other than AWS may ignore the condition on finishing; this check narrows the race to a moment.
    const now = await bucket.facts(name);
    const holds = value.condition === undefined || (now?.etag ?? null) === value.condition;
    const written = holds ? await upload.finish(value.condition) : undefined;
    if (written === undefined) await upload.abandon();
    return written;
  } catch (error) {
    await upload.abandon();
    throw error;
  }
}

async function* both(
  first: Uint8Array,
  second: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield first;
  yield second;
  yield* rest;
}

/** UTF-8 in parts of equal size; only the last is shorter. */
async function* byteParts(chunks: AsyncIterable<string>): AsyncGenerator<Uint8Array, undefined> {
  let open: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const bytes = new TextEncoder().encode(chunk);
    open.push(bytes);
    size += bytes.length;
    if (size < PART_BYTES) continue;
    const joined = joinBytes(open, size);
    const whole = size - (size % PART_BYTES);
    for (let start = 0; start < whole; start += PART_BYTES) yield joined.subarray(start, start + PART_BYTES);
    open = whole === size ? [] : [joined.slice(whole)];
    size -= whole;
  }
  if (size > 0) yield joinBytes(open, size);
  return undefined;
}

function joinBytes(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const joined = new Uint8Array(size);
  let offset = 0;
  for (const piece of pieces) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}

/** The text of one version of an object, one request per eight megabytes; empty if there is none. */
export async function* readValue(bucket: Bucket, name: string): AsyncGenerator<string> {
  const first = await readBeginning(bucket, name);
  if (first !== undefined) yield* readOn(bucket, name, first);
}

/** Reads the first eight megabytes of an object. */
export function readBeginning(bucket: Bucket, name: string): Promise<ObjectBytes | undefined> {
  return bucket.read(name, { start: 0, length: PART_BYTES });
}

/** The text of the version whose beginning was read; rejects with `Conflict` if it is replaced meanwhile. */
export async function* readOn(bucket: Bucket, name: string, first: ObjectBytes): AsyncGenerator<string> {
  const { size, etag } = first;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let { bytes } = first;
  for (let start = 0; ; ) {
    const piece = decoder.decode(bytes, { stream: true });
    if (piece !== "") yield piece;
    start += bytes.length;
    if (bytes.length === 0 || start >= size) break;
    const next = await bucket.read(name, { start, length: PART_BYTES, etag });
    if (next === undefined) throw conflict(name);
    bytes = next.bytes;
  }
  const rest = decoder.decode();
  if (rest !== "") yield rest;
}

function writesOf(notes: Notes): string[] {
  return (notes[WRITES] ?? "").split(" ").filter((write) => write !== "");
}

/**
 * A value that is appended to is one object, rewritten over the version read, until it reaches `FULL` bytes.
 * The next append has the server copy the object to a hidden name that is never reused, and writes a new
 * object that holds only the new record and names that copy as its predecessor. Each step takes effect with
 * one conditional write of the object itself, so concurrent appends and puts of several processes never
 * overwrite one another.
 */
const FULL = 16_384;
const APPEND_ATTEMPTS = 100;
const BEFORE = "compact-before";
const COUNT = "compact-count";

export interface LogRecord {
  readonly key: string;
  readonly text: string;
  newWrite(): string;
  /** Backs off after losing the `n`th race. */
  yieldTurn(n: number): Promise<void>;
}

/** Appends a record; durable once it resolves, and applied once even if responses are lost. */
export async function appendRecord(bucket: Bucket, record: LogRecord): Promise<void> {
  const { key, newWrite, yieldTurn } = record;
  const write = newWrite();
  for (let attempt = 1; attempt <= APPEND_ATTEMPTS; attempt++) {
    const tail = await bucket.read(key, { start: 0, length: FULL });
    const written = await (tail === undefined ? create : extend)(bucket, record, { write, tail });
    if ((await wasWritten(bucket, key, { written, write })) !== undefined) return;
    await yieldTurn(attempt);
  }
  throw conflict(key);
}

interface Step {
  readonly write: string;
  readonly tail: ObjectBytes | undefined;
}

function create(bucket: Bucket, { key, text }: LogRecord, { write }: Step): Promise<string | undefined> {
  return bucket.write(key, new TextEncoder().encode(text), { condition: null, notes: notesOfWrite(write) });
}

async function extend(
  bucket: Bucket,
  { key, text }: LogRecord,
  { write, tail }: Step,
): Promise<string | undefined> {
  if (tail === undefined) return undefined;
  const added = new TextEncoder().encode(text);
  const { etag, notes, size, bytes } = tail;
  const follow = notesOfWrite(write, notes);
  if (size === 0 || size + added.length <= FULL) {
    const joined = new Uint8Array(size + added.length);
    joined.set(bytes);
    joined.set(added, size);
    return bucket.write(key, joined, { condition: etag, notes: { ...notes, ...follow } });
  }
  const count = Number(notes[COUNT] ?? 0) + 1;
  const copy = `${folderOfCopies(key)}${String(count).padStart(6, "0")}-${newestWrite(notes) || etag}`;
  if (!(await bucket.copy(key, copy, etag))) return undefined;
  const chained = { ...follow, [BEFORE]: copy, [COUNT]: String(count) };
  return bucket.write(key, added, { condition: etag, notes: chained });
}

/** The hidden objects that precede this one, oldest first; undefined if one of them is gone. */
export async function copiesBefore(
  bucket: Bucket,
  { notes }: Pick<ObjectFacts, "notes">,
): Promise<string[] | undefined> {
  const copies: string[] = [];
  for (let name = notes[BEFORE]; name !== undefined; ) {
    copies.unshift(name);
    const facts: ObjectFacts | undefined = await bucket.facts(name);
    if (facts === undefined) return undefined;
    name = facts.notes[BEFORE];
  }
  return copies;
}

/** True if other objects precede this one. */
export function hasCopies(notes: Notes): boolean {
  return notes[BEFORE] !== undefined;
}

/** The folder of a key's hidden objects; no key is ever inside it. */
export function folderOfCopies(key: string): string {
  const slash = key.lastIndexOf("/") + 1;
  return `${key.slice(0, slash)}.${key.slice(slash)}.before/`;
}
