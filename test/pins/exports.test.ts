import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const manifest = read("../../packages/compact-context/package.json") as Manifest;
/** By subpath, the sorted names that it exports: a change here is a change of the public contract. */
const pins = read("exports.json") as Readonly<Record<string, readonly string[]>>;

/** What the command alone imports carries no promise. */
const INTERNAL = "./internal/*";

/** Subpaths that lead to code, with the source file that each is built from. */
const subpaths = Object.entries(manifest.exports).flatMap(([subpath, target]): [string, string][] =>
  typeof target === "string" || subpath === INTERNAL
    ? []
    : [[subpath, target.default.replace(/^\.\/lib\/(.*)\.js$/, "../../packages/compact-context/src/$1.ts")]],
);

it.each(subpaths)("%s exports what is pinned in exports.json", async (subpath, source) => {
  const names: unknown = Object.keys((await import(source)) as object).sort();
  expect(names).toEqual(pins[subpath]);
});

it("nothing is pinned that has no subpath", () => {
  expect(Object.keys(pins).sort()).toEqual(subpaths.map(([subpath]) => subpath).sort());
});
