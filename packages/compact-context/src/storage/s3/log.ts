import { conflict } from "../../core/archive.ts";
import type { Bucket, ObjectBytes, ObjectFacts } from "./bucket.ts";
import { type Notes, newestWrite, notesOfWrite, wasWritten } from "./values.ts";

/**
 * A value that is appended to is one object, written anew over the version read, until it has `FULL` bytes. The next
 * record then first has the server copy the object to a hidden name that no other content ever gets, and goes
 * alone into an object that names that copy as what comes before it. Every step counts with one conditional write of
 * the object itself, so appends and puts of several processes never overwrite one another.
 */
const FULL = 262_144;
const APPEND_ATTEMPTS = 100;
const BEFORE = "compact-before";
const COUNT = "compact-count";

export interface Record {
  readonly key: string;
  readonly text: string;
  newWrite(): string;
  /** Waits a moment after losing the `n`th race. */
  yieldTurn(n: number): Promise<void>;
}

/** Adds a record to the end; resolves when it is durable, and adds it once also when answers get lost. */
export async function appendRecord(bucket: Bucket, record: Record): Promise<void> {
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

function create(bucket: Bucket, { key, text }: Record, { write }: Step): Promise<string | undefined> {
  return bucket.write(key, new TextEncoder().encode(text), { condition: null, notes: notesOfWrite(write) });
}

async function extend(
  bucket: Bucket,
  { key, text }: Record,
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

/** The hidden objects that come before this one, oldest first; nothing where one of them is gone. */
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

/** True for an object that others come before. */
export function hasCopies(notes: Notes): boolean {
  return notes[BEFORE] !== undefined;
}

/** Where the hidden objects of a key lie; no key is ever in there. */
export function folderOfCopies(key: string): string {
  const slash = key.lastIndexOf("/") + 1;
  return `${key.slice(0, slash)}.${key.slice(slash)}.before/`;
}
