import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createArchiveStore } from "compact-context/internal/archive/store";
import { createMemoryWriter } from "compact-context/internal/memory/changes/writer";
import { ensureChannel, ensureWorkspace } from "compact-context/internal/memory/files/folders";
import { createRedactor } from "compact-context/redaction";
import { createFsDriver } from "compact-context/storage/fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { main } from "../main.ts";
import { processPorts, type Screen } from "../ports.ts";

let cwd = "";
let ids: readonly string[] = [];
let changeId = "";
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), "compact-memory-"));
  const channelDir = join(cwd, "team");
  await ensureWorkspace(cwd);
  await ensureChannel(channelDir);
  const result = await createMemoryWriter({ channelDir, workspaceDir: cwd }).apply(
    [
      { op: "add", section: "Decisions", text: "Deploys go out on \u001b[31mThursdays." },
      {
        op: "add",
        section: "Facts",
        text: "The page says refunds are free.",
        trust: "tool",
        source: "fetch",
      },
      { op: "forget", target: "m-unknown" },
    ],
    { author: "consolidation", reason: "what was said on Friday", sources: ["log 3-9"] },
  );
  ids = result.done.map(({ id }) => id);
  changeId = result.changeId ?? "";
});
afterEach(() => rmSync(cwd, { recursive: true }));

const screen = (write: (text: string) => void): Screen => ({ write, isTerminal: false, columns: undefined });

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const code = await main(["memory", ...argv, "--channel", "team"], {
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
const memory = (): string => readFileSync(join(cwd, "team", "MEMORY.md"), "utf8");

it("show prints text, date and origin of each item, escaped", async () => {
  const { code, out } = await run("show");
  expect(code).toBe(0);
  expect(out).toMatch(
    new RegExp(
      `Deploys go out on .*Thursdays\\.\\s+since \\d{4}-\\d\\d-\\d\\d, inferred by the agent, ${ids[0]}`,
    ),
  );
  expect(out).toContain("from the tool fetch");
  expect(out).not.toContain("\u001b");
  const { files } = JSON.parse((await run("show", "--json")).out) as {
    files: { document: { file: string } }[];
  };
  expect(files.map(({ document }) => document.file)).toEqual([
    "SESSION.md",
    "MEMORY.md",
    "HISTORY.md",
    "MEMORY.md",
  ]);
});

it("log shows time, author, reason, operations and refusals; undo undoes them", async () => {
  expect((await run("log")).out).toMatch(
    new RegExp(`${changeId}\\s.*consolidation\\s+add ×2 \\(1 refused\\): what was`),
  );
  const one = (await run("log", changeId)).out;
  expect(one).toContain("from log 3-9");
  expect(one).toContain("refunds are free");
  expect(one).toContain("refused: No item has the id m-unknown");
  expect((await run("undo", changeId)).code).toBe(0);
  expect(memory()).not.toContain("refunds");
  expect((await run("undo", "c-none")).code).toBe(1);
  expect((await run("undo")).code).toBe(2);
});

it("undo reports conflicting lines and undoes the rest with --partial", async () => {
  writeFileSync(join(cwd, "team", "MEMORY.md"), memory().replace("refunds are free", "refunds cost"));
  const { code, out } = await run("undo", changeId);
  expect(code).toBe(1);
  expect(out).toContain("--partial");
  expect((await run("undo", changeId, "--partial")).code).toBe(0);
  expect(memory()).toContain("refunds cost");
  expect(memory()).not.toContain("Thursdays");
});

it("MEM-14 forget removes an item from the whole folder and reports where it was", async () => {
  const said = /([^\n]*refunds[^\n]*?)\s*<!--/.exec(memory())?.[1]?.replace(/^- /, "") ?? "";
  const line = `${JSON.stringify({ role: "user", content: said })}\n`;
  const kept = ["context.jsonl", ".context.jsonl.v3", ".context.jsonl.v4"].map((name) =>
    join(cwd, "team", name),
  );
  for (const file of kept) writeFileSync(file, line);
  writeFileSync(join(cwd, "history"), `${said}\nsomething else\n`);
  const { code, out } = await run("forget", ids[1] ?? "");
  for (const file of kept) expect(readFileSync(file, "utf8")).not.toContain("refunds");
  expect(readFileSync(join(cwd, "history"), "utf8")).toBe("something else\n");
  expect(out).toContain("1 piece removed from history");
  expect(code).toBe(0);
  expect(out).toContain("1 piece removed from MEMORY.md");
  expect(memory() + readFileSync(join(cwd, "team", "memory-log.jsonl"), "utf8")).not.toContain("refunds");
  expect((await run("forget", "m-unknown")).code).toBe(1);
});

it("MEM-14 forget --archive deletes the archived sessions that hold the item word for word, and no others", async () => {
  const store = createArchiveStore(createFsDriver({ root: join(cwd, "kept") }), createRedactor());
  const said = (text: string) => [{ id: "1", role: "user", parts: [{ type: "text", text }] }] as const;
  await store.saveTranscript("with", 1, said("We read it: The page says refunds are free. Fine."));
  await store.saveTranscript("without", 1, said("Refunds are handled by the page that says so."));
  const held = (): string[] =>
    readdirSync(join(cwd, "kept"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
  expect(held().join("")).toContain("refunds are free");
  const { code, out } = await run("forget", ids[1] ?? "", "--archive", "kept");
  expect(code).toBe(0);
  expect(out).toMatch(/archived session with deleted/);
  expect(out).not.toContain("session without");
  expect(held().join("")).not.toContain("refunds are free");
  expect(held().join("")).toContain("handled by the page");
});

it("MEM-14 forget --archive finds an item with quotation marks, and no session that has its parts only", async () => {
  const { done } = await createMemoryWriter({ channelDir: join(cwd, "team") }).apply(
    [{ op: "add", section: "Facts", text: 'My cat, the "Zorro", is 9.' }],
    { author: "person", reason: "said" },
  );
  const store = createArchiveStore(createFsDriver({ root: join(cwd, "kept") }), createRedactor());
  const said = (text: string) => [{ id: "1", role: "user", parts: [{ type: "text", text }] }] as const;
  await store.saveTranscript("with", 1, said('My cat, the "Zorro", is 9.'));
  await store.saveTranscript("parts", 1, said("Is it my cat, the one of Zorro? The dog, is 9."));
  const { out } = await run("forget", done[0]?.id ?? "", "--archive", "kept");
  expect(out).toMatch(/archived session with deleted/);
  expect(out).not.toContain("session parts");
});

it("MEM-14 forget takes an item of SESSION.md out of that file and searches the archive for it", async () => {
  const writer = createMemoryWriter({ channelDir: join(cwd, "team") });
  const { version } = await writer.read("SESSION.md");
  await writer.apply(
    [{ op: "replaceFile", text: "# Worklog\n\n- The cellar floods in March.", ifVersion: version }],
    { author: "person", reason: "said" },
  );
  const [item] = (await writer.read("SESSION.md")).sections.flatMap(({ items }) => items);
  const store = createArchiveStore(createFsDriver({ root: join(cwd, "kept") }), createRedactor());
  const parts = [{ type: "text", text: "The cellar floods in March." }] as const;
  await store.saveTranscript("with", 1, [{ id: "1", role: "user", parts }]);
  const { out } = await run("forget", item?.id ?? "", "--archive", "kept");
  expect(out).toMatch(/archived session with deleted/);
  expect(out).toContain("1 piece removed from SESSION.md");
  expect(out).not.toContain("MEMORY.md");
  expect((await run("forget", ids[1] ?? "", "--archive", "kept")).out).toContain("no archived session");
});

it("MEM-14 log and undo say that a forget cannot be undone", async () => {
  await run("forget", ids[1] ?? "");
  const { changes } = await createMemoryWriter({ channelDir: join(cwd, "team") }).log();
  const id = changes.at(-1)?.id ?? "";
  const { out } = await run("log", id);
  expect(out).toContain("cannot be undone");
  expect(out).not.toContain("undoes it");
  const { code, err } = await run("undo", id);
  expect(code).toBe(1);
  expect(err).toContain("forgot something");
  expect(err).not.toContain("newest");
});

it("check finds what is wrong, each with its place, and exits with 1 for errors", async () => {
  expect(await run("check")).toMatchObject({ code: 0, out: expect.stringContaining("clean") });
  const key = ["ghp", "a1B2".repeat(9)].join("_");
  const old = "- an old fact <!-- m-aaaaaaaa 2020-01-01T00:00:00Z consolidation agent -->";
  const bad = `## A\n\n- the token is ${key}\n- same\n- Same.\n${old}\n- ${"long ".repeat(300)}\n<<<<<<< ours\n\`\`\`\nnever closed\n`;
  writeFileSync(join(cwd, "team", "MEMORY.md"), bad);
  const log = join(cwd, "team", "memory-log.jsonl");
  writeFileSync(log, `{"broken\n${readFileSync(log, "utf8")}`);
  const { code, out } = await run("check");
  expect(code).toBe(1);
  for (const expected of [
    "secret  MEMORY.md:3",
    "duplicate  MEMORY.md:5",
    "stale  MEMORY.md:6",
    "oversized  MEMORY.md:7",
    "malformed  MEMORY.md:8",
    "malformed  MEMORY.md:9",
    "log  memory-log.jsonl:1",
  ])
    expect(out).toContain(expected);
  expect(out).not.toContain(key);
  expect((JSON.parse((await run("check", "--json")).out) as { errors: number }).errors).toBe(3);
});

it("usage errors have their own exit code", async () => {
  expect((await run("shoow")).err).toContain("Did you mean compact memory show?");
  expect((await run("show", "--channel", "none")).code).toBe(2);
});
