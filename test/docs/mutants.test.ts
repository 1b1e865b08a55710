import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MUTANTS } from "../../scripts/mutants-table.mjs";
import { pageText, root } from "./fences.ts";

const text = (path: string): string => readFileSync(join(root, path), "utf8");

it.each(MUTANTS.map((mutant) => [`${mutant.id} ${mutant.what}`, mutant] as const))(
  "%s: its text stands in its file once, and its test is there",
  (_, { id, file, find, replace, test, name }) => {
    const [place = "", ...others] = [file].flat().filter((path) => existsSync(join(root, path)));
    expect(others).toEqual([]);
    expect(text(place).split(find).length - 1, place).toBe(1);
    expect(replace).not.toBe(find);
    // A name that is made for each row of a table stands in the file with its placeholder.
    const written = name.replace(/^(SUM-1 is) user/, "$1 %s");
    expect(text(test)).toContain(written);
    expect(name.split(" ")[0]).toBe(id);
  },
);

it("docs/mutants.md names every change", () => {
  const page = pageText("docs/mutants.md");
  for (const { id, what } of MUTANTS) expect(page).toContain(`| ${id} | ${what} |`);
});
