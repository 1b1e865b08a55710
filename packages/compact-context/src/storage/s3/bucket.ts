import type { StoredEntry } from "../../core/ports.ts";
import { defined } from "../../errors.ts";
import {
  type BucketOptions,
  bareTag,
  type Calls,
  type CompletedPart,
  type Condition,
  conditionOf,
  createCalls,
  failureOf,
  type GetObjectOutput,
  isNotImplemented,
  type Written,
} from "./client.ts";

/** An object's metadata. */
export interface ObjectFacts {
  readonly etag: string;
  readonly size: number;
  readonly notes: Readonly<Record<string, string>>;
}

/** A byte range of an object; empty if it starts past the end. */
export interface ObjectBytes extends ObjectFacts {
  readonly bytes: Uint8Array;
}

export interface ByteRange {
  readonly start: number;
  readonly length: number;
  /** Restricts the read to this version. */
  readonly etag?: string;
}

export interface WriteHow {
  readonly condition: Condition;
  /** Stored with the object as headers: plain ASCII, never archived content. */
  readonly notes: Readonly<Record<string, string>>;
}

/** Objects under one prefix. Calls retry transient failures and reject with `StorageFailed`. */
export interface Bucket {
  facts(name: string): Promise<ObjectFacts | undefined>;
  read(name: string, range: ByteRange): Promise<ObjectBytes | undefined>;
  write(name: string, bytes: Uint8Array, how: WriteHow): Promise<Written>;
  /** Copies this version on the server, notes included; false if it is no longer the current one. */
  copy(from: string, to: string, etag: string): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Sorted; a page counts only names that `accept` returns true for. */
  names(prefix: string, page?: NamesPage): Promise<string[]>;
  /** All objects below a prefix, fetched page by page, with size and time. */
  entries(prefix: string): AsyncIterable<StoredEntry>;
  startUpload(name: string, notes: WriteHow["notes"]): Promise<Upload>;
}

export interface NamesPage {
  readonly after?: string;
  readonly limit?: number;
  accept?(name: string): boolean;
}

const NOT_IN_RANGE = 416;

export function createBucket(options: BucketOptions): Bucket {
  const calls = createCalls(options);
  const { kmsKeyId } = options;
  const sealed =
    kmsKeyId === undefined ? {} : { ServerSideEncryption: "aws:kms" as const, SSEKMSKeyId: kmsKeyId };
  const settings = (name: string, notes: WriteHow["notes"]) => ({
    ...sealed,
    Metadata: notes,
    ContentType: name.endsWith(".json") ? "application/json" : "application/x-ndjson; charset=utf-8",
  });
  return {
    facts: (name) => facts(calls, name),
    read: (name, range) => read(calls, name, range),
    write: (name, Body, { condition, notes }) =>
      calls.orRefused(name, async ({ sdk, client }, target, abortSignal) => {
        const input = { ...target, ...settings(name, notes), ...conditionOf(condition), Body };
        return bareTag((await client.send(new sdk.PutObjectCommand(input), { abortSignal })).ETag);
      }),
    async copy(from, to, etag) {
      const path = `${options.bucket}/${options.prefix}${from}`;
      const source = {
        CopySource: path.split("/").map(encodeURIComponent).join("/"),
        CopySourceIfMatch: etag,
      };
      try {
        const copied = await calls.orRefused(to, ({ sdk, client }, target, abortSignal) =>
          client.send(new sdk.CopyObjectCommand({ ...target, ...sealed, ...source }), { abortSignal }),
        );
        return copied !== undefined;
      } catch (error) {
        if (!isNotImplemented(error)) throw error;
      }
      // Ceph cannot copy encrypted objects: download and upload it instead.
      const length = (await facts(calls, from))?.size;
      const found = length === undefined ? undefined : await read(calls, from, { start: 0, length, etag });
      if (found === undefined) return false;
      await this.write(to, found.bytes, { condition: undefined, notes: found.notes });
      return true;
    },
    async remove(name) {
      await calls.done(name, ({ sdk, client }, target, abortSignal) =>
        client.send(new sdk.DeleteObjectCommand(target), { abortSignal }),
      );
    },
    names: (prefix, page) => names(calls, prefix, options.prefix, page),
    entries: (prefix) => entries(calls, prefix, options.prefix),
    startUpload: (name, notes) => startUpload(calls, name, settings(name, notes)),
  };
}

function facts(calls: Calls, name: string): Promise<ObjectFacts | undefined> {
  return calls.orRefused(name, async ({ sdk, client }, target, abortSignal) => {
    const answer = await client.send(new sdk.HeadObjectCommand(target), { abortSignal });
    return { etag: bareTag(answer.ETag), size: answer.ContentLength ?? 0, notes: answer.Metadata ?? {} };
  });
}

async function read(
  calls: Calls,
  name: string,
  { start, length, etag }: ByteRange,
): Promise<ObjectBytes | undefined> {
  const asked = defined({ Range: `bytes=${start}-${start + length - 1}`, IfMatch: etag });
  const found = await calls.orRefused(name, async ({ sdk, client }, target, abortSignal) => {
    try {
      const answer = await client.send(new sdk.GetObjectCommand({ ...target, ...asked }), { abortSignal });
      return await bytesOf(answer);
    } catch (error) {
      // Ranges of an empty object are not satisfiable.
      if (failureOf(error).status === NOT_IN_RANGE) return "empty";
      throw error;
    }
  });
  if (found !== "empty") return found;
  const known = await facts(calls, name);
  return known === undefined ? undefined : { ...known, bytes: new Uint8Array() };
}

async function bytesOf(answer: GetObjectOutput): Promise<ObjectBytes> {
  const { Body, ContentLength, ContentRange, ETag, Metadata = {} } = answer;
  const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
  if (ContentLength !== undefined && bytes.length !== ContentLength) throw truncated(bytes.length);
  const size = Number(/\/(\d+)$/.exec(ContentRange ?? "")?.[1] ?? bytes.length);
  return { etag: bareTag(ETag), size, notes: Metadata, bytes };
}

function truncated(bytes: number): Error {
  return Object.assign(new Error(`the answer ended after ${bytes} bytes`), { name: "TruncatedBody" });
}

const MOST_NAMES = 1000;

async function names(
  calls: Calls,
  prefix: string,
  root: string,
  { after = "", limit = Number.POSITIVE_INFINITY, accept = () => true }: NamesPage = {},
): Promise<string[]> {
  const found: string[] = [];
  for (let token: string | undefined, more = true; more && found.length < limit; ) {
    const page = await calls.done(prefix, async ({ sdk, client }, { Bucket, Key }, abortSignal) => {
      const input = defined({
        Bucket,
        Prefix: Key,
        ContinuationToken: token,
        StartAfter: after === "" ? undefined : root + after,
        MaxKeys: limit < MOST_NAMES ? limit : undefined,
      });
      return client.send(new sdk.ListObjectsV2Command(input), { abortSignal });
    });
    for (const { Key } of page.Contents ?? []) {
      const name = Key?.slice(root.length) ?? "";
      if (name > after && accept(name)) found.push(name);
    }
    token = page.NextContinuationToken;
    more = page.IsTruncated === true && token !== undefined;
  }
  return found.sort().slice(0, limit);
}

async function* entries(calls: Calls, prefix: string, root: string): AsyncGenerator<StoredEntry> {
  for (let token: string | undefined, more = true; more; ) {
    const page = await calls.done(prefix, async ({ sdk, client }, { Bucket, Key }, abortSignal) => {
      const input = defined({ Bucket, Prefix: Key, ContinuationToken: token });
      return client.send(new sdk.ListObjectsV2Command(input), { abortSignal });
    });
    for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
      yield { key: Key.slice(root.length), bytes: Size, at: LastModified?.getTime() ?? 0 };
    }
    token = page.NextContinuationToken;
    more = page.IsTruncated === true && token !== undefined;
  }
}

/** A multipart upload, visible only once finished. */
export interface Upload {
  /** Parts are numbered from 1; all but the last have at least five million bytes. */
  part(number: number, bytes: Uint8Array): Promise<void>;
  finish(condition: Condition): Promise<Written>;
  /** Aborts the upload; never rejects. */
  abandon(): Promise<void>;
}

/** Starts an upload; `settings` apply to the finished object. */
async function startUpload(calls: Calls, name: string, settings: object): Promise<Upload> {
  const id = await calls.done(name, async ({ sdk, client }, target, abortSignal) => {
    const command = new sdk.CreateMultipartUploadCommand({ ...target, ...settings });
    return (await client.send(command, { abortSignal })).UploadId;
  });
  const parts: CompletedPart[] = [];
  return {
    async part(PartNumber, Body) {
      const ETag = await calls.done(name, async ({ sdk, client }, target, abortSignal) => {
        const input = { ...target, UploadId: id, PartNumber, Body };
        return (await client.send(new sdk.UploadPartCommand(input), { abortSignal })).ETag;
      });
      parts.push({ PartNumber, ETag });
    },
    finish: (condition) =>
      calls.orRefused(name, async ({ sdk, client }, target, abortSignal) => {
        const whole = { ...target, UploadId: id, MultipartUpload: { Parts: parts } };
        const command = new sdk.CompleteMultipartUploadCommand({ ...whole, ...conditionOf(condition) });
        return bareTag((await client.send(command, { abortSignal })).ETag);
      }),
    async abandon() {
      await calls
        .done(name, ({ sdk, client }, target, abortSignal) =>
          client.send(new sdk.AbortMultipartUploadCommand({ ...target, UploadId: id }), { abortSignal }),
        )
        .catch(() => undefined);
    },
  };
}
