import { describe, expect, it } from "vitest";
import { decode, encode } from "../codecs/formats.ts";
import { applyEdit } from "./edit.ts";
import type { Format, Message } from "./message.ts";

const context = { counter: { countText: (text: string): number => text.length } };
const long = "word ".repeat(200);

function first(format: Format, entry: object): Message {
  const [message] = decode([entry], format);
  if (message === undefined) throw new Error("nothing was decoded");
  return message;
}

describe("what is taken back verbatim only", () => {
  it.each<[string, Format, object]>([
    [
      "a call of the provider's own",
      "anthropic",
      {
        role: "assistant",
        content: [{ type: "server_tool_use", id: "s1", name: "web_search", input: { query: long } }],
      },
    ],
    [
      "an item that is no message",
      "openai-responses",
      { type: "mcp_list_tools", id: "m1", tools: [{ name: long }] },
    ],
    [
      "an image that the provider made",
      "openai-responses",
      { type: "image_generation_call", id: "ig1", status: "completed", result: "iVBORw0KGgo" },
    ],
  ])("PRT-5 %s is not cut", (_what, format, entry) => {
    const message = first(format, entry);
    expect(applyEdit(message, { elideTo: 8, dropMedia: true }, context)).toBe(message);
  });

  it.each<[Format, object]>([
    ["anthropic", { role: "assistant", content: [{ type: "compaction", content: "sealed" }] }],
    ["openai-responses", { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" }],
  ])("the provider's own compaction is no bound reasoning: %s", (format, entry) => {
    const message = first(format, entry);
    expect(applyEdit(message, { stripReasoning: true }, context)).toBe(message);
  });

  it("bound reasoning leaves, the compaction before it stays", () => {
    const compaction = { type: "compaction", content: "sealed" };
    const thinking = { type: "thinking", thinking: "so", signature: "EqQB" };
    const text = { type: "text", text: "well" };
    const message = first("anthropic", { role: "assistant", content: [compaction, thinking, text] });
    const edited = applyEdit(message, { stripReasoning: true }, context);
    expect(encode([edited], "anthropic")).toEqual([{ role: "assistant", content: [compaction, text] }]);
  });
});
