import { describe, expect, it } from "vitest";
import { aiSdkCodec as codec } from "./ai-sdk.ts";
import { openaiChatCodec } from "./openai-chat.ts";

const ui = [
  { id: "u1", role: "user", parts: [{ type: "text", text: "go" }], metadata: { protected: true } },
  {
    id: "a1",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "hm", providerMetadata: { anthropic: { signature: "x" } } },
      { type: "text", text: "Looking.", state: "done" },
      {
        type: "tool-look",
        toolCallId: "c1",
        state: "output-available",
        input: { n: 1 },
        output: { rows: 2 },
      },
      {
        type: "dynamic-tool",
        toolName: "ask",
        toolCallId: "c2",
        state: "output-error",
        input: {},
        errorText: "no",
      },
      { type: "step-start" },
      { type: "text", text: "Done." },
      { type: "source-url", sourceId: "s", url: "https://example.org" },
    ],
  },
];

describe("ai-sdk", () => {
  it("reads what a steering user said as the user's words, and the text of a file that is given as text", () => {
    const steered = { type: "steering-message", id: "s", parts: [{ type: "text", text: "Stop." }] };
    const given = { type: "file", mediaType: "text/plain", data: { type: "text", text: "a long text" } };
    const entry = { id: "a", role: "assistant", parts: [steered] };
    const [one] = codec.decode([entry]);
    const [other] = codec.decode([{ role: "user", content: [given] }]);
    expect([one?.parts, other?.parts]).toEqual([
      [{ type: "text", text: "The user said meanwhile: Stop." }],
      [{ type: "text", text: "a long text" }],
    ]);
    const added = { type: "text", text: "more" } as const;
    const edited = { ...one!, parts: [...one!.parts, added], edited: true };
    expect(codec.encode([edited])).toEqual([{ ...entry, parts: [steered, added] }]);
  });

  it("reads a call and its result from one UI part", () => {
    const [user, assistant] = codec.decode(ui);
    expect(user).toMatchObject({ id: "u1", meta: { protected: true } });
    expect(assistant?.parts).toMatchObject([
      { type: "reasoning", text: "hm", signed: true },
      { type: "text", text: "Looking." },
      { type: "toolCall", id: "c1", name: "look", arguments: { n: 1 } },
      { type: "toolResult", id: "c1", name: "look", content: '{"rows":2}' },
      { type: "toolCall", id: "c2", name: "ask" },
      { type: "toolResult", id: "c2", content: "no", isError: true },
      { type: "text", text: "Done." },
    ]);
    expect(codec.detect(ui)).toBe(1);
    expect(codec.encode(codec.decode(ui))[1]).toBe(ui[1]);
  });

  it("clears the output of a UI part and keeps marks and sources", () => {
    const [, message] = codec.decode(ui);
    const parts = message!.parts
      .filter((part) => part.type !== "reasoning")
      .map((part) => (part.type === "toolResult" && part.id === "c1" ? { ...part, content: "gone" } : part));
    const [copy] = codec.encode([{ ...message!, parts, edited: true }]) as { parts: unknown[] }[];
    const expected = ui[1]!.parts
      .filter((part) => part.type !== "reasoning")
      .map((part) => ("output" in part ? { ...part, output: "gone" } : part));
    expect(copy).toEqual({ ...ui[1], parts: expected });
    expect(copy?.parts[0]).toBe(ui[1]!.parts[0]);
  });

  it("builds new entries in the clothes of the list: UI among UI, model messages elsewhere", () => {
    const summary = { id: "s1", role: "assistant", parts: [{ type: "text", text: "So far" }] } as const;
    expect(codec.encode([summary, ...codec.decode(ui)])[0]).toEqual({
      id: "s1",
      role: "assistant",
      parts: [{ type: "text", text: "So far" }],
    });
    expect(codec.encode([summary])).toEqual([{ role: "assistant", content: "So far" }]);
  });

  it("splits a UI message into steps for providers that want results between", () => {
    const roles = openaiChatCodec.encode(codec.decode(ui)).map((entry) => (entry as { role: string }).role);
    expect(roles).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"]);
  });

  it("reads the outputs and files of model messages", () => {
    const output = (value: object) => ({
      type: "tool-result",
      toolCallId: "c",
      toolName: "t",
      output: value,
    });
    const [user, tool] = codec.decode([
      {
        role: "user",
        content: [
          { type: "image", image: new Uint8Array(3) },
          { type: "file", mediaType: "application/pdf", data: new URL("https://example.org/a.pdf") },
        ],
        providerOptions: { compact: { protected: true } },
      },
      {
        role: "tool",
        content: [
          output({ type: "json", value: { a: 1 } }),
          output({ type: "error-text", value: "bad" }),
          output({ type: "execution-denied", reason: "never" }),
          output({
            type: "content",
            value: [
              { type: "text", text: "t" },
              { type: "media", data: "AAAA", mediaType: "image/png" },
            ],
          }),
          { type: "tool-approval-response", approvalId: "x", approved: true },
        ],
      },
    ]);
    expect(user).toMatchObject({
      meta: { protected: true },
      parts: [
        { mediaType: "image/*", bytes: 3 },
        { mediaType: "application/pdf", url: "https://example.org/a.pdf" },
      ],
    });
    expect(tool?.parts).toMatchObject([
      { content: '{"a":1}' },
      { content: "bad", isError: true },
      { content: "never", isError: true },
      {
        content: [
          { type: "text", text: "t" },
          { type: "media", bytes: 4 },
        ],
      },
    ]);
  });
});
