import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureChannel } from "../files/folders.ts";
import { checkMemory } from "./check.ts";

const NOW = Date.UTC(2026, 10, 22);
let channelDir: string;
beforeEach(async () => {
  channelDir = await mkdtemp(join(tmpdir(), "compact-check-"));
  await ensureChannel(channelDir);
});
afterEach(() => rm(channelDir, { recursive: true }));

const problemsOf = async (name: string, text: string): Promise<string[]> => {
  await writeFile(join(channelDir, name), text);
  const problems = await checkMemory({ channelDir, now: NOW });
  for (const { hint } of problems) expect(hint).not.toBe("");
  return problems.map(({ kind, severity, place }) => `${severity} ${kind} ${place}`);
};

it("a fresh channel, and one with sections of a person's own, has no problems", async () => {
  expect(await problemsOf("MEMORY.md", "# Memory\n\n## Facts\n\n- The port is 8423.\n")).toEqual([]);
  const session = "# Session Title\n\nThe importer\n\n# My own notes\n\n- Ask Ana\n";
  expect(await problemsOf("SESSION.md", session)).toEqual([]);
});

const mark = (id: string): string => `<!-- ${id} 2026-01-01T00:00:00Z consolidation agent -->`;

it.each([
  ["a merge that is not resolved", "- a\n<<<<<<< mine\n", ["error malformed MEMORY.md:2"]],
  ["bytes that are no text", "- a\n- b\0\n", ["error malformed MEMORY.md:2"]],
  ["a comment that is not closed", "- a\n\n<!-- b\n", ["error malformed MEMORY.md:3"]],
  ["a code block that is not closed", "- a\n\n```\nb\n", ["error malformed MEMORY.md:3"]],
  [
    "two items that say the same",
    "- The port is 8423.\n- the port is 8423\n",
    ["warning duplicate MEMORY.md:2"],
  ],
  ["an old item", `- The port is 8423. ${mark("m-00000000")}\n`, ["warning stale MEMORY.md:1"]],
  ["a long item", `- ${"word ".repeat(300)}\n`, ["warning oversized MEMORY.md:1"]],
  ["a long file", "- word\n\n".repeat(1_600), ["warning oversized MEMORY.md"]],
])("tells of %s, by file and line", async (_name, text, expected) => {
  expect(await problemsOf("MEMORY.md", text)).toEqual(expect.arrayContaining(expected));
});

it("tells of a secret, a session that is out of date and a log that was edited", async () => {
  const secret = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
  expect(await problemsOf("HISTORY.md", `# History\n\n- ${secret}\n`)).toEqual(["error secret HISTORY.md:3"]);
  await writeFile(join(channelDir, "HISTORY.md"), "");
  await utimes(join(channelDir, "SESSION.md"), NOW / 1000 - 40 * 86_400, NOW / 1000 - 40 * 86_400);
  expect(await problemsOf("memory-log.jsonl", "{cut\n")).toEqual([
    "warning stale SESSION.md",
    "warning log memory-log.jsonl:1",
  ]);
});
