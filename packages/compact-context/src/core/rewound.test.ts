import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

const turns = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${"word ".repeat(60)}` },
    { role: "assistant", content: `answer ${from + index} ${"word ".repeat(60)}` },
  ]).flat();

const config = { maxContextTokens: 8000, policy: { hardCapBuffer: 500 } };

describe("a history that goes back to before its compaction", () => {
  const raw = turns(0, 60);
  const rewound = raw.slice(0, 10);
  const open = async () => {
    const storage = createMemoryDriver();
    const manager = new CompactManager(config, { storage });
    const before = await manager.preflight("s", raw);
    expect(before.report.compacted).toBe(true);
    return { storage, manager, before };
  };

  it("has no summary, and none comes back to it, also not in a later process", async () => {
    const { storage, manager } = await open();
    const result = await manager.preflight("s", rewound);
    expect([result.messages, result.summary]).toEqual([rewound, undefined]);
    expect(manager.getRunningSummary("s")).toBeUndefined();
    await manager.flush();
    expect((await manager.preflight("s", structuredClone(rewound))).messages).toEqual(rewound);
    const later = new CompactManager(config, { storage });
    expect((await later.preflight("s", structuredClone(rewound))).messages).toEqual(rewound);
  });

  it("RUN-2 keeps the compaction for the history that it was made in", async () => {
    const { storage, manager, before } = await open();
    await manager.preflight("s", rewound);
    await manager.flush();
    const later = new CompactManager(config, { storage });
    for (const one of [manager, later]) {
      const again = await one.preflight("s", structuredClone(raw));
      expect(again.report.compacted).toBe(false);
      expect(again.messages).toEqual(before.messages);
    }
  });

  it("RUN-1 starts its own summary, of its own messages, under the next version", async () => {
    const { manager } = await open();
    const other = [...rewound, ...turns(100, 160)];
    const { report } = await manager.preflight("s", other);
    expect(report).toMatchObject({ compacted: true, summaryVersion: 2 });
    const ids = manager.getRunningSummary("s")?.summarizedMessageIds ?? [];
    expect(ids.length).toBe(report.prunedCount);
  });
});
