import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findConfig, readConfigFile } from "./load.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("finds the one file that is there, and none in a parent", () => {
  expect(findConfig(folder)).toBeUndefined();
  writeFileSync(join(folder, "compact.json"), "{}");
  expect(findConfig(folder)).toBe(join(folder, "compact.json"));
  mkdirSync(join(folder, "below"));
  expect(findConfig(join(folder, "below"))).toBeUndefined();
});

it("refuses to choose between two", () => {
  writeFileSync(join(folder, "compact.json"), "{}");
  writeFileSync(join(folder, "compact.yaml"), "");
  expect(() => findConfig(folder)).toThrow(/compact\.yaml and .*compact\.json are both there/);
});

it("reads text, and says what is wrong with a path that has none", () => {
  const path = join(folder, "compact.yaml");
  writeFileSync(path, "model: a\n");
  expect(readConfigFile(path)).toBe("model: a\n");
  truncateSync(path, 10_000_000);
  expect(() => readConfigFile(path)).toThrow(expect.objectContaining({ code: "InvalidConfig", place: path }));
  expect(() => readConfigFile(folder)).toThrow(expect.objectContaining({ code: "InvalidConfig" }));
  expect(() => readConfigFile(join(folder, "none"))).toThrow(expect.objectContaining({ code: "NotFound" }));
});
