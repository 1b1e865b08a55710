import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { builtinSummarizer } from "../summarizers/extractive/builtin.ts";
import type { Summarizer } from "./ports.ts";
import type { CompactEvent } from "./report.ts";

type Chat = { role: string; content: string };
const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");
const turns = (from: number, to: number, size = 60): Chat[] =>
  Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${words(from + index, size)}` },
    { role: "assistant", content: `answer ${from + index} ${words(from + index + 500, size)}` },
  ]).flat();

/** A summarizer that answers when it is told to. */
function heldSummarizer() {
  const waiting: (() => void)[] = [];
  let asked = 0;
  let answered = 0;
  let aborted = 0;
  const summarizer: Summarizer = {
    name: "held",
    async summarize(messages, options) {
      asked += 1;
      options.signal?.addEventListener("abort", () => {
        aborted += 1;
      });
      await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return { ...(await builtinSummarizer.summarize(messages, options)), summarizer: "held" };
      } finally {
        answered += 1;
      }
    },
  };
  /** Lets it answer until it has answered so often, and what waits for that go on. */
  const settle = async (answers: number): Promise<void> => {
    for (let after = 0; after < 50; after += answered < answers ? 0 : 1) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const release of waiting.splice(0)) release();
    }
  };
  return { summarizer, settle, asked: () => asked, aborted: () => aborted };
}

function setUp() {
  const held = heldSummarizer();
  const events: CompactEvent[] = [];
  const manager = new CompactManager(
    { maxContextTokens: 8000, policy: { hardCapBuffer: 500, backgroundTriggerPct: 0.5 } },
    {
      storage: createMemoryDriver(),
      summarizer: held.summarizer,
      exporters: [{ export: (event) => void events.push(event) }],
    },
  );
  return { manager, held, events };
}

const below = turns(0, 24, 45);
const over = [...below, ...turns(24, 36, 45)];

describe("a compaction ahead of time", () => {
  it("is begun at the lower mark, shows nowhere, and is there when the trigger is reached", async () => {
    const { manager, held } = setUp();
    const first = await manager.preflight("s", below);
    expect(first.report.reason).toBe("below_trigger");
    expect(first.messages).toBe(below);
    await held.settle(1);
    expect(held.asked()).toBe(1);
    expect(manager.getState("s")).toMatchObject({ summaryCount: 0, summaryVersion: undefined });
    expect((await manager.preflight("s", below)).messages).toBe(below);
    const { report, messages } = await manager.preflight("s", over);
    expect(report).toMatchObject({ compacted: true, reason: "trigger_pct", summarizer: "held" });
    expect(held.asked()).toBe(1);
    expect(messages.slice(-20)).toEqual(over.slice(-20));
    expect(report.tokensAfter).toBeLessThan(6000);
    const next = await manager.preflight("s", [...over, ...turns(40, 41, 20)]);
    expect(next.report.compacted).toBe(false);
    expect(JSON.stringify(next.messages.slice(0, messages.length))).toBe(JSON.stringify(messages));
  });

  it("is waited for only once the list no longer fits", async () => {
    const { manager, held } = setUp();
    await manager.preflight("s", below);
    const meanwhile = await manager.preflight("s", over);
    expect(meanwhile.report.reason).toBe("in_background");
    expect(meanwhile.messages).toBe(over);
    const full = [...over, ...turns(60, 65, 45)];
    const waiting = manager.preflight("s", full);
    await held.settle(1);
    const { report } = await waiting;
    expect(report).toMatchObject({ compacted: true, summarizer: "held" });
    expect(report.tokensAfter).toBeLessThanOrEqual(7500);
    expect(held.asked()).toBe(1);
  });

  it("is thrown away when the history no longer begins with what it was made for", async () => {
    const { manager, held } = setUp();
    await manager.preflight("s", below);
    await held.settle(1);
    const edited = [{ role: "user", content: "something else altogether" }, ...over.slice(1)];
    const pending = manager.preflight("s", edited);
    await held.settle(2);
    const { report, messages } = await pending;
    expect(held.asked()).toBe(2);
    expect(report.compacted).toBe(true);
    expect(JSON.stringify(messages)).not.toContain("question 0 ");
  });

  it("gives way to a compaction that is asked for, and is cancelled", async () => {
    const { manager, held } = setUp();
    await manager.preflight("s", below);
    while (held.asked() === 0) await new Promise((resolve) => setImmediate(resolve));
    const manual = manager.manualCompact("s", below, { note: "now" });
    await held.settle(2);
    expect((await manual).report).toMatchObject({ compacted: true, reason: "manual" });
    expect(held.aborted()).toBe(1);
  });

  it("works for hosts that rebuild their messages each time", async () => {
    const { manager, held } = setUp();
    await manager.preflight("s", structuredClone(below));
    await held.settle(1);
    const { report } = await manager.preflight("s", structuredClone(over));
    expect(report).toMatchObject({ compacted: true, summarizer: "held" });
    expect(held.asked()).toBe(1);
  });

  it("ends with the caller who waits for it", async () => {
    const { manager } = setUp();
    await manager.preflight("s", below);
    const controller = new AbortController();
    const full = [...over, ...turns(60, 65, 45)];
    const waiting = manager.preflight("s", full, { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: "Aborted" });
    expect(manager.getState("s").summaryCount).toBe(0);
  });
});
