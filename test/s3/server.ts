import { existsSync, readFileSync } from "node:fs";
import { S3Client } from "@aws-sdk/client-s3";

/** The file that `start.sh` writes once its server responds. */
export interface S3Server {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly kmsKeyId: string;
}

/** The server described by `COMPACT_TEST_S3` (the file `ready` of `start.sh`); undefined if there is none. */
export function s3Server(): S3Server | undefined {
  const path = process.env.COMPACT_TEST_S3 ?? "";
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as S3Server) : undefined;
}

/** A client as users create one for a self-hosted server. */
export function clientFor({ endpoint, accessKeyId, secretAccessKey }: S3Server): S3Client {
  return new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    credentials: { accessKeyId, secretAccessKey },
  });
}
