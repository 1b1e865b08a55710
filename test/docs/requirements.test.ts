import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { namedIds, readRequirements, testNames } from "../../scripts/requirements.mjs";
import { root } from "./fences.ts";

const requirements = readRequirements();
const families = new Set(requirements.map(({ id }) => id.slice(0, 3)));
const named = namedIds(families);
const defined = requirements.map(({ id }) => id);

it("docs/requirements.md defines each id once", () => {
  expect(defined.length).toBeGreaterThan(90);
  expect(defined.filter((id, index) => defined.indexOf(id) !== index)).toEqual([]);
});

it("every id that a test's name has is defined", () => {
  expect(named.size).toBeGreaterThan(80);
  expect([...named.keys()].filter((id) => !defined.includes(id))).toEqual([]);
});

it("every requirement is named by a test, or marked as not proven yet; none is both", () => {
  const marked = requirements.filter(({ proof }) => proof === undefined).map(({ id }) => id);
  expect(marked).toEqual(defined.filter((id) => !named.has(id)));
});

it("the file that a requirement names has a test of its name", () => {
  const wrong = requirements.filter(({ id, proof }) => proof !== undefined && !named.get(id)?.has(proof));
  expect(wrong).toEqual([]);
});

it("the names of tests are found however they are written", () => {
  const names = testNames(
    'describe("A-1", () => { it.each([["B-2"]])("C-3 %s", f); it.skipIf(late())(`D-4 $' +
      '{x}`, f); expect("E-5").toBe(1); });',
  );
  expect(names).toEqual(['"A-1"', '"C-3 %s"', "`D-4 $" + "{x}`"]);
});

it("their files speak of no undefined id", () => {
  const files = new Set([...named.values()].flatMap((places) => [...places.keys()]));
  const ids = [...files].flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\b[A-Z]{3}-\d+\b/g)].map(([id]) => id),
  );
  expect(ids.filter((id) => families.has(id.slice(0, 3)) && !defined.includes(id))).toEqual([]);
});
