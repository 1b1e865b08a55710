import { conflict } from "../../core/archive.ts";
import type { Bucket, Notes, ObjectBytes, ObjectFacts, Written } from "./bucket.ts";

/**
 * Each write stores a random name with the object, in front of the names of the last few writes. It makes
 * versions of equal content distinct, and tells a write whose response was lost whether it succeeded, even if
 * others have written since.
 */
const WRITES = "compact-writes";
const REMEMBERED_WRITES = 12;
const PART_BYTES = 8_388_608;

/** The names of the writes that a note keeps, newest first; none for objects written by other tools. */
function writesOf(notes: Notes = {}): string[] {
  return (notes[WRITES] ?? "").split(" ").filter((write) => write !== "");
}

/** The notes of a write named `write` that replaces an object with the notes `before`. */
function notesOfWrite(write: string, before?: Notes): Notes {
  return { [WRITES]: [write, ...writesOf(before).slice(0, REMEMBERED_WRITES - 1)].join(" ") };
}

/** Distinct for every write, even of the same content. */
export function versionOf(facts: Pick<ObjectFacts, "etag" | "notes">): string;
export function versionOf(facts: Pick<ObjectFacts, "etag" | "notes"> | undefined): string | undefined;
export function versionOf(facts: Pick<ObjectFacts, "etag" | "notes"> | undefined): string | undefined {
  return facts && `${facts.etag}.${writesOf(facts.notes)[0] ?? ""}`;
}

/** The version of a conditional write that is done, even if its response was lost; undefined if it was refused. */
async function versionWritten(
  bucket: Bucket,
  name: string,
  written: Written,
  write: string,
): Promise<string | undefined> {
  if (written !== undefined) return `${written}.${write}`;
  const now = await bucket.facts(name);
  const writes = writesOf(now?.notes);
  if (!writes.includes(write)) return undefined;
  return writes[0] === write ? versionOf(now) : `overwritten.${write}`;
}

/**
 * Writes a value over the version that `ifVersion` names, over nothing (null) or over whatever is there: one request
 * if it is small, otherwise parts of eight megabytes.
 */
export async function replaceValue(
  bucket: Bucket,
  key: string,
  pieces: AsyncIterable<string>,
  ifVersion: string | null | undefined,
): Promise<string> {
  const before = ifVersion === null ? undefined : await bucket.facts(key);
  if (typeof ifVersion === "string" && versionOf(before) !== ifVersion) throw conflict(key);
  const condition = typeof ifVersion === "string" ? before?.etag : ifVersion;
  const copies = before === undefined ? [] : await copiesBefore(bucket, before);
  const write = crypto.randomUUID();
  const notes = notesOfWrite(write, before?.notes);
  const parts = byteParts(pieces);
  const { value: first = new Uint8Array() } = await parts.next();
  const second = await parts.next();
  const written =
    second.done === true
      ? await bucket.write(key, first, condition, notes)
      : await bucket.upload(key, chain([first, second.value], parts), condition, notes);
  const version = await versionWritten(bucket, key, written, write);
  if (version === undefined) throw conflict(key);
  for (const copy of copies ?? []) await bucket.remove(copy);
  return version;
}

async function* chain<T>(first: Iterable<T>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* rest;
}

/** UTF-8 in parts of equal size; only the last is shorter. */
async function* byteParts(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array, undefined> {
  let open: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    const bytes = new TextEncoder().encode(piece);
    open.push(bytes);
    size += bytes.length;
    if (size < PART_BYTES) continue;
    const joined = joinBytes(open);
    const whole = size - (size % PART_BYTES);
    for (let start = 0; start < whole; start += PART_BYTES) yield joined.subarray(start, start + PART_BYTES);
    open = whole === size ? [] : [joined.slice(whole)];
    size -= whole;
  }
  if (size > 0) yield joinBytes(open);
  return undefined;
}

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((size, { length }) => size + length, 0));
  let offset = 0;
  for (const piece of pieces) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}

/**
 * One version of a value, read by eight megabytes; undefined if there is none. Reading rejects with `Conflict` if
 * the value is replaced meanwhile.
 */
export async function openValue(
  bucket: Bucket,
  key: string,
): Promise<{ readonly version: string; readonly pieces: AsyncIterable<string> } | undefined> {
  const newest = await bucket.read(key, 0, PART_BYTES);
  if (newest === undefined) return undefined;
  const copies = await copiesBefore(bucket, newest);
  if (copies === undefined) throw conflict(key);
  const pieces = async function* (): AsyncGenerator<string> {
    for (const copy of copies) {
      const first = await bucket.read(copy, 0, PART_BYTES);
      // It was deleted, along with the value it belonged to.
      if (first === undefined) throw conflict(key);
      yield* readOn(bucket, copy, first);
    }
    yield* readOn(bucket, key, newest);
  };
  return { version: versionOf(newest), pieces: pieces() };
}

/** The text of the object whose beginning was read. */
async function* readOn(bucket: Bucket, name: string, first: ObjectBytes): AsyncGenerator<string> {
  const { size, etag } = first;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let { bytes } = first;
  for (let start = 0; ; ) {
    const piece = decoder.decode(bytes, { stream: true });
    if (piece !== "") yield piece;
    start += bytes.length;
    if (bytes.length === 0 || start >= size) break;
    const next = await bucket.read(name, start, PART_BYTES, etag);
    if (next === undefined) throw conflict(name);
    bytes = next.bytes;
  }
  const rest = decoder.decode();
  if (rest !== "") yield rest;
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

/** Appends a record; durable once it resolves, and applied once even if responses are lost. */
export async function appendRecord(
  bucket: Bucket,
  key: string,
  text: string,
  yieldTurn: (lost: number) => Promise<void>,
): Promise<void> {
  const write = crypto.randomUUID();
  const added = new TextEncoder().encode(text);
  for (let attempt = 1; attempt <= APPEND_ATTEMPTS; attempt++) {
    const written = await appendOnce(bucket, key, added, write);
    if ((await versionWritten(bucket, key, written, write)) !== undefined) return;
    await yieldTurn(attempt);
  }
  throw conflict(key);
}

async function appendOnce(bucket: Bucket, key: string, added: Uint8Array, write: string): Promise<Written> {
  const tail = await bucket.read(key, 0, FULL);
  if (tail === undefined) return bucket.write(key, added, null, notesOfWrite(write));
  const { etag, notes, size, bytes } = tail;
  const follow = notesOfWrite(write, notes);
  if (size === 0 || size + added.length <= FULL)
    return bucket.write(key, joinBytes([bytes, added]), etag, { ...notes, ...follow });
  const count = Number(notes[COUNT] ?? 0) + 1;
  const copy = `${folderOfCopies(key)}${String(count).padStart(6, "0")}-${writesOf(notes)[0] ?? etag}`;
  if (!(await bucket.copy(key, copy, etag))) return undefined;
  return bucket.write(key, added, etag, { ...follow, [BEFORE]: copy, [COUNT]: String(count) });
}

/** The hidden objects that precede this one, oldest first; undefined if one of them is gone. */
async function copiesBefore(
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

/** The folder of a key's hidden objects; no key is ever inside it. */
export function folderOfCopies(key: string): string {
  const slash = key.lastIndexOf("/") + 1;
  return `${key.slice(0, slash)}.${key.slice(slash)}.before/`;
}
