import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode } from "../codecs/formats.ts";
import { contentHash, hashesOf, type Part, textHash } from "./message.ts";

const hashOf = (...parts: Part[]) => contentHash({ role: "assistant", parts });

describe("contentHash", () => {
  it("is the same for copies, whatever their ids", () => {
    const call = { type: "toolCall", name: "f", arguments: { a: 1 } } as const;
    expect(hashOf({ ...call, id: "1" })).toBe(hashOf({ ...structuredClone(call), id: "2" }));
  });

  it("differs where the content differs", () => {
    const all = [
      hashOf({ type: "text", text: "ab" }, { type: "text", text: "c" }),
      hashOf({ type: "text", text: "a" }, { type: "text", text: "bc" }),
      hashOf({ type: "text", text: "abc" }),
      hashOf({ type: "reasoning", text: "abc" }),
      hashOf({ type: "toolResult", id: "", content: "abc" }),
      contentHash({ role: "user", parts: [{ type: "text", text: "abc" }] }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it("has no collision among many short texts", () => {
    const texts = Array.from({ length: 200_000 }, (_, index) => `step ${index}`);
    expect(new Set(texts.map((text) => hashOf({ type: "text", text }))).size).toBe(texts.length);
  });

  it("differs for long texts that differ in one character, one that is not ASCII among them", () => {
    const lengths = [63, 64, 65, 66, 67, 4095, 4096, 4097, 9000];
    const hashes = lengths.flatMap((length) => {
      const places = [0, 1, 2, 3, length >> 1, length - 3, length - 2, length - 1];
      const text = "a".repeat(length);
      const changed = places.flatMap((at) =>
        ["b", "\0", "é", "\ud800", "\ud801"].map((one) => text.slice(0, at) + one + text.slice(at + 1)),
      );
      return [text, ...new Set(changed)].map((one) => hashOf({ type: "text", text: one }));
    });
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it("is base 36 for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) =>
        /^[0-9a-z]{12}$/.test(hashOf({ type: "text", text })),
      ),
    );
  });
});

describe("textHash", () => {
  it("is a safe integer, the same for equal texts and another for any other of many", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(Number.isSafeInteger(textHash(text))).toBe(true);
        expect(textHash([...text].join(""))).toBe(textHash(text));
      }),
    );
    const texts = Array.from({ length: 200_000 }, (_, index) => `step ${index}`);
    expect(new Set(texts.map(textHash)).size).toBe(texts.length);
  });
});

describe("hashesOf", () => {
  it("tells the content hash of every decoded message, whether the codec hashed it or not", () => {
    const chat = decode(
      [
        { role: "user", content: "go" },
        { role: "assistant", content: "done" },
      ],
      "openai-chat",
    );
    const withIds = decode([{ id: "1", role: "user", parts: [{ type: "text", text: "go" }] }], "ai-sdk");
    for (const list of [chat, withIds, [...chat].reverse()]) {
      const hashOf = hashesOf(list);
      expect(list.map((message, index) => hashOf(index, message))).toEqual(list.map(contentHash));
    }
  });
});
