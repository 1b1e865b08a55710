import { describe, expect, it } from "vitest";
import { piCodec as codec } from "./pi.ts";

describe("pi", () => {
  const bash = {
    role: "bashExecution",
    command: "ls",
    output: "a.ts",
    exitCode: 2,
    timestamp: 1_700_000_000_000,
  };
  const note = { role: "compactionSummary", summary: "so far", tokensBefore: 9, timestamp: 1 };

  it("keeps shell runs, summaries and custom roles as user text", () => {
    const messages = codec.decode([bash, note, { role: "notice", content: "hello" }]);
    expect(messages.map((message) => message.role)).toEqual(["user", "user", "user"]);
    expect(messages.map((message) => message.parts)).toEqual([
      [{ type: "text", text: "$ ls\na.ts\n[exit code 2]" }],
      [{ type: "text", text: "so far" }],
      [{ type: "text", text: "hello" }],
    ]);
    expect(messages[0]?.meta?.timestamp).toBe("2023-11-14T22:13:20.000Z");
  });

  it("writes an edited shell run and an edited result into their own fields", () => {
    const result = {
      role: "toolResult",
      toolCallId: "c",
      toolName: "t",
      content: [],
      isError: false,
      details: { n: 1 },
    };
    const [run, found] = codec.decode([bash, result]);
    const list = codec.encode([
      { ...run!, parts: [{ type: "text", text: "gone" }], edited: true },
      { ...found!, parts: [{ type: "toolResult", id: "c", name: "t", content: "gone" }], edited: true },
    ]);
    expect(list).toEqual([
      { ...bash, output: "gone" },
      { ...result, content: [{ type: "text", text: "gone" }] },
    ]);
  });

  it("writes what became of an application's own entry, whatever its content was", () => {
    const native = { role: "artifact", content: null, payload: 1 };
    const [message] = codec.decode([native]);
    expect(message?.parts).toEqual([{ type: "text", text: JSON.stringify(native) }]);
    const parts = [{ type: "text", text: "gone" }] as const;
    expect(codec.encode([{ ...message!, parts, edited: true }])).toEqual([{ ...native, content: "gone" }]);
  });

  it("builds messages that the agent accepts", () => {
    const list = codec.encode([
      {
        id: "1",
        role: "assistant",
        parts: [{ type: "toolCall", id: "c", name: "look", arguments: '{"n":1}' }],
      },
      { id: "2", role: "tool", parts: [{ type: "toolResult", id: "c", content: "ok" }] },
    ]);
    expect(list).toMatchObject([
      {
        role: "assistant",
        content: [{ type: "toolCall", id: "c", arguments: { n: 1 } }],
        stopReason: "toolUse",
      },
      {
        role: "toolResult",
        toolCallId: "c",
        toolName: "look",
        content: [{ type: "text", text: "ok" }],
        isError: false,
      },
    ]);
  });
});
