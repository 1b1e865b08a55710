import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf } from "./json.ts";

async function textsOf(chunks: Iterable<string>): Promise<{ lines: string[]; ended: boolean | undefined }> {
  const lines: string[] = [];
  let ended: boolean | undefined;
  for await (const line of linesOf(chunks)) {
    lines.push(line.text);
    expect(line.number).toBe(lines.length);
    ended = line.ended;
  }
  return { lines, ended };
}

describe("lines", () => {
  it("are the same however the text is cut into chunks", async () => {
    const text = fc
      .array(fc.constantFrom("a", "\n", "\r", "\u2028", "\u2029", "\u0085", "{", "\u0000", "\ud83d"))
      .map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(5)), async (whole, sizes) => {
        const chunks: string[] = [];
        let start = 0;
        for (const size of sizes) {
          chunks.push(whole.slice(start, start + size));
          start += size;
        }
        chunks.push(whole.slice(start));
        const expected = whole.split("\n");
        if (expected.at(-1) === "") expected.pop();
        const got = await textsOf(chunks);
        expect(got.lines).toEqual(expected);
        if (whole !== "") expect(got.ended).toBe(whole.endsWith("\n"));
      }),
    );
  });

  it("drop a byte order mark at the beginning only", async () => {
    expect((await textsOf(["", "\uFEFFa\n", "\uFEFFb"])).lines).toEqual(["a", "\uFEFFb"]);
  });
});
