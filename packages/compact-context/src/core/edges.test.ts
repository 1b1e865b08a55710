import { describe, expect, it } from "vitest";
import { createArchiveStore } from "../archive/store.ts";
import type { CompactConfigInput } from "../config/settings.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { Summarizer } from "./ports.ts";
import type { CompactEvent } from "./report.ts";

type Chat = { role: string; content: unknown };
const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");
const turns = (from: number, to: number, size = 45): Chat[] =>
  Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${words(from + index, size)}` },
    { role: "assistant", content: `answer ${from + index} ${words(from + index + 500, size)}` },
  ]).flat();

function managerWith(config: CompactConfigInput, ports: ManagerPorts = {}) {
  const events: CompactEvent[] = [];
  const exporters = [{ export: (event: CompactEvent) => void events.push(event) }];
  const storage = createMemoryDriver();
  return { events, storage, manager: new CompactManager(config, { storage, exporters, ...ports }) };
}

const settled = async (): Promise<void> => {
  for (let tick = 0; tick < 50; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe("a compaction that was prepared", () => {
  it("FIT-6 counts what travels beside the messages as of the call that commits it", async () => {
    const { manager } = managerWith({
      maxContextTokens: 8000,
      policy: { hardCapBuffer: 500, backgroundTriggerPct: 0.5 },
    });
    await manager.preflight("s", turns(0, 24));
    await settled();
    const system = words(3, 900);
    const list = turns(0, 36);
    const { messages, report } = await manager.preflight("s", list, { system });
    expect(report.compacted).toBe(true);
    const fresh = managerWith({ maxContextTokens: 100_000 }).manager;
    await fresh.preflight("t", messages, { system });
    const real = fresh.getState("t").totalTokens ?? 0;
    expect(real).toBeLessThanOrEqual(7500);
    expect(Math.abs(report.tokensAfter - real)).toBeLessThanOrEqual(real * 0.02);
  });
});

describe("flush", () => {
  it("leaves a stored session as it is whose next list cannot be read, and stores the others", async () => {
    const config = { maxContextTokens: 4000, policy: { hardCapBuffer: 200 } };
    const storage = createMemoryDriver();
    await new CompactManager(config, { storage }).preflight("s", turns(0, 24));
    const second = new CompactManager(config, { storage });
    await expect(second.preflight("s", [{ role: "user", content: 5 }] as unknown[])).rejects.toThrow();
    await second.preflight("other", turns(0, 3));
    await second.flush();
    const { report, summary } = await new CompactManager(config, { storage }).preflight("s", turns(0, 24));
    expect(report.reason).toBe("below_trigger");
    expect(summary).toBeDefined();
  });

  it("waits for the hooks of calls that are under way", async () => {
    const taken: unknown[] = [];
    const { manager } = managerWith(
      { maxContextTokens: 4000, policy: { hardCapBuffer: 200 } },
      { memoryFlushHook: async (messages) => void taken.push(messages) },
    );
    await manager.preflight("s", turns(0, 2));
    const call = manager.preflight("s", turns(0, 24));
    await manager.flush();
    expect(taken).toHaveLength(1);
    await call;
  });

  it("TOK-7 stores what usage taught without a new message", async () => {
    const config = { maxContextTokens: 20_000 };
    const storage = createMemoryDriver();
    const list = turns(0, 10);
    const first = new CompactManager(config, { storage });
    await first.preflight("s", list);
    const own = first.getState("s").totalTokens ?? 0;
    await first.flush();
    const usage = { prompt_tokens: own * 2, completion_tokens: 5, total_tokens: own * 2 + 5 };
    await first.preflight("s", list, { usage });
    await first.flush();
    const second = new CompactManager(config, { storage });
    await second.preflight("s", list);
    expect(second.getState("s").totalTokens).toBeGreaterThan(own * 1.8);
  });
});

describe("a list over the limit of bytes", () => {
  it("FIT-6 is compacted though another trigger that was held back is reached too", async () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(100_000)}` } };
    const list: Chat[] = [
      { role: "system", content: words(1, 3600) },
      ...[0, 1, 2, 3].flatMap((index): Chat[] => [
        { role: "user", content: [{ type: "text", text: `picture ${index}` }, image] },
        { role: "assistant", content: "seen" },
      ]),
      { role: "user", content: "next" },
    ];
    const { manager } = managerWith({
      model: "gpt-4o",
      maxContextTokens: 16_000,
      policy: { triggerPct: 0.4, hardCapBuffer: 500, keepRecentTurns: 1, maxRequestBytes: 250_000 },
    });
    const { messages, report } = await manager.preflight("s", list);
    expect(report.compacted).toBe(true);
    expect(JSON.stringify(messages).length).toBeLessThan(250_000);
  });
});

describe("tool output that is cut before a compaction", () => {
  it("is noticed by listeners as the compaction is", async () => {
    const { manager } = managerWith({
      maxContextTokens: 8000,
      policy: { hardCapBuffer: 300, maxToolResultTokens: 400 },
    });
    const reasons: string[] = [];
    manager.onCompaction(({ report }) => reasons.push(report.reason));
    const call = { id: "c1", type: "function", function: { name: "read", arguments: "{}" } };
    await manager.preflight("s", [
      ...turns(0, 38),
      { role: "user", content: "read it" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: words(4, 1200) },
    ]);
    expect(reasons).toEqual(["tool_output", "trigger_pct"]);
  });
});

describe("a compaction that is given up", () => {
  it("OBS-2 ends its archived step with an event", async () => {
    const controller = new AbortController();
    const summarizer: Summarizer = {
      name: "hangs",
      summarize: async (_, { signal }) => {
        controller.abort(new Error("enough"));
        signal?.throwIfAborted();
        throw new Error("not aborted");
      },
    };
    const { manager, events } = managerWith(
      { maxContextTokens: 4000, policy: { hardCapBuffer: 200 } },
      { summarizer },
    );
    const { signal } = controller;
    await manager.preflight("s", turns(0, 24), { signal }).catch(() => undefined);
    await manager.flush();
    const names = events.map(({ name }) => name);
    expect(names).toContain("compact.archival");
    expect(events.findLast(({ name }) => name === "compact.error")).toMatchObject({
      properties: { fallback: "nothing is pruned", step: 1 },
    });
  });
});

describe("a transcript that is read in part", () => {
  it("is closed when its reader stops in the first piece", async () => {
    const { manager, storage } = managerWith({ maxContextTokens: 4000, policy: { hardCapBuffer: 200 } });
    await manager.preflight("s", turns(0, 24));
    let closed = 0;
    const watched = {
      ...storage,
      async *stream(key: string) {
        try {
          yield* storage.stream(key);
        } finally {
          closed += 1;
        }
      },
    };
    const redact = { redactText: (text: string) => text, redactValue: (value: unknown) => value };
    for await (const _ of createArchiveStore(watched, redact).streamTranscript("s", 1)) break;
    expect(closed).toBe(1);
  });
});
