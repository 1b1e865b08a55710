import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cruise, Module } from "./cruise.ts";
import { closure, command, cruise, library, root } from "./cruise.ts";

const require = createRequire(import.meta.url);
const { layers, placeOf, portable, lazyEdge } = require("../../scripts/layers.cjs") as {
  layers: string[][];
  placeOf: (name: string) => string;
  portable: string[];
  lazyEdge: { from: string; to: string; others: readonly { from: string; to: string }[] };
};
const { forbidden } = require("../../.dependency-cruiser.cjs") as { forbidden: { name: string }[] };

/** A file that breaks a rule by one import: rule, the file, its import. */
type Plant = readonly [rule: string, file: string, imported: string];

const file = (name: string): string => (name.endsWith(".ts") ? placeOf(name) : `${placeOf(name)}/planted.ts`);

/** For each folder, an import of every folder of its own layer and above. */
const uphill: Plant[] = layers.flatMap((group, index) =>
  group.flatMap((name) =>
    layers
      .slice(index)
      .flat()
      .filter((other) => other !== name)
      .map((other): Plant => [`downhill-${name.replace(".ts", "")}`, file(name), file(other)]),
  ),
);

const plants: readonly Plant[] = [
  ...uphill,
  ["strangers-codecs", `${library}/codecs/langchain.ts`, `${library}/codecs/pi.ts`],
  ["strangers-drivers", `${library}/storage/memory/driver.ts`, `${library}/storage/fs/driver.ts`],
  ["strangers-adapters", `${library}/adapters/one/index.ts`, `${library}/adapters/two/index.ts`],
  ["page-knows-its-data", `${command}/view/page/planted.ts`, `${command}/view/server.ts`],
  ["page-knows-its-data", `${command}/view/page/planted.ts`, `${library}/core/message.ts`],
  ["page-knows-its-data", `${command}/view/page/planted.ts`, "node:fs"],
  ["ports-not-media", `${library}/storage/planted.ts`, `${library}/storage/memory/driver.ts`],
  ["ports-not-media", `${library}/codecs/planted.ts`, `${library}/codecs/langchain.ts`],
  ...portable.map((name): Plant => ["no-node-in-portable", file(name), "node:fs"]),
  ["node-only-lazily", `${library}/recall/planted.ts`, `${library}/storage/fs/driver.ts`],
  ["lazy-edge-is-dynamic", lazyEdge.from, lazyEdge.to],
  ["packages-only-where-named", `${library}/tokens/planted.ts`, "yaml"],
  ["packages-only-where-named", `${library}/storage/fs/driver.ts`, "typescript"],
  ["peers-only-at-the-edges", `${library}/recall/planted.ts`, "zod?"],
  ["config-packages", `${library}/config/planted.ts`, "zod"],
  ["agent-packages", `${library}/agent/planted.ts`, "zod"],
  ["cli-packages", `${command}/planted-package.ts`, "fast-check"],
  ["no-cycles", `${library}/tokens/round.ts`, `${library}/tokens/about.ts`],
  ["no-orphans", `${library}/tokens/orphan.ts`, ""],
  ["no-unresolved", `${library}/tokens/lost.ts`, `${library}/tokens/nowhere.ts`],
  ["library-knows-no-command", `${library}/tokens/planted.ts`, `${command}/planted.ts`],
  ["library-knows-no-command", `${library}/tokens/planted.ts`, "compact-context-cli/bin/compact.js"],
  ["command-imports-by-name", `${command}/planted.ts`, `${library}/tokens/round.ts`],
  ["no-tests-in-source", `${library}/tokens/planted.ts`, `${library}/tokens/some.test.ts`],
];

/** What the rules must leave alone. */
const allowed: readonly Plant[] = [
  ["", lazyEdge.from, `${lazyEdge.to}?`],
  ["", `${library}/config/planted.ts`, "yaml"],
  ["", `${library}/agent/planted.ts`, "yaml"],
  ["", `${command}/view/page/planted.ts`, `${command}/view/session-view.ts`],
  ["", `${command}/view/page/planted.ts`, `${command}/view/page/dom.ts`],
  ["", `${library}/storage/s3/driver.ts`, "zod?"],
  ["", `${library}/storage/fs/driver.ts`, "node:fs"],
  ["", `${library}/storage/fs/driver.ts`, `${library}/storage/fs/files.ts`],
  ["", `${command}/transcripts/planted.ts`, "compact-context/internal/codecs/formats"],
  ["", `${library}/codecs/formats.ts`, `${library}/codecs/langchain.ts`],
  ["", `${library}/tokens/planted.test.ts`, `${command}/planted.ts`],
  ["", `${library}/tokens/planted.test.ts`, "node:fs"],
];

/** An import statement; a question mark at the end of the target makes it a dynamic one. */
function statement(from: string, target: string): string {
  const lazy = target.endsWith("?");
  const name = lazy ? target.slice(0, -1) : target;
  const specifier = name.startsWith("packages/") ? `../${relative(dirname(dirname(from)), name)}` : name;
  return lazy ? `void import("${specifier}");\n` : `import "${specifier}";\n`;
}

function plantAll(folder: string): void {
  const texts = new Map<string, string>([
    [`${library}/tokens/about.ts`, statement(`${library}/tokens/about.ts`, `${library}/tokens/round.ts`)],
    [`${library}/tokens/some.test.ts`, ""],
  ]);
  for (const [, from, target] of [...plants, ...allowed]) {
    const more = target === "" ? "" : statement(from, target);
    texts.set(from, (texts.get(from) ?? "") + more);
    const imported = target.replace("?", "");
    if (imported.startsWith("packages/") && !imported.includes("nowhere")) {
      texts.set(imported, texts.get(imported) ?? "export {};\n");
    }
  }
  for (const [path, text] of texts) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

describe("planted violations", () => {
  const folder = mkdtempSync(join(tmpdir(), "compact-layers-"));
  let planted: Cruise;
  beforeAll(async () => {
    mkdirSync(join(folder, "scripts"));
    for (const name of [".dependency-cruiser.cjs", "scripts/layers.cjs", "package.json"]) {
      copyFileSync(join(root, name), join(folder, name));
    }
    for (const name of ["tsconfig.json", "tsconfig.test.json"])
      copyFileSync(join(root, name), join(folder, name));
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
    plantAll(folder);
    planted = await cruise(folder);
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  const found = ([rule, from, target]: Plant): boolean => {
    // A lost import is reported as it was written, a cycle at whichever file comes first.
    const name = target
      .replace(/\?$|^node:/g, "")
      .split("/")
      .slice(-2)
      .join("/");
    return planted.violations.some((line) => {
      const [broken, at = "", to = ""] = line.split(/ (?:-> )?/);
      if (broken !== rule) return false;
      return (at === from && to.includes(name)) || (rule === "no-cycles" && to === from && at.includes(name));
    });
  };

  it("every rule bites where it was broken", () => {
    expect(plants.filter((plant) => !found(plant))).toEqual([]);
  });

  it("every rule was broken", () => {
    const broken = new Set(plants.map(([rule]) => rule));
    expect(forbidden.map((rule) => rule.name).filter((name) => !broken.has(name))).toEqual([]);
  });

  it("what is allowed is left alone", () => {
    // The planted tree is one knot, and the edge that must be lazy is planted both ways.
    const noisy = new Set(["no-cycles", "lazy-edge-is-dynamic"]);
    const rules = forbidden.map((rule) => rule.name).filter((name) => !noisy.has(name));
    for (const [, from, target] of allowed) {
      expect(
        rules.filter((rule) => found([rule, from, target])),
        `${from} -> ${target}`,
      ).toEqual([]);
    }
  });
});

describe("the source", () => {
  let real: Cruise;
  let modules: Map<string, Module>;
  beforeAll(async () => {
    real = await cruise(root);
    modules = new Map(real.modules.map((module) => [module.source, module]));
  }, 120_000);

  it("is seen at all", () => {
    // A cruiser that cannot read TypeScript finds nothing and reports success.
    const own = real.modules.filter(
      ({ source }) => source.startsWith("packages/") && !source.endsWith(".test.ts"),
    );
    expect(own.length).toBeGreaterThan(100);
    expect(own.flatMap((module) => module.dependencies).length).toBeGreaterThan(300);
  });

  it("keeps every rule", () => {
    expect(real.violations).toEqual([]);
  });

  it("lies in folders that have a layer", () => {
    const known = new Set(layers.flat().map(placeOf));
    const places = real.modules
      .map(({ source }) => source)
      .filter((source) => source.startsWith(`${library}/`));
    expect(places.length).toBeGreaterThan(100);
    // A test has the place of the source that it stands beside.
    const folders = places.map((source) =>
      source
        .replace(/\.test\.ts$/, ".ts")
        .split("/")
        .slice(0, 4)
        .join("/"),
    );
    expect(folders.filter((name) => !known.has(name))).toEqual([]);
  });

  it("loads no vocabulary with the memory: its model's provider says what a request used", () => {
    const { files } = closure(modules, `${library}/memory/index.ts`);
    expect(files.size).toBeGreaterThan(50);
    expect([...files].filter((source) => source.endsWith(".vocabulary.generated.ts"))).toEqual([]);
  });

  it("loads no server's storage and no model's client with `compact FILE`, which may name neither", () => {
    const { files } = closure(modules, `${command}/commands/compact.ts`);
    expect(files.size).toBeGreaterThan(50);
    const servers = /\/(?:storage\/(?:s3|postgres)|adapters|summarizers\/llm)\//;
    expect([...files].filter((source) => servers.test(source) && !source.endsWith("/options.ts"))).toEqual(
      [],
    );
  });

  it("reaches Node from its root only where it is named, and only lazily", () => {
    const walk = closure(modules, `${library}/index.ts`);
    expect([...walk.files].filter((source) => source !== `${library}/index.ts`).length).toBeGreaterThan(50);
    expect([...walk.files].filter((source) => modules.get(source)?.coreModule)).toEqual([]);
    const intoNode = walk.lazy.filter(({ to }) =>
      [...closure(modules, to).files].some((source) => modules.get(source)?.coreModule),
    );
    const written = (edges: readonly { from: string; to: string }[]): string[] =>
      edges.map(({ from, to }) => `${from} -> ${to}`).sort();
    expect(written(intoNode)).toEqual(written([lazyEdge, ...lazyEdge.others]));
  });
});
