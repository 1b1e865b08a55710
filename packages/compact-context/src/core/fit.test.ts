import { describe, expect, it } from "vitest";
import { planCompaction } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";

const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");

const long = (ask: string): { role: string; content: string }[] => [
  ...Array.from({ length: 60 }, (_, turn) => [
    { role: "user", content: `question ${turn} ${words(turn, 150)}` },
    { role: "assistant", content: `answer ${turn} ${words(turn + 500, 150)}` },
  ]).flat(),
  { role: "user", content: ask },
  { role: "assistant", content: `a plan ${words(7, 300)}` },
];

describe("where little of a list can remain", () => {
  const plan = (maxTokens: number, onOverflow: "elide" | "error", ask = "and now the tests?") =>
    planCompaction(long(ask), { maxTokens, onOverflow, format: "openai-chat" });

  it("the summary has more than half of a limit under 5 % of the list, and the newest ask stays whole", () => {
    const tight = plan(1500, "elide");
    expect(tight.tokensBefore * 0.05).toBeGreaterThan(1500);
    expect(tight.summaryTokens).toBeGreaterThan(750);
    expect(tight.entries.at(-2)).toMatchObject({ role: "user", action: "keep" });
  });

  it("whoever did not ask for cuts keeps the newest turn whole", () => {
    const whole = plan(1500, "error");
    expect(whole.summaryTokens).toBeLessThan(750);
    expect(whole.entries.slice(-2).map(({ action }) => action)).toEqual(["keep", "keep"]);
  });

  it("above 5 % the newest words come first", () => {
    const roomy = plan(6000, "elide");
    expect(roomy.entries.slice(-2).map(({ action }) => action)).toEqual(["keep", "keep"]);
  });

  it("an ask that is too long for its part is cut before the summary is", () => {
    const cut = plan(1500, "elide", `look at ${words(3, 1000)}`);
    expect(cut.entries.at(-2)?.action).toBe("elide");
    expect(cut.summaryTokens).toBeGreaterThan(600);
  });
});

const callOf = (id: string, name: string, content: string): object[] => [
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name, arguments: '{"id":"0123456789"}' } }],
  },
  { role: "tool", tool_call_id: id, content },
];
const filler = (from: number, count: number): object[] =>
  Array.from({ length: count }, (_, index) =>
    callOf(`f${from + index}`, "read_file", "some text ".repeat(120)),
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
    const first = [ask("go on"), ...filler(0, 3), ...callOf("r1", name, answer), ...filler(10, 12)];
    const after = await manager.manualCompact("s", first, { targetTokens: 2200 });
    const holds = (list: readonly unknown[]): boolean => JSON.stringify(list).includes(answer);
    expect(after.report.prunedCount + after.report.clearedCount).toBeGreaterThan(0);
    expect(holds(after.messages)).toBe(stays);
    const second = [...after.messages, ask("and on"), ...filler(30, 14)];
    const again = await manager.manualCompact("s", second, { targetTokens: 1500 });
    expect(holds(again.messages)).toBe(false);
  },
);
