import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Part } from "../core/message.ts";
import { type BlockWriter, rewriteBlocks, type Slot } from "./slots.ts";

const plain = { noNullPrototype: true };
const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text: fc.constantFrom("a", "b", "c") }, plain),
  fc.record({ type: fc.constant("reasoning" as const), text: fc.constantFrom("a", "b") }, plain),
  fc.record(
    {
      type: fc.constant("toolResult" as const),
      id: fc.constantFrom("", "1", "2"),
      content: fc.constantFrom("x", "y"),
    },
    plain,
  ),
);
const slots: fc.Arbitrary<Slot[]> = fc
  .array(fc.array(part, { maxLength: 2 }), { maxLength: 6 })
  .map((all) => all.map((parts, index) => ({ block: { index }, parts, path: `[${index}]` })));

const writer: BlockWriter = (written, block) =>
  block === undefined ? { built: written } : { ...block, patched: written };

describe("rewriteBlocks", () => {
  it("gives every block back when nothing changed, also for copies of the parts", () => {
    fc.assert(
      fc.property(slots, (all) => {
        const parts = all.flatMap((slot) => slot.parts);
        const blocks = all.map((slot) => slot.block);
        expect(rewriteBlocks(all, parts, writer)).toEqual(blocks);
        rewriteBlocks(all, structuredClone(parts), writer).forEach((block, index) => {
          expect(block).toBe(blocks[index]);
        });
      }),
    );
  });

  it("leaves out exactly the blocks whose parts were taken out, and keeps those that never had any", () => {
    fc.assert(
      fc.property(slots, (all) => {
        const kept = all.flatMap((slot) => slot.parts).filter((one) => one.type !== "reasoning");
        const expected = all.filter(
          (slot) => slot.parts.length === 0 || slot.parts.some((one) => one.type !== "reasoning"),
        );
        expect(rewriteBlocks(all, kept, writer)).toEqual(expected.map((slot) => slot.block));
      }),
    );
  });

  it("patches the block of the same call and builds what is new where it stands", () => {
    const one: Part = { type: "toolResult", id: "1", content: "x" };
    const two: Part = { type: "toolResult", id: "2", content: "x" };
    const all = [
      { block: { name: "first" }, parts: [one], path: "[0]" },
      { block: { name: "second" }, parts: [two], path: "[1]" },
    ];
    const changed: Part = { ...two, content: "gone" };
    const added: Part = { type: "text", text: "new" };
    const spy: BlockWriter = (_, block) => (block === undefined ? "built" : `patched ${block.name}`);
    expect(rewriteBlocks(all, [one, added, changed], spy)).toEqual([
      all[0]?.block,
      "built",
      "patched second",
    ]);
    expect(rewriteBlocks(all, [changed], spy)).toEqual(["patched second"]);
  });
});
