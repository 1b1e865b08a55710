import { readFileSync } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type * as disk from "../storage/fs/disk.ts";
import { createMemoryWriter, rewriteChannelSession } from "./changes/writer.ts";
import {
  ensureChannel,
  ensureChannelSessionFile,
  ensureChannelSessionFileSync,
  ensureWorkspace,
  getChannelSessionPath,
  readChannelSession,
} from "./files/folders.ts";
import { readMemoryFile, writeMemoryFile } from "./files/write-file.ts";

const onSync = vi.hoisted(() => vi.fn());
vi.mock("../storage/fs/disk.ts", async (load) => {
  const real = await load<typeof disk>();
  const fsync = (file: number): Promise<void> => {
    onSync();
    return real.fsync(file);
  };
  return { ...real, fsync };
});

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "compact-memory-"));
});
afterEach(() => rm(root, { recursive: true }));

it("MEM-1 a workspace and a channel are made on first touch", async () => {
  await ensureWorkspace(root);
  await ensureChannel(join(root, "channel"));
  expect((await readdir(root)).toSorted()).toEqual([
    "AGENTS.md",
    "MEMORY.md",
    "SOUL.md",
    "channel",
    "events",
    "skills",
    "sub-agents",
  ]);
  expect((await readdir(join(root, "channel"))).toSorted()).toEqual([
    "HISTORY.md",
    "MEMORY.md",
    "SESSION.md",
    "context.jsonl",
    "log.jsonl",
    "scratch",
    "skills",
  ]);
});

it("MEM-1 an old channel is repaired silently; nothing that is there is written again", async () => {
  await writeFile(join(root, "MEMORY.md"), "kept");
  await writeFile(join(root, "HISTORY.md"), "");
  const made = await ensureChannel(root);
  expect(made.map((path) => path.slice(root.length + 1)).toSorted()).toEqual([
    "SESSION.md",
    "context.jsonl",
    "log.jsonl",
    "scratch",
    "skills",
  ]);
  await ensureWorkspace(root);
  expect(await readFile(join(root, "MEMORY.md"), "utf8")).toBe("kept");
  expect(await readFile(join(root, "HISTORY.md"), "utf8")).toBe("");
  expect(await ensureChannel(root)).toEqual([]);
});

it("MEM-1 SESSION.md is made, read and rewritten by its helpers", async () => {
  const channel = join(root, "a", "b");
  ensureChannelSessionFileSync(channel);
  const template = await readFile(getChannelSessionPath(channel), "utf8");
  expect(template).toMatch(/^# Session Title\n/);
  await rewriteChannelSession(channel, "# Current State\n\n- mine");
  await ensureChannelSessionFile(channel);
  ensureChannelSessionFileSync(channel);
  expect(await readChannelSession(channel)).toBe("# Current State\n\n- mine\n");
  expect(await readChannelSession(join(root, "c"))).toBe(template);
});

it("MEM-1 SESSION.md is rewritten as everything else is: logged, without secrets, over the text that was read", async () => {
  const key = ["sk", "ant", "api03", "A".repeat(24)].join("-");
  await readChannelSession(root);
  const { version } = (await readMemoryFile(getChannelSessionPath(root))) ?? {};
  await rewriteChannelSession(root, `# Current State\n\n- the key is ${key}\n`, { ifVersion: version });
  expect(await readChannelSession(root)).toMatch(/^# Current State\n\n- the key is /);
  expect(await readChannelSession(root)).not.toContain(key);
  const { changes } = await createMemoryWriter({ channelDir: root }).log();
  expect(changes.map(({ operations }) => operations[0]?.op)).toEqual(["replaceFile"]);
  const again = rewriteChannelSession(root, "# Current State\n\n- late\n", { ifVersion: version });
  await expect(again).rejects.toMatchObject({ code: "Conflict" });
  await expect(rewriteChannelSession(root, " \n")).rejects.toMatchObject({ code: "InvalidArgument" });
  const texts = ["one", "two", "three"].map((word) => `# Current State\n\n- ${word}\n`);
  await Promise.all(texts.map((text) => rewriteChannelSession(root, text)));
  expect(texts).toContain(await readChannelSession(root));
});

it("MEM-11 writers at once leave one whole text and no temporary file", async () => {
  const path = join(root, "MEMORY.md");
  const texts = Array.from({ length: 20 }, (_, index) => `${index}\n`.repeat(5_000));
  await Promise.all(texts.map((text) => writeMemoryFile(path, text)));
  expect(texts).toContain(await readFile(path, "utf8"));
  expect(await readdir(root)).toEqual(["MEMORY.md"]);
});

it("MEM-11 a text is on disk before it takes the place of the last one, and its folder after that", async () => {
  const path = join(root, "MEMORY.md");
  await writeMemoryFile(path, "one");
  const seen: string[] = [];
  onSync.mockImplementation(() => void seen.push(readFileSync(path, "utf8")));
  await writeMemoryFile(path, "two");
  onSync.mockReset();
  expect(seen).toEqual(["one", "two"]);
});

it("MEM-11 a write that fails leaves the last text; one over a text that was changed is refused", async () => {
  const path = join(root, "MEMORY.md");
  const { version } = await writeMemoryFile(path, "one");
  await writeFile(path, "by hand");
  await expect(writeMemoryFile(path, "two", { ifVersion: version })).rejects.toMatchObject({
    code: "Conflict",
  });
  await expect(writeMemoryFile(path, "two", { ifVersion: null })).rejects.toMatchObject({ code: "Conflict" });
  await mkdir(join(root, "folder.md"));
  await expect(writeMemoryFile(join(root, "folder.md"), "x")).rejects.toMatchObject({
    code: "StorageFailed",
  });
  expect(await readFile(path, "utf8")).toBe("by hand");
  expect((await readdir(root)).toSorted()).toEqual(["MEMORY.md", "folder.md"]);
});

it("MEM-11 a link keeps being a link and a file its mode", async () => {
  const path = join(root, "real.md");
  await writeFile(path, "one");
  await chmod(path, 0o644);
  await symlink(path, join(root, "MEMORY.md"));
  await writeMemoryFile(join(root, "MEMORY.md"), "two");
  expect(await readFile(path, "utf8")).toBe("two");
  expect((await lstat(join(root, "MEMORY.md"))).isSymbolicLink()).toBe(true);
  expect((await lstat(path)).mode & 0o777).toBe(0o644);
  expect((await readMemoryFile(join(root, "MEMORY.md")))?.text).toBe("two");
});
