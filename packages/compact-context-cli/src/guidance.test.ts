import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inCommandWords } from "./hints.ts";
import { main } from "./main.ts";
import type { CliPorts } from "./ports.ts";

const folder = mkdtempSync(join(tmpdir(), "compact-guidance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(
  argv: readonly string[],
  more: Partial<CliPorts> = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const text = { out: "", err: "" };
  const screen = (name: "out" | "err"): CliPorts["stdout"] => ({
    write: (piece) => {
      text[name] += piece;
    },
    isTerminal: false,
    columns: undefined,
  });
  const code = await main(argv, {
    stdout: screen("out"),
    stderr: screen("err"),
    env: {},
    cwd: folder,
    home: folder,
    now: () => new Date(),
    clock: () => performance.now(),
    newId: () => "id",
    ...more,
  });
  return { code, ...text };
}

function file(name: string, value: unknown): string {
  writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
  return name;
}

const talk = Array.from({ length: 60 }, (_, turn) => ({
  role: turn % 2 === 0 ? "user" : "assistant",
  content: `Turn ${turn}: ${`the port is ${5400 + turn} `.repeat(20)}`,
}));

async function* piped(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  yield bytes.subarray(0, 1000);
  yield bytes.subarray(1000);
}

it("names settings as files name them, and calls of the library not at all", () => {
  expect(
    inCommandWords("To compact less often, lower policy.keepRecentTurns, now 2, or set maxContextTokens"),
  ).toBe("To compact less often, lower policy.keep_recent_turns, now 2, or set max_context_tokens");
  const broken =
    "a provider may refuse the list. `new CompactManager(config, { repair: true })` mends such lists";
  expect(inCommandWords(broken)).toBe("a provider may refuse the list");
  expect(inCommandWords("Raise maxTokens to 900 tokens or more, or shorten the list.")).toBe(
    "Raise --window, and policy.max_tokens where it is set, so that a request may have 900 tokens, or shorten the list.",
  );
});

describe("a transcript from standard input", () => {
  it("is what a file of it is, and may be written to a file", async () => {
    const json = JSON.stringify(talk);
    const named = await run(["inspect", file("talk.json", json), "--json"]);
    const given = await run(["inspect", "-", "--json"], { stdin: piped(json) });
    expect(JSON.parse(given.out)).toEqual(JSON.parse(named.out));
    const { code } = await run(["-", "-o", "small.json", "--target", "1500"], { stdin: piped(json) });
    expect(code).toBe(0);
    expect(JSON.parse(readFileSync(join(folder, "small.json"), "utf8")).length).toBeLessThan(60);
  });

  it("keeps its bytes before what is appended", async () => {
    const record = (turn: number): string =>
      JSON.stringify({
        type: turn % 2 === 0 ? "user" : "assistant",
        uuid: `u${turn}`,
        sessionId: "piped",
        parentUuid: turn === 0 ? null : `u${turn - 1}`,
        message: { ...talk[turn], id: `m${turn}` },
      });
    const lines = `${talk.map((_, turn) => record(turn)).join("\n")}\n`;
    const { code } = await run(["-", "-o", "grown.jsonl", "--target", "1500"], { stdin: piped(lines) });
    expect(code).toBe(0);
    const grown = readFileSync(join(folder, "grown.jsonl"), "utf8");
    expect(grown.startsWith(lines)).toBe(true);
    expect(grown.length).toBeGreaterThan(lines.length);
  });

  it.each([
    ["", "standard input is empty"],
    ["\0\u0001\u0002", "standard input is a binary file"],
    [" \n", "white space"],
  ])("%j is refused in words", async (text, words) => {
    const { code, err } = await run(["-"], { stdin: piped(text) });
    expect([code, err]).toEqual([1, expect.stringContaining(words)]);
  });
});

describe("what to do next", () => {
  it("repeats the flags that affect the result, and names the archive", async () => {
    const { out } = await run([file("a b.json", talk), "--target", "1500", "--archive", "kept here"]);
    expect(out).toContain("compact 'a b.json' --target 1500 --archive 'kept here' -o FILE\n");
    expect(out).toMatch(/compact archive show 'a b-[0-9a-f]{6}' --archive 'kept here'\n/);
    const shown = await run(["archive", "show", "a b", "--archive", "kept here"]);
    expect(shown.out).toMatch(/compact archive show 'a b-[0-9a-f]{6}' ID --archive 'kept here'\n/);
    const found = await run(["archive", "search", "5407", "--archive", "kept here"]);
    const next = /In full: compact archive show 'a b-[0-9a-f]{6}' (\w{10}) --archive 'kept here'/.exec(
      found.out,
    )?.[1];
    const whole = await run(["archive", "show", "a b", next ?? "", "--archive", "kept here"]);
    expect(whole.out).toContain("5407");
    expect(whole.out).toContain(`  ${next}\n`);
  });

  it("names the default target", async () => {
    const name = file("aim.json", talk);
    const narrow = [name, "--window", "8k"];
    const aim = "tokens: half of the size that triggers a compaction; --target sets another.";
    const flat = async (argv: readonly string[], env = {}) =>
      (await run(argv, { env })).out.replaceAll(/\s+/g, " ");
    expect(await flat(narrow)).toContain(aim);
    expect(await flat([name, "--window", "10k"])).toContain("tokens: half of the session; --target");
    expect(await flat([name, "--window", "4k"])).toContain("tokens: a quarter of the messages");
    expect(await flat([...narrow, "--target", "1500"])).not.toContain("The aim");
    expect(await flat(narrow, { COMPACT_TARGET_CONTEXT_TOKENS: "1500" })).not.toContain(aim);
  });

  it("a session that was deleted can be compacted into another archive folder", async () => {
    const name = file("gone.json", talk);
    const argv = [name, "--target", "1500", "--json", "--archive"];
    const { session_id: id } = JSON.parse((await run([...argv, "one"])).out) as { session_id: string };
    expect((await run(["archive", "delete", id, "--yes", "--archive", "one"])).code).toBe(0);
    const refused = await run([...argv, "one"]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("--archive DIR")]);
    expect(refused.err).not.toContain("session id");
    expect((await run([...argv, "two"])).code).toBe(0);
    expect((await run(["archive", "delete", "--help"])).out).toMatch(/30\s+days/);
  });

  it("help explains window and target", async () => {
    const { out } = await run(["help"]);
    for (const text of [
      "- for standard input",
      "else 128,000",
      "else half of the session",
      "compact --version",
    ]) {
      expect(out.replaceAll(/\s+/g, " ")).toContain(text);
    }
  });

  it("an unknown format names the flag that names one", async () => {
    const { code, err } = await run([file("other.json", { a: 1 })]);
    expect([code, err]).toEqual([1, expect.stringContaining("--format NAME: codex, claude-code")]);
  });

  it("lint offers the very command that repairs, repair no command that does nothing more", async () => {
    const call = { id: "a", type: "function", function: { name: "read", arguments: "{}" } };
    const name = file("dead call.json", [
      { role: "user", content: "look" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "user", content: "never mind" },
    ]);
    const { code, out } = await run(["lint", name, "--provider", "openai-chat"]);
    expect([code, out]).toEqual([1, expect.stringContaining("3 entries, 1 error, 0 warnings")]);
    expect(out).toContain("compact repair 'dead call.json' --provider openai-chat -o FILE");
    expect((await run(["repair", name])).out).not.toContain("compact repair");
  });

  it("repair names the block that it takes out", async () => {
    const name = file("empty block.json", [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "" },
          { type: "text", text: "hello" },
        ],
      },
    ]);
    const { out } = await run(["repair", name, "--provider", "anthropic", "--format", "anthropic"]);
    expect(out).toMatch(/dropped +messages\[1\]\.content\[0\] /);
  });

  it("lint holds a session of the Gemini CLI to Gemini's rules", async () => {
    const call = {
      id: "read_file-1767225600000-0a1b2c3d4e5f60718293a4b5c6d7e8f9",
      name: "read_file",
      args: {},
      result: [{ functionResponse: { name: "read_file", response: { output: "x" } } }],
    };
    const name = file("gemini.json", {
      projectHash: "h",
      sessionId: "s",
      messages: [
        { id: "1", type: "user", content: "look" },
        { id: "2", type: "gemini", content: "", toolCalls: [call] },
        { id: "3", type: "gemini", content: "seen" },
      ],
    });
    const { code, out } = await run(["lint", name]);
    expect([code, out]).toEqual([0, expect.stringContaining("keep every rule of gemini.")]);
    expect((await run(["repair", name])).out).toContain("Nothing to repair for gemini.");
    const one = file("one.json", [{ role: "user", content: "hi" }]);
    expect((await run(["lint", one])).out).toContain("1 entry keeps every rule");
  });

  it("inspect prints problems in full on a narrow screen", async () => {
    const id = `call_${"x".repeat(40)}`;
    const call = { id, type: "function", function: { name: "read_a_file", arguments: "{}" } };
    const name = file("faults.json", [
      { role: "user", content: "look" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "user", content: "never mind" },
    ]);
    const { out } = await run(["inspect", name], { env: { COLUMNS: "60" } });
    expect(out).toContain("1 call without a result");
    expect(out.slice(out.indexOf("Problems")).replaceAll(/\s+/g, " ")).toContain("has no result");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
  });
});
