import type { S3Client } from "@aws-sdk/client-s3";
import type { StorageDriver, StoredValue } from "../../core/ports.ts";
import { CompactError, hasCode, requireOptions, requireText } from "../../errors.ts";
import { checkedDriver, isKey } from "../keys.ts";
import { Bucket } from "./bucket.ts";
import { createConnection } from "./client.ts";
import { appendRecord, folderOfCopies, openValue, replaceValue, versionOf } from "./values.ts";

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
  const wait = options.wait ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  const attempts = {
    timeout: options.timeout ?? 15_000,
    most: options.attempts ?? 6,
    wait,
    random: Math.random,
  };
  const { bucket: name, kmsKeyId } = options;
  const connect = createConnection(options);
  const bucket = (signal?: AbortSignal): Bucket =>
    new Bucket({ bucket: name, prefix, kmsKeyId, attempts, connect, signal });
  /** Backs off after losing the `n`th race. */
  const yieldTurn = (n: number): Promise<void> => wait(Math.min(500, 5 * n) * Math.random());

  return checkedDriver({
    location,
    get: (key, call) => get(bucket(call?.signal), key),
    async *stream(key) {
      yield* (await openValue(bucket(), key))?.pieces ?? [];
    },
    version: async (key, call) => versionOf(await bucket(call?.signal).facts(key)),
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
