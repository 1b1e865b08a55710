import type { Message } from "compact-context";
import { describe, expect, it } from "vitest";
import { differenceOf } from "./commands/diff.ts";

const say = (id: string, text: string): Message => ({ id, role: "user", parts: [{ type: "text", text }] });
const result = (id: string, call: string, content: string): Message => ({
  id,
  role: "tool",
  parts: [{ type: "toolResult", id: call, content }],
});
const kinds = (before: Message[], after: Message[]) =>
  differenceOf(before, after).map((change) => change.kind);

describe("difference of two lists", () => {
  it("equal lists keep everything", () => {
    const list = [say("a", "one"), say("b", "two")];
    expect(kinds(list, list)).toEqual(["kept", "kept"]);
  });

  it("goes by content where the ids are new", () => {
    expect(kinds([say("a", "one"), say("b", "two")], [say("x", "two")])).toEqual(["gone", "kept"]);
  });

  it("a cleared result is edited, also where other results read the same", () => {
    const before = [result("1", "c1", "ok"), result("2", "c2", "ok"), result("3", "c3", "long output")];
    const after = [result("9", "c2", "ok"), result("8", "c3", "[cleared]")];
    expect(differenceOf(before, after)).toEqual([
      { kind: "gone", before: 0 },
      { kind: "kept", before: 1, after: 0 },
      { kind: "edited", before: 2, after: 1 },
    ]);
  });

  it("new messages keep their place, each message is paired once", () => {
    const before = [say("a", "same"), say("b", "same"), say("c", "end")];
    const after = [say("s", "summary"), say("x", "same"), say("y", "end")];
    expect(differenceOf(before, after)).toEqual([
      { kind: "gone", before: 0 },
      { kind: "new", after: 0 },
      { kind: "kept", before: 1, after: 1 },
      { kind: "kept", before: 2, after: 2 },
    ]);
  });

  it("counts add up for any two lists", () => {
    const before = Array.from({ length: 50 }, (_, index) => say(`b${index}`, `text ${index % 7}`));
    const after = Array.from({ length: 30 }, (_, index) => say(`a${index}`, `text ${index % 11}`));
    const all = kinds(before, after);
    const count = (...wanted: string[]) => all.filter((kind) => wanted.includes(kind)).length;
    expect(count("kept", "edited", "gone")).toBe(50);
    expect(count("kept", "edited", "new")).toBe(30);
  });
});
