import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";

const call = (id: string, name: string, content: string): object[] => [
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name, arguments: '{"id":"0123456789"}' } }],
  },
  { role: "tool", tool_call_id: id, content },
];
const filler = (from: number, count: number): object[] =>
  Array.from({ length: count }, (_, index) =>
    call(`f${from + index}`, "read_file", "some text ".repeat(120)),
  ).flat();
const ask = (text: string): object => ({ role: "user", content: text });

it.each([
  ["compact_expand", "in a list with an aim", { targetContextTokens: 2200 }, true],
  ["compact_search", "in a list without an aim", {}, true],
  ["other_tool", "as any other tool", { targetContextTokens: 2200 }, false],
])(
  "what %s brought back stays whole in the compaction that follows and not in the next, %s",
  async (name, _, policy, stays) => {
    const manager = new CompactManager({ maxContextTokens: 8000, policy, storage: { kind: "memory" } });
    const answer = `brought back: ${"archived words ".repeat(160)}`;
    const first = [ask("go on"), ...filler(0, 3), ...call("r1", name, answer), ...filler(10, 12)];
    const after = await manager.manualCompact("s", first, { targetTokens: 2200 });
    const holds = (list: readonly unknown[]): boolean => JSON.stringify(list).includes(answer);
    expect(after.report.prunedCount + after.report.clearedCount).toBeGreaterThan(0);
    expect(holds(after.messages)).toBe(stays);
    const second = [...after.messages, ask("and on"), ...filler(30, 14)];
    const again = await manager.manualCompact("s", second, { targetTokens: 1500 });
    expect(holds(again.messages)).toBe(false);
  },
);
