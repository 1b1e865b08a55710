import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const program = resolve("bin/compact.js");
const folder = mkdtempSync(join(tmpdir(), "compact-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A call that nobody answered, and an answer that nobody asked for. */
const broken = [
  { role: "user", content: "look" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "a", type: "function", function: { name: "read", arguments: "{}" } }],
  },
  { role: "user", content: "never mind" },
  { role: "tool", tool_call_id: "nobody", content: "stray words" },
  { role: "assistant", content: "fine" },
];

function run(...argv: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...argv], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe.skipIf(!existsSync("dist/cli/main.js"))("compact lint and repair", () => {
  it("name each broken rule with its place, mend it, and leave nothing to name", () => {
    writeFileSync(join(folder, "broken.json"), JSON.stringify(broken));
    const found = run("lint", "broken.json");
    expect(found.status).toBe(1);
    expect(found.stdout).toContain("messages[1]");
    expect(found.stdout).toContain("generic/dead-call");
    expect(found.stdout).toContain("generic/orphan-result");
    const mended = run("repair", "broken.json", "-o", "mended.json", "--json");
    expect(mended.status).toBe(0);
    expect(JSON.parse(mended.stdout)).toMatchObject({ provider: "openai-chat", left: [] });
    expect(mended.stdout).toContain("stray words");
    expect(run("lint", "mended.json").stdout).toContain("clean");
    const list = JSON.parse(readFileSync(join(folder, "mended.json"), "utf8")) as { role: string }[];
    expect(list.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "assistant"]);
  });

  it("leave a sound session alone, byte for byte", () => {
    const text = JSON.stringify([
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ]);
    writeFileSync(join(folder, "sound.json"), text);
    expect(run("lint", "sound.json").status).toBe(0);
    expect(run("repair", "sound.json", "-o", "copy.json").stdout).toContain("Nothing to mend");
    expect(readFileSync(join(folder, "copy.json"), "utf8")).toBe(text);
  });

  it("hold a session to another provider's rules when asked", () => {
    writeFileSync(join(folder, "talk.json"), JSON.stringify([{ role: "user", content: "hi" }]));
    expect(run("lint", "talk.json", "--provider", "anthropic", "--json").stdout).toContain(
      '"provider": "anthropic"',
    );
    expect(run("lint", "talk.json", "--provider", "nobody").status).toBe(2);
  });
});
