import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { main } from "../main.ts";
import { processPorts, type Screen } from "../ports.ts";

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "compact-recall-"));
  mkdirSync(join(cwd, "team"));
  writeFileSync(join(cwd, "MEMORY.md"), "## Rules\n\n- Releases need two reviews.\n");
  writeFileSync(
    join(cwd, "team", "MEMORY.md"),
    "## Decisions\n\n- 2026-02-01: Deploys are on \u001b[31mThursdays.\n",
  );
  writeFileSync(join(cwd, "team", "log.jsonl"), '{"content":"The parrot is called Coco."}\n');
});
afterEach(() => rmSync(cwd, { recursive: true }));

const screen = (write: (text: string) => void): Screen => ({ write, isTerminal: false, columns: undefined });

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const code = await main(argv, {
    ...processPorts(),
    cwd,
    stdout: screen((text) => {
      out += text;
    }),
    stderr: screen((text) => {
      err += text;
    }),
  });
  return { code, out, err };
}

it("MEM-3 shows what answers, from channel and workspace, escaped, and writes nothing", async () => {
  const { code, out } = await run("recall", "when do we deploy?", "--channel", "team");
  expect(code).toBe(0);
  expect(out).toContain("channel-memory / Decisions");
  expect(out).toContain("2026-02-01");
  expect(out).not.toContain("\u001b");
  expect((await run("recall", "reviews of a release", "--channel", "team")).out).toContain(
    "workspace-memory / Rules",
  );
  expect(readdirSync(join(cwd, "team"))).toEqual(["MEMORY.md", "log.jsonl"]);
});

it("MEM-3 nothing relevant is not a failure; logs are searched with --all; --json has the block", async () => {
  const query = ["recall", "What is the parrot called?", "--channel", "team"];
  expect(await run(...query)).toMatchObject({
    code: 0,
    out: expect.stringContaining("Nothing in 2 sections"),
  });
  expect((await run(...query, "--all")).out).toContain("Coco");
  const { rendered_text: text } = JSON.parse((await run(...query, "--all", "--json")).out) as {
    rendered_text: string;
  };
  expect(text).toMatch(/^<runtime_context>\n\[channel-log\]/);
});

it("--debug shows the score and the outcome of every candidate", async () => {
  const { out } = await run("recall", "when do we deploy?", "--channel", "team", "--debug");
  expect(out).toMatch(/Candidates {2}\d of 2 sections/);
  expect(out).toMatch(/\d\.\d\d\s+\d+% {2}channel-memory \/ Decisions {2}given to the model/);
});

it("usage errors and a missing channel have different exit codes", async () => {
  expect(await run("recall", "--channel", "team")).toMatchObject({ code: 2 });
  expect(await run("recall", "x")).toMatchObject({ code: 2, err: expect.stringContaining("--channel DIR") });
  expect(await run("recall", "x", "--channel", "none")).toMatchObject({ code: 1 });
});
