import { CompactError } from "../../errors.ts";

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
export function isTransient(error: unknown): boolean {
  if (CompactError.isInstance(error)) return false;
  const { name, code, status } = failureOf(error);
  if (TRANSIENT_NAMES.has(name) || TRANSIENT_CODES.has(code)) return true;
  // A success that cannot be read was cut on its way.
  return status === 409 || status === 429 || status >= 500 || (status >= 200 && status < 300);
}

/** True where the condition of a write no longer holds; with `If-Match` also where nothing is there any more. */
export function isRefusedCondition(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return status === 412 || name === "PreconditionFailed";
}

/** True where there is no such object; a bucket that lacks is something else. */
export function isMissing(error: unknown): boolean {
  const { name, status } = failureOf(error);
  return name !== "NoSuchBucket" && (status === 404 || name === "NoSuchKey" || name === "NotFound");
}

/** `StorageFailed` around an error of the SDK, with what to do about it; errors of our own go through unchanged. */
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
