import { describe, expect, it } from "vitest";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { createDriverOutbox } from "../storage/outbox.ts";
import { builtinSummarizer } from "../summarizers/extractive/builtin.ts";
import type { Fence, StorageDriver, Summarizer } from "./ports.ts";
import type { CompactionResult } from "./report.ts";

const config = { maxContextTokens: 4000, policy: { hardCapBuffer: 100, keepRecentTurns: 1 } };

function turns(to: number): { role: string; content: string }[] {
  return Array.from({ length: to }, (_, turn) => [
    { role: "user", content: `question ${turn} ${"word ".repeat(60)}` },
    { role: "assistant", content: `answer ${turn} ${"text ".repeat(60)}` },
  ]).flat();
}

/** A summarizer that says when it is asked and answers when it is let go. */
function heldSummarizer(): { summarizer: Summarizer; asked: () => number; letGo: () => void } {
  let asked = 0;
  let letGo = (): void => undefined;
  const gate = new Promise<void>((done) => {
    letGo = done;
  });
  const summarizer: Summarizer = {
    name: "held",
    async summarize(messages, options) {
      asked += 1;
      await gate;
      return builtinSummarizer.summarize(messages, options);
    },
  };
  return { summarizer, asked: () => asked, letGo: () => letGo() };
}

/** A medium with leases in memory, over a driver that several managers share. */
function sharedDriver(driver: StorageDriver): StorageDriver & { readonly held: Map<string, Fence> } {
  const held = new Map<string, Fence>();
  let token = 0;
  return {
    ...driver,
    held,
    outbox: createDriverOutbox(driver, () => Date.now()),
    version: async (key) => (await driver.get(key))?.version,
    leases: {
      ms: 60_000,
      async take(name) {
        if (held.has(name)) return undefined;
        token += 1;
        const fence = { name, token: String(token) };
        held.set(name, fence);
        return fence;
      },
      renew: async (fence) => held.get(fence.name)?.token === fence.token,
      release: async (fence) => {
        if (held.get(fence.name)?.token === fence.token) held.delete(fence.name);
      },
    },
  };
}

const open = (storage: StorageDriver, ports: ManagerPorts = {}): CompactManager =>
  new CompactManager(config, { storage, ...ports });

describe("two workers on one session", () => {
  it("that share a medium with leases pay for one summary, and both send its result", async () => {
    const storage = sharedDriver(createMemoryDriver());
    const { summarizer, asked, letGo } = heldSummarizer();
    const calls = [1, 2, 3].map(() => open(storage, { summarizer }).preflight("s", turns(28)));
    await expect.poll(asked).toBe(1);
    letGo();
    const results = await Promise.all(calls);
    expect(asked()).toBe(1);
    expect(new Set(results.map(({ summary }) => summary)).size).toBe(1);
    expect(results.map(({ report }) => report.compacted).sort()).toEqual([false, false, true]);
    expect(storage.held.size).toBe(0);
  });

  it("go on from what the other stored since, without taking it for a changed history", async () => {
    const storage = sharedDriver(createMemoryDriver());
    const [one, two] = [open(storage), open(storage)];
    await one.preflight("s", turns(10));
    await two.preflight("s", turns(10));
    const { summary } = await two.preflight("s", turns(28));
    expect(summary).toBeDefined();
    const seen = await one.preflight("s", turns(29));
    expect(seen.summary).toBe(summary);
    expect(one.getState("s").summaryVersion).toBe(1);
  });

  it("give a lease back when the work fails, and do not wait for it once they are aborted", async () => {
    const storage = sharedDriver(createMemoryDriver());
    const broken: StorageDriver = { ...storage, put: () => Promise.reject(new Error("no disk")) };
    await expect(open(broken).manualCompact("s", turns(28))).rejects.toThrow("no disk");
    expect(storage.held.size).toBe(0);
    storage.held.set("s", { name: "s", token: "another worker" });
    const waiting = open(storage).manualCompact("s", turns(28), { signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toMatchObject({ code: "Aborted" });
  });

  it("without leases, who comes second goes on with what the first stored, at the same version", async () => {
    const storage = createMemoryDriver();
    const slow = heldSummarizer();
    const late = open(storage, { summarizer: slow.summarizer }).preflight("s", turns(28));
    await expect.poll(slow.asked).toBe(1);
    const first = await open(storage).preflight("s", turns(28));
    slow.letGo();
    const second = await late;
    expect(second.summary).toBe(first.summary);
    expect(second.report.compacted).toBe(false);
    expect((await storage.list("s/")).filter((key) => key.includes("summary-"))).toEqual([
      "s/summary-001.json",
    ]);
  });

  /** A worker with `late` sleeps in its summarizer while another one goes on to turn 80; then it wakes. */
  async function sleepThrough(
    late: readonly object[],
  ): Promise<{ woken: Promise<CompactionResult<object>>; newer: unknown; stored(): Promise<unknown> }> {
    const storage = createMemoryDriver();
    const slow = heldSummarizer();
    const woken = open(storage, { summarizer: slow.summarizer }).preflight("s", late);
    await expect.poll(slow.asked).toBe(1);
    const other = open(storage);
    for (let turn = 28; turn < 80; turn++) await other.preflight("s", turns(turn));
    const stored = () => storage.get("s/state.json");
    const newer = await stored();
    slow.letGo();
    return { woken, newer, stored };
  }

  it("a list over its budget that fell behind while its worker slept is refused, and nothing newer is written over", async () => {
    const { woken, newer, stored } = await sleepThrough(turns(34));
    await expect(woken).rejects.toMatchObject({
      code: "Conflict",
      message: expect.stringContaining('session "s"'),
      hint: expect.stringContaining("Read the conversation again"),
    });
    expect(await stored()).toEqual(newer);
  });

  it("a list that fits and fell behind goes out as it is, and nothing newer is written over", async () => {
    const late = turns(28);
    const { woken, newer, stored } = await sleepThrough(late);
    const { messages, report } = await woken;
    expect(messages).toBe(late);
    expect(report).toMatchObject({ compacted: false, reason: "attempts_failed" });
    expect(await stored()).toEqual(newer);
  });
});

describe("a worker that died between the state and the summary's file", () => {
  it("ARC-1 leaves the file to the next one that loads the session", async () => {
    const storage = createMemoryDriver();
    const dying: StorageDriver = {
      ...storage,
      put: (key, value, options) =>
        key.includes("summary-") ? Promise.reject(new Error("killed")) : storage.put(key, value, options),
    };
    const { summary } = await open(dying).preflight("s", turns(28));
    expect(await storage.get("s/summary-001.json")).toBeUndefined();
    await open(storage).preflight("s", turns(28));
    const stored = JSON.parse((await storage.get("s/summary-001.json"))?.value ?? "{}");
    expect(stored).toMatchObject({ version: 1, text: summary });
  });

  it("ARC-3 keeps the archive on its own medium where that is asked for", async () => {
    const [storage, archive] = [createMemoryDriver(), createMemoryDriver()];
    await open(storage, { archive }).preflight("s", turns(28));
    expect(await storage.list("")).toEqual(["s/state.json"]);
    expect(await archive.list("")).toEqual(
      expect.arrayContaining(["s/summary-001.json", "s/transcript-pre-compact-001.jsonl"]),
    );
  });
});
