import { describe, expect, it } from "vitest";
import { compact } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";
import { countText } from "../tokens/count-tokens.ts";

const exchange = (index: number): object[] => [
  { role: "user", content: `question ${index}` },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      {
        id: `c${index}`,
        type: "function",
        function: { name: "read_file", arguments: `{"path":"src/part${index}.ts"}` },
      },
    ],
  },
  {
    role: "tool",
    tool_call_id: `c${index}`,
    content: `export const LIMIT_${index} = ${index};\n${"filler text ".repeat(120)}`,
  },
  { role: "assistant", content: `answer ${index}` },
];
const list = Array.from({ length: 24 }, (_, index) => exchange(index)).flat();

describe("summaries", () => {
  it("ARC-4 name the archive steps of their sources once, and fewer tokens than a score say it", async () => {
    const manager = new CompactManager({ maxContextTokens: 4000, storage: { kind: "memory" } });
    let messages: readonly unknown[] = [];
    for (let at = 0; at < list.length; at += 4) {
      messages = (await manager.preflight("s", [...messages, ...list.slice(at, at + 4)])).messages;
    }
    const steps = await manager.recall("s").steps();
    const summary = manager.getRunningSummary("s")?.summary ?? "";
    expect(steps.length).toBeGreaterThan(1);
    const pointer = `Originals: archive steps 1-${steps.at(-1)}.`;
    expect(summary.endsWith(`\n${pointer}`)).toBe(true);
    expect(summary.match(/Originals: archive/g)?.length).toBe(1);
    expect(countText(pointer, { encoding: "o200k_base" })).toBeLessThan(20);
  });

  it("name no step where they have no room for it", async () => {
    const summaryWithin = async (maxSummaryTokens: number): Promise<string> => {
      const manager = new CompactManager({
        maxContextTokens: 6000,
        storage: { kind: "memory" },
        summarizer: { maxSummaryTokens },
      });
      return (await manager.manualCompact("s", list)).summary ?? "";
    };
    expect(await summaryWithin(239)).not.toContain("Originals:");
    expect(await summaryWithin(240)).toContain("Originals:");
  });

  it("name no step where nothing is archived", async () => {
    const { summary } = await compact(list, { maxTokens: 3000, targetTokens: 2000 });
    expect(summary).not.toContain("Originals:");
  });

  it("say which call an emptied output came from, where the call itself stays", async () => {
    const { summary, report } = await compact(list, {
      maxTokens: 9000,
      targetTokens: 5200,
      policy: { keepRecentTurns: 30 },
    });
    const actions = new Set(report.plan?.entries.map((entry) => entry.action));
    expect(actions.has("clear")).toBe(true);
    const found = [...(summary ?? "").matchAll(/read src\/part(\d+)\.ts: [\w(), ]*LIMIT_(\d+)/g)];
    expect(found.length).toBeGreaterThan(0);
    for (const [, file, value] of found) expect(value).toBe(file);
  });
});
