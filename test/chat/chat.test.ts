import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasTmux, openTerminal, type TestTerminal } from "./terminal.ts";

const built = existsSync("packages/compact-context-cli/dist/main.js");

let folder = "";
let terminal: TestTerminal | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-chat-"));
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
});
afterEach(() => {
  terminal?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A chat in the folder, at its prompt. */
async function open(env: NodeJS.ProcessEnv = {}, ...flags: readonly string[]): Promise<TestTerminal> {
  terminal = openTerminal(folder, ["chat", ...flags], env);
  await terminal.shows(/^› ?$/);
  return terminal;
}

const widest = (text: string): number => Math.max(...text.split("\n").map((line) => line.length));

describe.skipIf(!built || !hasTmux)("compact chat in a terminal (needs tmux)", () => {
  it("AGT-3 asks for leave, shows the context, compacts, is interrupted, killed and goes on", async () => {
    const chat = await open({ NO_COLOR: "1" });
    await chat.shows("none: a script answers, to try things out");

    chat.line("read a.txt");
    await chat.shows(/allow\? {3}read {2}a\.txt/);
    chat.line("n");
    await chat.shows("failed   The user did not allow this call.");
    chat.line("edit a.txt two -> 2");
    await chat.shows(/^ {11}- two\n {11}\+ 2$/);
    chat.line("a");
    await chat.shows("Changed 1 place of a.txt.");
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
    chat.line("edit a.txt 2 -> II");
    await chat.shows(/^ {2}tool {5}edit {2}a\.txt\n {2}ok/);
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("one\nII\nthree\n");

    chat.line("/contxt");
    await chat.shows("there is no command /contxt. Did you mean /context?");
    chat.line("/context");
    await chat.shows(/^ {2}recent +[\d,]+ +[\d.]+% {2}\S/);
    await chat.shows(/compaction +starts at 13,600 tokens: [\d,]+ to go/);

    for (let turn = 1; turn <= 6; turn++) {
      chat.line(`fill ${turn === 1 ? 3000 : 200}`);
      await chat.shows(/^› fill \d+\n[\s\S]*?context [\d,]+ of 16k/, turn);
    }
    chat.line("/compact look after parcels");
    await chat.shows(/compact {2}[\d,]+ → [\d,]+ tokens: \d+ summarized.*, \d+ kept, all archived/);
    chat.line("/context");
    await chat.shows(/^ {2}summary +[1-9][\d,]* /);

    chat.line("slow");
    await chat.shows(/^› slow\n\n {2}Sentence \d/);
    chat.line("/help");
    await chat.shows(/next {5}\/help/);
    chat.keys("Escape");
    await chat.shows("interrupted; the conversation is kept");
    // What was typed ahead comes next.
    await chat.shows("Esc or Ctrl-C interrupts");
    chat.line("run sleep 60");
    await chat.shows(/allow\? {3}run {2}sleep 60/);
    process.kill(chat.pid(), "SIGKILL");
    await expect.poll(() => chat.ended()).toBe(true);
    expect(widest(chat.text())).toBeLessThanOrEqual(80);
    chat.close();

    const again = await open();
    await again.shows(/session {2}goes on with \d+ messages/);
    await again.shows(/earlier messages are not shown/);
    await again.shows(/^› slow$/);
    again.line("search parcel gate");
    await again.shows("compact_search gave");
    again.line("/new");
    await again.shows("a new session; the old one stays searchable");
    again.keys("Up");
    again.keys("Up");
    await again.shows("› search parcel gate", 2);
    again.keys("C-c");
    again.keys("C-c");
    await again.shows("Ctrl-C again leaves");
    again.keys("C-c");
    await expect.poll(() => again.ended()).toBe(true);
  }, 90_000);
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Types lines into a chat whose input is no terminal; `shell` goes before the command. */
function piped(lines: readonly string[], shell = ""): Promise<Ended> {
  const { PATH, HOME } = process.env;
  const command = `${shell}exec '${process.execPath}' '${resolve("packages/compact-context-cli/bin/compact.js")}' chat`;
  const child = spawn("sh", ["-c", command], { cwd: folder, env: { PATH, HOME } });
  let out = "";
  let err = "";
  child.stdout.on("data", (piece) => {
    out += piece;
  });
  child.stderr.on("data", (piece) => {
    err += piece;
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  // A told text is one line again.
  const flat = (text: string): string => text.replace(/\n {11}(?=\S)/g, " ");
  return new Promise((done) => child.on("close", (code) => done({ code, out: flat(out), err })));
}

describe.skipIf(!built)("compact chat with input from a pipe", () => {
  it("refuses what needs leave with a clear line, answers, and remembers for the next time", async () => {
    const { code, out, err } = await piped(["read a.txt", "hello", "/nothing"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^ {2}refused {2}read {2}a\.txt: the input is not a terminal, so nobody can be asked$/m,
    );
    expect(out).toContain("I am a script, not a language model");
    expect(out).toContain("there is no command /nothing");
    expect(out).not.toContain("\u001b");
    expect((await piped(["hello"])).out).toContain("goes on with 6 messages");
  });

  it("broken skills and sub-agents are told with file and line, and the rest is used", async () => {
    const agent = join(folder, ".compact", "agent");
    mkdirSync(join(agent, "skills"), { recursive: true });
    mkdirSync(join(agent, "sub-agents"));
    writeFileSync(join(agent, "skills", "broken.md"), "---\nname: broken\ndescription: [open\n---\nbody\n");
    writeFileSync(join(agent, "skills", "good.md"), "---\nname: good\ndescription: Is good.\n---\nbody\n");
    writeFileSync(join(agent, "sub-agents", "bad.md"), "---\nname: bad\ncontextMode: sideways\n---\nbody\n");
    const { code, out } = await piped(["/skill", "agent bad do something", "/context"]);
    expect(code).toBe(0);
    expect(out).toMatch(/note {5}\.compact\/agent\/skills\/broken\.md:\d+: the frontmatter is no valid YAML/);
    expect(out).toMatch(/note {5}\.compact\/agent\/sub-agents\/bad\.md:3: contextMode/);
    expect(out).toContain("good: Is good.");
    expect(out).toContain("Context");
  });

  it("a model that fails in the middle, a tool that throws and a session file with rubbish end no chat", async () => {
    await piped(["hello"]);
    appendFileSync(join(folder, ".compact", "agent", "main", "context.jsonl"), "this is no JSON\n");
    const { code, out } = await piped(["fail", "expand nothing", "read ../../etc/passwd", "hello"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /note {5}\.compact\/agent\/main\/context\.jsonl:\d+: a line of the session is no message/,
    );
    expect(out).toMatch(/error {4}the model failed: the connection was reset by the script/);
    expect(out).toMatch(/failed {3}Error: the archive of this conversation has no message/);
    expect(out).toContain("outside of the working folder");
    expect(out).toContain("I am a script");
  }, 60_000);

  it.skipIf(process.platform === "win32")("a full disk is told, and the chat lives on", async () => {
    const { code, out } = await piped(["fill 3000", "fill 3000", "hello", "/context"], "ulimit -f 16; ");
    expect(code).toBe(0);
    expect(out).toMatch(/note {5}the session is not stored for now, and goes on in memory: .*EFBIG/);
    expect(out).toContain("I am a script");
    expect(out).toContain("Context");
  });
});
