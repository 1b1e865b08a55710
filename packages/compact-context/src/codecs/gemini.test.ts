import { describe, expect, it } from "vitest";
import { toolCalls, toolResults } from "../core/message.ts";
import { geminiCodec as codec } from "./anthropic-gemini.ts";

const response = (name: string, output: unknown) => ({ functionResponse: { name, response: { output } } });

describe("gemini", () => {
  it("pairs calls without ids by name and order", () => {
    const messages = codec.decode([
      { role: "user", parts: [{ text: "go" }] },
      {
        role: "model",
        parts: [
          { functionCall: { name: "a", args: { n: 1 } }, thoughtSignature: "sig" },
          { functionCall: { name: "b", args: {} } },
          { functionCall: { name: "a", args: { n: 2 } } },
        ],
      },
      { role: "user", parts: [response("b", "1"), response("a", "2"), response("a", { deep: 3 })] },
    ]);
    const [first, second, third] = toolCalls(messages[1]!);
    expect(toolResults(messages[2]!).map((result) => result.id)).toEqual([second?.id, first?.id, third?.id]);
    expect(messages[2]?.role).toBe("tool");
    expect(toolResults(messages[2]!)[2]?.content).toBe('{"deep":3}');
  });

  it("reads a tool that Google runs as a call with its own result", () => {
    const native = {
      role: "model",
      parts: [
        { toolCall: { id: "t", toolType: "URL_CONTEXT", args: { url: "u" } } },
        { toolResponse: { id: "t", toolType: "URL_CONTEXT", response: { text: "found" } } },
      ],
    };
    const [message] = codec.decode([native]);
    expect(toolCalls(message!)).toMatchObject([{ id: "t", name: "URL_CONTEXT", providerExecuted: true }]);
    expect(toolResults(message!)).toMatchObject([{ id: "t", content: '{"text":"found"}' }]);
    expect(codec.encode([{ ...message!, edited: true }])).toEqual([native]);
  });

  it("reads code execution, thoughts, files and the REST spelling", () => {
    const [message] = codec.decode([
      {
        role: "model",
        parts: [
          { text: "plan", thought: true, thoughtSignature: "1234" },
          { executableCode: { language: "PYTHON", code: "1+1" } },
          { codeExecutionResult: { outcome: "OUTCOME_FAILED", output: "no" } },
          { inline_data: { mime_type: "image/png", data: "AAAA" } },
          { fileData: { mimeType: "video/mp4", fileUri: "https://example.org/v" } },
        ],
      },
    ]);
    const call = message?.parts[1];
    expect(message?.parts).toMatchObject([
      { type: "reasoning", text: "plan", opaqueLength: 4, signed: true },
      { type: "toolCall", name: "code_execution", providerExecuted: true },
      { type: "toolResult", content: "no", isError: true },
      { type: "media", mediaType: "image/png", bytes: 4 },
      { type: "media", mediaType: "video/mp4", url: "https://example.org/v", bytes: 0 },
    ]);
    expect(message?.parts[2]).toHaveProperty("id", call?.type === "toolCall" ? call.id : "");
  });

  it("clears one of several results of the same tool and keeps signatures", () => {
    const natives = [
      {
        role: "model",
        parts: [{ functionCall: { name: "a" }, thoughtSignature: "s" }, { functionCall: { name: "a" } }],
      },
      { role: "user", parts: [response("a", "one"), response("a", "two")] },
    ];
    const messages = codec.decode(natives);
    const parts = messages[1]!.parts.map((part, index) =>
      index === 1 && part.type === "toolResult" ? { ...part, content: "gone" } : part,
    );
    const [, copy] = codec.encode([messages[0]!, { ...messages[1]!, parts, edited: true }]);
    expect(copy).toEqual({ role: "user", parts: [response("a", "one"), response("a", "gone")] });
  });

  it("builds results under the name of their call, with their media beside the text", () => {
    const picture = { type: "media" as const, mediaType: "image/png", data: "AAAA", bytes: 3 };
    const list = codec.encode([
      { id: "1", role: "assistant", parts: [{ type: "toolCall", id: "c", name: "look", arguments: {} }] },
      { id: "2", role: "tool", parts: [{ type: "toolResult", id: "c", content: "plain" }] },
      { id: "3", role: "assistant", parts: [{ type: "toolCall", id: "d", name: "draw", arguments: {} }] },
      {
        id: "4",
        role: "tool",
        parts: [
          { type: "toolResult", id: "d", content: [{ type: "text", text: "seen" }, picture], isError: true },
        ],
      },
    ]);
    expect(list[1]).toEqual({
      role: "user",
      parts: [{ functionResponse: { id: "c", name: "look", response: { output: "plain" } } }],
    });
    expect(list[3]).toMatchObject({
      role: "user",
      parts: [
        {
          functionResponse: {
            name: "draw",
            response: { error: "seen" },
            parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
          },
        },
      ],
    });
  });
});
