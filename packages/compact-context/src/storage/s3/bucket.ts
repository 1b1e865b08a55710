import type { CompletedPart, GetObjectCommandOutput, PutObjectCommandInput } from "@aws-sdk/client-s3";
import type { StoredEntry } from "../../core/ports.ts";
import { defined, refuseAborted } from "../../errors.ts";
import {
  type Attempts,
  failureOf,
  isMissing,
  isNotImplemented,
  isRefusedCondition,
  type S3Connection,
  s3Failed,
  withAttempts,
} from "./client.ts";

/** Stored with an object as headers: plain ASCII, never archived content. */
export type Notes = Readonly<Record<string, string>>;

/** An object's metadata. */
export interface ObjectFacts {
  readonly etag: string;
  readonly size: number;
  readonly notes: Notes;
}

/** A byte range of an object; empty if it starts past the end. */
export interface ObjectBytes extends ObjectFacts {
  readonly bytes: Uint8Array;
}

/** Condition of a write: only if nothing exists (`null`), only over this ETag, or always (`undefined`). */
export type Condition = string | null | undefined;

/** The ETag of the write; undefined if the condition failed. */
export type Written = string | undefined;

export interface BucketOptions {
  readonly bucket: string;
  /** Empty, or with a trailing slash. */
  readonly prefix: string;
  readonly kmsKeyId: string | undefined;
  readonly attempts: Attempts;
  /** Aborts every request. */
  readonly signal?: AbortSignal | undefined;
  connect(): Promise<S3Connection>;
}

/** One request: the SDK and its client, the object, and what ends it. */
type Request<T> = (
  connection: S3Connection,
  target: { readonly Bucket: string; readonly Key: string },
  ending: { readonly abortSignal: AbortSignal },
) => Promise<T>;

const NOT_IN_RANGE = 416;
const MOST_NAMES = 1000;

/** Objects under one prefix. Requests are retried on transient failures and reject with `StorageFailed`. */
export class Bucket {
  readonly #options: BucketOptions;
  readonly #sealed: Pick<PutObjectCommandInput, "ServerSideEncryption" | "SSEKMSKeyId">;

  constructor(options: BucketOptions) {
    const { kmsKeyId } = options;
    this.#options = options;
    this.#sealed = kmsKeyId === undefined ? {} : { ServerSideEncryption: "aws:kms", SSEKMSKeyId: kmsKeyId };
  }

  async #call<T>(name: string, request: Request<T>, isAnswer: (error: unknown) => boolean) {
    const { bucket, prefix, attempts, signal, connect } = this.#options;
    try {
      const connection = await connect();
      const target = { Bucket: bucket, Key: prefix + name };
      const attempt = (abortSignal: AbortSignal) => request(connection, target, { abortSignal });
      return await withAttempts(attempts, attempt, signal);
    } catch (error) {
      refuseAborted(signal);
      if (isAnswer(error)) return undefined;
      throw s3Failed(error, `s3://${bucket}/${prefix}${name}`);
    }
  }

  async #done<T>(name: string, request: Request<T>): Promise<T> {
    return (await this.#call(name, request, () => false)) as T;
  }

  /** Undefined if the object or upload does not exist, or the condition fails. */
  #orRefused<T>(name: string, request: Request<T>): Promise<T | undefined> {
    return this.#call(name, request, (error) => isMissing(error) || isRefusedCondition(error));
  }

  facts(name: string): Promise<ObjectFacts | undefined> {
    return this.#orRefused(name, async ({ sdk, client }, target, ending) => {
      const answer = await client.send(new sdk.HeadObjectCommand(target), ending);
      return { etag: bareTag(answer.ETag), size: answer.ContentLength ?? 0, notes: answer.Metadata ?? {} };
    });
  }

  /** The bytes from `start`, at most `length`; with `etag`, of this version only. */
  async read(name: string, start: number, length: number, etag?: string): Promise<ObjectBytes | undefined> {
    const asked = defined({ Range: `bytes=${start}-${start + length - 1}`, IfMatch: etag });
    const found = await this.#orRefused(name, async ({ sdk, client }, target, ending) => {
      try {
        return await bytesOf(await client.send(new sdk.GetObjectCommand({ ...target, ...asked }), ending));
      } catch (error) {
        // Ranges of an empty object are not satisfiable.
        if (failureOf(error).status === NOT_IN_RANGE) return "empty";
        throw error;
      }
    });
    if (found !== "empty") return found;
    const known = await this.facts(name);
    return known && { ...known, bytes: new Uint8Array() };
  }

  write(name: string, Body: Uint8Array, condition: Condition, notes: Notes): Promise<Written> {
    return this.#orRefused(name, async ({ sdk, client }, target, ending) => {
      const input = { ...target, ...this.#settings(name, notes), ...conditionOf(condition), Body };
      return bareTag((await client.send(new sdk.PutObjectCommand(input), ending)).ETag);
    });
  }

  #settings(name: string, notes: Notes) {
    const ContentType = name.endsWith(".json") ? "application/json" : "application/x-ndjson; charset=utf-8";
    return { ...this.#sealed, Metadata: notes, ContentType };
  }

  /** Copies this version on the server, notes included; false if it is no longer the current one. */
  async copy(from: string, to: string, etag: string): Promise<boolean> {
    const path = `${this.#options.bucket}/${this.#options.prefix}${from}`;
    const CopySource = path.split("/").map(encodeURIComponent).join("/");
    try {
      const copied = await this.#orRefused(to, ({ sdk, client }, target, ending) => {
        const input = { ...target, ...this.#sealed, CopySource, CopySourceIfMatch: etag };
        return client.send(new sdk.CopyObjectCommand(input), ending);
      });
      return copied !== undefined;
    } catch (error) {
      if (!isNotImplemented(error)) throw error;
    }
    // Ceph cannot copy encrypted objects: download and upload it instead.
    const length = (await this.facts(from))?.size;
    const found = length === undefined ? undefined : await this.read(from, 0, length, etag);
    if (found === undefined) return false;
    await this.write(to, found.bytes, undefined, found.notes);
    return true;
  }

  async remove(name: string): Promise<void> {
    await this.#done(name, ({ sdk, client }, target, ending) =>
      client.send(new sdk.DeleteObjectCommand(target), ending),
    );
  }

  /** The objects below a prefix and behind `after`, fetched page by page. */
  async *objects(
    prefix: string,
    after: string = "",
    pageOf: number = MOST_NAMES,
  ): AsyncGenerator<StoredEntry> {
    const root = this.#options.prefix;
    for (let token: string | undefined, more = true; more; ) {
      const page = await this.#done(prefix, async ({ sdk, client }, { Bucket, Key }, ending) => {
        const input = defined({
          Bucket,
          Prefix: Key,
          ContinuationToken: token,
          StartAfter: after === "" ? undefined : root + after,
          MaxKeys: pageOf < MOST_NAMES ? pageOf : undefined,
        });
        return client.send(new sdk.ListObjectsV2Command(input), ending);
      });
      for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
        yield { key: Key.slice(root.length), bytes: Size, at: LastModified?.getTime() ?? 0 };
      }
      token = page.NextContinuationToken;
      more = page.IsTruncated === true && token !== undefined;
    }
  }

  /**
   * Uploads an object in parts, of which all but the last have at least five million bytes; visible once all of
   * them are there.
   */
  async upload(
    name: string,
    parts: AsyncIterable<Uint8Array>,
    condition: Condition,
    notes: Notes,
  ): Promise<Written> {
    const UploadId = await this.#done(name, async ({ sdk, client }, target, ending) => {
      const command = new sdk.CreateMultipartUploadCommand({ ...target, ...this.#settings(name, notes) });
      return (await client.send(command, ending)).UploadId;
    });
    const Parts: CompletedPart[] = [];
    let written: Written;
    try {
      for await (const Body of parts) {
        const PartNumber = Parts.length + 1;
        const ETag = await this.#done(name, async ({ sdk, client }, target, ending) => {
          const command = new sdk.UploadPartCommand({ ...target, UploadId, PartNumber, Body });
          return (await client.send(command, ending)).ETag;
        });
        Parts.push({ PartNumber, ETag });
      }
      // Servers other than AWS may ignore the condition on finishing; this check narrows the race to a moment.
      const isOpen = condition === undefined || ((await this.facts(name))?.etag ?? null) === condition;
      if (!isOpen) return undefined;
      written = await this.#orRefused(name, async ({ sdk, client }, target, ending) => {
        const whole = { ...target, ...conditionOf(condition), UploadId, MultipartUpload: { Parts } };
        return bareTag((await client.send(new sdk.CompleteMultipartUploadCommand(whole), ending)).ETag);
      });
      return written;
    } finally {
      if (written === undefined) {
        await this.#done(name, ({ sdk, client }, target, ending) =>
          client.send(new sdk.AbortMultipartUploadCommand({ ...target, UploadId }), ending),
        ).catch(() => undefined);
      }
    }
  }
}

/** The headers of a condition. */
function conditionOf(condition: Condition): { IfNoneMatch?: string; IfMatch?: string } {
  if (condition === undefined) return {};
  return condition === null ? { IfNoneMatch: "*" } : { IfMatch: condition };
}

/** An ETag without quotes, the only form that some servers match. */
function bareTag(etag: string | undefined): string {
  return (etag ?? "").replace(/^W\/|"/g, "");
}

async function bytesOf(answer: GetObjectCommandOutput): Promise<ObjectBytes> {
  const { Body, ContentLength, ContentRange, ETag, Metadata = {} } = answer;
  const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
  if (ContentLength !== undefined && bytes.length !== ContentLength) {
    const cut = new Error(`the answer ended after ${bytes.length} bytes`);
    throw Object.assign(cut, { name: "TruncatedBody" });
  }
  const size = Number(/\/(\d+)$/.exec(ContentRange ?? "")?.[1] ?? bytes.length);
  return { etag: bareTag(ETag), size, notes: Metadata, bytes };
}
