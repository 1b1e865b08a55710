import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blocksOf, eachRun, factsIn, factsOfRun, linesOf, readable } from "./text.ts";

const visited = (text: string): string[] => {
  const runs: string[] = [];
  eachRun(text, (run) => runs.push(run));
  return runs;
};

describe("facts", () => {
  it.each([
    ["see src/app/main.ts:120", "path app/main.ts", "number 120"],
    ["a ValueError in parseHeader", "name ValueError", "name parseHeader"],
    ["run with --dry-run (MAX_SIZE=4096)", "name --dry-run", "name MAX_SIZE", "number 4096"],
    ["read https://example.org/a_b?c=1.", "url https://example.org/a_b?c=1"],
    ["ABC-12 and 3f2a9c1d", "name ABC-12", "name 3f2a9c1d"],
    ["Only plain words here. Never Mind, e.g. this: none"],
  ])("of %j", (text, ...facts) => {
    expect(factsIn(text).map(({ kind, key }) => `${kind} ${key}`)).toEqual(facts);
  });

  it("passes over words that hold no fact, and over nothing that does", () => {
    const character = fc.constantFrom(...'aabcdefEFX019_/.-@+~:#=?&%$ "é中');
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 60 }), (text) => {
        fc.pre(!text.includes("://"));
        const every = text.match(/[\w@.+/~:#=?&%$-]{3,}/g) ?? [];
        expect(visited(text).flatMap(factsOfRun)).toEqual(every.flatMap(factsOfRun));
      }),
    );
    expect(visited("Plain words: none. Of them-selves")).toEqual([]);
  });
});

describe("blocks", () => {
  it("end though every line leads into the next", () => {
    const blocks = blocksOf("Then it has:\n".repeat(200), 100);
    expect(blocks.length).toBeGreaterThan(8);
    expect(linesOf("so:\n<source>python\nweigh()\n</source>\ndone").map(({ code }) => code)).toEqual([
      false,
      true,
      false,
    ]);
    expect(blocksOf("# Rules\n## Of names\nUse short ones.", 20)).toHaveLength(1);
  });
});

it("leaves out the lines that are cut where a huge text is read", () => {
  const lines = readable("a whole line\n".repeat(20_000)).split("\n");
  expect(new Set(lines)).toEqual(new Set(["a whole line", ""]));
});
