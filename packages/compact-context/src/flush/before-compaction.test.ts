import { describe, expect, it } from "vitest";
import type { Message } from "../core/message.ts";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { BeforeCompaction, CompactionMoment } from "./flush.ts";

const text = (word: string): string => Array.from({ length: 300 }, (_, index) => `${word}${index}`).join(" ");
const list = (turns: number): Message[] =>
  Array.from({ length: turns }, (_, turn): Message[] => [
    { id: `u${turn}`, role: "user", parts: [{ type: "text", text: `Ask ${turn}: ${text("a")}` }] },
    { id: `a${turn}`, role: "assistant", parts: [{ type: "text", text: `Answer ${turn}` }] },
  ]).flat();

function manager(
  beforeCompaction: BeforeCompaction,
  beforeCompactionWaitMs?: number,
): { manager: CompactManager; warnings: string[] } {
  const warnings: string[] = [];
  const wait = beforeCompactionWaitMs === undefined ? {} : { beforeCompactionWaitMs };
  const ports = {
    storage: createMemoryDriver(),
    onWarning: (message: string) => warnings.push(message),
    beforeCompaction,
    ...wait,
  };
  return {
    manager: new CompactManager(
      { maxContextTokens: 12_000, policy: { keepRecentTurns: 2, hardCapBuffer: 500 } },
      ports,
    ),
    warnings,
  };
}

describe("before a compaction", () => {
  it("MEM-9 the whole list is shown, with what leaves it, before the state is committed, by threshold and by hand", async () => {
    const seen: {
      readonly ids: readonly string[];
      readonly moment: CompactionMoment;
      readonly steps: number;
    }[] = [];
    const { manager: one } = manager((messages, moment) => {
      seen.push({ ids: messages.map(({ id }) => id), moment, steps: one.getState("s").archiveSteps });
    });
    const { report } = await one.preflight("s", list(24));
    expect(report.compacted).toBe(true);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.ids).toEqual(list(24).map(({ id }) => id));
    expect(seen[0]?.moment.sessionId).toBe("s");
    expect(seen[0]?.moment.discarded.map(({ id }) => id)).toContain("u0");
    expect(seen[0]?.moment.discarded.map(({ id }) => id)).not.toContain("u23");
    expect(seen[0]?.steps).toBe(0);
    await one.manualCompact("s", list(28));
    expect(seen).toHaveLength(2);
    expect(seen[1]?.moment.discarded.map(({ id }) => id)).not.toContain("u0");
  });

  it("MEM-9 a list that is left alone is not shown", async () => {
    let calls = 0;
    const { manager: one } = manager(() => {
      calls += 1;
    });
    await one.preflight("s", list(2));
    expect(calls).toBe(0);
  });

  it("MEM-9 who fails or never ends stops nothing, and is told that nobody waits any longer", async () => {
    const failing = manager(() => Promise.reject(new Error("no disk")));
    expect((await failing.manager.preflight("s", list(24))).report.compacted).toBe(true);
    expect(failing.warnings.join()).toContain("no disk");
    let signal: AbortSignal | undefined;
    const hanging = manager((_, moment) => {
      signal = moment.signal;
      return new Promise(() => undefined);
    }, 30);
    expect((await hanging.manager.preflight("s", list(24))).report.compacted).toBe(true);
    expect(signal?.aborted).toBe(true);
  });
});
