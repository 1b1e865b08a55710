import type { StorageDriver, StoredValue } from "../../core/ports.ts";
import { CompactError, conflict, hasCode, requireOptions, requireText } from "../../errors.ts";
import { checkedDriver, isKey } from "../keys.ts";
import {
  Bucket,
  createConnection,
  type Notes,
  type ObjectBytes,
  type ObjectFacts,
  type S3Client,
  type Written,
} from "./bucket.ts";

const BUCKET_HINT = "Pass the bucket of the archive: { bucket }.";

export interface S3DriverOptions {
  readonly bucket: string;
  /** Folder inside the bucket, without leading or trailing slash. */
  readonly prefix?: string;
  /** Default: the SDK's resolution, environment first, then shared config. */
  readonly region?: string;
  /** URL of a server other than AWS. */
  readonly endpoint?: string;
  /** KMS key for server-side encryption of everything stored. */
  readonly kmsKeyId?: string;
  /** Puts the bucket into the path instead of the host name; required by most servers other than AWS. */
  readonly forcePathStyle?: boolean;
  /** Replaces the client with the default credential chain; create it with `maxAttempts: 1`. */
  readonly client?: S3Client;
  /** Maximum attempts per request. Default: 6. */
  readonly attempts?: number;
  /** Timeout of one request, in milliseconds. Default: 15,000. */
  readonly timeout?: number;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

const READ_ATTEMPTS = 10;

/**
 * Stores values as objects `prefix/key` of a bucket; needs `@aws-sdk/client-s3`. Every write is atomic and,
 * with a version, exact across processes on servers that honor `If-Match` and `If-None-Match`. Values over
 * eight megabytes are uploaded in parts.
 */
export function createS3Driver(options: S3DriverOptions): StorageDriver {
  requireOptions(options, "options", BUCKET_HINT);
  requireText(options.bucket, "options.bucket", BUCKET_HINT);
  const { location, prefix } = placeOf(options);
  const wait = options.wait ?? ((ms: number) => new Promise<void>((done) => setTimeout(done, ms)));
  const attempts = { timeout: options.timeout ?? 15_000, most: options.attempts ?? 6, wait };
  const { bucket: name, kmsKeyId } = options;
  const connect = createConnection(options);
  const bucket = (signal?: AbortSignal): Bucket =>
    new Bucket({ bucket: name, prefix, kmsKeyId, attempts, connect, signal });
  /** Backs off after losing the `n`th race. */
  const yieldTurn = (n: number): Promise<void> => wait(Math.min(500, 5 * n) * Math.random());

  return checkedDriver({
    location,
    inTurn: "all",
    get: (key, call) => get(bucket(call?.signal), key),
    async *stream(key) {
      yield* (await openValue(bucket(), key))?.pieces ?? [];
    },
    async version(key, call) {
      const facts = await bucket(call?.signal).facts(key);
      return facts && versionOf(facts);
    },
    put: async (key, pieces, { ifVersion, signal }) => ({
      version: await replaceValue(bucket(signal), key, pieces, ifVersion),
    }),
    append: (key, text, call) => appendRecord(bucket(call?.signal), key, text, yieldTurn),
    async list(under, { after = "", limit = Number.POSITIVE_INFINITY, signal } = {}) {
      const found: string[] = [];
      for await (const { key } of bucket(signal).objects(under, after, limit)) {
        if (found.length >= limit) break;
        if (key > after && isKey(key)) found.push(key);
      }
      return found.sort();
    },
    async delete(key, call) {
      await bucket(call?.signal).remove(key);
      await removeBelow(bucket(call?.signal), folderOfCopies(key));
    },
    async *entries(under) {
      for await (const entry of bucket().objects(under)) if (isKey(entry.key)) yield entry;
    },
    purge: (under) => removeBelow(bucket(), under),
  });
}

async function removeBelow(bucket: Bucket, prefix: string): Promise<void> {
  const names: string[] = [];
  for await (const { key } of bucket.objects(prefix)) names.push(key);
  for (const name of names) await bucket.remove(name);
}

function placeOf({ bucket, prefix = "" }: S3DriverOptions): { location: string; prefix: string } {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:/-]{1,254}$/.test(bucket)) {
    throw new CompactError("InvalidArgument", `${JSON.stringify(bucket)} is no name of a bucket`, {
      place: "options.bucket",
      hint: "Give the name alone, such as my-archives; a folder inside it goes into prefix.",
    });
  }
  const inner = prefix.replace(/^\/+|\/+$/g, "");
  if (inner !== "" && !isKey(inner)) {
    throw new CompactError("InvalidArgument", `${JSON.stringify(prefix)} cannot be a prefix of the archive`, {
      place: "options.prefix",
      hint: "Use letters, digits, . _ ~ = - and / between folders.",
    });
  }
  return inner === ""
    ? { location: `s3://${bucket}`, prefix: "" }
    : { location: `s3://${bucket}/${inner}`, prefix: `${inner}/` };
}

async function get(bucket: Bucket, key: string): Promise<StoredValue | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      const found = await openValue(bucket, key);
      if (found === undefined) return undefined;
      let value = "";
      for await (const piece of found.pieces) value += piece;
      return { value, version: found.version };
    } catch (error) {
      if (!hasCode(error, "Conflict") || attempt === READ_ATTEMPTS) throw error;
    }
  }
}

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
function versionOf({ etag, notes }: ObjectFacts): string {
  return `${etag}.${writesOf(notes)[0] ?? ""}`;
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
  if (now === undefined || !writes.includes(write)) return undefined;
  return writes[0] === write ? versionOf(now) : `overwritten.${write}`;
}

/**
 * Writes a value over the version that `ifVersion` names, over nothing (null) or over whatever is there: one request
 * if it is small, otherwise parts of eight megabytes.
 */
async function replaceValue(
  bucket: Bucket,
  key: string,
  pieces: AsyncIterable<string>,
  ifVersion: string | null | undefined,
): Promise<string> {
  const before = ifVersion === null ? undefined : await bucket.facts(key);
  if (typeof ifVersion === "string" && (before === undefined || versionOf(before) !== ifVersion))
    throw conflict(key);
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
async function openValue(
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
async function appendRecord(
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
function folderOfCopies(key: string): string {
  const slash = key.lastIndexOf("/") + 1;
  return `${key.slice(0, slash)}.${key.slice(slash)}.before/`;
}
