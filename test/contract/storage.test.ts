import { execFile, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../packages/compact-context/src/core/message.ts";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";
import { createFsDriver } from "../../packages/compact-context/src/storage/fs/driver.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { countUp, storageContract } from "../support/storage-contract.ts";
import { deletionCases } from "./deletion.ts";

const run = promisify(execFile);
const posix = process.platform !== "win32";
let folder: string;
let root: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-storage-"));
  root = join(folder, "archive");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Names and contents of all files below a folder. */
function allFiles(path: string): string {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return `${relative(path, file)}\n${entry.isFile() ? readFileSync(file, "utf8") : ""}`;
    })
    .join("\n");
}

async function allValues(driver: StorageDriver): Promise<string> {
  const keys = await driver.list("");
  return (await Promise.all(keys.map(async (key) => `${key}\n${(await driver.get(key))?.value}`))).join("\n");
}

const drivers = { memory: createMemoryDriver, fs: () => createFsDriver({ root }) };

for (const [name, create] of Object.entries(drivers)) {
  describe(`ARC-3 the storage contract holds for the ${name} driver`, () => {
    it.each(storageContract())("$name", (contractCase) => contractCase.run(create()));
    it.each(deletionCases)("$name", async ({ run: expectHolds }) => {
      const driver = create();
      await expectHolds(driver, () => (name === "fs" ? allFiles(root) : allValues(driver)));
    });
  });
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe.skipIf(!posix)("files of the fs driver", () => {
  it("are readable by this user only, whatever they were before", async () => {
    const driver = createFsDriver({ root });
    mkdirSync(join(root, "s"), { recursive: true });
    chmodSync(join(root, "s"), 0o755);
    writeFileSync(join(root, "s/events.jsonl"), "1\n", { mode: 0o644 });
    writeFileSync(join(root, "s/state.json"), "{}", { mode: 0o644 });
    await driver.append("s/events.jsonl", "2\n");
    await driver.put("s/state.json", "{}");
    await driver.put("t/new.json", "{}");
    expect(["s", "t"].map((name) => modeOf(join(root, name)))).toEqual(["700", "700"]);
    const files = ["s/events.jsonl", "s/state.json", "t/new.json"];
    expect(files.map((name) => modeOf(join(root, name)))).toEqual(["600", "600", "600"]);
  });

  it("are created closed, with the folders above them", async () => {
    await createFsDriver({ root: join(root, "deeper") }).put("s/a", "x");
    for (const path of [root, join(root, "deeper"), join(root, "deeper/s")]) expect(modeOf(path)).toBe("700");
  });

  it("are never reached through a symbolic link", async () => {
    const outside = join(folder, "outside.txt");
    writeFileSync(outside, "untouched\n");
    mkdirSync(join(root, "s"), { recursive: true });
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(outside, join(root, "s/log"));
    symlinkSync(outside, join(root, "s/state"));
    symlinkSync(join(folder, "elsewhere"), join(root, "linked"));
    const driver = createFsDriver({ root });
    const failed = { code: "StorageFailed" };
    await expect(driver.append("s/log", "x\n")).rejects.toMatchObject(failed);
    await expect(driver.get("s/log")).rejects.toMatchObject(failed);
    await expect(driver.put("s/state", "x")).rejects.toMatchObject(failed);
    await expect(driver.put("linked/x", "x")).rejects.toMatchObject(failed);
    await expect(driver.get("linked/x")).rejects.toMatchObject(failed);
    expect(readFileSync(outside, "utf8")).toBe("untouched\n");
    expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
    expect(await driver.list("")).toEqual([]);
    symlinkSync(join(folder, "elsewhere"), join(folder, "linked-root"));
    await expect(createFsDriver({ root: join(folder, "linked-root") }).put("a", "x")).rejects.toMatchObject(
      failed,
    );
    const throughLink = relative(process.cwd(), join(folder, "linked-root/archive"));
    await expect(createFsDriver({ root: throughLink }).put("a", "x")).rejects.toMatchObject(failed);
    expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
  });

  it("are not appended to through a second name, and a pipe in their place does not hang", async () => {
    mkdirSync(root);
    writeFileSync(join(folder, "other"), "x\n");
    linkSync(join(folder, "other"), join(root, "log"));
    const driver = createFsDriver({ root });
    await expect(driver.append("log", "y\n")).rejects.toMatchObject({ code: "StorageFailed" });
    expect(readFileSync(join(folder, "other"), "utf8")).toBe("x\n");
    await run("mkfifo", [join(root, "pipe")]);
    await expect(driver.get("pipe")).rejects.toMatchObject({ code: "StorageFailed" });
  });

  it("leave no temporary file, and those of dead processes are swept after an hour", async () => {
    mkdirSync(root);
    const old = join(root, ".temp-00000000-0000-0000-0000-000000000000");
    const young = join(root, ".temp-11111111-1111-1111-1111-111111111111");
    for (const path of [old, young]) writeFileSync(path, "half");
    const hoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
    utimesSync(old, hoursAgo, hoursAgo);
    const driver = createFsDriver({ root });
    await driver.put("a", "1");
    await driver.put("a", "2");
    await driver.put("a", "3", { ifVersion: "0.stale" }).catch(() => undefined);
    const temps = readdirSync(root).filter((name) => name.startsWith(".temp-"));
    expect(temps).toEqual([".temp-11111111-1111-1111-1111-111111111111"]);
    expect(existsSync(young)).toBe(true);
  });

  it("hold the newest value under their own name, and few older ones beside it", async () => {
    const driver = createFsDriver({ root });
    for (let n = 0; n < 30; n++) await driver.put("state.json", String(n));
    expect(readFileSync(join(root, "state.json"), "utf8")).toBe("29");
    expect(readdirSync(root).length).toBeLessThanOrEqual(11);
  });

  it("are read as the calls before left them, even those that were aborted or not awaited", async () => {
    const driver = createFsDriver({ root });
    const { version: first } = await driver.put("s/state.json", "old");
    const aborted = new AbortController();
    const putting = driver.put("s/state.json", "new", { signal: aborted.signal });
    setImmediate(() => aborted.abort());
    await expect(putting).rejects.toMatchObject({ code: "Aborted" });
    expect(await driver.version("s/state.json")).not.toBe(first);
    expect((await driver.get("s/state.json"))?.value).toBe("new");
    void driver.append("s/log", "record\n");
    expect((await driver.get("s/log"))?.value).toBe("record\n");
    void driver.append("s/log", "another\n");
    let streamed = "";
    for await (const piece of driver.stream("s/log")) streamed += piece;
    expect(streamed).toBe("record\nanother\n");
    void driver.delete("s/log");
    expect(await driver.get("s/log")).toBeUndefined();
  });

  it("ARC-5 keep a record that follows a torn one apart from it, and say so", async () => {
    mkdirSync(root);
    writeFileSync(join(root, "log"), '{"n":1}\n{"n":2');
    const warnings: string[] = [];
    const driver = createFsDriver({ root, warn: (text) => warnings.push(text) });
    await driver.append("log", '{"n":3}\n');
    await driver.append("log", '{"n":4}\n');
    expect(warnings).toEqual([expect.stringContaining("was cut off by a crash")]);
    expect(readFileSync(join(root, "log"), "utf8")).toBe('{"n":1}\n{"n":2\n{"n":3}\n{"n":4}\n');
  });

  it("leave no folder behind when a session is deleted, nor what a dead writer left in it", async () => {
    const driver = createFsDriver({ root });
    await driver.put("s/deep/a", "x");
    writeFileSync(join(root, "s/.temp-00000000-0000-0000-0000-000000000000"), "half a transcript");
    utimesSync(join(root, "s/.temp-00000000-0000-0000-0000-000000000000"), new Date(0), new Date(0));
    await driver.put("s/b", "x");
    await driver.delete("s/deep/a");
    expect(readdirSync(join(root, "s"))).toEqual(["b"]);
    await driver.delete("s/b");
    expect(readdirSync(root)).toEqual([]);
  });

  it("are written whole into a folder that goes at the same time", async () => {
    const [one, other] = [createFsDriver({ root }), createFsDriver({ root })];
    const work = Array.from({ length: 150 }, async (_, n) => {
      await one.put(`s/deep/a${n % 5}`, `${n}`);
      await other.append(`s/deep/log${n % 5}`, `${n}\n`);
      await other.list("s/");
      await other.get(`s/deep/a${n % 5}`);
      await other.delete(`s/deep/a${n % 5}`);
      await one.delete(`s/deep/log${n % 5}`);
    });
    await Promise.all(work);
    expect(readdirSync(root)).toEqual([]);
  });

  it("report a folder that cannot be made, with a hint", async () => {
    writeFileSync(root, "a file");
    const error = await createFsDriver({ root })
      .put("a", "x")
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "StorageFailed", hint: expect.stringMatching(/./) });
    expect(lstatSync(root).isFile()).toBe(true);
  });
});

/** Writes the driver as plain JavaScript, so that another Node process can run it. */
function compileDriver(target: string): string {
  const source = join(import.meta.dirname, "../../packages/compact-context/src");
  const contract = join(import.meta.dirname, "../support/storage-contract.ts");
  const files = ["errors.ts", "core", "storage"].flatMap((path) =>
    path.endsWith(".ts")
      ? [path]
      : readdirSync(join(source, path), { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
          .map((name) => join(path, name)),
  );
  const texts = new Map(files.map((file) => [file, readFileSync(join(source, file), "utf8")]));
  // There the library is not installed.
  const named = /"compact-context\/internal\/([^"]+)"/g;
  texts.set("support/storage-contract.ts", readFileSync(contract, "utf8").replaceAll(named, '"../$1.ts"'));
  for (const [file, text] of texts) {
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    });
    const output = join(target, file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, outputText);
  }
  writeFileSync(join(target, "package.json"), '{"type":"module"}');
  return target;
}

describe("the archive on the fs driver", () => {
  const redact = createRedactor();
  const long = Array.from(
    { length: 300 },
    (_, n): Message => ({
      id: `m${n}`,
      role: "user",
      native: { n },
      parts: [{ type: "text", text: `${n} ${"text ".repeat(500)}` }],
    }),
  );

  it("ARC-1 puts the files where the layout says, a long transcript in pieces", async () => {
    const archive = createArchive(createFsDriver({ root }), { redact });
    const saved = await archive.saveTranscript("chat-1", 3, long);
    await archive.saveSummary("chat-1", 3, { text: "so far" });
    await archive.appendEvents("chat-1", [
      {
        version: 1,
        name: "compact.warning",
        sessionId: "chat-1",
        status: "ok",
        properties: {},
        startedAt: "2026-01-01T00:00:00.000Z",
        endedAt: "2026-01-01T00:00:00.000Z",
      },
    ]);
    expect(saved.location).toBe(join(root, "chat-1/transcript-pre-compact-003.jsonl"));
    expect(readdirSync(join(root, "chat-1")).sort()).toEqual([
      "events.jsonl",
      "summary-003.json",
      "transcript-pre-compact-003.jsonl",
    ]);
    expect(readFileSync(saved.location, "utf8").split("\n").length).toBe(301);
    const { messages, problems } = await archive.readTranscript("chat-1", 3);
    expect(problems).toEqual([]);
    expect(messages.map((archived) => archived.message)).toEqual(long);
  });

  it("ARC-5 shows no transcript at all when writing it fails half-way", async () => {
    const archive = createArchive(createFsDriver({ root }), { redact });
    await archive.saveTranscript("s", 1, long.slice(0, 10));
    const failing: Message = {
      id: "bad",
      role: "assistant",
      parts: [{ type: "toolCall", id: "c", name: "x", arguments: { big: 1n } }],
    };
    await expect(archive.saveTranscript("s", 2, [...long, failing])).rejects.toMatchObject({
      code: "InvalidArgument",
    });
    expect(readdirSync(join(root, "s"))).toEqual(["transcript-pre-compact-001.jsonl"]);
    expect((await archive.readTranscript("s", 1)).messages.length).toBe(10);
  });
});

describe.skipIf(!posix)("several processes on one fs archive", () => {
  it("lose none of their counted steps, and one alone creates a value", async () => {
    const code = compileDriver(join(folder, "code"));
    const script = join(code, "worker.js");
    writeFileSync(
      script,
      `import { createFsDriver } from "./storage/fs/driver.js";
       import { countUp } from "./support/storage-contract.js";
       const driver = createFsDriver({ root: process.argv[2] });
       const first = await driver.put("first", String(process.pid), { ifVersion: null }).then(() => 1, () => 0);
       await countUp(driver, "count", 25);
       console.log(first);`,
    );
    const driver = createFsDriver({ root });
    await driver.put("count", "0");
    const workers = [1, 2, 3].map(() => run(process.execPath, [script, root]));
    const [outputs] = await Promise.all([Promise.all(workers), countUp(driver, "count", 25)]);
    expect((await driver.get("count"))?.value).toBe("100");
    expect(outputs.map(({ stdout }) => stdout.trim()).sort()).toEqual(["0", "0", "1"]);
  });

  it("ARC-5 leave a log whole when the disk refuses the rest of a record", async () => {
    const code = compileDriver(join(folder, "code"));
    const script = join(code, "worker.js");
    writeFileSync(
      script,
      `process.on("SIGXFSZ", () => {});
       import { createFsDriver } from "./storage/fs/driver.js";
       const driver = createFsDriver({ root: process.argv[2] });
       await driver.append("log", "a".repeat(6000) + "\\n");
       const error = await driver.append("log", "b".repeat(6000) + "\\n").catch((reason) => reason);
       await driver.append("log", "c".repeat(100) + "\\n");
       console.log(error.code);`,
    );
    // Files may have 16 blocks of 512 bytes: the second record is cut at 8192 bytes.
    const command = 'ulimit -f 16; exec "$0" "$@"';
    const { stdout } = await run("sh", ["-c", command, process.execPath, script, root]);
    expect(stdout.trim()).toBe("StorageFailed");
    const lines = readFileSync(join(root, "log"), "utf8").split("\n");
    expect(lines.map((line) => `${line[0] ?? ""}${line.length}`)).toEqual(["a6000", "c100", "0"]);
  });

  it("ARC-5 leave every acknowledged value whole when they are killed at any moment", async () => {
    const code = compileDriver(join(folder, "code"));
    const script = join(code, "worker.js");
    writeFileSync(
      script,
      `import { createFsDriver } from "./storage/fs/driver.js";
       const driver = createFsDriver({ root: process.argv[2] });
       for (let n = Number(process.argv[3]); ; n++) {
         await driver.put("transcripts/" + n, JSON.stringify({ n, text: "x".repeat(300_000) }));
         await driver.put("state", JSON.stringify({ n, text: "x".repeat(100_000) }));
         process.stdout.write(n + "\\n");
       }`,
    );
    const driver = createFsDriver({ root });
    for (let round = 0; round < 5; round++) {
      const acknowledged = await killedWorker(script, round * 1000, 20 + round * 17);
      const state = JSON.parse((await driver.get("state"))?.value ?? "") as { n: number };
      expect(state.n).toBeGreaterThanOrEqual(acknowledged);
    }
    for (const key of await driver.list("transcripts/")) {
      const stored = JSON.parse((await driver.get(key))?.value ?? "") as { n: number; text: string };
      expect(`transcripts/${stored.n}`).toBe(key);
      expect(stored.text.length).toBe(300_000);
    }
  });
});

/** Starts the script, kills it some milliseconds after its first line, gives the last number that it printed. */
function killedWorker(script: string, first: number, milliseconds: number): Promise<number> {
  const worker = spawn(process.execPath, [script, root, String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  worker.stdout.on("data", (data) => {
    if (printed === "") setTimeout(() => worker.kill("SIGKILL"), milliseconds);
    printed += data;
  });
  return new Promise((resolve) => {
    worker.on("close", () => resolve(Number(printed.split("\n").at(-2) ?? Number.NaN)));
  });
}
