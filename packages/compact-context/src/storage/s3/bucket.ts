import type { StoredEntry } from "../../core/ports.ts";
import { abortable, CompactError, defined, once, refuseAborted } from "../../errors.ts";

/** The AWS SDK, an optional peer dependency loaded on the first request. */
type S3Sdk = typeof import("@aws-sdk/client-s3");
export type S3Client = import("@aws-sdk/client-s3").S3Client;
type S3ClientConfig = import("@aws-sdk/client-s3").S3ClientConfig;
type CompletedPart = import("@aws-sdk/client-s3").CompletedPart;
type GetObjectCommandOutput = import("@aws-sdk/client-s3").GetObjectCommandOutput;
type PutObjectCommandInput = import("@aws-sdk/client-s3").PutObjectCommandInput;

/** Stored with an object as headers: plain ASCII, never archived content. */
export type Notes = Readonly<Record<string, string>>;

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
      const cause = CompactError.isInstance(error) ? error.cause : undefined;
      if (failureOf(cause).status !== NOT_IMPLEMENTED) throw error;
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

// ---- the connection, its attempts and its errors

interface S3Connection {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
}

interface S3ConnectionOptions {
  readonly region?: string;
  readonly endpoint?: string;
  readonly forcePathStyle?: boolean;
  readonly client?: S3Client;
}

/** Loads the SDK and creates a client once; a failure is retried on the next call. */
export function createConnection(options: S3ConnectionOptions): () => Promise<S3Connection> {
  return once(async () => {
    const sdk = await loadSdk();
    return { sdk, client: options.client ?? new sdk.S3Client(clientConfig(options)) };
  });
}

async function loadSdk(): Promise<S3Sdk> {
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    const problem = "the archive lies on S3, but @aws-sdk/client-s3 is not installed";
    const hint = "Run npm install @aws-sdk/client-s3, or choose storage kind fs.";
    throw new CompactError("StorageFailed", problem, { hint, cause });
  }
}

/**
 * Credentials come from the SDK's own chain: environment, shared files, SSO, web identity, container and
 * instance roles.
 */
function clientConfig({ region, endpoint, forcePathStyle }: S3ConnectionOptions): S3ClientConfig {
  return defined({
    // The driver retries by itself: it knows which requests may already have been applied.
    maxAttempts: 1,
    region,
    forcePathStyle,
    // Many servers other than AWS do not support the newer checksums.
    endpoint,
    requestChecksumCalculation: endpoint === undefined ? undefined : "WHEN_REQUIRED",
    responseChecksumValidation: endpoint === undefined ? undefined : "WHEN_REQUIRED",
  });
}

interface Attempts {
  /** Timeout of one request in milliseconds, including its body. */
  readonly timeout: number;
  /** Maximum attempts per request. */
  readonly most: number;
  wait(milliseconds: number): Promise<void>;
}

const FIRST_WAIT = 100;
const LONGEST_WAIT = 5_000;
/** No retry once the attempts have taken this many times the timeout of one request. */
const MOST_TIMES = 2;

/** Retries a request on transient failures, with growing waits; returns or throws the last outcome. */
async function withAttempts<T>(
  attempts: Attempts,
  request: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const until = performance.now() + MOST_TIMES * attempts.timeout;
  for (let done = 1; ; done++) {
    refuseAborted(signal);
    try {
      return await withinTime(attempts.timeout, request, signal);
    } catch (error) {
      refuseAborted(signal);
      if (done >= attempts.most || performance.now() >= until || !isTransient(error)) throw error;
      const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** done);
      await attempts.wait(longest * (0.5 + Math.random() / 2));
    }
  }
}

/** A signal alone does not stop reading a stalled body; the race does. */
async function withinTime<T>(
  timeout: number,
  request: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const controller = new AbortController();
  const late = new Error(`no answer within ${timeout} ms`);
  late.name = "TimeoutError";
  const timer = setTimeout(() => controller.abort(late), timeout);
  const ending = signal === undefined ? controller.signal : AbortSignal.any([controller.signal, signal]);
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(late), { once: true });
  });
  try {
    return await abortable(Promise.race([ended, request(ending)]), signal);
  } finally {
    clearTimeout(timer);
  }
}

const FORBIDDEN =
  "Grant this identity s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket and prefix; with a KMS key also kms:GenerateDataKey and kms:Decrypt.";
const OTHER_REGION = "The bucket lies in another region: set storage.region to it.";
const NO_BUCKET = "Create the bucket, or correct storage.bucket: names are exact and regions differ.";

const HINTS: Readonly<Record<string, string>> = {
  NoSuchBucket: NO_BUCKET,
  AccessDenied: FORBIDDEN,
  InvalidAccessKeyId: "The access key is unknown to this server: check which credentials are in use.",
  SignatureDoesNotMatch: "The secret key is wrong for this access key: check which credentials are in use.",
  ExpiredToken: "The credentials have expired: sign in again, or let a role renew them.",
  CredentialsProviderError:
    "No credentials were found: set AWS_PROFILE or AWS_ACCESS_KEY_ID, sign in, or run with a role.",
  PermanentRedirect: OTHER_REGION,
  AuthorizationHeaderMalformed: OTHER_REGION,
  RequestTimeTooSkewed: "The clock of this machine is wrong: set it.",
  EntityTooLarge: "The server refuses objects of this size.",
  KeyTooLongError: "Shorten storage.prefix: an S3 key has at most 1,024 bytes.",
  SlowDown: "The server asks for fewer requests: try again later, or use another prefix.",
  ENOTFOUND: "The server's name cannot be resolved: check storage.endpoint, storage.region and the network.",
  ECONNREFUSED: "Nothing listens there: check storage.endpoint and that the server runs.",
  TimeoutError: "The server did not answer in time: check the network, then try again.",
};

const TRANSIENT_NAME =
  /^(?:SlowDown|InternalError|ServiceUnavailable|RequestTimeout(?:Exception)?|Throttling(?:Exception)?|TooManyRequestsException|TimeoutError|IncompleteBody|TruncatedBody|ConditionalRequestConflict|OperationAborted)$/;
const TRANSIENT_CODE =
  /^(?:ECONN(?:RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|EAI_AGAIN|E(?:NET|HOST)UNREACH|UND_ERR_SOCKET|ERR_STREAM_PREMATURE_CLOSE)$/;

/**
 * Of an SDK error: the service's code, such as `NoSuchBucket`, or the class of a client-side error; the system's
 * code, such as `ECONNRESET`; the HTTP status. Empty and 0 for anything else.
 */
function failureOf(error: unknown): {
  readonly name: string;
  readonly code: string;
  readonly status: number;
} {
  if (!(error instanceof Error)) return { name: "", code: "", status: 0 };
  const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: unknown };
  const status = $metadata?.httpStatusCode ?? 0;
  return { name: error.name, code: typeof code === "string" ? code : "", status };
}

/** True if a retry may succeed: no response, a truncated response, 409, 429, 5xx except 501. */
function isTransient(error: unknown): boolean {
  if (CompactError.isInstance(error)) return false;
  const { name, code, status } = failureOf(error);
  if (TRANSIENT_NAME.test(name) || TRANSIENT_CODE.test(code)) return true;
  // 501 is permanent. A 2xx that fails to parse was truncated in transit.
  if (status === NOT_IMPLEMENTED) return false;
  return status === 409 || status === 429 || status >= 500 || (status >= 200 && status < 300);
}

const NOT_IMPLEMENTED = 501;

/** True if a write's condition failed; with `If-Match`, also if the object no longer exists. */
function isRefusedCondition(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return status === 412 || name === "PreconditionFailed";
}

/** True if the object does not exist; a missing bucket is a different error. */
function isMissing(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return name !== "NoSuchBucket" && (status === 404 || name === "NoSuchKey" || name === "NotFound");
}

/** Wraps SDK errors in `StorageFailed` with a hint; passes `CompactError`s through unchanged. */
function s3Failed(error: unknown, place: string): CompactError {
  if (CompactError.isInstance(error)) return error;
  const { name, code, status } = failureOf(error);
  const what = [code || name, status === 0 ? "" : `HTTP ${status}`].filter((word) => word !== "").join(", ");
  return new CompactError("StorageFailed", `S3 refused (${what || String(error)})`, {
    place,
    hint: HINTS[code] ?? HINTS[name] ?? hintOf(`${name} ${String(error)}`, status),
    cause: error,
  });
}

function hintOf(text: string, status: number): string {
  if (/kms/i.test(text))
    return "Check storage.kms_key_id, that the key is enabled and that this identity may use it.";
  if (status === 403) return FORBIDDEN;
  if (status === 301 || status === 307) return OTHER_REGION;
  if (status === 404) return NO_BUCKET;
  if (/region is missing/i.test(text)) return "Set storage.region or AWS_REGION.";
  return "Check bucket, region, endpoint and permissions; what was not archived is still in the prompt.";
}
