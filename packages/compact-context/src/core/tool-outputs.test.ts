import { describe, expect, it } from "vitest";
import { planCompaction } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";
import { lint } from "../lint/index.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

const call = (index: number, name: string, content: string, result: string) => [
  {
    role: "assistant",
    content: [{ type: "tool_use", id: `toolu_${index}`, name, input: { path: `src/${index}.ts`, content } }],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${index}`, content: result }] },
];
const text = (seed: string, words: number): string =>
  Array.from({ length: words }, (_, index) => `${seed}${(index * 7) % 97}`).join(" ");
/** Calls of two tools in turn, with large inputs and outputs. */
const work = (count: number): unknown[] => [
  { role: "user", content: "Write all of the files." },
  ...Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? call(index, "write", text(`in${index}x`, 150), text(`out${index}x`, 250))
      : call(index, "read", text(`in${index}x`, 90), text(`out${index}x`, 50)),
  ).flat(),
];

const config = { maxContextTokens: 20_000, policy: { hardCapBuffer: 500, targetContextTokens: 12_000 } };
const compacted = async (policy: object, list: unknown[]) => {
  const manager = new CompactManager(
    { ...config, policy: { ...config.policy, ...policy } },
    { storage: createMemoryDriver(), onWarning: () => undefined },
  );
  return manager.preflight("s", list, { format: "anthropic" });
};
const count = (messages: unknown, pattern: RegExp): number =>
  JSON.stringify(messages).match(pattern)?.length ?? 0;

describe("tool outputs and inputs", () => {
  it("policy.clearToolResults empties results only with a target; without one their messages leave", async () => {
    expect((await compacted({}, work(30))).report.clearedCount).toBeGreaterThan(2);
    const { report } = await compacted({ targetContextTokens: undefined }, work(50));
    expect([report.compacted, report.clearedCount]).toEqual([true, 0]);
  });

  it("policy.excludeTools keeps results of these tools whole as long as their messages stay", async () => {
    const all = await compacted({}, work(30));
    expect(count(all.messages, /tool output cleared/g)).toBeGreaterThan(2);
    const some = await compacted({ excludeTools: ["read"] }, work(30));
    const cleared = some.report.plan?.entries.filter(({ action }) => action === "clear") ?? [];
    expect(cleared.length).toBeGreaterThan(0);
    const results = (some.messages as { content: unknown }[]).flatMap(({ content }) =>
      Array.isArray(content) ? (content as { tool_use_id?: string; content?: string }[]) : [],
    );
    for (const { tool_use_id, content } of results) {
      if (tool_use_id === undefined || Number(tool_use_id.slice(6)) % 2 === 0) continue;
      expect(content).not.toContain("cleared");
    }
  });

  it("policy.excludeTools holds for maxToolResultTokens too, call by call", async () => {
    const list = [
      { role: "user", content: "Read both." },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a", name: "read", input: {} },
          { type: "tool_use", id: "b", name: "run", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: text("kept", 400) },
          { type: "tool_result", tool_use_id: "b", content: text("cut", 400) },
        ],
      },
    ];
    const { messages, report } = await compacted({ maxToolResultTokens: 200, excludeTools: ["read"] }, list);
    expect(report.reason).toBe("tool_output");
    const [a, b] = (messages[2] as { content: { content: string }[] }).content;
    expect(a?.content).toBe(text("kept", 400));
    expect(b?.content).toMatch(/tokens elided/);
  });

  it("policy.maxToolResultTokens holds for a result at the end of an assistant message", async () => {
    const part = { type: "tool-run", toolCallId: "a", state: "output-available", input: {} };
    const answer = { id: "2", role: "assistant", parts: [{ ...part, output: text("cut", 400) }] };
    const list = [{ id: "1", role: "user", parts: [{ type: "text", text: "Run it." }] }, answer];
    const manager = new CompactManager(
      { ...config, policy: { ...config.policy, maxToolResultTokens: 200 } },
      { storage: createMemoryDriver() },
    );
    const { messages, report } = await manager.preflight("s", list, { format: "ai-sdk" });
    expect(report.reason).toBe("tool_output");
    expect(JSON.stringify(messages)).toMatch(/tokens elided/);
    const said = { ...answer, parts: [...answer.parts, { type: "text", text: "Done." }] };
    const sent = await manager.preflight("t", [list[0], said], { format: "ai-sdk" });
    expect(sent.report.reason).not.toBe("tool_output");
  });

  it("policy.clearToolInputs empties long arguments beside the results; ids and shape stay valid", async () => {
    const list = work(30);
    const { messages, report } = await compacted({ clearToolInputs: true }, list);
    expect(count(messages, /tool input cleared: \d+ tokens; archive id [0-9a-z]{10}/g)).toBeGreaterThan(2);
    expect(count(messages, /"path":"src\/\d+\.ts"/g)).toBe(count(messages, /"type":"tool_use"/g));
    expect(lint(messages, "anthropic")).toEqual([]);
    const without = await compacted({}, list);
    expect(report.messagesAfter).toBeGreaterThanOrEqual(without.report.messagesAfter);
    const manager = new CompactManager(
      { ...config, policy: { ...config.policy, clearToolInputs: true } },
      { storage: createMemoryDriver() },
    );
    const first = await manager.preflight("s", list, { format: "anthropic" });
    const raw = await manager.preflight("s", structuredClone(list), { format: "anthropic" });
    expect(raw.messages).toEqual(first.messages);
  });

  it("keeps JSON arguments of Chat Completions JSON text", () => {
    const list = [
      { role: "user", content: "Write." },
      ...Array.from({ length: 20 }, (_, index) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: `c${index}`,
              type: "function",
              function: { name: "write", arguments: JSON.stringify({ content: text("w", 200) }) },
            },
          ],
        },
        { role: "tool", tool_call_id: `c${index}`, content: text("r", 200) },
      ]).flat(),
    ];
    const plan = planCompaction(list, {
      maxTokens: 12_000,
      targetTokens: 8_000,
      policy: { clearToolInputs: true },
    });
    expect(plan.entries.some(({ edit }) => edit?.clearInputs === true)).toBe(true);
  });
});

describe("policy.maxMessages", () => {
  it("compacts a list of that many messages, and not again for a few more", async () => {
    const manager = new CompactManager(
      {
        maxContextTokens: 200_000,
        policy: { maxMessages: 40, keepRecentTurns: 2, targetContextTokens: 100_000 },
      },
      { storage: createMemoryDriver() },
    );
    const list = Array.from({ length: 39 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `message ${index} with some words about the tide`,
    }));
    expect((await manager.preflight("s", list)).report.reason).toBe("below_trigger");
    const full = [...list, { role: "assistant", content: "the fortieth" }];
    const { report, messages } = await manager.preflight("s", full);
    expect(report).toMatchObject({ compacted: true, reason: "max_messages" });
    expect(messages.length).toBeLessThan(12);
    expect(
      (await manager.preflight("s", [...messages, { role: "user", content: "more" }])).report.compacted,
    ).toBe(false);
  });
});
