import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { whole } from "../whole.ts";
import { type Result, runCommand } from "./command.ts";

const program = resolve("packages/compact-context-cli/bin/compact.js");
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

/** In a process of its own where all is tried. */
async function run(...argv: string[]): Promise<Pick<Result, "code" | "out">> {
  if (!whole) return runCommand(folder, argv);
  const { status, stdout } = spawnSync(process.execPath, [program, ...argv], {
    cwd: folder,
    encoding: "utf8",
  });
  return { code: status, out: stdout };
}

describe.skipIf(!existsSync("packages/compact-context-cli/dist/main.js"))("compact lint and repair", () => {
  it("name each broken rule with its place, mend it, and leave nothing to name", async () => {
    writeFileSync(join(folder, "broken.json"), JSON.stringify(broken));
    const found = await run("lint", "broken.json");
    expect(found.code).toBe(1);
    expect(found.out).toContain("messages[1]");
    expect(found.out).toContain("generic/dead-call");
    expect(found.out).toContain("generic/orphan-result");
    const mended = await run("repair", "broken.json", "-o", "mended.json", "--json");
    expect(mended.code).toBe(0);
    expect(JSON.parse(mended.out)).toMatchObject({ provider: "openai-chat", left: [] });
    expect(mended.out).toContain("stray words");
    expect((await run("lint", "mended.json")).out).toContain("clean");
    const list = JSON.parse(readFileSync(join(folder, "mended.json"), "utf8")) as { role: string }[];
    expect(list.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "assistant"]);
  });

  it("leave a sound session alone, byte for byte", async () => {
    const text = JSON.stringify([
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ]);
    writeFileSync(join(folder, "sound.json"), text);
    expect((await run("lint", "sound.json")).code).toBe(0);
    expect((await run("repair", "sound.json", "-o", "copy.json")).out).toContain("Nothing to repair");
    expect(readFileSync(join(folder, "copy.json"), "utf8")).toBe(text);
  });

  it("hold a session to another provider's rules when asked", async () => {
    writeFileSync(join(folder, "talk.json"), JSON.stringify([{ role: "user", content: "hi" }]));
    expect((await run("lint", "talk.json", "--provider", "anthropic", "--json")).out).toContain(
      '"provider": "anthropic"',
    );
    expect((await run("lint", "talk.json", "--provider", "nobody")).code).toBe(2);
  });
});
