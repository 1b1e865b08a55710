import { describe, expect, it } from "vitest";
import { anthropicCodec as codec } from "./anthropic-gemini.ts";

describe("anthropic", () => {
  it("reads a system message that holds nothing but its settings", () => {
    const list = [
      { role: "user", content: "hi" },
      { role: "system", output_config: { effort: "low" } },
    ];
    expect(codec.decode(list).map(({ parts }) => parts.length)).toEqual([1, 0]);
    expect(codec.encode(codec.decode(list))).toEqual(list);
  });

  it("tells messages of results from messages that also say something", () => {
    const result = { type: "tool_result", tool_use_id: "t1", content: "ok" };
    const messages = codec.decode([
      { role: "user", content: [result] },
      { role: "user", content: [result, { type: "text", text: "and now?" }] },
    ]);
    expect(messages.map((message) => message.role)).toEqual(["tool", "user"]);
    expect(messages[1]?.parts.map((part) => part.type)).toEqual(["toolResult", "text"]);
  });

  it("reads sealed blocks, server tools and documents", () => {
    const [message] = codec.decode([
      {
        role: "assistant",
        content: [
          { type: "compaction", content: "so far", encrypted_content: "12345" },
          { type: "redacted_thinking", data: "abc" },
          { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } },
          { type: "web_search_tool_result", tool_use_id: "s1", content: [{ url: "https://example.org" }] },
          { type: "mcp_tool_use", id: "m1", name: "ask", server_name: "s", input: {} },
          { type: "mcp_tool_result", tool_use_id: "m1", content: [{ type: "text", text: "yes" }] },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "words" } },
        ],
      },
    ]);
    expect(message?.role).toBe("assistant");
    expect(message?.parts).toMatchObject([
      { type: "reasoning", text: "so far", opaqueLength: 5, signed: true },
      { type: "reasoning", text: "", opaqueLength: 3, signed: true },
      { type: "toolCall", id: "s1", providerExecuted: true },
      { type: "toolResult", id: "s1", content: '[{"url":"https://example.org"}]' },
      { type: "toolCall", id: "m1", providerExecuted: true },
      { type: "toolResult", id: "m1", content: [{ type: "text", text: "yes" }] },
      { type: "text", text: "words" },
    ]);
  });

  it("keeps cache_control and the other blocks when a result is cleared", () => {
    const native = {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a", content: "long", cache_control: { type: "ephemeral" } },
        { type: "tool_result", tool_use_id: "b", content: "kept" },
        { type: "text", text: "go on" },
      ],
    };
    const [message] = codec.decode([native]);
    const parts = message!.parts.map((part) =>
      part.type === "toolResult" && part.id === "a" ? { ...part, content: "gone" } : part,
    );
    const [copy] = codec.encode([{ ...message!, parts, edited: true }]) as (typeof native)[];
    expect(copy?.content[0]).toEqual({ ...native.content[0], content: "gone" });
    expect(copy?.content[1]).toBe(native.content[1]);
    expect(copy?.content[2]).toBe(native.content[2]);
  });

  it("puts all results of one step into the next user message, whatever order they came in", () => {
    const call = (id: string) => ({ type: "toolCall", id, name: "look", arguments: '{"n":1}' }) as const;
    const result = (id: string) => ({ type: "toolResult", id, content: `found ${id}` }) as const;
    const list = codec.encode([
      { id: "1", role: "user", parts: [{ type: "text", text: "go" }] },
      { id: "2", role: "assistant", parts: [{ type: "reasoning", text: "hm" }] },
      { id: "3", role: "assistant", parts: [call("a|1")] },
      { id: "4", role: "assistant", parts: [call("b")] },
      { id: "5", role: "tool", parts: [result("b")] },
      { id: "6", role: "assistant", parts: [{ type: "text", text: "meanwhile" }] },
      { id: "7", role: "tool", parts: [result("a|1")] },
    ]);
    expect(list).toEqual([
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a_1", name: "look", input: { n: 1 } },
          { type: "tool_use", id: "b", name: "look", input: { n: 1 } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a_1", content: "found a|1" },
          { type: "tool_result", tool_use_id: "b", content: "found b" },
        ],
      },
      { role: "assistant", content: "meanwhile" },
    ]);
  });

  it("says in words what a server did and did not answer", () => {
    const list = codec.encode([
      {
        id: "1",
        role: "assistant",
        parts: [
          {
            type: "toolCall",
            id: "w",
            name: "web_search",
            arguments: { query: "x" },
            providerExecuted: true,
          },
        ],
      },
    ]);
    expect(list).toEqual([{ role: "assistant", content: '[web_search {"query":"x"}]' }]);
  });
});
