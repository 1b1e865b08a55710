import { abortable, CompactError, defined, once, refuseAborted } from "../../errors.ts";

/** The AWS SDK's module, an optional peer that is loaded when the first request is made. */
export type S3Sdk = typeof import("@aws-sdk/client-s3");
export type S3Client = import("@aws-sdk/client-s3").S3Client;
export type GetObjectOutput = import("@aws-sdk/client-s3").GetObjectCommandOutput;
export type CompletedPart = import("@aws-sdk/client-s3").CompletedPart;
type S3ClientConfig = import("@aws-sdk/client-s3").S3ClientConfig;

export interface S3Connection {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
}

export interface S3ConnectionOptions {
  readonly region?: string;
  readonly endpoint?: string;
  readonly forcePathStyle?: boolean;
  readonly client?: S3Client;
}

/** Loads the SDK and makes a client, once; a failed attempt is made again at the next call. */
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
    throw new CompactError(
      "StorageFailed",
      "the archive lies on S3, but @aws-sdk/client-s3 is not installed",
      {
        hint: "Run npm install @aws-sdk/client-s3, or choose storage kind fs.",
        cause,
      },
    );
  }
}

/** Credentials are left to the SDK's own chain: environment, shared files, SSO, web identity, container and instance roles. */
function clientConfig({ region, endpoint, forcePathStyle }: S3ConnectionOptions): S3ClientConfig {
  return defined({
    // This driver repeats requests by itself: it knows which of them may already have been done.
    maxAttempts: 1,
    region,
    forcePathStyle,
    // Servers other than AWS often know nothing of the newer checksums.
    endpoint,
    requestChecksumCalculation: endpoint === undefined ? undefined : "WHEN_REQUIRED",
    responseChecksumValidation: endpoint === undefined ? undefined : "WHEN_REQUIRED",
  });
}

/** A write that only counts where nothing is yet (`null`), over this ETag, or in any case (`undefined`). */
export type Condition = string | null | undefined;

/** The ETag of what was written, or nothing where the condition no longer held. */
export type Written = string | undefined;

export interface BucketOptions {
  readonly bucket: string;
  /** Empty, or ending with a slash. */
  readonly prefix: string;
  readonly kmsKeyId: string | undefined;
  readonly attempts: Attempts;
  /** Ends every request when it is aborted. */
  readonly signal?: AbortSignal;
  connect(): Promise<S3Connection>;
}

interface Target {
  readonly Bucket: string;
  readonly Key: string;
}

type Request<T> = (connection: S3Connection, target: Target, signal: AbortSignal) => Promise<T>;

/** Requests about objects of one bucket, repeated while they fail in a way that passes; rejects with `StorageFailed`. */
export interface Calls {
  readonly done: <T>(name: string, request: Request<T>) => Promise<T>;
  /** Nothing where the object or upload is not there, or the condition does not hold. */
  readonly orRefused: <T>(name: string, request: Request<T>) => Promise<T | undefined>;
}

export function createCalls({ bucket, prefix, attempts, signal, connect }: BucketOptions): Calls {
  const call = async <T>(name: string, request: Request<T>, isAnswer: (error: unknown) => boolean) => {
    try {
      const connection = await connect();
      const target = { Bucket: bucket, Key: prefix + name };
      return await withAttempts(attempts, (ending) => request(connection, target, ending), signal);
    } catch (error) {
      refuseAborted(signal);
      if (isAnswer(error)) return undefined;
      throw s3Failed(error, `s3://${bucket}/${prefix}${name}`);
    }
  };
  return {
    done: async <T>(name: string, request: Request<T>) => (await call(name, request, () => false)) as T,
    orRefused: (name, request) =>
      call(name, request, (error) => isMissing(error) || isRefusedCondition(error)),
  };
}

/** The headers of a condition. */
export function conditionOf(condition: Condition): { IfNoneMatch?: string; IfMatch?: string } {
  if (condition === undefined) return {};
  return condition === null ? { IfNoneMatch: "*" } : { IfMatch: condition };
}

/** An ETag without quotes: some servers match it only so. */
export function bareTag(etag: string | undefined): string {
  return (etag ?? "").replace(/^W\/|"/g, "");
}

export interface Attempts {
  /** Milliseconds that one request may take, its body included. */
  readonly timeout: number;
  /** How often a request is made before it counts as failed. */
  readonly most: number;
  wait(milliseconds: number): Promise<void>;
  /** A number from 0 up to 1. */
  random(): number;
}

const FIRST_WAIT = 100;
const LONGEST_WAIT = 5_000;
/** A request is not made again once it took so many times what one may take. */
const MOST_TIMES = 2;

/** Makes a request again while it fails in a way that passes, waiting longer each time; gives or throws the last outcome. */
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
      await attempts.wait(longest * (0.5 + attempts.random() / 2));
    }
  }
}

/** A signal alone does not end the reading of a body that stands still: the race does. */
async function withinTime<T>(
  timeout: number,
  request: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", giveUp, { once: true });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`no answer within ${timeout} ms`), { name: "TimeoutError" }));
      controller.abort();
    }, timeout);
  });
  try {
    return await abortable(Promise.race([request(controller.signal), late]), signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
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

const TRANSIENT_NAMES = new Set([
  "SlowDown",
  "InternalError",
  "ServiceUnavailable",
  "RequestTimeout",
  "RequestTimeoutException",
  "ThrottlingException",
  "Throttling",
  "TooManyRequestsException",
  "TimeoutError",
  "IncompleteBody",
  "ConditionalRequestConflict",
  "OperationAborted",
  "TruncatedBody",
]);
const TRANSIENT_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_SOCKET",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** What an error of the SDK says about itself; all empty for anything else. */
export interface S3Failure {
  /** The service's code, such as `NoSuchBucket`, or the class of a client-side error. */
  readonly name: string;
  /** The system's code, such as `ECONNRESET`. */
  readonly code: string;
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
}

export function failureOf(error: unknown): S3Failure {
  if (!(error instanceof Error)) return { name: "", code: "", status: 0 };
  const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: unknown };
  return {
    name: error.name,
    code: typeof code === "string" ? code : "",
    status: $metadata?.httpStatusCode ?? 0,
  };
}

/** True where the same request may well succeed a moment later: no answer, a cut answer, 429, 5xx, a racing write. */
function isTransient(error: unknown): boolean {
  if (CompactError.isInstance(error)) return false;
  const { name, code, status } = failureOf(error);
  if (TRANSIENT_NAMES.has(name) || TRANSIENT_CODES.has(code)) return true;
  // A success that cannot be read was cut on its way.
  if (status === NOT_IMPLEMENTED) return false;
  return status === 409 || status === 429 || status >= 500 || (status >= 200 && status < 300);
}

const NOT_IMPLEMENTED = 501;

/** True where the server does not know how to do what was asked. */
export function isNotImplemented(error: unknown): boolean {
  return CompactError.isInstance(error) && failureOf(error.cause).status === NOT_IMPLEMENTED;
}

/** True where the condition of a write no longer holds; with `If-Match` also where nothing is there any more. */
function isRefusedCondition(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return status === 412 || name === "PreconditionFailed";
}

/** True where there is no such object; a bucket that lacks is something else. */
function isMissing(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return name !== "NoSuchBucket" && (status === 404 || name === "NoSuchKey" || name === "NotFound");
}

/** `StorageFailed` around an error of the SDK, with what to do about it; errors of our own go through unchanged. */
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
