import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { runCommand } from "../../../test/e2e/command.ts";

it("leaves one folder, that of the newest demo, and nobody else's things", async () => {
  const temp = mkdtempSync(join(tmpdir(), "compact-demo-test-"));
  const outside = join(temp, "mine");
  mkdirSync(outside);
  mkdirSync(join(temp, "compact-demo-notes"));
  writeFileSync(join(outside, "kept.txt"), "kept");
  writeFileSync(join(temp, "compact-demo-fileA1"), "no folder");
  symlinkSync(outside, join(temp, "compact-demo-linkA1"));
  vi.stubEnv("TMPDIR", temp);
  vi.stubEnv("TEMP", temp);
  const others = ["compact-demo-fileA1", "compact-demo-linkA1", "compact-demo-notes", "mine"];
  const left = (): string[] => readdirSync(temp).filter((name) => !others.includes(name));
  await runCommand(temp, ["demo", "--json"]);
  const first = left();
  await runCommand(temp, ["demo", "--json"]);
  const second = left();
  expect([first.length, second.length]).toEqual([1, 1]);
  expect(second).not.toEqual(first);
  expect(readdirSync(temp)).toHaveLength(others.length + 1);
  expect(readdirSync(outside)).toEqual(["kept.txt"]);
  vi.unstubAllEnvs();
  rmSync(temp, { recursive: true });
});
