import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createS3Driver } from "../../packages/compact-context/src/storage/s3/driver.ts";
import { expectListsGoOut, managerOver, turns } from "../outages/outage.ts";
import { clientFor } from "./server.ts";
import { type Fault, type StubServer, startStub } from "./stub-server.ts";

let stub: StubServer;
beforeEach(async () => {
  stub = await startStub();
});
afterEach(() => stub.close());

function open(more: { wait?: () => Promise<void> } = {}) {
  const client = clientFor({ endpoint: stub.endpoint, accessKeyId: "a", secretAccessKey: "b", kmsKeyId: "" });
  return createS3Driver({ bucket: "bucket", client, timeout: 2000, ...more });
}

describe("FIT-7 a list that fits goes out", () => {
  it.each([
    ["answers 503", { status: 503, code: "SlowDown" }],
    ["resets every connection", "reset"],
    ["gives no answer", "silence"],
  ] satisfies [string, Fault][])("while S3 %s", { timeout: 60_000 }, async (_, fault) => {
    const begin = async () => {
      stub.onRequest = () => fault;
      return async () => {
        stub.onRequest = () => undefined;
      };
    };
    await expectListsGoOut({ storage: open(), begin, silent: true });
  });
});

describe("S3", () => {
  it("ends by itself where nothing answers", { timeout: 30_000 }, async () => {
    stub.onRequest = () => "silence";
    const started = performance.now();
    await expect(open().get("a")).rejects.toMatchObject({ code: "StorageFailed" });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it("gets one append for each compaction, and at most twice the bytes that are archived", {
    timeout: 120_000,
  }, async () => {
    const { manager } = managerOver(open());
    let appends = 0;
    let written = 0;
    let compactions = 0;
    stub.onRequest = ({ method, key, headers }) => {
      if (method === "PUT") written += Number(headers["content-length"] ?? 0);
      if (method === "PUT" && key.endsWith("events.jsonl")) appends += 1;
      return undefined;
    };
    let list: unknown[] = [];
    for (let n = 0; n < 300; n++) {
      const { messages, report } = await manager.preflight("s", [...list, ...turns(n, n + 1)]);
      list = [...messages];
      if (report.compacted) compactions += 1;
    }
    await manager.flush();
    const archived = [...stub.objects].reduce((sum, [, { bytes }]) => sum + bytes.length, 0);
    expect(appends).toBeLessThanOrEqual(compactions + 1);
    expect(written).toBeLessThanOrEqual(2 * archived);
  });

  it("a lost answer of every second write is no conflict", { timeout: 60_000 }, async () => {
    const { manager, warnings } = managerOver(open({ wait: async () => undefined }));
    let puts = 0;
    stub.onRequest = ({ method }) => {
      if (method !== "PUT") return undefined;
      puts += 1;
      return puts % 2 === 0 ? "lost answer" : undefined;
    };
    let list: unknown[] = [];
    for (let n = 0; n < 14; n++)
      list = [...(await manager.preflight("s", [...list, ...turns(n, n + 1)])).messages];
    await manager.flush();
    expect(warnings.filter((warning) => !warning.includes("every few calls"))).toEqual([]);
  });
});
