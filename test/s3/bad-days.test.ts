import { S3Client } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";
import {
  createS3Driver,
  type S3DriverOptions,
} from "../../packages/compact-context/src/storage/s3/driver.ts";
import { deletionCases } from "../contract/deletion.ts";
import { storageContract } from "../support/storage-contract.ts";
import { whole } from "../whole.ts";
import { type Asked, type Fault, type StubServer, startStub } from "./stub-server.ts";

let stub: StubServer;
let client: S3Client;
beforeEach(async () => {
  stub = await startStub();
  client = new S3Client({
    endpoint: stub.endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    credentials: { accessKeyId: "id", secretAccessKey: "secret" },
  });
});
afterEach(async () => {
  client.destroy();
  await stub.close();
});

const driver = (more: Partial<S3DriverOptions> = {}) =>
  createS3Driver({ bucket: "bucket", prefix: "p", client, wait: async () => undefined, ...more });

type Bucket = ReturnType<typeof driver>;

/** The fault for the `n`th request and, when it lasts, all after it. */
const from =
  (n: number, fault: Fault, lasting = false) =>
  (_: Asked, number: number): Fault | undefined =>
    number === n || (lasting && number > n) ? fault : undefined;

describe("ARC-3 the storage contract holds for the s3 driver on a server of this process", () => {
  it.each(storageContract())("$name", (contractCase) => contractCase.run(driver()));

  it.each(deletionCases)("$name, hidden objects too", ({ run }) =>
    run(driver(), () => [...stub.objects].map(([key, { bytes }]) => `${key}\n${bytes}`).join("\n")),
  );

  it("stops a request that its caller does not wait for any more", async () => {
    stub.onRequest = () => "silence";
    const signal = AbortSignal.timeout(50);
    const calls = [
      driver().get("a", { signal }),
      driver().put("b", "x", { signal }),
      driver().list("", { signal }),
    ];
    const refused = await Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
    expect(refused).toEqual(calls.map(() => expect.objectContaining({ code: "Aborted" })));
    expect(stub.asked.length).toBe(3);
  });

  it("reads a key as the calls before it left it", async () => {
    const bucket = driver();
    void bucket.put("a", "1");
    expect((await bucket.get("a"))?.value).toBe("1");
    void bucket.append("a", "\n");
    expect((await bucket.get("a"))?.value).toBe("1\n");
    void bucket.delete("a");
    expect(await bucket.version("a")).toBeUndefined();
  });

  it("writes the events of a session with one request and reads its log once", async () => {
    const archive = createArchive(driver(), { redact: createRedactor() });
    const event = {
      version: 1 as const,
      name: "compact.warning" as const,
      sessionId: "s",
      status: "ok" as const,
    };
    const times = { startedAt: "2026-01-01T00:00:00.000Z", endedAt: "2026-01-01T00:00:00.000Z" };
    const events = Array.from({ length: 40 }, (_, n) => ({ ...event, ...times, properties: { n } }));
    await archive.appendEvents("s", events);
    await archive.appendEvents("s", events);
    // HEAD looks for a tombstone.
    const methods = stub.asked.map(({ method }) => method);
    expect(methods).toEqual(["HEAD", "GET", "PUT", "HEAD", "GET", "PUT", "HEAD"]);
    expect((await driver().get("s/events.jsonl"))?.value.split("\n")).toHaveLength(81);
  });
});

const passing: readonly Fault[] = [
  { status: 503, code: "SlowDown" },
  { status: 500, code: "InternalError" },
  { status: 429, code: "TooManyRequests" },
  { status: 409, code: "ConditionalRequestConflict" },
  { status: 409, code: "OperationAborted" },
  "reset",
  "lost answer",
  "cut body",
];

const message = (n: number, text = `text ${n}`): Message => ({
  id: `m${n}`,
  role: "user",
  parts: [{ type: "text", text }],
});

/** A session's life: two transcripts, state over state, records, one beyond the size of a single object. */
async function live(bucket: Bucket): Promise<void> {
  const archive = createArchive(bucket, { redact: createRedactor() });
  await archive.saveTranscript("s", 1, [message(1)]);
  const first = await bucket.put("s/state.json", "one", { ifVersion: null });
  await bucket.put("s/state.json", "two", { ifVersion: first.version });
  for (let n = 0; n < 4; n++) await bucket.append("s/log", `${n}${"x".repeat(100_000)}\n`);
  await archive.saveTranscript("s", 2, [message(1), message(2)]);
  await bucket.put("s/gone", "x");
  await bucket.delete("s/gone");
  expect((await bucket.get("s/state.json"))?.value).toBe("two");
}

async function checkLife(bucket: Bucket): Promise<void> {
  const archive = createArchive(bucket, { redact: createRedactor() });
  expect((await bucket.get("s/state.json"))?.value).toBe("two");
  const log = (await bucket.get("s/log"))?.value ?? "";
  expect(log.split("\n").map((line) => line[0])).toEqual(["0", "1", "2", "3", undefined]);
  expect(await archive.steps("s")).toEqual([1, 2]);
  for (const step of [1, 2]) {
    const { messages, problems } = await archive.readTranscript("s", step);
    expect([messages.length, problems]).toEqual([step, []]);
  }
  expect(await bucket.get("s/gone")).toBeUndefined();
}

/**
 * `COMPACT_FAULTS=all` tries every kind at every request, `COMPACT_TESTS=whole` the worst kind at every one and the others
 * in turn; else the worst and the others take turns.
 */
const all = process.env.COMPACT_FAULTS === "all";

/** Runs `work` again and again, each time with another fault at another request, and checks the outcome without any. */
async function throughFaults(
  work: (bucket: Bucket) => Promise<void>,
  check: (bucket: Bucket) => Promise<void>,
) {
  await work(driver());
  const requests = stub.asked.length;
  for (let n = 1; n <= requests; n += 1) {
    const others = all ? passing : [passing[n % passing.length] ?? "reset"];
    const faults: readonly Fault[] = ["lost answer", ...others];
    for (const fault of all || whole ? faults : faults.slice(n % 2, 1 + (n % 2))) {
      stub.objects.clear();
      stub.asked.length = 0;
      stub.onRequest = from(n, fault);
      await work(driver()).catch((error: unknown) => {
        throw new Error(`request ${n}, ${JSON.stringify(fault)}: ${String(error)}`, { cause: error });
      });
      stub.onRequest = () => undefined;
      await check(driver());
    }
  }
}

describe("requests that fail once", () => {
  it(
    "ARC-2 ARC-5 change nothing, whichever of a session's requests it is and however it fails",
    {
      timeout: 600_000,
    },
    () => throughFaults(live, checkLife),
  );

  it("ARC-5 change nothing in a value that goes up in parts", { timeout: 600_000 }, async () => {
    const text = "long value ".repeat(800_000);
    const put = async (bucket: Bucket) => void (await bucket.put("large", text, { ifVersion: null }));
    await throughFaults(put, async (bucket) => {
      expect((await bucket.get("large"))?.value === text).toBe(true);
      // An upload whose beginning was not answered stays open: only a rule of the bucket can end it.
      expect([...stub.objects.keys()].filter((key) => !key.startsWith("uploads/"))).toEqual(["p/large"]);
    });
  });

  it("are repeated after silence and after a body that stops", async () => {
    await driver().put("value", "text");
    for (const fault of ["silence", "stalled body"] as const) {
      stub.onRequest = from(stub.asked.length + 1, fault);
      expect((await driver({ timeout: 150 }).get("value"))?.value).toBe("text");
    }
  });

  it("wait longer each time, and not for ever", async () => {
    const waits: number[] = [];
    stub.onRequest = from(1, { status: 503, code: "SlowDown" }, true);
    const slow = driver({ attempts: 5, wait: async (ms) => void waits.push(ms) });
    await expect(slow.get("value")).rejects.toMatchObject({ code: "StorageFailed" });
    expect(stub.asked.length).toBe(5);
    expect(waits).toEqual([...waits].sort((one, other) => one - other));
    expect(waits.at(-1)).toBeGreaterThan(2 * (waits[0] ?? 0));
  });
});

describe("requests that keep failing", () => {
  const lasting: readonly [Fault, RegExp, RegExp][] = [
    [{ status: 503, code: "SlowDown" }, /SlowDown, HTTP 503/, /fewer requests/],
    [{ status: 500, code: "InternalError" }, /HTTP 500/, /permissions/],
    [{ status: 403, code: "AccessDenied" }, /AccessDenied/, /s3:PutObject/],
    [{ status: 404, code: "NoSuchBucket" }, /NoSuchBucket/, /Create the bucket/],
    [{ status: 403, code: "SignatureDoesNotMatch" }, /SignatureDoesNotMatch/, /secret key/],
    [{ status: 400, code: "ExpiredToken" }, /ExpiredToken/, /expired/],
    [{ status: 400, code: "KMS.DisabledException" }, /KMS.DisabledException/, /kms_key_id/],
    [{ status: 301, code: "PermanentRedirect" }, /PermanentRedirect/, /storage.region/],
    ["reset", /ECONNRESET/, /./],
    ["silence", /TimeoutError/, /did not answer/],
    ["cut body", /./, /./],
  ];

  it.each(lasting)(
    "ARC-3 attack 65: %j is StorageFailed with what to do, for every call",
    async (fault, text, hint) => {
      await driver().put("value", "text that is long enough to be cut");
      stub.onRequest = from(stub.asked.length + 1, fault, true);
      const bad = driver({ timeout: fault === "silence" ? 40 : 5_000, attempts: 2 });
      const reads = [() => bad.get("value"), () => bad.list("")];
      const writes = [() => bad.append("log", "x\n"), () => bad.put("new", "x", { ifVersion: null })];
      // The answer to a write has no body that could be cut.
      for (const call of fault === "cut body" ? reads : [...reads, ...writes]) {
        const error: unknown = await call().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toMatchObject({ code: "StorageFailed", message: expect.stringMatching(text) });
        expect(error).toMatchObject({
          hint: expect.stringMatching(hint),
          place: expect.stringContaining("s3://bucket/p/"),
        });
      }
    },
  );

  it("ARC-3 attack 65: a manager prunes nothing, and goes on when the server is back", async () => {
    const turns = Array.from({ length: 40 }, (_, n) => ({
      role: n % 2 === 0 ? "user" : "assistant",
      content: `${n} ${"words ".repeat(100)}`,
    }));
    const settings = { maxContextTokens: 4_000, policy: { hardCapBuffer: 100, keepRecentTurns: 2 } };
    for (const fault of [
      { status: 503, code: "SlowDown" },
      { status: 400, code: "KMS.DisabledException" },
    ]) {
      stub.onRequest = from(stub.asked.length + 1, fault, true);
      const manager = new CompactManager(settings, { storage: driver({ attempts: 2 }) });
      await expect(manager.preflight("s", turns)).rejects.toMatchObject({ code: "StorageFailed" });
      expect([...stub.objects.keys()]).toEqual([]);
      stub.onRequest = () => undefined;
      const { report } = await manager.preflight("s", turns);
      expect(report.compacted).toBe(true);
      expect(report.archive?.location).toBe("s3://bucket/p/s/transcript-pre-compact-001.jsonl");
      await manager.flush();
      stub.objects.clear();
    }
  });
});

describe("requests in an odd place", () => {
  it("lists past a page", async () => {
    const bucket = driver();
    const keys = Array.from({ length: 40 }, (_, n) => `s/${String(n).padStart(3, "0")}`);
    for (const key of keys) await bucket.put(key, "x");
    expect(await bucket.list("s/")).toEqual(keys);
  });

  it("tells a value that is replaced while it is read, and gives one version of it or the other", async () => {
    const bucket = driver();
    const [old, young] = ["old value ".repeat(1_000_000), "new value ".repeat(1_000_000)];
    await bucket.put("large", old);
    const replace = async () => {
      const pieces: string[] = [];
      for await (const piece of bucket.stream("large")) {
        if (pieces.length === 0) await bucket.put("large", young);
        pieces.push(piece);
      }
    };
    await expect(replace()).rejects.toMatchObject({ code: "Conflict" });
    expect((await bucket.get("large"))?.value === young).toBe(true);
  });

  it("keeps a log in objects of bounded size, hidden but for the newest", async () => {
    const bucket = driver();
    const lines = Array.from({ length: 30 }, (_, n) => `${n} ${"x".repeat(50_000)}\n`);
    for (const line of lines) await bucket.append("s/log", line);
    expect((await bucket.get("s/log"))?.value).toBe(lines.join(""));
    const sizes = [...stub.objects.values()].map(({ bytes }) => bytes.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(262_144);
    expect(await bucket.list("")).toEqual(["s/log"]);
    const { version } = await bucket.put("s/log", "new\n");
    expect(stub.objects.size).toBe(1);
    await bucket.append("s/log", "more\n");
    await expect(bucket.put("s/log", "x", { ifVersion: version })).rejects.toMatchObject({
      code: "Conflict",
    });
    await bucket.delete("s/log");
    expect(stub.objects.size).toBe(0);
  });

  it("ARC-2 encrypts every kind of write with the key that is named, and sends no text in headers", async () => {
    await live(driver({ kmsKeyId: "the-key" }));
    await driver({ kmsKeyId: "the-key" }).put("large", "value ".repeat(1_600_000));
    const writes = stub.asked.filter(({ method, query }) => method === "PUT" && !query.has("partNumber"));
    const starts = stub.asked.filter(({ query }) => query.has("uploads"));
    expect(starts.length).toBe(1);
    for (const { headers } of [...writes, ...starts]) {
      expect(headers["x-amz-server-side-encryption"]).toBe("aws:kms");
      expect(headers["x-amz-server-side-encryption-aws-kms-key-id"]).toBe("the-key");
    }
    expect(JSON.stringify(stub.asked.map(({ headers }) => headers))).not.toMatch(/text 1|xxxx/);
  });

  it("refuses buckets and prefixes that are none", () => {
    for (const options of [
      { bucket: "" },
      { bucket: "a b" },
      { bucket: "bucket", prefix: "../x" },
      { bucket: "bucket", prefix: "a//b" },
    ]) {
      expect(() => createS3Driver(options)).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
    }
    expect(createS3Driver({ bucket: "bucket", prefix: "/a/b/" }).location).toBe("s3://bucket/a/b");
    expect(createS3Driver({ bucket: "bucket" }).location).toBe("s3://bucket");
  });
});
