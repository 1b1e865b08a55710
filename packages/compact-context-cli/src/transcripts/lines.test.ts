import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineCursor } from "./json.ts";

async function linesOf(chunks: Iterable<string> | string): Promise<{ lines: string[]; newline: boolean }> {
  const cursor = lineCursor(chunks);
  const lines: string[] = [];
  for (let line = await cursor.next(); line !== undefined; line = await cursor.next()) lines.push(line);
  return { lines, newline: cursor.endedWithNewline() };
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
        const got = await linesOf(chunks);
        expect(got.lines).toEqual(expected);
        if (whole !== "") expect(got.newline).toBe(whole.endsWith("\n"));
      }),
    );
  });

  it("drop a byte order mark at the beginning only", async () => {
    expect((await linesOf(["", "\uFEFFa\n", "\uFEFFb"])).lines).toEqual(["a", "\uFEFFb"]);
  });

  it("that were not taken come as the rest", async () => {
    const cursor = lineCursor(["one\ntw", "o\nthree", "\n"]);
    expect(await cursor.next()).toBe("one");
    expect(await cursor.rest()).toBe("two\nthree\n");
    expect(cursor.endedWithNewline()).toBe(true);
    expect(await cursor.next()).toBeUndefined();
  });
});
