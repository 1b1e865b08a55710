import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentTool } from "compact-context/internal/agent/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createWorkplace, editTool, readTool, runTool, type Workplace, writeTool } from "./tools.ts";

let folder = "";
let root = "";
let workplace: Workplace;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "compact-tools-"));
  root = join(folder, "work");
  mkdirSync(root);
  writeFileSync(join(folder, "secret.txt"), "outside\n");
  writeFileSync(join(root, "a.ts"), "one\ntwo\nthree\n");
  workplace = await createWorkplace(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const call = async (
  tool: AgentTool,
  args: unknown,
  signal = new AbortController().signal,
): Promise<unknown> => tool.execute(args, { signal, callId: "c" });

describe("the working folder", () => {
  it.each([
    "../secret.txt",
    "/etc/passwd",
    "link.txt",
    "linked/secret.txt",
    "linked/new.txt",
    "a/../../secret.txt",
  ])("%s is outside of it, for reading and writing", async (path) => {
    symlinkSync(join(folder, "secret.txt"), join(root, "link.txt"));
    symlinkSync(folder, join(root, "linked"));
    await expect(call(readTool(workplace), { path })).rejects.toThrow("outside of the working folder");
    await expect(call(writeTool(workplace), { path, content: "x" })).rejects.toThrow("outside");
    await expect(call(editTool(workplace), { path, old: "o", new: "x" })).rejects.toThrow("outside");
    expect(readFileSync(join(folder, "secret.txt"), "utf8")).toBe("outside\n");
  });

  it("a link within it is followed, and its own records are not written", async () => {
    symlinkSync("a.ts", join(root, "b.ts"));
    expect(await call(readTool(workplace), { path: "b.ts" })).toContain("1\tone");
    for (const path of [
      ".compact/agent/MEMORY.md",
      ".git/hooks/pre-commit",
      "sub/.git/hooks/pre-commit",
      ".GIT/config",
    ]) {
      await expect(call(writeTool(workplace), { path, content: "x" })).rejects.toThrow("do not write to");
    }
  });
});

describe("read", () => {
  it("numbers lines, pages, lists folders", async () => {
    expect(await call(readTool(workplace), { path: "a.ts" })).toBe("1\tone\n2\ttwo\n3\tthree");
    const piece = await call(readTool(workplace), { path: "a.ts", offset: 2, limit: "1" });
    expect(piece).toBe("2\ttwo\n(of 3 lines; continue with offset 3)");
    mkdirSync(join(root, "sub"));
    expect(await call(readTool(workplace), { path: "." })).toBe("a.ts\nsub/");
  });

  it("refuses what is binary, too large or missing", async () => {
    writeFileSync(join(root, "x.bin"), Buffer.from([1, 0, 2]));
    await expect(call(readTool(workplace), { path: "x.bin" })).rejects.toThrow(
      "x.bin is not a text file (3 B)",
    );
    await expect(call(readTool(workplace), { path: "nowhere" })).rejects.toThrow("nowhere does not exist");
    await expect(call(editTool(workplace), { path: "nowhere", old: "o", new: "x" })).rejects.toThrow(
      "nowhere does not exist",
    );
    await expect(call(readTool(workplace), {})).rejects.toThrow("path must be a string");
    await expect(call(readTool(workplace), { path: "a.ts", offset: 0 })).rejects.toThrow(
      "whole number from 1",
    );
  });
});

describe("write and edit", () => {
  it("create folders, keep the mode, leave no temporary files", async () => {
    expect(await call(writeTool(workplace), { path: "new/deep/b.sh", content: "echo\n" })).toContain(
      "1 line",
    );
    chmodSync(join(root, "new/deep/b.sh"), 0o755);
    await call(editTool(workplace), { path: "new/deep/b.sh", old: "echo", new: "echo $& $1" });
    expect(readFileSync(join(root, "new/deep/b.sh"), "utf8")).toBe("echo $& $1\n");
    expect(statSync(join(root, "new/deep/b.sh")).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(root, "new/deep"))).toEqual(["b.sh"]);
  });

  it("an edit keeps a byte order mark, and refuses a file that is not UTF-8", async () => {
    writeFileSync(join(root, "bom"), "\ufeffone two");
    await call(editTool(workplace), { path: "bom", old: "two", new: "three" });
    expect(readFileSync(join(root, "bom"), "utf8")).toBe("\ufeffone three");
    const latin = Buffer.from("caf\u00e9 one", "latin1");
    writeFileSync(join(root, "latin"), latin);
    const edit = call(editTool(workplace), { path: "latin", old: "one", new: "two" });
    await expect(edit).rejects.toThrow("latin was not changed: it is not UTF-8 text");
    expect(readFileSync(join(root, "latin"))).toEqual(latin);
  });

  it("an edit needs a passage that occurs once", async () => {
    writeFileSync(join(root, "c"), "x x");
    await expect(call(editTool(workplace), { path: "c", old: "y", new: "z" })).rejects.toThrow(
      "does not contain",
    );
    await expect(call(editTool(workplace), { path: "c", old: "x", new: "z" })).rejects.toThrow("2 times");
    expect(await call(editTool(workplace), { path: "c", old: "x", new: "z", all: true })).toContain(
      "2 places",
    );
    expect(readFileSync(join(root, "c"), "utf8")).toBe("z z");
  });
});

describe.skipIf(process.platform === "win32")("run", () => {
  const tool = (): AgentTool => runTool(workplace, process.env);

  it("gives output, errors and the exit code, in the folder", async () => {
    expect(await call(tool(), { command: "ls; echo no >&2; exit 3" })).toMatch(
      /^a\.ts\nno\n\n\[exit code 3, [\d.]+ m?s\]$/,
    );
  });

  it("a flood is cut in the middle, with bounded memory", async () => {
    const text = String(await call(tool(), { command: "head -c 3000000 /dev/zero | tr '\\0' x; echo END" }));
    expect(text.length).toBeLessThan(130_000);
    expect(text).toMatch(/\[2,880,\d{3} bytes of output were left out\]/);
    expect(text).toContain("END");
  });

  it("a command that never returns is ended with what it started", async () => {
    const started = performance.now();
    const text = await call(tool(), { command: "sleep 60 & echo $!; sleep 60", timeout_seconds: 1 });
    expect(text).toMatch(/^\d+\n\n\[timed out, [\d.]+ s\]$/);
    expect(performance.now() - started).toBeLessThan(30_000);
    const pid = Number.parseInt(String(text), 10);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("an interrupt ends it", async () => {
    const stop = new AbortController();
    const running = call(tool(), { command: "touch begun; sleep 60" }, stop.signal);
    await expect.poll(() => existsSync(join(root, "begun"))).toBe(true);
    stop.abort();
    expect(await running).toContain("ended by SIGTERM");
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
