import { describe, expect, it } from "vitest";
import { toolCalls } from "../core/message.ts";
import { langchainCodec as codec } from "./langchain.ts";

/** As much of a LangChain message as the codec relies on. */
class BaseMessage {
  lc_kwargs: Record<string, unknown>;
  content: unknown;
  id?: string;
  [field: string]: unknown;
  readonly #kind: string;
  constructor(kind: string, fields: Record<string, unknown>) {
    this.#kind = kind;
    this.content = fields.content;
    Object.assign(this, fields);
    this.lc_kwargs = fields;
  }
  getType(): string {
    return this.#kind;
  }
}

class ToolMessage {
  lc_kwargs: object;
  content = "";
  constructor(fields: { content: string; tool_call_id: string }) {
    Object.assign(this, fields);
    this.lc_kwargs = fields;
  }
  getType(): string {
    return "tool";
  }
}

class Base {
  readonly id: unknown;
  readonly content: unknown;
  readonly fields: Record<string, unknown>;
  constructor(fields: Record<string, unknown>) {
    this.id = fields.id;
    this.content = fields.content;
    this.fields = fields;
  }
  _getType(): string {
    return "";
  }
  getType(): string {
    return this._getType();
  }
  toDict(): object {
    return { type: this.getType() };
  }
}

class Human extends Base {
  override _getType(): string {
    return "human";
  }
}

describe("langchain", () => {
  it("reads instances, serialised and plain messages alike", () => {
    const messages = codec.decode([
      new BaseMessage("human", { content: "go", id: "h1", additional_kwargs: { meta: { protected: true } } }),
      {
        lc: 1,
        type: "constructor",
        id: ["langchain_core", "messages", "AIMessageChunk"],
        kwargs: {
          content: [
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "c1", name: "look", input: "" },
          ],
          tool_calls: [{ id: "c1", name: "look", args: { n: 1 } }],
        },
      },
      { type: "tool", data: { content: "ok", tool_call_id: "c1", status: "error" } },
      {
        type: "ai",
        content: "",
        additional_kwargs: { tool_calls: [{ id: "c2", function: { name: "f", arguments: "{}" } }] },
      },
      { role: "tool", content: "fine", tool_call_id: "c2" },
      { type: "system", content: "be kind", additional_kwargs: { __openai_role__: "developer" } },
    ]);
    expect(messages[0]).toMatchObject({ id: "h1", role: "user", meta: { protected: true } });
    expect(messages.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "developer",
    ]);
    expect(messages.flatMap(toolCalls).map((call) => call.id)).toEqual(["c1", "c2"]);
    expect(messages[2]?.parts).toEqual([{ type: "toolResult", id: "c1", content: "ok", isError: true }]);
  });

  it("copies an edited instance with its prototype and what it is serialised from", () => {
    const native = new ToolMessage({ content: "long", tool_call_id: "c1" });
    const [message] = codec.decode([native]);
    const parts = [{ type: "toolResult", id: "c1", content: "gone" }] as const;
    const [copy] = codec.encode([{ ...message!, parts, edited: true }]) as ToolMessage[];
    expect(copy).toBeInstanceOf(ToolMessage);
    expect(copy?.content).toBe("gone");
    expect(copy?.lc_kwargs).toEqual({ content: "gone", tool_call_id: "c1" });
    expect(native.content).toBe("long");
  });

  it("takes a removed call out of every place that repeats it", () => {
    const native = {
      type: "ai",
      content: [
        { type: "text", text: "Both." },
        { type: "tool_use", id: "c1", name: "a", input: {} },
        { type: "tool_use", id: "c2", name: "b", input: {} },
      ],
      tool_calls: [
        { id: "c1", name: "a", args: {} },
        { id: "c2", name: "b", args: {} },
      ],
    };
    const [message] = codec.decode([native]);
    const parts = message!.parts.filter((part) => !(part.type === "toolCall" && part.id === "c1"));
    expect(codec.encode([{ ...message!, parts, edited: true }])).toEqual([
      { ...native, content: [native.content[0], native.content[2]], tool_calls: [native.tool_calls[1]] },
    ]);
  });

  it("reads text and media of a result that is a list of blocks", () => {
    const picture = { type: "image", source_type: "base64", mime_type: "image/png", data: "AAAA" };
    const content = [{ type: "text", text: "seen" }, picture];
    const [message] = codec.decode([{ type: "tool", tool_call_id: "c1", content }]);
    expect(message?.parts).toMatchObject([
      { type: "toolResult", id: "c1", content: [{ type: "text", text: "seen" }, { mediaType: "image/png" }] },
    ]);
  });

  it("keeps the blocks of a message whose calls have no id", () => {
    const seen = { type: "image", source_type: "base64", mime_type: "image/png", data: "AAAA" };
    const native = {
      type: "ai",
      content: [{ type: "text", text: "long", annotations: [1] }, seen],
      tool_calls: [{ name: "a", args: {} }],
    };
    const [message] = codec.decode([native]);
    const parts = message!.parts.map((part) => (part.type === "text" ? { ...part, text: "short" } : part));
    expect(codec.encode([{ ...message!, parts, edited: true }])).toEqual([
      { ...native, content: [{ ...native.content[0], text: "short" }, seen] },
    ]);
  });

  it("writes no block for a content that is null", () => {
    const native = { role: "assistant", content: null, tool_calls: [{ id: "c", name: "a", args: { n: 1 } }] };
    const [message] = codec.decode([native]);
    const parts = [{ ...toolCalls(message!)[0]!, arguments: { n: 2 } }];
    expect(codec.encode([{ ...message!, parts, edited: true }])).toEqual([
      { ...native, content: "", tool_calls: [{ ...native.tool_calls[0], args: { n: 2 } }] },
    ]);
  });

  it("builds serialised messages among serialised ones and plain ones elsewhere", () => {
    const summary = { id: "s1", role: "assistant", parts: [{ type: "text", text: "So far" }] } as const;
    const serialised = { lc: 1, type: "constructor", id: ["HumanMessage"], kwargs: { content: "go" } };
    expect(codec.encode([summary, ...codec.decode([serialised])])[0]).toEqual({
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "messages", "AIMessage"],
      kwargs: { id: "s1", content: "So far" },
    });
    expect(codec.encode([summary])).toEqual([{ role: "assistant", id: "s1", content: "So far" }]);
  });

  it("builds instances among instances: of a class that is there, else of one that serialises as LangChain's", () => {
    const marked = { meta: { summaryVersion: 1 }, parts: [{ type: "text", text: "So far" }] } as const;
    const list = codec.decode([new Human({ id: "h", content: "go" })]);
    const [system, user] = codec.encode([
      { id: "s1", role: "system", ...marked },
      { id: "s2", role: "user", ...marked },
      ...list,
    ]) as Base[];
    expect(system).toBeInstanceOf(Base);
    expect(system?.getType()).toBe("system");
    expect((system as { constructor: unknown }).constructor).toHaveProperty("name", "SystemMessage");
    expect(system?.fields).toEqual({
      id: "s1",
      content: "So far",
      additional_kwargs: { lc_source: "summarization" },
    });
    expect(user).toBeInstanceOf(Human);
    const [again] = codec.encode([{ id: "s3", role: "system", ...marked }, ...list]) as Base[];
    expect(again?.constructor).toBe(system?.constructor);
    const bare = codec.decode([new BaseMessage("human", { content: "go", id: "h1" })]);
    expect(codec.encode([{ id: "s1", role: "system", ...marked }, ...bare])[0]).toMatchObject({
      role: "system",
    });
  });

  it("PRT-7 refuses a kind of message that does not exist", () => {
    expect(() => codec.decode([{ type: "remove", id: "x" }])).toThrow(/messages\[0\]\.type is "remove"/);
  });
});
