import { describe, expect, it } from "vitest";
import { codecFor, decode, detectListFormat } from "./codecs.ts";
import type { Format } from "./message.ts";

describe("the registry", () => {
  it.each<[Format, unknown[]]>([
    ["openai-chat", [{ role: "user", content: "hi" }]],
    ["openai-chat", [{ role: "user", content: [{ type: "text", text: "hi" }] }]],
    [
      "openai-chat",
      [
        { role: "developer", content: "be brief" },
        { role: "user", content: "hi" },
      ],
    ],
    ["anthropic", [{ role: "user", content: [{ type: "image", source: { type: "url", url: "x" } }] }]],
    ["openai-responses", [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }]],
    ["openai-responses", [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }]],
    ["openai-agents", [{ type: "function_call", callId: "c", name: "f", arguments: "{}" }]],
    ["gemini", [{ role: "user", parts: [{ text: "hi" }] }]],
    ["ai-sdk", [{ id: "1", role: "user", parts: [{ type: "text", text: "hi" }] }]],
    [
      "ai-sdk",
      [{ role: "tool", content: [{ type: "tool-result", toolCallId: "c", toolName: "f", output: {} }] }],
    ],
    ["langchain", [{ type: "human", content: "hi" }]],
    ["langchain", [{ role: "assistant", content: "", tool_calls: [{ id: "c", name: "f", args: {} }] }]],
    ["pi", [{ role: "user", content: "hi", timestamp: 1 }]],
  ])("recognises %s", (format, list) => {
    expect(detectListFormat(list)).toBe(format);
    expect(decode(list, format)).toHaveLength(list.length);
  });

  it("recognises nothing in an empty list and in lists of other things", () => {
    expect(detectListFormat([])).toBeUndefined();
    expect(detectListFormat([1, "two"])).toBeUndefined();
    expect(detectListFormat([{ name: "no message" }])).toBeUndefined();
    expect(detectListFormat([{ role: "constructor", content: "x" }])).toBeUndefined();
  });

  it("refuses what is no list", () => {
    const text = "[]" as unknown as unknown[];
    expect(() => decode(text, "pi")).toThrow(/messages must be an array, not a string/);
  });

  it("names the formats when asked for another", () => {
    const wanted = "yaml" as Format;
    expect(() => codecFor(wanted)).toThrow(
      expect.objectContaining({
        code: "UnknownFormat",
        hint: expect.stringContaining("openai-chat, openai-responses"),
      }),
    );
  });
});
