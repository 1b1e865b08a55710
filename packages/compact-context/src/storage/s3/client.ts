import { CompactError, defined } from "../../errors.ts";

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
  let connection: Promise<S3Connection> | undefined;
  return async () => {
    connection ??= connect(options);
    try {
      return await connection;
    } catch (error) {
      connection = undefined;
      throw error;
    }
  };
}

async function connect(options: S3ConnectionOptions): Promise<S3Connection> {
  const sdk = await loadSdk();
  return { sdk, client: options.client ?? new sdk.S3Client(clientConfig(options)) };
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
