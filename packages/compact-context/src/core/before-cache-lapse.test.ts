import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { builtinSummarizer } from "../summarizers/extractive/builtin.ts";
import type { Summarizer } from "./ports.ts";

type Chat = { role: string; content: string };

const turns = (count: number): Chat[] =>
  Array.from({ length: count }, (_, index) => [
    { role: "user", content: `question ${index} ${"tide ".repeat(60)}` },
    { role: "assistant", content: `answer ${index} ${"rope ".repeat(60)}` },
  ]).flat();

function setUp(beforeCacheLapse: number | undefined) {
  const timers = new Map<() => void, number>();
  let time = 0;
  let asked = 0;
  let finished = 0;
  const summarizer: Summarizer = {
    name: "counted",
    async summarize(messages, options) {
      asked += 1;
      const made = await builtinSummarizer.summarize(messages, options);
      finished += 1;
      return { ...made, summarizer: "counted" };
    },
  };
  const manager = new CompactManager(
    { maxContextTokens: 8000, policy: { hardCapBuffer: 200, beforeCacheLapse } },
    {
      storage: createMemoryDriver(),
      summarizer,
      now: () => new Date(time),
      later: (ms, work) => {
        timers.set(work, ms);
        return () => void timers.delete(work);
      },
    },
  );
  /** Runs the timer that is set, and what it starts. */
  const lapse = async (summaries: number): Promise<void> => {
    const due = [...timers.keys()];
    timers.clear();
    for (const work of due) work();
    for (let after = 0; after < 50; after += finished < summaries ? 0 : 1)
      await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    manager,
    timers,
    lapse,
    asked: () => asked,
    advance(seconds: number) {
      time += seconds * 1000;
    },
  };
}

describe("policy.beforeCacheLapse", () => {
  it("prepares a compaction shortly before the cache lapses; the first call after it takes it", async () => {
    const { manager, timers, lapse, asked, advance } = setUp(30);
    const list = turns(36);
    expect((await manager.preflight("s", list)).report.reason).toBe("below_trigger");
    expect([...timers.values()]).toEqual([270_000]);
    await lapse(1);
    expect(asked()).toBe(1);
    advance(400);
    const later = [...list, { role: "user", content: "and now?" }];
    const { report } = await manager.preflight("s", later);
    expect(report).toMatchObject({ compacted: true, reason: "cold_cache", summarizer: "counted" });
    expect(asked()).toBe(1);
  });

  it("a call in time cancels it, and a list that is small is left alone", async () => {
    const { manager, timers, lapse, asked } = setUp(30);
    await manager.preflight("s", turns(36));
    const [first] = timers.keys();
    await manager.preflight("s", turns(37));
    expect(timers.size).toBe(1);
    expect(timers.has(first as () => void)).toBe(false);
    await manager.release("s");
    expect(timers.size).toBe(0);
    await manager.preflight("small", turns(10));
    await lapse(0);
    expect(asked()).toBe(0);
  });

  it("is off by default", async () => {
    const { manager, timers } = setUp(undefined);
    await manager.preflight("s", turns(36));
    expect(timers.size).toBe(0);
  });
});
