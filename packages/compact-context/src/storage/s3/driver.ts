import { conflict } from "../../core/archive.ts";
import type { CallOptions, StorageDriver, StoredValue } from "../../core/ports.ts";
import {
  abortable,
  CompactError,
  createKeyedMutex,
  hasCode,
  refuseAborted,
  requireOptions,
  requireText,
} from "../../errors.ts";
import { checkedPieces, checkKey, checkPrefix, isKey, recordsText } from "../keys.ts";
import { type Bucket, createBucket, type ObjectBytes } from "./bucket.ts";
import { createConnection, type S3Client } from "./client.ts";
import {
  appendRecord,
  copiesBefore,
  folderOfCopies,
  hasCopies,
  notesOfWrite,
  readBeginning,
  readOn,
  readValue,
  versionOf,
  writeValue,
} from "./values.ts";

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
  const place = placeOf(options);
  const wait = options.wait ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  const settings = {
    bucket: options.bucket,
    prefix: place.prefix,
    kmsKeyId: options.kmsKeyId,
    attempts: { timeout: options.timeout ?? 15_000, most: options.attempts ?? 6, wait, random: Math.random },
    connect: createConnection(options),
  };
  const inTurn = createKeyedMutex();
  const newWrite = (): string => crypto.randomUUID();
  const yieldTurn = (n: number): Promise<void> => wait(Math.min(500, 5 * n) * Math.random());
  const guarded = <T>(
    key: string,
    work: (bucket: Bucket) => Promise<T>,
    { signal }: CallOptions = {},
  ): Promise<T> => {
    const turn = inTurn(key, async () => {
      checkKey(key);
      refuseAborted(signal);
      return work(createBucket({ ...settings, signal }));
    });
    return abortable(turn, signal);
  };

  return {
    location: place.location,
    get: (key, call) => guarded(key, (bucket) => get(bucket, key), call),
    async *stream(key) {
      checkKey(key);
      yield* (await openValue(createBucket(settings), key))?.pieces ?? [];
    },
    async version(key, { signal } = {}) {
      checkKey(key);
      const facts = await createBucket({ ...settings, signal }).facts(key);
      return facts && versionOf(facts);
    },
    put: (key, value, call) =>
      guarded(
        key,
        async (bucket) => {
          const write = { key, value, ifVersion: call?.ifVersion, write: newWrite() };
          return { version: await put(bucket, write) };
        },
        call,
      ),
    append: (key, records, call) =>
      guarded(
        key,
        async (bucket) => appendRecord(bucket, { key, text: recordsText(records, key), newWrite, yieldTurn }),
        call,
      ),
    async list(prefix, { after, limit, signal } = {}) {
      checkPrefix(prefix);
      return createBucket({ ...settings, signal }).names(prefix, { after, limit, accept: isKey });
    },
    delete: (key, call) => guarded(key, (bucket) => remove(bucket, key), call),
    async *entries(prefix) {
      checkPrefix(prefix);
      for await (const entry of createBucket(settings).entries(prefix)) if (isKey(entry.key)) yield entry;
    },
    async purge(prefix) {
      checkPrefix(prefix);
      const bucket = createBucket(settings);
      for (const name of await bucket.names(prefix)) await bucket.remove(name);
    },
  };
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

interface Put {
  readonly key: string;
  readonly value: string | Iterable<string>;
  readonly ifVersion: string | null | undefined;
  readonly write: string;
}

async function put(bucket: Bucket, { key, value, ifVersion, write }: Put): Promise<string> {
  const checked = checkedPieces(value, key);
  if (ifVersion === null)
    return writeValue(bucket, key, { chunks: checked, condition: null, notes: notesOfWrite(write) });
  const before = await bucket.facts(key);
  if (ifVersion !== undefined && (before === undefined || versionOf(before) !== ifVersion))
    throw conflict(key);
  const copies = before === undefined ? [] : await copiesBefore(bucket, before);
  const version = await writeValue(bucket, key, {
    chunks: checked,
    condition: ifVersion === undefined ? undefined : before?.etag,
    notes: notesOfWrite(write, before?.notes),
  });
  for (const copy of copies ?? []) await bucket.remove(copy);
  return version;
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

interface OpenValue {
  readonly version: string;
  readonly pieces: AsyncIterable<string>;
}

/**
 * One version of a value; undefined if there is none. Reading rejects with `Conflict` if the value is
 * replaced meanwhile.
 */
async function openValue(bucket: Bucket, key: string): Promise<OpenValue | undefined> {
  const newest = await readBeginning(bucket, key);
  if (newest === undefined) return undefined;
  const version = versionOf(newest);
  if (!hasCopies(newest.notes)) return { version, pieces: readOn(bucket, key, newest) };
  const copies = await copiesBefore(bucket, newest);
  if (copies === undefined) throw conflict(key);
  return { version, pieces: readAll(bucket, { key, newest, copies }) };
}

async function* readAll(
  bucket: Bucket,
  { key, newest, copies }: { key: string; newest: ObjectBytes; copies: readonly string[] },
): AsyncGenerator<string> {
  for (const copy of copies) {
    let length = 0;
    for await (const piece of readValue(bucket, copy)) {
      length += piece.length;
      yield piece;
    }
    // Copies are never empty: this one was deleted, along with the value it belonged to.
    if (length === 0) throw conflict(key);
  }
  yield* readOn(bucket, key, newest);
}

async function remove(bucket: Bucket, key: string): Promise<void> {
  await bucket.remove(key);
  for (const copy of await bucket.names(folderOfCopies(key))) await bucket.remove(copy);
}
