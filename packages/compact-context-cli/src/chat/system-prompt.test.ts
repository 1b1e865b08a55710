import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemPrompt } from "./open-chat.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-prompt-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const promptWith = (rules: string): Promise<string> => {
  writeFileSync(join(folder, "AGENTS.md"), rules);
  return systemPrompt(folder, join(folder, "agent"));
};

describe("the system prompt", () => {
  it("has the project's rules, but nothing of a file of headings and comments alone", async () => {
    const bare = await systemPrompt(folder, folder);
    expect(await promptWith("# Rules\n\n<!-- none yet -->\n## More\n")).toBe(bare);
    expect(await promptWith("# Rules\n\nUse tabs.\n")).toContain("# Rules\n\nUse tabs.");
  });

  it("is there at once, whatever the headings look like", async () => {
    const line = "#".repeat(10_000);
    const started = process.cpuUsage();
    expect(await promptWith(`${line}\nUse tabs.\n`)).toContain("Use tabs.");
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(1000);
  });
});
