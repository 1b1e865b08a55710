import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureChannel } from "../files/folders.ts";
import type { MemoryOperation } from "./document.ts";
import { createMemoryWriter, type MemoryWriter } from "./writer.ts";

let workspaceDir: string;
let channelDir: string;
let log: string;
let writer: MemoryWriter;
const note = { author: "person", reason: "by hand" } as const;
const fact = (text: string): MemoryOperation => ({ op: "add", section: "Facts", text });
const text = (file: string): Promise<string> => readFile(join(channelDir, file), "utf8").catch(() => "");

beforeEach(async () => {
  workspaceDir = await mkdtemp(join(tmpdir(), "compact-log-"));
  channelDir = join(workspaceDir, "team");
  log = join(channelDir, "memory-log.jsonl");
  await ensureChannel(channelDir);
  writer = createMemoryWriter({ channelDir, workspaceDir, now: () => Date.UTC(2026, 10, 22) });
});
afterEach(() => rm(workspaceDir, { recursive: true }));

it.each(["a file", "nothing yet"])(
  "a log that is a link inside the workspace is written through: %s",
  async (there) => {
    const target = join(workspaceDir, "log.jsonl");
    if (there === "a file") await writeFile(target, "");
    await symlink(target, log);
    const { changeId = "" } = await writer.apply([fact("The port is 8080.")], note);
    expect(await readFile(target, "utf8")).toContain("The port is 8080.");
    expect((await writer.log()).changes.map(({ id }) => id)).toEqual([changeId]);
    expect((await writer.undo(changeId)).left).toEqual([]);
    expect(await readFile(target, "utf8")).toContain(`takes back ${changeId}`);
  },
);

const other = (): string => join(workspaceDir, "other");
it.each([
  ["a hard link", "StorageFailed", async () => writeFile(other(), "").then(() => link(other(), log))],
  ["a folder", "StorageFailed", () => mkdir(log)],
  ["a link out of the workspace", "NotFound", () => symlink(join(tmpdir(), "compact-nowhere"), log)],
])("a change that could not be logged is refused before it changes anything: %s", async (_, code, put) => {
  await put();
  const before = await text("MEMORY.md");
  const error: unknown = await writer.apply([fact("The port is 8080.")], note).catch((thrown) => thrown);
  expect(error).toMatchObject({ code });
  expect(String(error)).not.toContain("archive");
  expect(await text("MEMORY.md")).toBe(before);
  expect(await readdir(channelDir)).not.toContain(".memory");
  await rm(log, { recursive: true });
  expect((await writer.apply([fact("The port is 8080.")], note)).done).toHaveLength(1);
});

it("a change that the log has is undone where the folder for pending work is gone", async () => {
  const { changeId = "" } = await writer.apply([fact("The port is 8080.")], note);
  await rm(join(channelDir, ".memory"), { recursive: true });
  expect((await writer.undo(changeId)).left).toEqual([]);
  expect(await text("MEMORY.md")).not.toContain("8080");
});
