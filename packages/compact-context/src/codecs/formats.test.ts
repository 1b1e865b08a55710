import { describe, expect, it } from "vitest";
import type { Format, Message } from "../core/message.ts";
import { codecFor, decode, detectFormat, encode, FORMATS, listCodec } from "./formats.ts";

function ownText(format: Format): object {
  const type = format.startsWith("openai-") && format !== "openai-chat" ? "input_text" : "text";
  return { type, text: "kept" };
}

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
    expect(detectFormat(list)).toBe(format);
    expect(decode(list, format)).toHaveLength(list.length);
  });

  it.each<[Format, object]>([
    ["langchain", { role: "assistant", content: "", tool_calls: [{ id: "c", name: "f", args: {} }] }],
    ["langchain", { type: "human", content: "hi" }],
    ["pi", { role: "assistant", content: [{ type: "text", text: "hi" }], timestamp: 1, stopReason: "stop" }],
    ["pi", { role: "bashExecution", command: "ls", output: "" }],
    ["openai-agents", { type: "function_call", callId: "c", name: "f", arguments: "{}" }],
    ["openai-agents", { role: "user", content: "hi", providerData: {} }],
  ])("%s is sure of what is nobody else's, and nobody else is", (format, entry) => {
    expect(FORMATS.filter((each) => codecFor(each).detect([entry]) >= 1)).toEqual([format]);
    expect(codecFor(format).detect([entry])).toBe(1);
  });

  it.each<[Format, string, object[]]>([
    ["anthropic", "user", [{ type: "search_result", source: "s", title: "t", content: [] }]],
    ["anthropic", "user", [{ type: "tool_addition", tool: { type: "tool_reference", name: "f" } }]],
    ["anthropic", "assistant", [{ type: "mcp_tool_listing", mcp_server_name: "m", tools: [] }]],
    ["anthropic", "assistant", [{ type: "fallback", from: { model: "a" }, to: { model: "b" } }]],
    ["ai-sdk", "assistant", [{ type: "custom", kind: "openai.compaction" }]],
    ["ai-sdk", "assistant", [{ type: "reasoning-file", mediaType: "image/png", data: "AAAA" }]],
    ["langchain", "assistant", [{ type: "server_tool_call", id: "c", name: "f", args: {} }]],
  ])("recognises %s by what an %s says: %o", (format, role, blocks) => {
    expect(detectFormat([{ role, content: [{ type: "text", text: "hi" }, ...blocks] }])).toBe(format);
  });

  it("is less sure of a message of pi without the reason it stopped for", () => {
    const said = { role: "assistant", content: [{ type: "text", text: "hi" }], timestamp: 1 };
    expect(codecFor("pi").detect([said])).toBeLessThan(1);
  });

  it("recognises nothing in an empty list and in lists of other things", () => {
    expect(detectFormat([])).toBeUndefined();
    expect(detectFormat([1, "two"])).toBeUndefined();
    expect(detectFormat([{ name: "no message" }])).toBeUndefined();
    expect(detectFormat([{ role: "constructor", content: "x" }])).toBeUndefined();
    for (const type of ["__proto__", "constructor", "toString"])
      expect(detectFormat([{ role: "user", content: [{ type }] }])).toBeUndefined();
  });

  const said = { role: "user", content: "hi" };
  const chat = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: {} }],
  };
  const gemini = { role: "user", parts: [{ text: "hi" }] };
  const wide = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, "secret"]));
  it.each<[string, unknown[], string, string]>([
    ["null", [said, said, null], "messages[2]", "is null, a message in none"],
    ["a text", ["hi"], "messages[0]", "is a string, a message in none"],
    ["no message", [said, { text: "hi" }], "messages[1]", "is an object with text, a message in none"],
    ["nothing", [{}], "messages[0]", "is an object, a message in none"],
    ["much", [wide], "messages[0]", "is an object with k0, k1, k2, k3, k4, k5, k6, k7, a message in none"],
    [
      "two formats",
      [said, chat, said, gemini],
      "messages[3]",
      "is an object with role, parts, in another format than those before it",
    ],
    [
      "a long list",
      [...new Array<object>(999).fill(said), null],
      "messages[999]",
      "is null, a message in none",
    ],
    [
      "a role",
      [said, { role: "robot", content: "x" }],
      "messages[1]",
      'has the role "robot", which no format has',
    ],
  ])("names the first entry that fits no format: %s", (_kind, list, place, problem) => {
    expect(() => listCodec(list, undefined)).toThrow(
      expect.objectContaining({ code: "UnknownFormat", place, message: expect.stringMatching(/: messages/) }),
    );
    expect(() => listCodec(list, undefined)).toThrow(`known here: ${place} ${problem}`);
  });

  it("refuses what is no list", () => {
    const text = "[]" as unknown as unknown[];
    expect(() => decode(text, "pi")).toThrow(/messages must be an array, not a string/);
  });

  it.each(FORMATS)("%s puts a shortened text in the place of a block that nobody knows", (format) => {
    const payload = "x".repeat(99);
    const native =
      format === "gemini"
        ? { role: "user", parts: [{ hologram: payload }, { text: "kept" }] }
        : { role: "user", content: [{ type: "hologram", payload }, ownText(format)] };
    const [message] = decode([native], format);
    const [opaque, ...others] = message?.parts ?? [];
    expect(opaque).toMatchObject({ type: "text", text: expect.stringContaining(payload) });
    const parts = [{ type: "text" as const, text: "short" }, ...others];
    const list = encode([{ ...message!, parts, edited: true }], format);
    expect(JSON.stringify(list)).not.toContain(payload);
    expect(decode(list, format)[0]?.parts).toEqual(parts);
  });

  it("keeps a field called __proto__ when an entry is copied", () => {
    const native = JSON.parse('{"role":"user","content":"long","__proto__":{"a":1}}') as object;
    const [message] = decode([native], "anthropic");
    const [copy] = encode(
      [{ ...message!, parts: [{ type: "text", text: "so" }], edited: true }],
      "anthropic",
    );
    expect(JSON.stringify(copy)).toBe('{"role":"user","content":"so","__proto__":{"a":1}}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it("decodes a growing list entry by entry like the whole, without looking at all of it each time", () => {
    const list = Array.from({ length: 5000 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: "go on",
    }));
    const grown: Message[] = [];
    const start = process.cpuUsage();
    for (const entry of list) grown.push(...decode([entry], "openai-chat", grown));
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(5000);
    expect(grown.map(({ id }) => id)).toEqual(decode(list, "openai-chat").map(({ id }) => id));
  });

  it("writes lists of any length", () => {
    const message: Message = { id: "1", role: "user", parts: [{ type: "text", text: "go" }] };
    expect(encode(new Array<Message>(200_000).fill(message), "gemini")).toHaveLength(200_000);
  });

  it("says plainly that a format was not given", () => {
    expect(() => codecFor(undefined as never)).toThrow("the format is undefined");
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
