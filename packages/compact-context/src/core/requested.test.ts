import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

type Chat = { role: string; content: string };

const turns = (count: number): Chat[] =>
  Array.from({ length: count }, (_, index) => [
    { role: "user", content: `question ${index} ${"tide ".repeat(60)}` },
    { role: "assistant", content: `answer ${index} ${"rope ".repeat(60)}` },
  ]).flat();

const createManager = (): CompactManager =>
  new CompactManager(
    { maxContextTokens: 8000, policy: { hardCapBuffer: 200 } },
    { storage: createMemoryDriver() },
  );

describe("a compaction that the model asks for", () => {
  it("is made by the next preflight, once", async () => {
    const manager = createManager();
    const list = turns(40);
    await manager.preflight("s", list);
    expect(manager.requestCompaction("s", "the port")).toMatchObject({ accepted: true, waitCalls: 0 });
    const { report, messages } = await manager.preflight("s", list);
    expect(report).toMatchObject({ compacted: true, reason: "requested" });
    const next = await manager.preflight("s", [...messages, { role: "user", content: "go on" }]);
    expect(next.report).toMatchObject({ compacted: false, reason: "below_trigger" });
  });

  it("is accepted from half of the trigger on", async () => {
    const manager = createManager();
    let asked = { accepted: false, tokens: 0, triggerTokens: 0 };
    for (let count = 1; !asked.accepted && count < 60; count += 1) {
      await manager.preflight("s", turns(count));
      asked = manager.requestCompaction("s");
      expect(asked.accepted).toBe(asked.tokens >= asked.triggerTokens / 2);
    }
    expect(asked.tokens).toBeLessThan(asked.triggerTokens * 0.6);
  });

  it("is refused below half of the trigger, for ten calls after a compaction, and for an unknown session", async () => {
    const manager = createManager();
    expect(manager.requestCompaction("s")).toMatchObject({ accepted: false, tokens: 0 });
    await manager.preflight("s", turns(10));
    expect(manager.requestCompaction("s")).toMatchObject({ accepted: false, waitCalls: 0 });
    const list = turns(54);
    expect((await manager.preflight("s", list)).report.compacted).toBe(true);
    const again = [...list, ...turns(30)];
    await manager.preflight("s", again);
    expect(manager.requestCompaction("s")).toMatchObject({ accepted: false, waitCalls: 9 });
    for (let call = 0; call < 9; call += 1) await manager.preflight("s", again);
    expect(manager.requestCompaction("s")).toMatchObject({ accepted: true });
  });
});
