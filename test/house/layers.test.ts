import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cruise, Module } from "./cruise.ts";
import { closure, cruise, root } from "./cruise.ts";

const require = createRequire(import.meta.url);
const { layers, portable, lazyEdge } = require("../../scripts/layers.cjs") as {
  layers: string[][];
  portable: string[];
  lazyEdge: { from: string; to: string; others: readonly { from: string; to: string }[] };
};
const { forbidden } = require("../../.dependency-cruiser.cjs") as { forbidden: { name: string }[] };

/** A file that breaks a rule by one import: rule, the file, its import. */
type Plant = readonly [rule: string, file: string, imported: string];

const file = (name: string): string => (name.endsWith(".ts") ? `src/${name}` : `src/${name}/planted.ts`);

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
  ["strangers-codecs", "src/messages/codecs/one.ts", "src/messages/codecs/two.ts"],
  ["strangers-drivers", "src/storage/drivers/memory.ts", "src/storage/drivers/fs.ts"],
  ["strangers-adapters", "src/adapters/one/index.ts", "src/adapters/two/index.ts"],
  ["page-knows-its-data", "src/viewer/page/planted.ts", "src/viewer/server.ts"],
  ["page-knows-its-data", "src/viewer/page/planted.ts", "src/messages/message.ts"],
  ["page-knows-its-data", "src/viewer/page/planted.ts", "node:fs"],
  ["ports-not-media", "src/storage/planted.ts", "src/storage/drivers/memory.ts"],
  ["ports-not-media", "src/messages/planted.ts", "src/messages/codecs/one.ts"],
  ...portable.map((name): Plant => ["no-node-in-portable", file(name), "node:fs"]),
  ["node-only-lazily", "src/compaction/planted.ts", "src/storage/drivers/fs.ts"],
  ["lazy-edge-is-dynamic", lazyEdge.from, lazyEdge.to],
  ["packages-only-where-named", "src/tokens/planted.ts", "yaml"],
  ["packages-only-where-named", "src/cli/planted.ts", "zod"],
  ["packages-only-where-named", "src/storage/drivers/fs.ts", "typescript"],
  ["peers-only-at-the-edges", "src/compaction/planted.ts", "zod?"],
  ["config-packages", "src/config/planted.ts", "typescript"],
  ["agents-packages", "src/agents/planted.ts", "zod"],
  ["no-cycles", "src/policy/round.ts", "src/policy/about.ts"],
  ["no-orphans", "src/policy/orphan.ts", ""],
  ["no-unresolved", "src/policy/lost.ts", "src/policy/nowhere.ts"],
  ["no-tests-in-source", "src/policy/planted.ts", "src/policy/some.test.ts"],
];

/** What the rules must leave alone. */
const allowed: readonly Plant[] = [
  ["", lazyEdge.from, `${lazyEdge.to}?`],
  ["", "src/config/planted.ts", "yaml"],
  ["", "src/agents/planted.ts", "yaml"],
  ["", "src/config/planted.ts", "zod"],
  ["", "src/viewer/page/planted.ts", "src/viewer/session-view.ts"],
  ["", "src/viewer/page/planted.ts", "src/viewer/page/dom.ts"],
  ["", "src/storage/drivers/s3.ts", "zod?"],
  ["", "src/storage/drivers/fs.ts", "node:fs"],
  ["", "src/storage/drivers/fs.ts", "src/storage/drivers/fs-files.ts"],
  ["", "src/transcripts/planted.ts", "src/messages/codecs.ts"],
  ["", "src/messages/codecs.ts", "src/messages/codecs/one.ts"],
  ["", "src/tokens/planted.test.ts", "src/cli/planted.ts"],
  ["", "src/tokens/planted.test.ts", "node:fs"],
];

/** An import statement; a question mark at the end of the target makes it a dynamic one. */
function statement(from: string, target: string): string {
  const lazy = target.endsWith("?");
  const name = lazy ? target.slice(0, -1) : target;
  const up = "../".repeat(from.split("/").length - 2) || "./";
  const specifier = name.startsWith("src/") ? up + name.slice("src/".length) : name;
  return lazy ? `void import("${specifier}");\n` : `import "${specifier}";\n`;
}

function plantAll(folder: string): void {
  const texts = new Map<string, string>([
    ["src/policy/about.ts", statement("src/policy/about.ts", "src/policy/round.ts")],
    ["src/policy/some.test.ts", ""],
  ]);
  for (const [, from, target] of [...plants, ...allowed]) {
    const more = target === "" ? "" : statement(from, target);
    texts.set(from, (texts.get(from) ?? "") + more);
    const imported = target.replace("?", "");
    if (imported.startsWith("src/") && !imported.includes("nowhere")) {
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
    for (const name of [".dependency-cruiser.cjs", "scripts/layers.cjs", "tsconfig.json", "package.json"]) {
      copyFileSync(join(root, name), join(folder, name));
    }
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
      ({ source }) => source.startsWith("src/") && !source.endsWith(".test.ts"),
    );
    expect(own.length).toBeGreaterThan(100);
    expect(own.flatMap((module) => module.dependencies).length).toBeGreaterThan(300);
  });

  it("keeps every rule", () => {
    expect(real.violations).toEqual([]);
  });

  it("lies in folders that have a layer", () => {
    const known = new Set(layers.flat());
    const places = real.modules.map(({ source }) => source.split("/")).filter(([first]) => first === "src");
    expect(places.map(([, second = ""]) => second).filter((name) => !known.has(name))).toEqual([]);
  });

  it("loads no vocabulary with the memory: its model's provider says what a request used", () => {
    const { files } = closure(modules, "src/memory/index.ts");
    expect(files.size).toBeGreaterThan(50);
    expect([...files].filter((source) => source.endsWith(".vocabulary.generated.ts"))).toEqual([]);
  });

  it("reaches Node from its root only where it is named, and only lazily", () => {
    const walk = closure(modules, "src/index.ts");
    expect([...walk.files].filter((source) => source !== "src/index.ts").length).toBeGreaterThan(50);
    expect([...walk.files].filter((source) => modules.get(source)?.coreModule)).toEqual([]);
    const intoNode = walk.lazy.filter(({ to }) =>
      [...closure(modules, to).files].some((source) => modules.get(source)?.coreModule),
    );
    const written = (edges: readonly { from: string; to: string }[]): string[] =>
      edges.map(({ from, to }) => `${from} -> ${to}`).sort();
    expect(written(intoNode)).toEqual(written([lazyEdge, ...lazyEdge.others]));
  });
});
