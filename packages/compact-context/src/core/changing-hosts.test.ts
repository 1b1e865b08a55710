import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

// What an application may change in mid-session. Each list that goes out fits, and no message is summarized twice.

type Chat = { role: string; content: string };

const turns = (from: number, to: number): Chat[] =>
  Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${"tide ".repeat(60)}` },
    { role: "assistant", content: `answer ${from + index} ${"rope ".repeat(60)}` },
  ]).flat();

function setUp(): { manager: CompactManager; warnings: string[] } {
  const warnings: string[] = [];
  const manager = new CompactManager(
    {
      model: "gpt-4o",
      maxContextTokens: 8000,
      policy: { hardCapBuffer: 200 },
      models: {
        "small-model": { window: 4000, triggerPct: 0.5, targetContextTokens: 1500 },
        "large-model": { maxContextTokens: 16_000, encoding: "cl100k_base" },
      },
    },
    { storage: createMemoryDriver(), onWarning: (message) => void warnings.push(message) },
  );
  return { manager, warnings };
}

describe("an application that changes something in mid-session", () => {
  it("another model: its window, thresholds and counter hold for the call; the session goes on", async () => {
    const { manager } = setUp();
    const list = turns(0, 30);
    expect((await manager.preflight("s", list)).report.reason).toBe("below_trigger");
    const small = await manager.preflight("s", list, { model: "small-model" });
    expect(small.report).toMatchObject({ compacted: true, reason: "trigger_pct", summaryVersion: 1 });
    expect(small.report.tokensAfter).toBeLessThan(2000);
    expect(manager.getState("s").maxContextTokens).toBe(4000);
    const longer = [...list, ...turns(30, 70)];
    const large = await manager.preflight("s", longer, { model: "large-model" });
    expect(large.report).toMatchObject({ compacted: false, reason: "below_trigger" });
    const view = large.messages as Chat[];
    expect(view.filter(({ content }) => content.includes("COMPACT-SUMMARY"))).toHaveLength(1);
    expect(manager.getState("s")).toMatchObject({ maxContextTokens: 16_000, summaryCount: 1 });
    const back = await manager.preflight("s", longer);
    expect(back.report).toMatchObject({ compacted: true, summaryVersion: 2 });
  });

  it("usage that sums up calls is no request's: what fits goes on fitting", async () => {
    const { manager } = setUp();
    let total = 0;
    for (let length = 2; length <= 40; length += 2) {
      const usage = total === 0 ? undefined : { prompt_tokens: total, completion_tokens: 0 };
      const { report } = await manager.preflight("s", turns(0, length / 2), { usage });
      expect(report.compacted, `${length} messages`).toBe(false);
      total += manager.getState("s").totalTokens;
      // Up to the window it may be a request's.
      if (total <= 8000) total = 9000;
    }
  });

  it("usage of another model's request teaches this one's counter nothing", async () => {
    const { manager } = setUp();
    const list = turns(0, 12);
    await manager.preflight("s", list, { model: "large-model" });
    await manager.preflight("t", list);
    const usage = { prompt_tokens: 7000, completion_tokens: 0 };
    await manager.preflight("s", list, { usage });
    expect(manager.getState("s").totalTokens).toBe(manager.getState("t").totalTokens);
  });

  it("another model whose name is not set: its own window where that is smaller than the one set for all", async () => {
    const manager = new CompactManager(
      { model: "gpt-4o", maxContextTokens: 100_000 },
      { storage: createMemoryDriver() },
    );
    await manager.preflight("s", turns(0, 2), { model: "gpt-4" });
    expect(manager.getState("s").maxContextTokens).toBe(8192);
  });

  it("another system prompt and other tools: counted anew, nothing of the history is lost", async () => {
    const { manager } = setUp();
    const list = turns(0, 46);
    const before = await manager.preflight("s", list, { system: "short" });
    expect(before.report.reason).toBe("below_trigger");
    const tools = Array.from({ length: 8 }, (_, index) => ({
      type: "function",
      function: { name: `tool_${index}`, description: "words ".repeat(60), parameters: { type: "object" } },
    }));
    const after = await manager.preflight("s", list, { system: "long ".repeat(400), tools });
    expect(after.report).toMatchObject({ compacted: true, reason: "trigger_pct" });
    const shorter = await manager.preflight("s", list, { system: "short" });
    expect(shorter.messages).toEqual(after.messages);
    expect(shorter.report.tokensBefore).toBeLessThan(after.report.tokensAfter);
  });

  it("a retry of the same list gives the same bytes, and does nothing again", async () => {
    const { manager } = setUp();
    const list = turns(0, 54);
    const first = await manager.preflight("s", list);
    const again = await manager.preflight("s", structuredClone(list));
    expect(again.messages).toEqual(first.messages);
    expect(again.report.compacted).toBe(false);
    expect(manager.getState("s").archiveSteps).toBe(1);
  });

  it("an edit of what is still in the list is taken as it is; of what left, the list is used with a warning", async () => {
    const { manager } = setUp();
    const list = turns(0, 54);
    await manager.preflight("s", list);
    const edited = [...list.slice(0, -2), { role: "user", content: "another question" }];
    const kept = await manager.preflight("s", edited);
    expect((kept.messages as Chat[]).at(-1)?.content).toBe("another question");
    expect(JSON.stringify(kept.messages)).not.toContain("question 53");
    const rewritten = [{ role: "user", content: "all is new" }, ...list.slice(1, 20)];
    const taken = await manager.preflight("s", rewritten);
    expect(taken.messages).toBe(rewritten);
  });

  it("a fork goes on from any earlier point, and the first branch comes back as it was", async () => {
    const { manager } = setUp();
    const list = turns(0, 54);
    const first = await manager.preflight("s", list);
    const fork = [...list.slice(0, 100), { role: "user", content: "the other way" }];
    const branched = await manager.preflight("s", fork);
    expect((branched.messages as Chat[]).at(-1)?.content).toBe("the other way");
    expect(branched.report.tokensAfter).toBeLessThan(8000);
    const back = await manager.preflight("s", list);
    expect(back.messages).toEqual(first.messages);
  });
});
