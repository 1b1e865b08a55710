import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Message, Part, Role } from "../core/message.ts";
import { cl100kBase } from "./encodings/cl100k-base.ts";
import { o200kBase } from "./encodings/o200k-base.ts";
import { createTokenCounter, type TextEncoding } from "./token-counter.ts";
import { fallbackTokens } from "./usage.ts";

const message = (role: Role, ...parts: Part[]): Message => ({ id: "m", role, parts });
const text = (value: string): Part => ({ type: "text", text: value });

/** An encoding of one token per word that tells how often each text was counted. */
function wordEncoding(): TextEncoding & { calls: string[] } {
  const calls: string[] = [];
  return {
    name: "words",
    calls,
    count(value) {
      calls.push(value);
      return value.split(/\s+/).filter((word) => word !== "").length;
    },
  };
}

const broken: TextEncoding = {
  name: "broken_base",
  count() {
    throw new Error("checksum differs");
  },
};

describe("bare text", () => {
  it("uses the model's own encoding and counts special-token strings as text", () => {
    const value = "before <|endoftext|> after, and a tail of code: const a = [1, 2];";
    expect(createTokenCounter({ model: "gpt-4o" }).countText(value)).toBe(o200kBase.count(value));
    expect(createTokenCounter({ model: "gpt-4" }).countText(value)).toBe(cl100kBase.count(value));
    expect(createTokenCounter({ model: "gpt-4" }).countText("<|endoftext|>")).toBeGreaterThan(1);
  });

  it("applies the stored ratio where the vocabulary is not public", () => {
    const encoding = { ...wordEncoding(), name: "cl100k_base" };
    const ten = "a b c d e f g h i j";
    expect(createTokenCounter({ model: "claude-opus-4-6", encoding }).countText(ten)).toBe(13);
    expect(createTokenCounter({ model: "claude-opus-5", encoding }).countText(ten)).toBe(16);
  });

  it("takes a foreign encoding as it is, with the model's overheads and no exactness", () => {
    const counter = createTokenCounter({ model: "claude-opus-4-6", encoding: wordEncoding() });
    expect(counter.countText("a b c")).toBe(3);
    expect(counter.countMessage(message("user", text("a b c")))).toBe(15);
    expect(counter.exact).toBe(false);
  });

  it("refuses an encoding that does not exist", () => {
    const encoding = "r50k_base" as "o200k_base";
    expect(() => createTokenCounter({ encoding })).toThrow(
      expect.objectContaining({ code: "InvalidArgument" }),
    );
  });
});

describe("messages", () => {
  it("TOK-3 costs content and 4 tokens with a generic provider", () => {
    const counter = createTokenCounter({ encoding: wordEncoding() });
    expect(counter.countMessage(message("user"))).toBe(4);
    expect(counter.countMessage(message("user", text("one two three"), text("four")))).toBe(8);
  });

  it("TOK-3 costs the provider's own overhead", () => {
    const one = message("user", text("hello"));
    const hello = cl100kBase.count("hello");
    expect(createTokenCounter({ model: "gpt-4" }).countMessage(one)).toBe(
      3 + cl100kBase.count("user") + hello,
    );
    expect(createTokenCounter({ model: "claude-opus-4-6" }).countMessage(one)).toBe(
      12 + Math.round(1.26 * hello),
    );
    expect(createTokenCounter({ model: "gemini-2.5-pro" }).countMessage(one)).toBe(
      4 + Math.round(1.2 * o200kBase.count("hello")),
    );
    expect(createTokenCounter({ model: "nobody-knows-this" }).countMessage(one)).toBe(
      4 + o200kBase.count("hello"),
    );
  });

  it("TOK-3 counts a tool call's name and JSON, text or value alike", () => {
    const counter = createTokenCounter({ encoding: "o200k_base" });
    const input = { path: "src/index.ts", lines: [1, 20] };
    const call = (args: unknown): Message =>
      message("assistant", { type: "toolCall", id: "c", name: "read", arguments: args });
    const expected = 4 + o200kBase.count("read") + o200kBase.count(JSON.stringify(input));
    expect(counter.countMessage(call(input))).toBe(expected);
    expect(counter.countMessage(call(JSON.stringify(input)))).toBe(expected);
    expect(counter.countMessage(call(undefined))).toBe(4 + o200kBase.count("read"));
  });

  it("counts arguments that are no JSON instead of throwing", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const counter = createTokenCounter({ model: "gpt-4o" });
    for (const value of [cyclic, { big: 1n }, Symbol("s"), () => 1, null]) {
      const call: Part = { type: "toolCall", id: "c", name: "read", arguments: value };
      expect(counter.countMessage(message("assistant", call))).toBeGreaterThan(4);
    }
  });

  it("TOK-1 counts results, reasoning and media", () => {
    const counter = createTokenCounter({ encoding: wordEncoding() });
    const media: Part = { type: "media", mediaType: "image/png", bytes: 9, data: "A".repeat(40_000) };
    const content = [
      { type: "text" as const, text: "one two" },
      { type: "media" as const, mediaType: "image/png", bytes: 0 },
    ];
    const cost = (...parts: Part[]): number => counter.countMessage(message("tool", ...parts)) - 4;
    expect(cost({ type: "toolResult", id: "c", content: "one two three" })).toBe(3);
    expect(cost({ type: "toolResult", id: "c", content })).toBe(2 + 1_500);
    expect(cost(media)).toBe(1_500);
    expect(cost({ type: "reasoning", text: "one two" })).toBe(2);
    expect(cost({ type: "reasoning", text: "", opaqueLength: 401 })).toBe(101);
    expect(cost({ type: "reasoning", text: "one two", opaqueLength: 400 })).toBe(100);
  });

  it("counts the name of an OpenAI chat speaker, and no other native name", () => {
    const counter = createTokenCounter({ model: "gpt-4" });
    const plain = message("user", text("hello"));
    const named: Message = { ...plain, format: "openai-chat", native: { name: "ada" } };
    expect(counter.countMessage(named)).toBe(counter.countMessage(plain) + 1 + cl100kBase.count("ada"));
    expect(counter.countMessage({ ...named, format: "pi" })).toBe(counter.countMessage(plain));
  });
});

describe("tools", () => {
  const tool = {
    type: "function",
    function: {
      name: "find_files",
      description: "Lists the files below a folder.",
      parameters: {
        type: "object",
        properties: {
          folder: { type: "string", description: "Where to look." },
          order: { type: "string", description: "How to sort", enum: ["name", "size"] },
        },
      },
    },
  };
  const lines = (count: (value: string) => number): number =>
    count("find_files:Lists the files below a folder") +
    count("folder:string:Where to look") +
    count("order:string:How to sort") +
    count("name") +
    count("size");

  it("TOK-1 renders OpenAI's schemas line by line", () => {
    const framing = 3 + 2 * 3 - 3 + 2 * 3 + 12;
    expect(createTokenCounter({ model: "gpt-4o" }).countTools([tool])).toBe(
      7 + framing + lines(o200kBase.count),
    );
    expect(createTokenCounter({ model: "gpt-4" }).countTools([tool])).toBe(
      10 + framing + lines(cl100kBase.count),
    );
    const flat = { type: "function", ...tool.function };
    expect(createTokenCounter({ model: "gpt-4o" }).countTools([flat])).toBe(
      7 + framing + lines(o200kBase.count),
    );
  });

  it("counts the properties of nested objects and of array items", () => {
    const counter = createTokenCounter({ model: "gpt-4o" });
    const schema = (inner: object): unknown => ({ name: "f", parameters: { properties: { a: inner } } });
    const flat = counter.countTools([schema({ type: "object" })]);
    const nested = { type: "object", properties: { deep: { type: "number" } } };
    const list = { type: "array", items: nested };
    expect(counter.countTools([schema(nested)])).toBe(flat + 6 + o200kBase.count("deep:number:"));
    expect(counter.countTools([schema(list)])).toBeGreaterThan(flat + 6);
  });

  it("TOK-1 counts other providers' schemas as JSON, with Anthropic's hidden preamble", () => {
    const json = JSON.stringify(tool);
    expect(createTokenCounter({ encoding: "o200k_base" }).countTools([tool])).toBe(o200kBase.count(json));
    expect(createTokenCounter({ model: "claude-opus-4-6" }).countTools([tool])).toBe(
      346 + Math.round(1.26 * cl100kBase.count(json)),
    );
  });

  it("costs nothing without tools and survives what cannot be written as JSON", () => {
    const cyclic: { name: string; self?: unknown } = { name: "loop" };
    cyclic.self = cyclic;
    const cyclicSchema: { name: string; parameters: Record<string, unknown> } = {
      name: "loop",
      parameters: {},
    };
    cyclicSchema.parameters.properties = { again: cyclicSchema.parameters };
    for (const model of ["gpt-4o", "claude-opus-4-6"]) {
      const counter = createTokenCounter({ model });
      expect([counter.countTools(undefined), counter.countTools([])]).toEqual([0, 0]);
      expect(counter.countTools([cyclic, cyclicSchema, null, "text"])).toBeGreaterThan(0);
    }
  });
});

describe("an encoding that cannot be loaded", () => {
  it("TOK-4 counts floor(length/4), at least 1 for any text, and warns once", () => {
    const onWarning = vi.fn();
    const counter = createTokenCounter({ encoding: broken, onWarning });
    expect(counter.countText("")).toBe(0);
    expect(counter.countText("abc")).toBe(1);
    expect(counter.countText("a".repeat(401))).toBe(100);
    expect(counter.countMessage(message("user", text("a".repeat(40))))).toBe(14);
    expect(counter.exact).toBe(false);
    expect(counter.range(100)).toMatchObject({ exact: false, low: 35, high: 270 });
    expect(onWarning).toHaveBeenCalledTimes(1);
    expect(onWarning.mock.calls[0]?.[0]).toContain("broken_base");
  });

  it("TOK-4 leaves the model's ratio out of the fallback", () => {
    const counter = createTokenCounter({ model: "claude-opus-4-6", encoding: broken, onWarning: () => {} });
    expect(counter.countText("a".repeat(400))).toBe(100);
  });

  it("TOK-4 warns on the console when nobody listens", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    createTokenCounter({ encoding: broken }).countText("abc");
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  it("forgets exact counts once the encoding starts to fail", () => {
    let fail = false;
    const encoding: TextEncoding = {
      name: "later",
      count: (value) => {
        if (fail) throw new Error("gone");
        return value.length;
      },
    };
    const counter = createTokenCounter({ encoding, onWarning: () => {} });
    const known = message("user", text("a".repeat(40)));
    const exactId = counter.id;
    expect(counter.countMessage(known)).toBe(44);
    fail = true;
    counter.countText("new text");
    expect(counter.countMessage(known)).toBe(14);
    expect(counter.id).not.toBe(exactId);
  });

  it("TOK-4 is never zero for text and never above its length", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        const tokens = fallbackTokens(value);
        return tokens >= 1 && tokens <= value.length;
      }),
    );
  });
});

describe("remembering", () => {
  it("TOK-5 encodes a message object once", () => {
    const encoding = wordEncoding();
    const counter = createTokenCounter({ encoding });
    const one = message("user", text("one two"));
    expect(counter.countMessage(one)).toBe(counter.countMessage(one));
    expect(encoding.calls.filter((value) => value === "one two")).toHaveLength(1);
  });

  it("TOK-5 encodes the same text in copied messages once", () => {
    const encoding = wordEncoding();
    const counter = createTokenCounter({ encoding });
    for (let copy = 0; copy < 5; copy += 1) counter.countMessage(message("user", text("one two")));
    counter.countSystem("one two");
    counter.countText("one two");
    expect(encoding.calls.filter((value) => value === "one two")).toHaveLength(1);
  });

  it("TOK-5 forgets texts that were not asked for during two generations, and keeps the others", () => {
    const encoding = { name: "characters", count: vi.fn((text: string) => text.length) };
    const { countText } = createTokenCounter({ encoding });
    for (let index = 0; index < 9_000; index += 1) {
      if (index % 1_000 === 0) countText("kept");
      countText(`text ${index}`);
    }
    encoding.count.mockClear();
    countText("kept");
    expect(encoding.count).not.toHaveBeenCalled();
    countText("text 0");
    expect(encoding.count).toHaveBeenCalledTimes(1);
  });

  it("TOK-5 checks 1,000 turns of which only the newest is new in under 10 ms", () => {
    const counter = createTokenCounter({ model: "gpt-4o" });
    const list: Message[] = [];
    for (let turn = 0; turn < 1_000; turn += 1) {
      list.push(message("user", text(`question ${turn} ${"about the matter ".repeat(20)}`)));
      list.push(message("assistant", text(`answer ${turn} ${"with many words ".repeat(40)}`)));
    }
    const total = (): number => list.reduce((sum, one) => sum + counter.countMessage(one), 0);
    total();
    const times = Array.from({ length: 9 }, (_, round) => {
      list.push(message("user", text(`newest ${round} ${"and something more ".repeat(100)}`)));
      // Time of the processor: other work on the machine does not count.
      const start = process.cpuUsage();
      total();
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1000;
    });
    expect(times.sort((left, right) => left - right)[4]).toBeLessThan(10);
  });
});

describe("range and id", () => {
  it("is the count itself where the encoding is the model's own", () => {
    expect(createTokenCounter({ model: "gpt-4o" }).range(1_000)).toEqual({
      tokens: 1_000,
      exact: true,
      low: 1_000,
      high: 1_000,
    });
  });

  it("is wider where a ratio, a sibling or a format stands in", () => {
    expect(createTokenCounter({ model: "claude-opus-4-6" }).range(1_000)).toMatchObject({
      low: 890,
      high: 1_140,
    });
    expect(createTokenCounter({ model: "gpt-7-sol" }).exact).toBe(false);
    expect(createTokenCounter({ format: "openai-chat" }).exact).toBe(false);
    expect(createTokenCounter({ format: "openai-chat", model: "in-house" }).range(100)).toMatchObject({
      high: 130,
    });
    expect(createTokenCounter({}).exact).toBe(false);
  });

  it("keeps low <= tokens <= high in whole numbers for every style", () => {
    const models = ["gpt-4o", "claude-opus-4-6", "claude-opus-5", "gemini-2.5-pro", "deepseek-r1", "x"];
    for (const model of models) {
      const counter = createTokenCounter({ model });
      fc.assert(
        fc.property(fc.nat(2_000_000), (tokens) => {
          const { low, high } = counter.range(tokens);
          return Number.isInteger(low) && Number.isInteger(high) && low <= tokens && tokens <= high;
        }),
        { numRuns: 50 },
      );
    }
  });

  it("reads overridden models", () => {
    const models = { "in-house": { counting: "openai" as const, encoding: "cl100k_base" as const } };
    const own = createTokenCounter({ model: "in-house", models });
    expect(own.id).toBe(createTokenCounter({ model: "gpt-4" }).id.replace(/[^/]*$/, "flat"));
    expect(own.countText("The beds by the gate.")).toBe(cl100kBase.count("The beds by the gate."));
  });

  it("tells counters apart that count differently, and only those", () => {
    const id = (model: string): string => createTokenCounter({ model }).id;
    expect(
      new Set(["gpt-4o", "gpt-4", "claude-opus-4-6", "claude-opus-5", "gemini-2.5-pro"].map(id)).size,
    ).toBe(5);
    expect(id("claude-opus-4-5")).toBe(id("claude-sonnet-4-5-20250929"));
  });

  it("reads the format where no model is named, and where the model is unknown", () => {
    const one = message("user", text("hello"));
    const claude = createTokenCounter({ model: "claude-opus-4-6" }).countMessage(one);
    expect(createTokenCounter({ format: "anthropic" }).countMessage(one)).toBe(claude);
    expect(createTokenCounter({ format: "anthropic", model: "in-house" }).countMessage(one)).toBe(claude);
  });
});
