import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

const CALLS = 13;

/** One response with many calls, and all of their results: more than the window. */
const exchange = [
  { role: "user", content: "Read them all." },
  {
    role: "assistant",
    content: null,
    tool_calls: Array.from({ length: CALLS }, (_, index) => ({
      id: `c${index}`,
      type: "function",
      function: { name: "read", arguments: `{"n":${index}}` },
    })),
  },
  ...Array.from({ length: CALLS }, (_, index) => ({
    role: "tool",
    tool_call_id: `c${index}`,
    content: `file ${index}: ${"tide rope ".repeat(600)}`,
  })),
];

function createManager(): CompactManager {
  const storage = createMemoryDriver();
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens: 12_000 },
    { storage, onWarning: () => undefined },
  );
}

describe("an exchange that does not fit", () => {
  it.each([1, 4, 10])("leaves once the user has spoken behind it, %i turns later", async (turns) => {
    const later = Array.from({ length: turns }, (_, turn) => [
      { role: "assistant", content: `answer ${turn}` },
      { role: "user", content: `next ${turn}` },
    ]).flat();
    const { messages, report } = await createManager().preflight("s", [...exchange, ...later]);
    expect(messages.at(-1)).toBe(later.at(-1));
    expect(messages.some(({ role }) => role === "tool")).toBe(false);
    expect(report).toMatchObject({ compacted: true, rungs: expect.arrayContaining(["keep:1/0"]) });
    expect(report.tokensAfter).toBeLessThan(12_000);
  });

  it("leaves where the user speaks behind its results", async () => {
    const list = [...exchange, { role: "user", content: "Stop, do something else." }];
    const { messages } = await createManager().preflight("s", list);
    expect(messages.at(-1)).toBe(list.at(-1));
    expect(messages.some(({ role }) => role === "tool")).toBe(false);
  });

  it("is refused while it is part of the newest turn", async () => {
    for (const list of [exchange, [...exchange, { role: "assistant", content: "Read." }]])
      await expect(createManager().preflight("s", list)).rejects.toMatchObject({
        code: "InsufficientBudget",
      });
  });
});
