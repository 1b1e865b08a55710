import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createArchive } from "compact-context/internal/search/archive";
import { createRedactor } from "compact-context/redaction";
import { createFsDriver } from "compact-context/storage/fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Result } from "./command.ts";

const program = resolve("packages/compact-context-cli/bin/compact.js");
const built = existsSync("packages/compact-context-cli/dist/main.js");
/** More sessions than a process may have open files. */
const SESSIONS = 300;

let root = "";
let work = "";
let home = "";
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "compact-limits-"));
  work = join(root, "work");
  home = join(root, "home");
  mkdirSync(work);
  mkdirSync(join(home, ".claude", "projects", "p"), { recursive: true });
  const said = Array.from({ length: 60 }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index}: ${"words of the parser ".repeat(60)}`,
  }));
  writeFileSync(join(work, "session.json"), JSON.stringify(said));
  writeFileSync(join(work, "compact.yaml"), "policy:\n  trigger_pct: 0.8\n");
  const archive = createArchive(createFsDriver({ root: join(root, "many") }), { redact: createRedactor() });
  for (let index = 0; index < SESSIONS; index += 1) {
    const parts = [{ type: "text" as const, text: `Port the parser number ${index}.` }];
    await archive.saveTranscript(`session-${index}`, 1, [{ id: "m0", role: "user", parts }]);
    const record = {
      type: "user",
      uuid: `u${index}`,
      parentUuid: null,
      sessionId: `s${index}`,
      message: { role: "user", content: `Ask ${index}` },
    };
    const name = `${String(index).padStart(8, "0")}-0000-4000-8000-000000000000.jsonl`;
    writeFileSync(join(home, ".claude", "projects", "p", name), `${JSON.stringify(record)}\n`);
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function shell(line: string): Promise<Result> {
  const env = { PATH: process.env.PATH, HOME: home, COLUMNS: "80" };
  return new Promise((done, fail) => {
    const child = spawn("bash", ["-c", line], { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] });
    const said = { out: "", err: "" };
    child.stdout.on("data", (data: Buffer) => (said.out += data.toString()));
    child.stderr.on("data", (data: Buffer) => (said.err += data.toString()));
    child.on("error", fail);
    child.on("close", (code) => done({ code, ...said }));
  });
}

/** Every file below a folder with its size and time. */
function listing(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .sort();
}

describe.skipIf(!built || process.platform === "win32")("few descriptors", () => {
  it.each([
    [`archive list --archive ../many`, `session-${SESSIONS - 1}`],
    [`archive search "parser number 7" --archive ../many`, "session-7"],
    [`archive list --archive ../many --json`, `session-${SESSIONS - 1}`],
    ["sessions --all", `Ask ${SESSIONS - 1}`],
    ["sessions --all --json", `Ask ${SESSIONS - 1}`],
    ["session.json --target 2k", "Archive"],
    ["help", "Examples"],
  ])("64 are enough, and none is left open: compact %s", { timeout: 60_000 }, async (line, words) => {
    // The garbage collector tells of a descriptor that nobody closed.
    const node = `"${process.execPath}" --max-semi-space-size=1`;
    const { code, out, err } = await shell(`ulimit -n 64; ${node} "${program}" ${line}`);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(words);
  });
});

/** Seconds of processor that a line takes, the least of five runs: what else the machine does only adds to it. */
async function processor(line: string): Promise<number> {
  const seconds: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const { err } = await shell(`TIMEFORMAT='%U %S'; time ${line} >/dev/null`);
    const [user = 0, system = 0] = err.trim().split(" ").map(Number);
    seconds.push(user + system);
  }
  return Math.min(...seconds);
}

describe.skipIf(!built || process.platform === "win32")("the start", () => {
  it.each(["--version", "help", "config check"])(
    "takes at most six times what Node's own does, 150 ms of processor where that is 25: compact %s",
    { timeout: 60_000 },
    async (line) => {
      const node = await processor(`"${process.execPath}" -e 0`);
      const own = await processor(`"${process.execPath}" "${program}" ${line}`);
      expect(own / node).toBeLessThan(6);
    },
  );
});

describe.skipIf(!built)("a look", () => {
  it.each([
    "",
    "session.json --summary",
    "sessions --all",
    "inspect session.json",
    "plan session.json --target 2k",
    "replay session.json --window 8k",
    "lint session.json",
    "repair session.json",
    "redact session.json",
    "config show",
    "config check",
    "archive list",
    "demo",
    "help",
    "completion bash",
  ])(
    "leaves nothing behind in the working folder and at home: compact %s",
    { timeout: 60_000 },
    async (line) => {
      const before = [listing(work), listing(home)];
      const { err } = await shell(`"${process.execPath}" "${program}" ${line}`);
      expect(err).not.toContain("error");
      expect([listing(work), listing(home)]).toEqual(before);
    },
  );

  it("at a session that has to be compacted writes to the user's archive alone", {
    timeout: 60_000,
  }, async () => {
    const before = listing(work);
    const { code } = await shell(`"${process.execPath}" "${program}" session.json --target 2k`);
    expect(code).toBe(0);
    expect(listing(work)).toEqual(before);
    const kept = join(home, ".local", "share", "compact", "archive");
    expect(readdirSync(kept)).toContain(".gitignore");
    rmSync(join(home, ".local"), { recursive: true });
  });
});
