import { afterEach, describe, expect, it } from "vitest";
import { compact } from "../compact.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { Summarizer } from "./ports.ts";

const list = Array.from({ length: 80 }, (_, n) => ({
  role: n % 2 === 0 ? "user" : "assistant",
  content: `${n} ${"word ".repeat(60)}`,
}));
const open = (ports: ManagerPorts): CompactManager =>
  new CompactManager(
    { maxContextTokens: 6000, policy: { hardCapBuffer: 500 } },
    { storage: createMemoryDriver(), ...ports },
  );

describe("who only watches", () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  afterEach(() => {
    process.off("unhandledRejection", note);
  });

  it("stops no compaction by throwing or rejecting, and ends no process", async () => {
    process.on("unhandledRejection", note);
    const warnings: string[] = [];
    const manager = open({ onWarning: (message) => void warnings.push(message) });
    manager.onCompaction(() => {
      throw new Error("thrown");
    });
    manager.onCompaction(async () => {
      throw new Error("rejected");
    });
    expect((await manager.preflight("s", list)).report.compacted).toBe(true);
    await new Promise((done) => setTimeout(done, 5));
    expect(warnings).toEqual([
      "a compaction listener failed: thrown",
      "a compaction listener failed: rejected",
    ]);
    expect(unhandled).toEqual([]);
  });

  it("may fail at hearing warnings too", async () => {
    process.on("unhandledRejection", note);
    for (const onWarning of [
      () => {
        throw new Error("thrown");
      },
      async () => {
        throw new Error("rejected");
      },
    ]) {
      const manager = open({ onWarning });
      manager.onCompaction(() => {
        throw new Error("to be warned of");
      });
      expect((await manager.preflight("s", list)).report.compacted).toBe(true);
    }
    await new Promise((done) => setTimeout(done, 5));
    expect(unhandled).toEqual([]);
  });
});

describe("a summarizer that never ends", () => {
  const hanging: Summarizer = { name: "hanging", summarize: () => new Promise(() => {}) };

  it("holds neither a caller who gives up, nor the calls that come after", async () => {
    const manager = open({ summarizer: hanging });
    const signal = AbortSignal.timeout(20);
    await expect(manager.preflight("s", list, { signal })).rejects.toMatchObject({ code: "Aborted" });
    expect(manager.getState("s").summaryCount).toBe(0);
    expect((await manager.preflight("s", list.slice(0, 4))).report.reason).toBe("below_trigger");
  });

  it("ends with the signal in one shot too", async () => {
    const signal = AbortSignal.timeout(20);
    const given = compact(list, { maxTokens: 3000, summarizer: hanging, signal });
    await expect(given).rejects.toMatchObject({ code: "Aborted" });
  });
});
