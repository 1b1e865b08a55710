import { describe, expect, it } from "vitest";
import type { TextModel } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";

/** Seconds until the first token, tokens read and written per second: a quick model of 2026, with nothing cached. */
const MODEL = { first: 0.6, reads: 10_000, writes: 120 };
/** A turn of the agent waits for its model and its tools; both are quick here, so that compaction weighs more. */
const TURN_SECONDS = 3;

describe("TST-3 a session of 1,000 turns", () => {
  it("TST-3 and SUM-12: five compactions take less than a tenth of its time, each summary of a fast model under ten seconds", async () => {
    /** Milliseconds that pass without anybody computing. */
    let waited = 0;
    const clock = (): number => performance.now() + waited;
    const summaries: number[] = [];
    const model: TextModel = {
      name: "quick",
      window: 200_000,
      generate: async ({ messages, maxOutputTokens }) => {
        const read = messages.reduce((total, message) => total + message.content.length / 4, 0);
        const written = Math.min(maxOutputTokens, 700);
        const seconds = MODEL.first + read / MODEL.reads + written / MODEL.writes;
        waited += seconds * 1000;
        summaries.push(seconds);
        return {
          text: `### State\n- Round ${summaries.length}: everything up to here was done.`,
          stop: "end",
        };
      },
    };
    const manager = new CompactManager(
      { maxContextTokens: 25_000, policy: { hardCapBuffer: 1000 } },
      { summarizer: model, storage: createMemoryDriver(), clock },
    );
    const list: { role: string; content: string }[] = [];
    const began = clock();
    let compacting = 0;
    let compactions = 0;
    for (let turn = 0; turn < 1000; turn += 1) {
      list.push({
        role: "user",
        content: `Request ${turn}: look at src/part${turn}.ts and say what it does, please.`,
      });
      const before = clock();
      const { report } = await manager.preflight("s", [...list]);
      compacting += clock() - before;
      if (report.compacted) compactions += 1;
      list.push({
        role: "assistant",
        content: `Part ${turn} ${"reads the list and writes it back. ".repeat(11)}`,
      });
      waited += TURN_SECONDS * 1000;
    }
    const whole = clock() - began;
    const ours = compacting - summaries.reduce((total, seconds) => total + seconds * 1000, 0);
    if (process.env.OVERHEAD_REPORT !== undefined) {
      console.log({
        compactions,
        wholeSeconds: whole / 1000,
        share: compacting / whole,
        oursMs: ours,
        longest: Math.max(...summaries),
      });
    }
    expect(compactions).toBeGreaterThanOrEqual(5);
    expect(compacting / whole).toBeLessThan(0.1);
    expect(ours / whole).toBeLessThan(0.02);
    expect(Math.max(...summaries)).toBeLessThan(10);
  });
});
