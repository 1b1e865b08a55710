import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { importPackage } from "./chat/models.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-packages-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function install(name: string, manifest: object, files: Readonly<Record<string, string>>): void {
  const root = join(folder, "node_modules", name);
  for (const [path, text] of Object.entries({
    "package.json": JSON.stringify({ name, ...manifest }),
    ...files,
  })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

it.each([
  [
    "conditions",
    { exports: { ".": { types: "./x.d.ts", node: { import: "./in.mjs" }, default: "./no.mjs" } } },
  ],
  ["a bare condition", { exports: { import: "./in.mjs", require: "./no.cjs" } }],
  ["one file", { exports: "./in.mjs" }],
  ["no exports, a module", { module: "in.mjs", main: "no.cjs" }],
])("a package of the project is found by %s", async (_, manifest) => {
  install("@compact-test/found", manifest, { "in.mjs": "export const found = 1;" });
  const deep = join(folder, "a", "b");
  mkdirSync(deep, { recursive: true });
  expect(await importPackage("@compact-test/found", deep)).toMatchObject({ found: 1 });
});

it("a package that exports only subpaths is not found", async () => {
  install(
    "compact-test-sub",
    { exports: { "./more": { import: "./more.mjs" } } },
    { "more.mjs": "export const more = 2;" },
  );
  await expect(importPackage("compact-test-sub", folder)).rejects.toThrow("compact-test-sub");
});

it("what is nowhere, and what breaks while it loads, reject as they are", async () => {
  await expect(importPackage("compact-test-nowhere", folder)).rejects.toMatchObject({
    code: "ERR_MODULE_NOT_FOUND",
  });
  install("compact-test-broken", { exports: "./in.mjs" }, { "in.mjs": "throw new Error('its own');" });
  await expect(importPackage("compact-test-broken", folder)).rejects.toThrow("its own");
});
