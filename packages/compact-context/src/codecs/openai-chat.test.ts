import { describe, expect, it } from "vitest";
import { type Message, toolCalls, toolResults } from "../core/message.ts";
import { openaiChatCodec as codec } from "./openai-chat.ts";

const call = (id: string | null, name: string) => ({
  id,
  type: "function",
  function: { name, arguments: "{}" },
});

describe("openai-chat", () => {
  it("pairs results without ids with the calls before them, by order and name", () => {
    const list = [
      { role: "user", content: "go" },
      { role: "assistant", content: null, tool_calls: [call(null, "a"), call(null, "b")] },
      { role: "tool", tool_call_id: null, content: "one" },
      { role: "tool", content: "two" },
      { role: "assistant", content: null, tool_calls: [call(null, "a")] },
      { role: "tool", content: "three" },
    ];
    const messages = codec.decode(list);
    const [first, second] = toolCalls(messages[1]!);
    expect(toolResults(messages[2]!)[0]?.id).toBe(first?.id);
    expect(toolResults(messages[3]!)[0]?.id).toBe(second?.id);
    expect(toolResults(messages[5]!)[0]?.id).toBe(toolCalls(messages[4]!)[0]?.id);
    expect(new Set(messages.flatMap(toolCalls).map((one) => one.id)).size).toBe(3);
    expect(codec.decode(list.slice(3), messages.slice(0, 3))).toEqual(messages.slice(3));
  });

  it("reads the flat calls that benchmarks store and legacy functions", () => {
    const messages = codec.decode([
      { role: "assistant", content: null, tool_calls: [{ id: "1", name: "look", arguments: { at: 2 } }] },
      { role: "tool", id: "1", content: "seen", error: false },
      { role: "assistant", content: "", tool_calls: [{ id: "2", function: "find", args: { q: "x" } }] },
      { role: "tool", tool_call_id: "2", content: "none", error: "not found" },
      { role: "assistant", content: null, function_call: { name: "old", arguments: '{"y":1}' } },
      { role: "function", name: "old", content: "fine" },
      { role: "assistant", content: null, tool_calls: [{ id: "3", name: "cut" }] },
      { role: "tool", tool_call_id: "3", content: "sharp", is_error: true },
    ]);
    expect(messages.flatMap(toolCalls)).toMatchObject([
      { id: "1", name: "look", arguments: { at: 2 } },
      { id: "2", name: "find", arguments: { q: "x" } },
      { name: "old", arguments: '{"y":1}' },
      { id: "3", name: "cut", arguments: "" },
    ]);
    expect(messages.flatMap(toolResults)).toMatchObject([
      { id: "1", content: "seen" },
      { id: "2", content: "none", isError: true },
      { id: toolCalls(messages[4]!)[0]?.id, content: "fine" },
      { id: "3", content: "sharp", isError: true },
    ]);
    expect(messages[5]?.parts[0]).not.toHaveProperty("isError");
    expect(messages[1]?.parts[0]).not.toHaveProperty("isError");
  });

  it("writes calls that a message did not have as tool calls, also one without an id", () => {
    const [message] = codec.decode([{ role: "assistant", content: "go" }]);
    const added = { type: "toolCall", name: "a", arguments: "{}" } as Message["parts"][number];
    const [written] = codec.encode([{ ...message!, parts: [...message!.parts, added], edited: true }]);
    expect(written).toEqual({
      role: "assistant",
      content: "go",
      tool_calls: [{ ...call(null, "a"), id: undefined }],
    });
  });

  it("reads a legacy call beside others, and one that repeats one of them once", () => {
    const old = { name: "old", arguments: '{"y":1}' };
    const list = [
      { role: "assistant", content: null, tool_calls: [call("1", "a")], function_call: old },
      { role: "tool", tool_call_id: "1", content: "seen" },
      { role: "function", name: "old", content: "fine" },
      {
        role: "assistant",
        content: null,
        tool_calls: [call("2", "b")],
        function_call: call("2", "b").function,
      },
    ];
    const messages = codec.decode(list);
    expect(messages.flatMap(toolCalls)).toMatchObject([{ id: "1" }, old, { id: "2" }]);
    expect(toolResults(messages[2]!)[0]?.id).toBe(toolCalls(messages[0]!)[1]?.id);
    const [first] = messages;
    const rewritten = (parts: Message["parts"]) => codec.encode([{ ...first!, parts, edited: true }])[0];
    const cut = first!.parts.map((part) => (part.type === "toolCall" ? { ...part, arguments: "{}" } : part));
    expect(rewritten(cut)).toEqual({
      ...list[0],
      tool_calls: [{ ...call("1", "a"), function: { ...call("1", "a").function, arguments: "{}" } }],
      function_call: { name: "old", arguments: "{}" },
    });
    expect(rewritten(first!.parts.slice(0, 1))).toEqual({
      role: "assistant",
      content: null,
      tool_calls: [call("1", "a")],
    });
    expect(rewritten(first!.parts.slice(1))).toEqual({
      role: "assistant",
      content: null,
      function_call: old,
    });
  });

  it("reads no legacy call without a name beside others, and leaves a copy out of a changed message", () => {
    const calls = { role: "assistant", content: null, tool_calls: [call("1", "a")] };
    for (const old of [
      {},
      { name: null, arguments: null },
      { name: "", arguments: "" },
      call("1", "a").function,
    ]) {
      const list = [{ ...calls, function_call: old }];
      const [message] = codec.decode(list);
      expect(message!.parts).toMatchObject([{ type: "toolCall", id: "1" }]);
      expect(codec.encode([message!])).toEqual(list);
      const parts = message!.parts.map((part) => ({ ...part, arguments: "{}" }) as Message["parts"][number]);
      const changed = codec.encode([{ ...message!, parts, edited: true }]);
      expect(codec.decode(changed).flatMap(toolCalls)).toMatchObject([{ id: "1", arguments: "{}" }]);
    }
  });

  it("reads refusals, files, audio and sealed reasoning", () => {
    const [user, assistant] = codec.decode([
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "https://example.org/a.png", detail: "low" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
          { type: "file", file: { file_id: "file-1" } },
          { type: "hologram", depth: 3 },
        ],
      },
      { role: "assistant", content: null, refusal: "No.", reasoning_details: [{ data: "sealed" }] },
    ]);
    expect(user?.parts).toEqual([
      { type: "media", mediaType: "image/*", bytes: 0, url: "https://example.org/a.png", detail: "low" },
      { type: "media", mediaType: "audio/wav", bytes: 4, data: "AAAA" },
      { type: "media", mediaType: "application/*", bytes: 0, name: "file-1" },
      { type: "text", text: '{"type":"hologram","depth":3}' },
    ]);
    expect(assistant?.parts).toEqual([
      { type: "reasoning", text: "", opaqueLength: 6, signed: true },
      { type: "text", text: "No." },
    ]);
  });

  it("writes an edited message without touching its other fields", () => {
    const native = {
      role: "assistant",
      name: "agent",
      content: [{ type: "text", text: "long", annotations: [1] }],
      reasoning_content: "hm",
      tool_calls: [call("1", "a"), { ...call("2", "b"), index: 1 }],
    };
    const [message] = codec.decode([native]);
    const parts = message!.parts
      .filter((part) => part.type !== "reasoning" && !(part.type === "toolCall" && part.id === "1"))
      .map((part) => (part.type === "text" ? { ...part, text: "short" } : part));
    const [copy] = codec.encode([{ ...message!, parts, edited: true }]);
    expect(copy).toEqual({
      role: "assistant",
      name: "agent",
      content: [{ type: "text", text: "short", annotations: [1] }],
      tool_calls: [{ ...call("2", "b"), index: 1 }],
    });
    expect((copy as typeof native).tool_calls[0]).toBe(native.tool_calls[1]);
    expect(codec.encode([{ ...message!, parts: [], edited: true }])).toEqual([]);
  });

  it("hands on what a result shows in a user message behind all results", () => {
    const image = { type: "media", mediaType: "image/png", bytes: 4, data: "AAAA" } as const;
    const list = codec.encode([
      { id: "1", role: "assistant", parts: [{ type: "toolCall", id: "c", name: "shoot", arguments: {} }] },
      { id: "2", role: "tool", parts: [{ type: "toolResult", id: "c", content: [image] }] },
    ]);
    expect(list).toMatchObject([
      { role: "assistant", content: null },
      { role: "tool", tool_call_id: "c", content: [{ type: "text", text: "[image/png]" }] },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
    ]);
  });

  it("keeps the pictures of a result whose text is shortened", () => {
    const picture = { type: "image_url", image_url: { url: "https://example.org/a.png" } };
    const native = { role: "tool", tool_call_id: "c", content: [{ type: "text", text: "long" }, picture] };
    const [message] = codec.decode([native]);
    const [result] = toolResults(message!);
    const [, media] = result?.content ?? [];
    expect(media).toMatchObject({ type: "media" });
    const content = [{ type: "text", text: "short" }, media] as NonNullable<typeof result>["content"];
    const [copy] = codec.encode([{ ...message!, parts: [{ ...result!, content }], edited: true }]);
    expect(copy).toEqual({ ...native, content: [{ type: "text", text: "short" }, picture] });
  });

  it("PRT-7 names the place of what it cannot read", () => {
    const place = (entry: object) => {
      try {
        codec.decode([{ role: "user", content: "" }, entry]);
      } catch (error) {
        return (error as { place?: string }).place;
      }
    };
    expect(place({ role: "user", content: [{ text: "no type" }] })).toBe("messages[1].content[0].type");
    expect(place({ role: "owner", content: "" })).toBe("messages[1].role");
    expect(place({ role: "assistant", tool_calls: ["x"] })).toBe("messages[1].tool_calls[0]");
    expect(place({ role: "assistant", content: 7 })).toBe("messages[1].content");
  });
});
