import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageText, root } from "./fences.ts";

const page = pageText("ARCHITECTURE.md");
const { layers } = createRequire(import.meta.url)("../../scripts/layers.cjs") as {
  readonly layers: readonly (readonly string[])[];
};

function foldersOf(path: string): readonly string[] {
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

it("the table of layers is that of the rules", () => {
  const rows = [...page.matchAll(/^\| (\d+) +\| ([^|]+) \|/gm)].map(([, layer = "", folders = ""]) => ({
    layer: Number(layer),
    names: [...folders.matchAll(/`([^`]+?)\/?`/g)].map(([, name = ""]) => name),
  }));
  const told = layers.map((_, at) =>
    rows
      .filter(({ layer }) => layer === at + 1)
      .flatMap(({ names }) => names.filter((name) => !/\//.test(name))),
  );
  expect(told.map((names) => [...names].sort())).toEqual(layers.map((names) => [...names].sort()));
});

it.each(["packages/compact-context/src/memory", "test"])("every folder of %s is named", (path) => {
  expect(foldersOf(path).filter((name) => !new RegExp(`[\\s\`]${name}/`).test(page))).toEqual([]);
});

it("every path is there", () => {
  const paths = [...page.matchAll(/`([a-z-]+\/[a-z/-]*(?:\.ts)?)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(30);
  const places = [
    "packages/compact-context/src",
    "packages/compact-context/src/memory",
    "packages/compact-context-cli/src",
    ".",
  ];
  expect(paths.filter((path) => !places.some((place) => existsSync(join(root, place, path))))).toEqual([]);
});
