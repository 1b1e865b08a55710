import { randomUUID } from "node:crypto";
import { CreateBucketCommand, HeadObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createS3Driver } from "../../packages/compact-context/src/storage/s3/driver.ts";
import { deletionCases } from "../contract/deletion.ts";
import { storageContract } from "../support/storage-contract.ts";
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

  it.each(deletionCases)("$name", { timeout: 60_000 }, ({ run }) => {
    const fresh = driver({ prefix: `run/${crypto.randomUUID()}` });
    const dump = async (): Promise<string> => {
      const keys = await fresh.list("");
      return JSON.stringify(await Promise.all(keys.map(async (key) => [key, await fresh.get(key)])));
    };
    return run(fresh, dump);
  });

  it("ARC-2 encrypts with the key that is named, and refuses one that is not there", async () => {
    const encrypted = driver({ kmsKeyId: known.kmsKeyId });
    await encrypted.put("s/state.json", "{}");
    await encrypted.append("s/log", "x\n");
    for (const key of ["s/state.json", "s/log"]) {
      const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `run/${folder}/${key}` }));
      expect([head.ServerSideEncryption, head.SSEKMSKeyId]).toEqual(["aws:kms", known.kmsKeyId]);
    }
    const unknown = driver({ kmsKeyId: "no-such-key" }).put("s/x", "x", { ifVersion: null });
    await expect(unknown).rejects.toMatchObject({ code: "StorageFailed" });
  });

  it("ARC-2 says what to do about a wrong secret and a missing bucket", async () => {
    const stranger = clientFor({ ...known, secretAccessKey: "wrong" });
    await expect(createS3Driver({ bucket, client: stranger }).get("x")).rejects.toMatchObject({
      code: "StorageFailed",
      hint: expect.stringContaining("secret key"),
    });
    stranger.destroy();
    await expect(createS3Driver({ bucket: "no-such-bucket", client }).get("x")).rejects.toMatchObject({
      code: "StorageFailed",
      hint: expect.stringContaining("Create the bucket"),
    });
  });
});
