import { describe, expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { lint } from "../lint/index.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";

const list = [
  { role: "system", content: "You help." },
  ...Array.from({ length: 40 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `message ${index} ${"about tides and ropes ".repeat(20)}`,
  })),
];

describe("the summary's role", () => {
  it.each(["assistant", "user", "system"] as const)(
    "SUM-1 is %s where the settings say so",
    async (summaryRole) => {
      const manager = new CompactManager(
        { maxContextTokens: 4000, policy: { hardCapBuffer: 200 }, summarizer: { summaryRole } },
        { storage: createMemoryDriver() },
      );
      const { messages } = await manager.preflight("s", list, { format: "openai-chat" });
      const found = messages.filter(
        (message) =>
          typeof message.content === "string" && message.content.startsWith("<COMPACT-SUMMARY v1>"),
      );
      expect(found).toMatchObject([{ role: summaryRole }]);
    },
  );

  it.each(["assistant", "user", "system"] as const)(
    "as %s leaves one summary in the list, which the next one replaces",
    async (summaryRole) => {
      const manager = new CompactManager(
        { maxContextTokens: 4000, policy: { hardCapBuffer: 200 }, summarizer: { summaryRole } },
        { storage: createMemoryDriver() },
      );
      const first = await manager.preflight("s", list, { format: "openai-chat" });
      const more = [...first.messages, ...list.slice(1)];
      const second = await manager.preflight("s", more, { format: "openai-chat" });
      expect([first, second].map(({ report }) => report.compacted)).toEqual([true, true]);
      const raw = await manager.preflight("s", [...list, ...list.slice(1)], { format: "openai-chat" });
      for (const { messages } of [second, raw]) {
        const summaries = messages.filter(({ content }) => content.startsWith("<COMPACT-SUMMARY"));
        expect(summaries.map(({ content }) => content.slice(0, 19))).toEqual(["<COMPACT-SUMMARY v2"]);
      }
    },
  );

  it("is the user's instead of the system's where Anthropic would get an assistant message first", async () => {
    const manager = new CompactManager(
      {
        maxContextTokens: 4000,
        policy: { hardCapBuffer: 200, keepRecentTurns: 1 },
        summarizer: { summaryRole: "system" },
      },
      { storage: createMemoryDriver() },
    );
    const steps = Array.from({ length: 4 }, (_, index) => [
      { role: "assistant", content: [{ type: "tool_use", id: `t${index}`, name: "look", input: {} }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `t${index}`, content: "tides and ropes ".repeat(40) }],
      },
    ]).flat();
    const turns = list.slice(1).map(({ role, content }) => ({ role, content }));
    const calling = [{ role: "user", content: "look" }, ...steps, { role: "assistant", content: "seen" }];
    const { messages } = await manager.preflight(
      "s",
      [...calling, ...turns, { role: "user", content: "and?" }],
      {
        format: "anthropic",
      },
    );
    expect(messages[1]?.role).toBe("assistant");
    expect(lint(messages, "anthropic").filter(({ severity }) => severity === "error")).toEqual([]);
  });

  it("SUM-1 is the assistant's by default", async () => {
    const manager = new CompactManager(
      { maxContextTokens: 4000, policy: { hardCapBuffer: 200 } },
      { storage: createMemoryDriver() },
    );
    const { messages } = await manager.preflight("s", list, { format: "openai-chat" });
    expect(messages[1]).toMatchObject({
      role: "assistant",
      content: expect.stringMatching(/^<COMPACT-SUMMARY v1>/),
    });
  });

  it.each(["anthropic", "gemini"] as const)(
    "PRT-5 PRT-8 precedes a protected message of the assistant where %s wants the user to begin",
    async (format) => {
      const entry = ({ role, content }: (typeof list)[number]) => {
        const text = content.trim();
        if (format === "anthropic") return { role, content: text };
        return { role: role === "user" ? "user" : "model", parts: [{ text }] };
      };
      const turns: object[] = list.slice(1).map(entry);
      turns[1] = { ...turns[1], meta: { protected: true } };
      turns[5] = { ...turns[5], meta: { protected: true } };
      const storage = createMemoryDriver();
      const config = { maxContextTokens: 4000, policy: { hardCapBuffer: 200 } };
      const lists = [];
      // The second manager reads the state that the first one stored.
      for (const more of [[], [entry({ role: "user", content: "and the ropes?" })]]) {
        const manager = new CompactManager(config, { storage });
        lists.push((await manager.preflight("s", [...turns, ...more], { format })).messages);
      }
      for (const messages of lists) {
        expect(lint(messages, format).filter(({ severity }) => severity === "error")).toEqual([]);
        expect(JSON.stringify(messages[0])).toContain("<COMPACT-SUMMARY v1>");
        expect(messages.slice(1, 3)).toEqual([turns[1], turns[5]]);
      }
    },
  );
});
