import { describe, expect, it } from "vitest";
import { repair } from "./index.ts";

/** Messages that count the reads of their own id. */
function counted(ids: readonly string[]): { readonly list: object[]; readonly reads: () => number } {
  let reads = 0;
  const list = ids.map((id, index) => ({
    type: "message",
    role: index === 0 ? "user" : "assistant",
    content: index % 2 === 0 ? "said" : `said ${index}`,
    get id() {
      reads += 1;
      return id;
    },
  }));
  return { list, reads: () => reads };
}

/** Every id twice, half a list apart. */
const manyOf = (length: number): string[] =>
  Array.from({ length }, (_, index) => `msg_${index % (length / 2)}`);

describe("entries whose id is repeated", () => {
  it("are mended in steps that grow with their number, not with its square", () => {
    const few = counted(manyOf(5_000));
    const many = counted(manyOf(50_000));
    repair(few.list, "openai-responses");
    const { mends } = repair(many.list, "openai-responses");
    expect(mends).toHaveLength(25_000);
    expect(many.reads() / few.reads()).toBeLessThan(11);
  });

  it("go where they say what the first of that id says, and lose the id where they do not", () => {
    const entry = (id: string, content: string): object => ({ type: "message", role: "user", id, content });
    const list = [
      entry("a", "one"),
      entry("a", "one"),
      entry("a", "two"),
      entry("a", "two"),
      entry("b", "x"),
    ];
    const { messages, mends } = repair(list, "openai-responses");
    const nameless = { type: "message", role: "user", content: "two" };
    expect(messages).toEqual([list[0], nameless, nameless, list[4]]);
    expect(mends.map(({ action, index }) => [action, index])).toEqual([
      ["dropped", 1],
      ["rewritten", 2],
      ["rewritten", 3],
    ]);
  });
});
