import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { partOf, whole } from "../whole.ts";
import { type Result, runCommand } from "./command.ts";

const program = resolve("packages/compact-context-cli/bin/compact.js");
const built = existsSync("packages/compact-context-cli/dist/main.js");
const transcripts = resolve("../shared/transcripts");
const recorded = built && existsSync(transcripts);
const demo = built && existsSync("packages/compact-context-cli/demo/session.json");

let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "compact-e2e-"));
  const put = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content);
  put("empty.jsonl", "");
  put("blank.json", "\n  \n");
  put("binary.dat", Buffer.from([0, 1, 2, 3, 255, 254, 0]));
  put("packed.gz", Buffer.from([0x1f, 0x8b, 8, 1, 1, 1]));
  put("utf16.json", Buffer.from("\ufeff{}", "utf16le"));
  put("half.json", '{"messages":[{"role":"user","content":"hel');
  put("other.json", '{"name":"no transcript"}');
  put("nothing.json", '{"model":"claude-sonnet-4-5","system":"x","messages":[]}');
  put("text.txt", "Dear diary\n");
  put("notes", "a file where a folder should be\n");
  put("taken.json", "mine");
  put("bad.yaml", "policy:\n  trigger_pct: 7\n  keep_recent_turn: 3\n");
  put("session.json", session());
  await mkdir(join(folder, "sessions"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An OpenAI chat with a long system prompt and forty tool calls. */
function session(count = 40): string {
  const output = Array.from({ length: 40 }, (_, line) => `${line}: const value_${line} = ${line * 7};`).join(
    "\n",
  );
  const steps = Array.from({ length: count }, (_, step) => [
    {
      role: "assistant",
      content: `Step ${step}`,
      tool_calls: [
        { id: `c${step}`, type: "function", function: { name: "read", arguments: `{"path":"f${step}"}` } },
      ],
    },
    { role: "tool", tool_call_id: `c${step}`, content: output },
  ]);
  const system = { role: "system", content: "Follow the house rules. ".repeat(400) };
  return JSON.stringify([system, { role: "user", content: "Port the parser." }, ...steps.flat()]);
}

function compact(...argv: string[]): Promise<Result> {
  return run(process.execPath, [program, ...argv]);
}

/** The same without a process of its own. */
function here(...argv: string[]): Promise<Result> {
  return runCommand(folder, argv);
}

function shell(line: string): Promise<Result> {
  return run("bash", ["-c", line]);
}

function run(command: string, words: readonly string[]): Promise<Result> {
  const env = { PATH: process.env.PATH, HOME: folder, COLUMNS: "80" };
  return new Promise((done, fail) => {
    const child = spawn(command, words, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (data: Buffer) => {
      out += data.toString();
    });
    child.stderr.on("data", (data: Buffer) => {
      err += data.toString();
    });
    child.on("error", fail);
    child.on("close", (code) => done({ code, out, err }));
  });
}

/** Says on stderr that somebody sets a flag. */
const TOLD_FLAGS = `import { syncBuiltinESMExports } from "node:module";
import v8 from "node:v8";
v8.setFlagsFromString = (flag) => { process.stderr.write(flag); };
syncBuiltinESMExports();`;

it.skipIf(!built)("the command sets no flag of the engine after it started", async () => {
  const words = ["--import", `data:text/javascript,${encodeURIComponent(TOLD_FLAGS)}`, program, "--version"];
  expect(await run(process.execPath, words)).toMatchObject({ code: 0, err: "" });
});

describe.skipIf(!built)(
  "the command refuses bad input in words, with the right exit code and no stack trace",
  () => {
    const cases: readonly (readonly [argv: string, code: number, ...words: string[]])[] = [
      ["nosuch.jsonl", 1, "NotFound", "there is no file nosuch.jsonl"],
      ["empty.jsonl", 1, "empty.jsonl is empty"],
      ["blank.json", 1, "only white space"],
      ["./sessions", 1, "./sessions is a folder", "Name the session file"],
      ["binary.dat", 1, "binary file"],
      ["packed.gz", 1, "binary file", "unpack"],
      ["utf16.json", 1, "UTF-16"],
      ["half.json", 1, "InvalidTranscript", "half.json", "cut off"],
      ["other.json", 1, "UnknownFormat", "other.json"],
      ["text.txt", 1, "UnknownFormat"],
      ["nothing.json", 1, "UnknownFormat"],
      ["nothing.json --format anthropic", 1, "holds no messages"],
      ["session.json --window 2k", 1, "InsufficientBudget", "Reduce protected memory"],
      ["session.json --window 1000", 2, "leaves nothing"],
      ["session.json --window 0", 2, "--window 0"],
      ["session.json --target 90k --window 80k", 2, "not below --window"],
      ["session.json --target 127000", 2, "over the budget"],
      ["session.json --target 25% --archive notes", 1, "StorageFailed"],
      ["session.json -o taken.json", 2, "exists already", "--force"],
      ["session.json -o sessions", 2, "is a folder"],
      ["session.json -o no/such/file", 1, "there is no folder"],
      ["session.json --config bad.yaml", 1, "bad.yaml:2", "trigger_pct must be 0.0-1.0", "keep_recent_turn"],
      ["session.json --config none.yaml", 1, "none.yaml"],
      ["session.json --windw 5", 2, "--windw is not a flag", "Did you mean --window?"],
      ["session.json --format openai-chta", 2, "Did you mean openai-chat?"],
      ["session.json --strategy brif", 2, "Did you mean brief?"],
      ["session.json --summarizer gpt-5", 2, "--summarizer builtin"],
      ["inspct session.json", 2, "Did you mean compact inspect?"],
      ["replya", 2, "Did you mean compact replay?"],
      ["--json", 2, "--json needs a transcript"],
      ["inspect", 2, "needs a transcript"],
      ["diff session.json", 2, "needs a second file"],
      ["archive sho", 2, "Did you mean compact archive show?"],
      ["archive constructor", 2, "there is no command archive constructor"],
      ["memory valueOf --channel .", 2, "there is no command memory valueOf"],
      ["session.json -o --json", 2, "-o needs a value, and --json starts with a dash"],
      ["archive show nobody", 1, "holds no session nobody"],
      ["config check bad.yaml", 1, "bad.yaml:2", "2 problems"],
      ["help nonsense", 2, "no command nonsense"],
    ];

    const named = cases.map(([line, code, ...words]) => ({ line, code, words }));
    const apart = new Set(partOf(named, 5));
    it.concurrent.each(named)("compact $line exits with $code", async (one) => {
      const { line, code, words } = one;
      const result = await (apart.has(one) ? compact : here)(...line.split(" "));
      expect(result.out).toBe("");
      for (const word of words) expect(result.err).toContain(word);
      expect(result.err).not.toMatch(/^\s+at .*:\d+:\d+/m);
      expect(result.err).not.toContain("unexpected");
      expect(result.code).toBe(code);
    });

    it("and leaves what was there as it was", () => {
      expect(readFileSync(join(folder, "taken.json"), "utf8")).toBe("mine");
      expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    });
  },
);

describe.skipIf(!built)("the command at work", () => {
  it("compacts, and what it wrote is what it says", async () => {
    const { code, out, err } = await compact("session.json", "-o", "small.json", "--json", "--target", "25%");
    expect([code, err]).toEqual([0, ""]);
    const report = JSON.parse(out) as Record<string, number | string>;
    const messages = JSON.parse(readFileSync(join(folder, "small.json"), "utf8")) as unknown[];
    expect(messages).toHaveLength(Number(report.messages_after));
    expect(existsSync(String(report.archive))).toBe(true);
    expect((await here("small.json", "--format", "openai-chat", "--target", "90%")).code).toBe(0);
  });

  it("prints help and version", async () => {
    expect((await here("help")).out).toContain("compact session.jsonl --target 40k");
    expect((await here("plan", "--help")).out).toContain("--all");
    expect((await compact("--version")).out).toMatch(/^compact-context-cli \d+\.\d+\.\d+/);
  });

  it.each([["--version"], ["help"], ["config", "check", "good.yaml"]])(
    "starts with little work: %s",
    { timeout: 120_000 },
    async (...argv) => {
      writeFileSync(join(folder, "good.yaml"), "policy:\n  trigger_pct: 0.8\n");
      const told =
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code that another process runs
        "process.on('exit', () => process.stderr.write(`cpu ${process.cpuUsage().user + process.cpuUsage().system}`))";
      const flags = ["--import", `data:text/javascript,${encodeURIComponent(told)}`];
      const took = async (...words: string[]): Promise<number> => {
        const { err } = await run(process.execPath, [...flags, ...words]);
        return Number(/cpu (\d+)/.exec(err)?.[1]) / 1000;
      };
      // With this environment Node itself takes 26 ms of processor on an idle machine, and 150 ms are 5.75 times that. A
      // busy machine slows the larger program down more: the best of nine pairs counts.
      const ratios: number[] = [];
      for (let round = 0; round < 9; round += 1) {
        const bare = await took("-e", "0");
        ratios.push((await took(program, ...argv)) / bare);
      }
      expect(Math.min(...ratios)).toBeLessThan(5.75);
    },
  );

  it("is silent when the reader of its output leaves", async () => {
    // More than a pipe holds: what is written after the reader left is refused.
    writeFileSync(join(folder, "long.json"), session(600));
    const line = `set -o pipefail; "${process.execPath}" "${program}" plan long.json --all --json | head -c 10`;
    const { code, err } = await shell(line);
    expect([code, err]).toEqual([0, ""]);
  });

  it("reads no further when the reader of its output leaves", async () => {
    const line = `yes | "${process.execPath}" "${program}" redact - | head -n 1`;
    expect(await shell(line)).toEqual({ code: 0, out: "y\n", err: "" });
  });

  it.runIf(existsSync("/dev/full"))("says that its output could not be written, and fails", async () => {
    const { code, err } = await shell(`"${process.execPath}" "${program}" help > /dev/full`);
    expect([code, err]).toEqual([1, expect.stringMatching(/^error {3}StorageFailed: .*ENOSPC\ntry /)]);
  });

  it.skipIf(process.platform === "win32")(
    "fails where only the start of its output could be written",
    async () => {
      const help = `"${process.execPath}" "${program}" help`;
      // The file may take one block and no more: the first write succeeds, in part.
      const { code } = await shell(`ulimit -f 1; trap "" XFSZ; ${help} > help.txt`);
      expect(statSync(join(folder, "help.txt")).size).toBeLessThan((await shell(help)).out.length);
      expect(code).not.toBe(0);
    },
  );

  it("needs no working folder for its help, and says where one is missing", async () => {
    const gone = `mkdir gone && cd gone && rmdir ../gone && "${process.execPath}" "${program}"`;
    expect((await shell(`${gone} --version`)).code).toBe(0);
    const { code, err } = await shell(`${gone} session.json`);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^error {3}NotFound: .*does not exist any more\ntry /),
    ]);
  });

  it.skipIf(!demo)("shows the demo with no argument, no key and no network", async () => {
    const { code, out, err } = await compact("demo");
    expect([code, err]).toEqual([0, ""]);
    for (const text of ["before", "after", "Summary, version 1", "into the summary", "Next"])
      expect(out).toContain(text);
    for (const line of out.split("\n")) {
      if (!line.includes("/")) expect([...line].length, line).toBeLessThanOrEqual(80);
    }
  });
});

describe.skipIf(!recorded)("the command on recorded sessions", () => {
  const command = whole ? compact : here;
  const samples = [
    "claude-code-entireio/4ec443d0-063b-4de3-8ede-e35160c2c1de.jsonl",
    "codex-agentv/019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e.jsonl",
    "opencode-nimbus/ses_32a840ae5ffel5YQV3YPtnPnzz.json",
    "gemini-cli-entireio/f7633853-6663-4dbb-bbf4-6159afa29df8.json",
    "swe-agent/rock.traj",
    "cline/session.messages.json",
    "who-and-when/Hand-Crafted-44.json",
  ];

  it.concurrent.each(samples)("compacts and writes %s back, readable and smaller", async (sample) => {
    const file = join(transcripts, sample);
    const name = `${sample.replaceAll("/", "-")}.out`;
    const { code, out, err } = await command(
      file,
      "--target",
      "25%",
      "-o",
      name,
      "--json",
      "--archive",
      "kept",
    );
    expect([code, err]).toEqual([0, ""]);
    const report = JSON.parse(out) as Record<string, number>;
    const { tokens_before: before = 0, tokens_after: after = 0, unseen_tokens: unseen = 0 } = report;
    expect(after - unseen).toBeLessThan((before - unseen) * 0.6);
    const again = await command("inspect", name, "--json", "--window", "1M");
    expect(again.code).toBe(0);
    const seen = JSON.parse(again.out) as { tokens: number; calls_without_result: number; format: string };
    expect(seen.format).toBe(report.format);
    // A writer may add a line or two of its own around the summary.
    expect(seen.tokens).toBeLessThan(Number(report.tokens_after) * 1.1 + 50);
    if (file.endsWith(".jsonl")) {
      const size = statSync(file).size;
      expect(readFileSync(join(folder, name)).subarray(0, size).equals(readFileSync(file))).toBe(true);
    }
  });

  it("FIT-6 replays a long session through many rounds with no call over the budget", async () => {
    const file = join(transcripts, "codex-agentv/019f03e0-321f-7eb2-83cc-b54ecd71be23.jsonl");
    const { code, out } = await command("replay", file, "--window", "60k", "--json");
    const replay = JSON.parse(out) as Record<string, number> & { rounds: unknown[] };
    expect(code).toBe(0);
    expect(replay.calls_over_budget).toBe(0);
    expect(replay.calls_over_budget_without).toBeGreaterThan(0);
    expect(replay.rounds.length).toBeGreaterThan(3);
    expect(replay.most_tokens_sent).toBeLessThanOrEqual(58_500);
  });

  it("replays also what the session's own compactions had replaced", async () => {
    const file = join(transcripts, "claude-code-entireio/4f8c1176-7025-4530-a860-c6fc4c63a150.jsonl");
    const live = JSON.parse((await command("inspect", file, "--json")).out) as Record<string, number>;
    const replay = JSON.parse((await command("replay", file, "--json")).out) as Record<string, number>;
    expect(live.messages).toBeLessThan(10);
    expect(replay.messages).toBeGreaterThan(100);
    expect(replay.calls_over_budget).toBe(0);
  });
});
