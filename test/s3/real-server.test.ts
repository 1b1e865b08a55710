import { randomUUID } from "node:crypto";
import { CreateBucketCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createS3Driver } from "../../src/storage/drivers/s3.ts";
import { storageContract } from "../../src/testing/storage-contract.ts";
import { clientFor, s3Server } from "./server.ts";

const server = s3Server();
const bucket = `test-${randomUUID()}`;

describe.skipIf(server === undefined)("a real S3 server", () => {
  const known = server ?? {
    endpoint: "http://127.0.0.1:1",
    accessKeyId: "",
    secretAccessKey: "",
    kmsKeyId: "",
  };
  const client = clientFor(known);
  let folder = 0;
  const driver = (more: { kmsKeyId?: string; prefix?: string } = {}) => {
    folder += 1;
    return createS3Driver({ bucket, client, prefix: `run/${folder}`, ...more });
  };

  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  });
  afterAll(() => client.destroy());

  it.each(storageContract())(
    "ARC-2 ARC-3 keeps the storage contract: $name",
    { timeout: 60_000 },
    (contractCase) => contractCase.run(driver()),
  );

  it.each(storageContract())(
    "ARC-2 keeps the storage contract, encrypted with a key: $name",
    { timeout: 60_000 },
    (contractCase) => contractCase.run(driver({ kmsKeyId: known.kmsKeyId })),
  );
});
