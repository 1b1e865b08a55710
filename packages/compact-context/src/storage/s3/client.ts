import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import { abortable, CompactError, defined, once, refuseAborted } from "../../errors.ts";

export interface S3Connection {
  /** The AWS SDK's module, an optional peer dependency loaded on the first request. */
  readonly sdk: typeof import("@aws-sdk/client-s3");
  readonly client: S3Client;
}

export interface S3ConnectionOptions {
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

async function loadSdk(): Promise<S3Connection["sdk"]> {
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

export interface Attempts {
  /** Timeout of one request in milliseconds, including its body. */
  readonly timeout: number;
  /** Maximum attempts per request. */
  readonly most: number;
  wait(milliseconds: number): Promise<void>;
  /** A random number in [0, 1). */
  random(): number;
}

const FIRST_WAIT = 100;
const LONGEST_WAIT = 5_000;
/** No retry once the attempts have taken this many times the timeout of one request. */
const MOST_TIMES = 2;

/** Retries a request on transient failures, with growing waits; returns or throws the last outcome. */
export async function withAttempts<T>(
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
export function failureOf(error: unknown): {
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

/** True if the server does not support the request. */
export function isNotImplemented(error: unknown): boolean {
  return CompactError.isInstance(error) && failureOf(error.cause).status === NOT_IMPLEMENTED;
}

/** True if a write's condition failed; with `If-Match`, also if the object no longer exists. */
export function isRefusedCondition(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return status === 412 || name === "PreconditionFailed";
}

/** True if the object does not exist; a missing bucket is a different error. */
export function isMissing(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return name !== "NoSuchBucket" && (status === 404 || name === "NoSuchKey" || name === "NotFound");
}

/** Wraps SDK errors in `StorageFailed` with a hint; passes `CompactError`s through unchanged. */
export function s3Failed(error: unknown, place: string): CompactError {
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
