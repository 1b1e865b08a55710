import { describe, expect, it } from "vitest";
import { CompactManager } from "../../src/compaction/manager.ts";
import { createMemoryDriver } from "../../src/storage/drivers/memory.ts";

const SECRET = `ghp_${"aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fR".repeat(2).slice(0, 36)}`;
const filler = "An ordinary sentence about the work that is being done here. ".repeat(12);

const LISTS: Record<string, () => unknown[]> = {
  "openai-chat": () => [
    { role: "system", content: `Rules. ${SECRET}` },
    ...turns((n) => [
      { role: "user", content: [{ type: "text", text: `ask ${n} ${SECRET} ${filler}` }] },
      {
        role: "assistant",
        content: `on it ${SECRET}`,
        tool_calls: [
          {
            id: `c${n}`,
            type: "function",
            function: {
              name: "run",
              arguments: JSON.stringify({ token: SECRET, command: `echo ${SECRET}` }),
            },
          },
        ],
      },
      { role: "tool", tool_call_id: `c${n}`, content: `out ${SECRET} ${filler}` },
      { role: "assistant", content: `done ${n} ${SECRET}` },
    ]),
  ],
  anthropic: () =>
    turns((n) => [
      { role: "user", content: `ask ${n} ${SECRET} ${filler}` },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: `hm ${SECRET}`, signature: "c2ln" },
          { type: "text", text: `on it ${SECRET}` },
          { type: "tool_use", id: `t${n}`, name: "run", input: { password: SECRET, list: [SECRET] } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: `t${n}`,
            content: [{ type: "text", text: `out ${SECRET} ${filler}` }],
          },
        ],
      },
      { role: "assistant", content: `done ${n} ${SECRET}` },
    ]),
  gemini: () =>
    turns((n) => [
      { role: "user", parts: [{ text: `ask ${n} ${SECRET} ${filler}` }] },
      {
        role: "model",
        parts: [{ text: `on it ${SECRET}` }, { functionCall: { name: "run", args: { key: SECRET } } }],
      },
      {
        role: "user",
        parts: [{ functionResponse: { name: "run", response: { output: `${SECRET} ${filler}` } } }],
      },
      { role: "model", parts: [{ text: `done ${n} ${SECRET}` }] },
    ]),
  "openai-responses": () =>
    turns((n) => [
      {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: `ask ${n} ${SECRET} ${filler}` }],
      },
      { type: "function_call", call_id: `f${n}`, name: "run", arguments: JSON.stringify({ token: SECRET }) },
      { type: "function_call_output", call_id: `f${n}`, output: `out ${SECRET} ${filler}` },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: `done ${n} ${SECRET}`, annotations: [] }],
      },
    ]),
};

function turns(make: (n: number) => unknown[]): unknown[] {
  return [1, 2, 3, 4, 5, 6, 7, 8].flatMap(make);
}

describe("a secret in every kind of part", () => {
  it.each(Object.keys(LISTS))(
    "attack 33: RED-1 %s: in no stored object, no event and no warning",
    async (format) => {
      const storage = createMemoryDriver();
      const said: string[] = [];
      const manager = new CompactManager(
        { maxContextTokens: 6000, policy: { keepRecentTurns: 1 } },
        {
          storage,
          exporters: [{ export: (event) => void said.push(JSON.stringify(event)) }],
          onWarning: (warning) => said.push(warning),
        },
      );
      const list = LISTS[format]?.() ?? [];
      const before = structuredClone(list);
      const result = await manager.manualCompact(`s-${format}`, list);
      await manager.flush();
      expect(list).toEqual(before);
      expect(JSON.stringify(result.messages)).toContain(SECRET);
      const stored: string[] = [];
      for (const key of await storage.list("")) stored.push(key, JSON.stringify(await storage.get(key)));
      expect(stored.length).toBeGreaterThan(3);
      expect(said.length).toBeGreaterThan(1);
      for (const text of [...stored, ...said]) expect(text).not.toContain(SECRET.slice(4, 16));
      expect(stored.join("")).toContain("<REDACTED>");
    },
  );
});
