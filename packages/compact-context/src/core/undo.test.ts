import { describe, expect, it } from "vitest";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { StorageDriver, Summarizer } from "./ports.ts";
import type { CompactEvent } from "./report.ts";

type Chat = { role: string; content: string };

const turns = (from: number, to: number, words = 60): Chat[] =>
  Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${"tide ".repeat(words)}` },
    { role: "assistant", content: `answer ${from + index} ${"rope ".repeat(words)}` },
  ]).flat();

/** A new manager over the same storage, as a later process has it. */
function createManager(storage: StorageDriver, ports: ManagerPorts = {}): CompactManager {
  return new CompactManager(
    { maxContextTokens: 8000, policy: { hardCapBuffer: 200 } },
    { storage, onWarning: () => undefined, ...ports },
  );
}

const compacted = turns(0, 54);

describe("undo of the last compaction", () => {
  it("gives a raw list back whole, and holds back until it has grown", async () => {
    const events: CompactEvent[] = [];
    const exporters = [{ export: (event: CompactEvent) => void events.push(event) }];
    const manager = createManager(createMemoryDriver(), { exporters });
    const first = await manager.preflight("s", compacted);
    expect(first.report).toMatchObject({ compacted: true, reason: "trigger_pct" });
    const undone = await manager.undo("s");
    expect(undone).toEqual({ step: 1, tokens: first.report.tokensBefore, messages: compacted });
    const restored = { totalTokens: undone.tokens, messageCount: compacted.length, summaryCount: 0 };
    expect(manager.getState("s")).toMatchObject(restored);
    const next = await manager.preflight("s", compacted);
    expect(next.report).toMatchObject({ compacted: false, reason: "undone", refused: "undone" });
    expect(next.messages).toBe(compacted);
    expect(manager.getState("s")).toMatchObject(restored);
    expect(manager.getRunningSummary("s")).toBeUndefined();
    const grown = [...compacted, ...turns(54, 58)];
    expect((await manager.preflight("s", grown)).report).toMatchObject({ compacted: true });
    await manager.flush();
    expect(events.find(({ name }) => name === "compact.undone")?.properties).toMatchObject({
      step: 1,
      tokens_before: first.report.tokensAfter,
      tokens_after: first.report.tokensBefore,
    });
  });

  it("undoes the newest compaction where another process made it meanwhile", async () => {
    const storage = createMemoryDriver();
    const one = createManager(storage);
    await one.preflight("s", compacted);
    const longer = [...compacted, ...turns(54, 100)];
    const second = await createManager(storage).preflight("s", longer);
    expect(second.report).toMatchObject({ compacted: true, summaryVersion: 2 });
    expect((await one.undo("s")).step).toBe(2);
    expect(one.getRunningSummary("s")?.summary).toBe(
      (await createManager(storage).preflight("s", compacted)).summary,
    );
  });

  it("compacts again at once where the list is over its budget", async () => {
    const manager = createManager(createMemoryDriver());
    const over = turns(0, 70);
    await manager.preflight("s", over);
    await manager.undo("s");
    expect((await manager.preflight("s", over)).report).toMatchObject({ compacted: true });
  });

  it("leaves earlier compactions, and undoes each only once", async () => {
    const manager = createManager(createMemoryDriver());
    const first = await manager.preflight("s", compacted);
    const longer = [...compacted, ...turns(54, 100)];
    const second = await manager.preflight("s", longer);
    expect(second.report).toMatchObject({ compacted: true, summaryVersion: 2 });
    expect((await manager.undo("s")).step).toBe(2);
    expect(manager.getRunningSummary("s")?.summary).toBe(first.summary);
    await expect(manager.undo("s")).rejects.toMatchObject({ code: "NotFound" });
    await manager.manualCompact("s", longer);
    expect((await manager.undo("s")).step).toBe(3);
  });

  it("gives an application that keeps our output its own objects, the originals and what came since", async () => {
    const manager = createManager(createMemoryDriver());
    const { messages: output } = await manager.preflight("s", compacted);
    const since = turns(54, 55);
    const continued = [...output, ...since];
    await manager.preflight("s", continued);
    const { messages } = await manager.undo("s", continued);
    expect(messages).toEqual([...compacted, ...since]);
    expect(messages?.at(-1)).toBe(since.at(-1));
    expect(messages?.at(-3)).toBe(compacted.at(-1));
    const next = await manager.preflight("s", messages ?? []);
    expect(next.report).toMatchObject({ compacted: false, reason: "undone" });
    expect(next.messages).toBe(messages);
  });

  it("works in a later process, also one that has seen no list", async () => {
    const storage = createMemoryDriver();
    const manager = createManager(storage);
    await manager.preflight("s", compacted);
    await manager.flush();
    expect((await createManager(storage).undo("s")).messages).toBeUndefined();
    const next = await createManager(storage).preflight("s", compacted);
    expect(next.report).toMatchObject({ compacted: false, reason: "undone" });
  });

  it("RED-1 what is stored for an undo holds no secret either", async () => {
    const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const storage = createMemoryDriver();
    const summarizer: Summarizer = {
      name: "leaky",
      async summarize() {
        return { text: `## Goal\n- use ${secret}`, tokens: 40, summarizer: "leaky", messagesRead: 1 };
      },
    };
    const manager = createManager(storage, { summarizer });
    const first = await manager.preflight("s", compacted);
    await manager.preflight("s", [...compacted, ...turns(54, 100)]);
    const stored = (await storage.get("s/state.json"))?.value;
    expect(stored).toContain('"before":{');
    expect(stored).not.toContain(secret);
    expect(first.summary).toContain(secret);
  });

  it("has nothing to undo in a session without a compaction, and none in another history", async () => {
    const manager = createManager(createMemoryDriver());
    await expect(manager.undo("new")).rejects.toMatchObject({ code: "NotFound" });
    await manager.preflight("s", compacted);
    await manager.preflight("s", turns(200, 210));
    await expect(manager.undo("s")).rejects.toMatchObject({ code: "NotFound" });
  });
});

it("an undo that is refused leaves the next estimate what it was", async () => {
  const tokensAfter = async (refused: boolean): Promise<number> => {
    const manager = new CompactManager({ maxContextTokens: 16_000 }, { storage: createMemoryDriver() });
    await manager.preflight("s", turns(0, 10));
    const usage = { prompt_tokens: manager.getState("s").totalTokens, completion_tokens: 0 };
    const list = turns(0, 30);
    if (refused) await expect(manager.undo("s", list)).rejects.toMatchObject({ code: "NotFound" });
    await manager.preflight("s", list, { usage });
    return manager.getState("s").totalTokens;
  };
  expect(await tokensAfter(true)).toBe(await tokensAfter(false));
});
