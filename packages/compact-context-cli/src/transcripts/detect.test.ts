import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";

const formatOf = async (text: string): Promise<string> => (await readTranscript(text)).format;

const LISTS: Readonly<Record<string, readonly unknown[]>> = {
  "openai-chat": [
    { role: "user", content: "hi" },
    {
      role: "assistant",
      tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "1", content: "x" },
  ],
  "openai-responses": [
    { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
    { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: "x" },
  ],
  "openai-agents": [
    { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
    { type: "function_call", callId: "1", name: "f", arguments: "{}" },
    { type: "function_call_result", callId: "1", name: "f", output: { type: "text", text: "x" } },
  ],
  anthropic: [
    { role: "user", content: "hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "f", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "x" }] },
  ],
  gemini: [
    { role: "user", parts: [{ text: "hi" }] },
    { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
  ],
  "ai-sdk": [
    { role: "user", content: [{ type: "text", text: "hi" }] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "f", input: {} }] },
  ],
  langchain: [
    {
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", "HumanMessage"],
      kwargs: { content: "hi" },
    },
  ],
  pi: [
    { role: "user", content: "hi", timestamp: 1 },
    { role: "assistant", content: [{ type: "toolCall", id: "1", name: "f", arguments: {} }], timestamp: 2 },
    {
      role: "toolResult",
      toolCallId: "1",
      toolName: "f",
      content: [{ type: "text", text: "x" }],
      timestamp: 3,
    },
  ],
};

describe("detection", () => {
  it.each(Object.entries(LISTS))(
    "%s is told from its JSON, its lines and a request body",
    async (format, list) => {
      expect(await formatOf(JSON.stringify(list))).toBe(format);
      expect(await formatOf(JSON.stringify(list, undefined, 2))).toBe(format);
      if (list.length > 1)
        expect(await formatOf(list.map((one) => JSON.stringify(one)).join("\n"))).toBe(format);
      const key =
        format === "gemini"
          ? "contents"
          : format.startsWith("openai-") && format !== "openai-chat"
            ? "input"
            : "messages";
      expect(await formatOf(JSON.stringify({ model: "m", [key]: list }))).toBe(format);
    },
  );

  it("refuses what it does not know", async () => {
    for (const text of ["null", "7", "{}", "", "some words", '{"a":1}', "[1, 2]", '{"messages":[]}']) {
      await expect(readTranscript(text), text).rejects.toMatchObject({ code: "UnknownFormat" });
    }
  });

  it("tells files of records from their first record", async () => {
    const codex = { timestamp: "t", type: "session_meta", payload: { id: "x" } };
    const claude = {
      type: "user",
      uuid: "u",
      parentUuid: null,
      sessionId: "s",
      message: { role: "user", content: "hi" },
    };
    const copilot = {
      type: "session.start",
      id: "1",
      timestamp: "t",
      parentId: null,
      data: { sessionId: "s" },
    };
    expect(await formatOf(JSON.stringify(codex))).toBe("codex");
    expect(await formatOf(JSON.stringify(claude))).toBe("claude-code");
    expect(await formatOf(`\uFEFF${JSON.stringify(copilot)}\n`)).toBe("copilot-cli");
  });
});
