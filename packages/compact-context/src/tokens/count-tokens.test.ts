import fc from "fast-check";
import { get_encoding } from "tiktoken";
import { describe, expect, it, vi } from "vitest";
import type { Message, Role } from "../core/message.ts";
import { countText, countTokens } from "./count-tokens.ts";
import { cl100kBase } from "./encodings/cl100k-base.ts";
import { o200kBase } from "./encodings/o200k-base.ts";
import { createTokenCounter } from "./token-counter.ts";

const message = (role: Role, text: string): Message => ({ id: "m", role, parts: [{ type: "text", text }] });

const conversation: readonly Message[] = [
  message("system", "You keep the minutes of a council of gardeners."),
  message("developer", "Answer in one line."),
  message("user", "Which beds were weeded on Monday?"),
  message("assistant", "The two by the gate."),
];
const tools = [
  { name: "look_up", description: "Finds a bed.", parameters: { properties: { bed: { type: "string" } } } },
];

describe("countTokens", () => {
  it("TOK-1 covers system, developer, tools, history and pending input, and adds up", () => {
    const counter = createTokenCounter({ model: "gpt-4o" });
    const of = (index: number): number => counter.countMessage(conversation[index]!);
    const count = countTokens(conversation, {
      model: "gpt-4o",
      system: "Be brief.",
      tools,
      input: "And on Tuesday?",
    });
    expect(count.breakdown).toEqual({
      system: of(0) + counter.countSystem("Be brief."),
      developer: of(1),
      tools_schema: counter.countTools(tools),
      messages: of(2) + of(3) + counter.countMessage(message("user", "And on Tuesday?")) + 3,
    });
    const { system, developer, tools_schema, messages } = count.breakdown;
    expect(count.tokens).toBe(system + developer + tools_schema + messages);
    expect(count).toMatchObject({ exact: true, low: count.tokens, high: count.tokens });
  });

  it("TOK-1 adds up for any list, model and input", () => {
    const anyMessage = fc
      .tuple(fc.constantFrom<Role>("system", "developer", "user", "assistant", "tool"), fc.string())
      .map(([role, text]) => message(role, text));
    const model = fc.constantFrom(
      "gpt-4o",
      "gpt-4",
      "claude-opus-4-6",
      "gemini-2.5-pro",
      "nobody-knows-this",
    );
    fc.assert(
      fc.property(fc.array(anyMessage), model, fc.string(), fc.boolean(), (list, name, input, withTools) => {
        const count = countTokens(list, { model: name, input, tools: withTools ? tools : undefined });
        const sum = Object.values(count.breakdown).reduce((total, part) => total + part, 0);
        expect(sum).toBe(count.tokens);
        expect(count.low).toBeLessThanOrEqual(count.tokens);
        expect(count.high).toBeGreaterThanOrEqual(count.tokens);
      }),
    );
  });

  it("TOK-3 is the arithmetic of OpenAI's cookbook: 3 a message, its role and content, 1 and the name, 3 to reply", () => {
    const named: Message = {
      ...message("user", "Good morning."),
      format: "openai-chat",
      native: { name: "ada" },
    };
    const list = [message("system", "Be kind."), named];
    for (const [model, encoding] of [
      ["gpt-4", cl100kBase],
      ["gpt-4o", o200kBase],
    ] as const) {
      const texts = ["system", "Be kind.", "user", "Good morning.", "ada"];
      const content = texts.reduce((sum, text) => sum + encoding.count(text), 0);
      expect(countTokens(list, { model }).tokens).toBe(3 + content + 3 + 1 + 3);
    }
  });

  it("counts nothing for nothing", () => {
    const none = { system: 0, developer: 0, tools_schema: 0, messages: 0 };
    expect(countTokens([], { model: "gpt-4o" })).toEqual({
      tokens: 0,
      exact: true,
      low: 0,
      high: 0,
      breakdown: none,
    });
  });

  it("takes pending text like a message of the user", () => {
    const pending = message("user", "And on Tuesday?");
    const options = { model: "claude-opus-4-6" };
    expect(countTokens(conversation, { ...options, input: "And on Tuesday?" })).toEqual(
      countTokens([...conversation, pending], options),
    );
  });

  it("is not exact, and wider, with media or unreadable reasoning", () => {
    const picture: Message = {
      id: "p",
      role: "user",
      parts: [{ type: "media", mediaType: "image/png", bytes: 0 }],
    };
    const hidden: Message = {
      id: "r",
      role: "assistant",
      parts: [{ type: "reasoning", text: "", opaqueLength: 4_000 }],
    };
    const plain = countTokens(conversation, { model: "gpt-4o" });
    const seen = countTokens([...conversation, picture], { model: "gpt-4o" });
    expect(seen).toMatchObject({ exact: false, low: seen.tokens - 750, high: seen.tokens + 1_500 });
    expect(countTokens([...conversation, hidden], { model: "gpt-4o" })).toMatchObject({ exact: false });
    expect(plain.exact).toBe(true);
  });

  it("TOK-5 does not encode text again that an earlier call has counted", () => {
    const count = vi.spyOn(o200kBase, "count");
    const text = "A sentence that no other test has any reason to count.";
    for (let call = 0; call < 3; call += 1) countTokens([message("user", text)], { model: "gpt-4o" });
    expect(count.mock.calls.filter(([value]) => value === text)).toHaveLength(1);
    count.mockRestore();
  });
});

describe("countText", () => {
  it("TOK-2 equals tiktoken on any text, special-token strings included", () => {
    const pieces = fc.constantFrom(
      "<|endoftext|>",
      "<|im_start|>",
      "東京",
      "🚀",
      "naïve ",
      "x1 = [0];\n",
      "  \t\r\n",
      "'LL",
    );
    const anyText = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string(),
      fc.array(pieces).map((list) => list.join("")),
    );
    for (const encoding of ["o200k_base", "cl100k_base"] as const) {
      const reference = get_encoding(encoding);
      fc.assert(
        fc.property(anyText, (text) => {
          expect(countText(text, { encoding })).toBe(reference.encode_ordinary(text).length);
        }),
        { numRuns: 150 },
      );
      reference.free();
    }
  });

  it("takes the encoding named, else the model's, else o200k_base", () => {
    const text = "Naïve façade — 東京 🚀";
    expect(cl100kBase.count(text)).not.toBe(o200kBase.count(text));
    expect(countText(text)).toBe(o200kBase.count(text));
    expect(countText(text, { encoding: "cl100k_base" })).toBe(cl100kBase.count(text));
    expect(countText(text, { model: "gpt-4" })).toBe(cl100kBase.count(text));
    expect(countText(text, { model: "gpt-4", encoding: "o200k_base" })).toBe(o200kBase.count(text));
    expect(countText("")).toBe(0);
  });

  it("applies the model's ratio", () => {
    const text = "one two three four five six seven eight nine ten";
    expect(countText(text, { model: "claude-sonnet-4-5" })).toBe(Math.round(1.26 * cl100kBase.count(text)));
  });
});
