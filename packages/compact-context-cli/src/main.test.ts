import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactManager } from "compact-context";
import { createFsDriver } from "compact-context/storage/fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "./main.ts";
import type { CliPorts } from "./ports.ts";
import { displayWidth } from "./render/text.ts";

/** The sessions of these tests are far from their windows: without a target nothing would leave them. */
const QUARTER = ["--target", "25%"];
const NOW = new Date("2026-03-01T12:00:00.000Z");
const EVIL = "\u001b]52;c;aGk=\u0007\u009b31m\rfake\b\u202etxt";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-cli-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  argv: string[],
  more: Partial<CliPorts> & { readonly columns?: number } = {},
): Promise<Run> {
  let out = "";
  let err = "";
  let ids = 0;
  const terminal = more.columns !== undefined;
  const code = await main(argv, {
    stdout: {
      write: (text) => {
        out += text;
      },
      isTerminal: terminal,
      columns: more.columns,
    },
    stderr: {
      write: (text) => {
        err += text;
      },
      isTerminal: false,
      columns: undefined,
    },
    env: {},
    cwd: folder,
    home: folder,
    now: () => NOW,
    clock: () => performance.now(),
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
    ...more,
  });
  return { code, out, err };
}

describe("main", () => {
  it("diff refuses standard input for both files before it reads it", async () => {
    const { code, err } = await run(["diff", "-", "-"]);
    expect(code).toBe(2);
    expect(err).toContain("standard input can be only one of the two");
  });

  it.each([
    ["after an error", "nothing-here.json", 1, ["stdout", "stderr"]],
    ["after a success", "--version", 0, ["stdout", "stderr"]],
  ])("ends when both outputs are written, %s", async (_when, word, expected, flushed) => {
    const written: string[] = [];
    const screen = (name: string): CliPorts["stdout"] => ({
      write: () => undefined,
      flushed: async () => void written.push(name),
      isTerminal: false,
      columns: undefined,
    });
    const { code } = await run([word], { stdout: screen("stdout"), stderr: screen("stderr") });
    expect(code).toBe(expected);
    expect(written).toEqual(flushed);
  });
});

/** An Anthropic request body of `steps` tool calls, about 400 tokens each. */
function body(steps: number, words = "Port the parser"): string {
  const output = (step: number) =>
    Array.from({ length: 30 }, (_, line) => `${line}: const value_${step}_${line} = ${step * line};`).join(
      "\n",
    );
  const messages = [
    { role: "user", content: `${words}. Never change the public API of src/parse.ts.` },
    ...Array.from({ length: steps }, (_, step) => [
      {
        role: "assistant",
        content: [
          {
            type: "text",
            text: `Step ${step}: I look at file ${step}, because the parser needs its constants.`,
          },
          { type: "tool_use", id: `call_${step}`, name: "Read", input: { path: `src/file${step}.ts` } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `call_${step}`, content: output(step) }],
      },
    ]).flat(),
    { role: "assistant", content: "Done, but two tests fail." },
    { role: "user", content: "Then mend them." },
  ];
  return JSON.stringify({ model: "claude-sonnet-4-5", system: "You are a coding agent.", messages });
}

function session(name = "session.json", text = body(40)): string {
  writeFileSync(join(folder, name), text);
  return name;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const PAINT = /\u001b\[\d+m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/;

describe("the main job", () => {
  it("prints exactly the promised names first with --json, and nothing else on stdout", async () => {
    const { code, out, err } = await run([session(), ...QUARTER, "--json"]);
    expect(code).toBe(0);
    expect(err).toBe("");
    const report = JSON.parse(out) as Record<string, unknown>;
    expect(Object.keys(report).slice(0, 15)).toEqual([
      "format",
      "model",
      "window",
      "tokens_before",
      "tokens_after",
      "messages_before",
      "messages_after",
      "layers",
      "summary",
      "strategy",
      "summarizer",
      "archive",
      "pruned_count",
      "cleared_count",
      "elapsed_ms",
    ]);
    expect(report).toMatchObject({ format: "anthropic", model: "claude-sonnet-4-5", messages_before: 83 });
    expect(report.tokens_after).toBeLessThanOrEqual(Math.floor(Number(report.tokens_before) * 0.25));
    const layers = Object.values(report.layers as Record<string, { tokens: number; messages: number }>);
    expect(layers.reduce((sum, layer) => sum + layer.messages, 0)).toBe(report.messages_after);
    expect(layers.reduce((sum, layer) => sum + layer.tokens, Number(report.fixed_tokens))).toBe(
      report.tokens_after,
    );
  });

  it("titles a session by the first text its user typed, not by commands or inserted text", async () => {
    const said = [
      "/mode",
      "# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>x</INSTRUCTIONS>",
      "mend the parser",
    ];
    const list = said.flatMap((content) => [
      { role: "user", content },
      { role: "assistant", content: "done" },
    ]);
    writeFileSync(join(folder, "said.json"), JSON.stringify(list));
    const { out } = await run(["said.json"]);
    expect(out).toMatch(/^\n {2}mend the parser\n/);
  });

  it("archives every message before anything is dropped, and the same list only once", async () => {
    const file = session();
    const first = JSON.parse((await run([file, ...QUARTER, "--json"])).out) as { archive: string };
    const again = JSON.parse((await run([file, ...QUARTER, "--json"])).out) as { archive: string };
    expect(again.archive).toBe(first.archive);
    expect(readFileSync(first.archive, "utf8").trimEnd().split("\n")).toHaveLength(83);
    session("session.json", body(41));
    const grown = JSON.parse((await run([file, ...QUARTER, "--json"])).out) as { archive: string };
    expect(grown.archive).toMatch(/transcript-pre-compact-002\.jsonl$/);
    expect(readFileSync(first.archive, "utf8").trimEnd().split("\n")).toHaveLength(83);
  });

  it.each([60, 80, 120])("fits a screen of %d cells, painted", async (columns) => {
    session("wide.json", body(40, "日本語のパーサーを移植する 🚀 ".repeat(10)));
    const runs = await Promise.all([
      run(["wide.json"], { columns }),
      run(["inspect", "wide.json"], { columns }),
      run(["plan", "wide.json", "--all"], { columns }),
      run(["replay", "wide.json", "--window", "9k"], { columns }),
    ]);
    for (const { code, out } of runs) {
      expect(code).toBe(0);
      expect(out).toMatch(PAINT);
      const commands = /compact (?:archive|wide)|\.compact/;
      for (const line of out.replace(PAINT, "").split("\n")) {
        if (!commands.test(line)) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
      }
    }
  });

  it("shows before and after, what was kept, the start of the summary, the archive, and the next commands", async () => {
    const { out } = await run([session(), "--target", "1500"]);
    expect(out).not.toMatch(PAINT);
    for (const text of [
      "Port the parser.",
      "anthropic · claude-sonnet-4-5 · window ",
      "before  █",
      "tool pairs",
      "remainder",
      "kept as it is",
      "into the summary",
      "Summary, version 1",
      "every original is in",
      " .local/share/compact/archive/session-",
      "compact session.json --target 1500 -o FILE",
    ]) {
      expect(out).toContain(text);
    }
  });

  it("reports bytes that are not UTF-8", async () => {
    const json = JSON.stringify([{ role: "user", content: "caf\u00e9" }]);
    for (const encoding of ["latin1", "utf8"] as const) {
      writeFileSync(join(folder, "bytes.json"), Buffer.from(json, encoding));
      const { problems } = JSON.parse((await run(["inspect", "bytes.json", "--json"])).out) as {
        problems: { message: string }[];
      };
      const told = problems.map(({ message }) => message);
      expect(told).toEqual(encoding === "utf8" ? [] : [expect.stringContaining("not UTF-8")]);
    }
  });

  it("leaves a session alone that is small enough", async () => {
    const { code, out } = await run([session("small.json", body(1)), "--target", "100k"]);
    expect(code).toBe(0);
    expect(out).toContain("Nothing to do");
    expect(readdirSync(folder)).toEqual(["small.json"]);
  });

  it("text of transcripts never reaches the screen unescaped (OSC 52, C1, carriage return, bidi)", async () => {
    session("evil.json", body(12, EVIL).replaceAll("const value_", JSON.stringify(EVIL).slice(1, -1)));
    const commands = [
      ["evil.json", "--target", "900"],
      ["inspect", "evil.json"],
      ["plan", "evil.json", "--all"],
      ["archive", "show", "evil"],
      ["archive", "search", "fake"],
      ["diff", "evil.json", "evil.json", "--all"],
      [`nosuch${EVIL}`],
      ["archive", "show", EVIL],
      ["evil.json", "--target", "900", "--json"],
      ["archive", "show", "evil", "--json"],
      ["archive", "search", "fake", "--json"],
    ];
    for (const argv of commands) {
      const { out, err } = await run(argv);
      expect(`${out}${err}`.replaceAll("\n", ""), argv.join(" ")).not.toMatch(CONTROLS);
      expect(out + err).toMatch(argv.includes("--json") ? /\\u009b/ : /\\x/);
    }
  });

  it("with --on-overflow error gives up where the newest step is too large, by default cuts it", async () => {
    const huge = JSON.stringify({
      messages: [
        { role: "user", content: "Read it." },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "Read", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c", content: "word ".repeat(20_000) }],
        },
      ],
    });
    session("huge.json", huge);
    const cut = await run(["huge.json", "--window", "8k", "--json"]);
    const report = JSON.parse(cut.out) as Record<string, number>;
    expect(report.elided_count).toBeGreaterThan(0);
    expect(report.tokens_after).toBeLessThanOrEqual(6_500);
    const error = await run(["huge.json", "--window", "8k", "--on-overflow", "error"]);
    expect(error.code).toBe(1);
    expect(error.err).toContain("InsufficientBudget");
    writeFileSync(join(folder, "compact.yaml"), "policy:\n  on_overflow: error\n");
    expect((await run(["huge.json", "--window", "8k"])).code).toBe(1);
  });

  it("CFG-2 takes window and policy from compact.yaml here, and the environment over it", async () => {
    writeFileSync(
      join(folder, "compact.yaml"),
      "max_context_tokens: 9000\npolicy:\n  hard_cap_buffer: 500\n",
    );
    const file = JSON.parse((await run([session(), ...QUARTER, "--json"])).out) as Record<string, number>;
    expect([file.window, file.budget]).toEqual([9000, 8500]);
    const env = { COMPACT_MAX_CONTEXT_TOKENS: "8000" };
    const environment = JSON.parse((await run([session(), "--json"], { env })).out) as Record<string, number>;
    expect([environment.window, environment.budget]).toEqual([8000, 7500]);
    const flag = JSON.parse((await run([session(), "--json", "--window", "7k"], { env })).out) as Record<
      string,
      number
    >;
    expect([flag.window, flag.budget]).toEqual([7000, 6500]);
  });
});

describe("help", () => {
  it("describes a flag as it applies to that command", async () => {
    const flat = async (name: string) => (await run(["help", name])).out.replace(/\s+/g, " ");
    expect(await flat("recall")).toContain(
      "--workspace <DIR> the workspace's folder; default: the parent of the channel's",
    );
    expect(await flat("chat")).toContain("--workspace <DIR> the agent's folder; default: .compact/agent");
    expect(await flat("chat")).not.toContain("the parent of the channel's");
  });
});

describe("-o", () => {
  it("writes the format it read, smaller, beginning with the user, and readable again", async () => {
    await run([session(), "-o", "out.json", "--target", "1500"]);
    const written = JSON.parse(readFileSync(join(folder, "out.json"), "utf8")) as {
      system: string;
      messages: { role: string; content: unknown }[];
    };
    expect(written.system).toBe("You are a coding agent.");
    expect(written.messages.length).toBeLessThan(40);
    expect(written.messages[0]?.role).toBe("user");
    expect(JSON.stringify(written.messages)).toContain("<COMPACT-SUMMARY v1>");
    const { out } = await run(["diff", "session.json", "out.json"]);
    expect(out).toMatch(/\d+ kept, \d+ edited, \d+ gone, 1 new/);
  });

  it("refuses an existing file, and replaces it with --force", async () => {
    writeFileSync(join(folder, "precious.json"), "mine");
    const refused = await run([session(), "-o", "precious.json"]);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain("exists already");
    expect(readFileSync(join(folder, "precious.json"), "utf8")).toBe("mine");
    expect((await run(["session.json", "-o", "precious.json", "--force"])).code).toBe(0);
    expect(readFileSync(join(folder, "precious.json"), "utf8")).not.toBe("mine");
  });

  it("replaces the input only when -o names it with --force, and leaves no temporary file", async () => {
    const file = session();
    const before = readFileSync(join(folder, file), "utf8");
    await run([file]);
    const refused = await run([file, "-o", `./${file}`]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("is the input file")]);
    expect(readFileSync(join(folder, file), "utf8")).toBe(before);
    expect((await run([file, ...QUARTER, "-o", `./${file}`, "--force"])).code).toBe(0);
    expect(readFileSync(join(folder, file), "utf8").length).toBeLessThan(before.length);
    expect(readdirSync(folder).sort()).toEqual([".local", "session.json"]);
  });

  it("leaves devices, pipes and links that lead nowhere alone, also with --force", async () => {
    const file = session();
    execFileSync("mkfifo", [join(folder, "pipe")]);
    symlinkSync("missing.json", join(folder, "link.json"));
    for (const name of ["pipe", "link.json"]) {
      const { code, err } = await run([file, "-o", name, "--force"]);
      expect([code, err]).toEqual([2, expect.stringContaining(`-o ${name} is `)]);
    }
    expect(lstatSync(join(folder, "pipe")).isFIFO()).toBe(true);
    expect(lstatSync(join(folder, "link.json")).isSymbolicLink()).toBe(true);
  });

  it("writes through a link to the file that it leads to", async () => {
    const file = session();
    writeFileSync(join(folder, "target.json"), "old");
    symlinkSync("target.json", join(folder, "link.json"));
    expect((await run([file, ...QUARTER, "-o", "link.json", "--force"])).code).toBe(0);
    expect(lstatSync(join(folder, "link.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, "target.json"), "utf8")).toContain("COMPACT-SUMMARY");
  });

  it("does not replace a file that was created while it worked", async () => {
    let steps = 0;
    const clock = () => {
      steps += 1;
      if (steps === 2) writeFileSync(join(folder, "out.json"), "mine");
      return steps;
    };
    const { code, err } = await run([session(), "-o", "out.json"], { clock });
    expect([code, err]).toEqual([1, expect.stringContaining("out.json was created by another program")]);
    expect(readFileSync(join(folder, "out.json"), "utf8")).toBe("mine");
    steps = 0;
    expect((await run(["session.json", "-o", "new.json", "--force"], { clock })).code).toBe(0);
  });

  describe("of a session that was killed while its tool ran", () => {
    const killed = (steps: number): string => {
      const request = JSON.parse(body(steps)) as { messages: object[] };
      const running = { type: "tool_use", id: "call_last", name: "Bash", input: { command: "npm test" } };
      request.messages.push({ role: "assistant", content: [running] });
      return session("killed.json", JSON.stringify(request));
    };
    const answers = (name: string): string[] =>
      readFileSync(join(folder, name), "utf8").match(/the call was interrupted/g) ?? [];

    it("is reported by lint, and accepted with --pending", async () => {
      const { code, out } = await run(["lint", killed(3)]);
      expect([code, out]).toEqual([1, expect.stringContaining("generic/dead-call")]);
      expect((await run(["lint", "killed.json", "--pending"])).code).toBe(0);
      expect((await run(["repair", "killed.json", "-o", "mended.json"])).code).toBe(0);
      expect(answers("mended.json")).toHaveLength(1);
      expect((await run(["lint", "mended.json"])).code).toBe(0);
    });

    it.each([3, 40])("gets a result from compact, with a note, after %i steps", async (steps) => {
      const { code, err } = await run([killed(steps), "-o", "out.json"]);
      expect(code).toBe(0);
      const note = /1 tool call ended without a result: .* a note replaces the result/g;
      expect(err.match(note)).toHaveLength(1);
      expect(err).not.toContain("generic/");
      expect(answers("out.json")).toHaveLength(1);
      expect((await run(["lint", "out.json"])).code).toBe(0);
    });
  });

  it("of the Gemini CLI begins with a user's turn after a compaction, too", async () => {
    const messages = Array.from({ length: 12 }, (_, turn) => [
      { id: `u${turn}`, timestamp: "t", type: "user", content: `Question ${turn}. ${"tide ".repeat(80)}` },
      { id: `g${turn}`, timestamp: "t", type: "gemini", content: `Answer ${turn}. ${"rope ".repeat(80)}` },
    ]).flat();
    const chat = JSON.stringify({ sessionId: "s", projectHash: "h", messages: messages.slice(0, -1) });
    expect((await run([session("chat.json", chat), ...QUARTER, "-o", "out.json"])).code).toBe(0);
    expect(JSON.parse(readFileSync(join(folder, "out.json"), "utf8")).messages[0]).toMatchObject({
      type: "user",
      content: expect.stringContaining("<COMPACT-SUMMARY v1>"),
    });
    expect((await run(["lint", "out.json"])).code).toBe(0);
  });

  it("counts a call as open whose id an answered one had before, and gives it a result", async () => {
    const call = { id: "call_0", type: "function", function: { name: "read", arguments: "{}" } };
    const step = [
      { role: "user", content: "go on" },
      { role: "assistant", content: null, tool_calls: [call] },
    ];
    const messages = [...step, { role: "tool", tool_call_id: "call_0", content: "ok" }, ...step];
    const file = session("reused.json", JSON.stringify({ model: "gpt-4o", messages }));
    expect((await run(["inspect", file])).out).toContain("1 call without a result");
    expect((await run([file, "-o", "out.json"])).err).toContain("1 tool call ended without a result");
    expect((await run(["lint", "out.json"])).code).toBe(0);
  });

  it("counts a call as open whose result stands before it or has the name of another tool", async () => {
    const id = { toolCallId: "c1", toolName: "read" };
    const call = { type: "tool-call", ...id, input: {} };
    const result = { type: "tool-result", ...id, output: { type: "text", value: "ok" } };
    const early = { role: "assistant", content: [{ ...call, providerExecuted: true }, result, call] };
    const sdk = [{ role: "user", content: "go on" }, early];
    const named = { functionResponse: { name: "write", response: {} } };
    const gemini = [
      { role: "user", parts: [{ text: "go on" }] },
      { role: "model", parts: [{ functionCall: { name: "read", args: {} } }] },
      { role: "user", parts: [named] },
    ];
    for (const list of [sdk, gemini]) {
      const file = session("open.json", JSON.stringify({ model: "gpt-4o", messages: list }));
      const { err } = await run([file, "-o", "out.json", "--force"]);
      expect(err).toContain("1 tool call ended without a result");
    }
  });

  it("is checked against DeepSeek's rules by lint with --strict", async () => {
    const call = (id: string, more: object = {}): object => ({
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }],
      ...more,
    });
    const answer = (id: string): object => ({ role: "tool", tool_call_id: id, content: "ok" });
    const reasoned = call("a", { reasoning_content: "hm" });
    const messages = [{ role: "user", content: "go" }, reasoned, answer("a"), call("b"), answer("b")];
    const file = session("deepseek.json", JSON.stringify({ model: "deepseek-chat", messages }));
    expect((await run(["lint", file])).code).toBe(0);
    const strict = await run(["lint", file, "--strict"]);
    expect([strict.code, strict.out]).toEqual([1, expect.stringContaining("reasoning-consistent")]);
  });

  it("writes a valid session unchanged, and leaves the input untouched", async () => {
    const file = session();
    const before = statSync(join(folder, file));
    expect((await run(["repair", file, "-o", file, "--force"])).code).toBe(0);
    expect(statSync(join(folder, file)).ino).toBe(before.ino);
    expect((await run(["repair", file, "-o", "copy.json"])).out).toContain("Written to copy.json.");
    expect(readFileSync(join(folder, "copy.json"))).toEqual(readFileSync(join(folder, file)));
  });

  it("does not replace an input that its agent went on writing to", async () => {
    const file = session();
    const grown = body(60);
    let steps = 0;
    const { code, err } = await run([file, ...QUARTER, "-o", file, "--force"], {
      clock: () => {
        steps += 1;
        if (steps === 2) writeFileSync(join(folder, file), grown);
        return steps;
      },
    });
    expect(code).toBe(1);
    expect(err).toContain("changed while it was read");
    expect(readFileSync(join(folder, file), "utf8")).toBe(grown);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

describe("sessions on this computer", () => {
  const DAY = 86_400_000;

  async function put(path: string, text: string, daysAgo: number): Promise<void> {
    const file = join(folder, path);
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, text);
    const time = new Date(NOW.getTime() - daysAgo * DAY);
    await utimes(file, time, time);
  }

  async function putAll(): Promise<void> {
    const claude = {
      type: "user",
      uuid: "u1",
      parentUuid: null,
      sessionId: "11111111-aaaa-4aaa-8aaa-111111111111",
    };
    const message = { role: "user", content: `Fix the ${EVIL} login` };
    await put(
      ".claude/projects/-home-me/11111111-aaaa-4aaa-8aaa-111111111111.jsonl",
      `${JSON.stringify({ ...claude, message })}\n`,
      3,
    );
    await put(".claude/projects/-home-me/agent-1234.jsonl", "{}\n", 0);
    await put(`.claude/projects/-home-me/evil${EVIL}.jsonl`, "{}\n", 30);
    const meta = { type: "session_meta", payload: { id: "22222222-aaaa-4aaa-8aaa-222222222222" } };
    const ask = {
      type: "response_item",
      payload: {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "Write the release notes" }],
      },
    };
    await put(
      ".codex/sessions/2026/02/28/rollout-2026-02-28T10-00-00-22222222-aaaa-4aaa-8aaa-222222222222.jsonl",
      `${JSON.stringify(meta)}\n${JSON.stringify(ask)}\n`,
      1,
    );
    await put(
      ".gemini/tmp/abc/chats/session-2026-02-20-33333333.json",
      JSON.stringify({
        sessionId: "3",
        projectHash: "abc",
        startTime: "2026-02-20T10:00:00Z",
        lastUpdated: "2026-02-20T10:00:00Z",
        messages: [{ id: "1", timestamp: "2026-02-20T10:00:00Z", type: "user", content: "Colour the docs" }],
      }),
      9,
    );
    const info = { id: "ses_44", title: "Harden the worker", time: { updated: NOW.getTime() - 2 * DAY } };
    await put(".local/share/opencode/storage/session/p1/ses_44.json", JSON.stringify(info), 2);
    const user = { id: "msg_1", sessionID: "ses_44", role: "user", time: { created: 1 } };
    await put(".local/share/opencode/storage/message/ses_44/msg_1.json", JSON.stringify(user), 2);
    const part = { id: "prt_1", messageID: "msg_1", type: "text", text: "Harden the worker please" };
    await put(".local/share/opencode/storage/part/msg_1/prt_1.json", JSON.stringify(part), 2);
  }

  it("are listed newest first with age, tool and first words, escaped, without those of sub-agents", async () => {
    await putAll();
    const { code, out } = await run([]);
    expect(code).toBe(0);
    const rows = out.split("\n").filter((line) => /^ +\d+ {2}/.test(line));
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatch(/ 1 +24 h ago +\d+ B {2}Codex +Write the release notes/);
    expect(rows[1]).toMatch(/ 2 +2 days ago +.*OpenCode +Harden the worker/);
    expect(rows[2]).toMatch(/ 3 +3 days ago .*Claude Code {2}Fix the \\x1b\]52/);
    expect(rows[3]).toMatch(/ 4 +9 days ago .*Gemini CLI +Colour the docs/);
    expect(rows[4]).toMatch(/ 5 +30 days ago .*Claude Code {2}evil\\x1b\]52/);
    expect(out).toContain("compact 1");
    expect(out.replaceAll("\n", "")).not.toMatch(CONTROLS);
  });

  it("are opened by number, by the beginning of their id, and by answering on a terminal", async () => {
    await putAll();
    const read = async (...argv: string[]) =>
      JSON.parse((await run(["inspect", ...argv, "--json"])).out) as Record<string, unknown>;
    expect(await read("1")).toMatchObject({ format: "codex", messages: 1 });
    expect(await read("2")).toMatchObject({ format: "opencode", messages: 1 });
    expect(await read("1111")).toMatchObject({ format: "claude-code", messages: 1 });
    const asked = await run([], { ask: async () => "4", columns: 80 });
    expect(asked.code).toBe(0);
    expect(asked.out).toContain("gemini-cli");
    const left = await run([], { ask: async () => "", columns: 80 });
    expect(left.code).toBe(0);
    const wrong = await run([], { ask: async () => "77", columns: 80 });
    expect(wrong.code).toBe(2);
    expect((await run(["9"])).err).toContain("5 were found");
  });

  it("a file of that name comes before a number of the list", async () => {
    await putAll();
    session("1");
    expect(JSON.parse((await run(["inspect", "1", "--json"])).out)).toMatchObject({ format: "anthropic" });
  });

  it("suggests other commands if there are none", async () => {
    const { code, out } = await run([]);
    expect(code).toBe(0);
    expect(out).toContain("No agent sessions were found");
    expect(out).toContain("compact demo");
  });
});

describe("replay", () => {
  it("FIT-6 sends no request over the budget where the raw session would have", async () => {
    const { code, out } = await run(["replay", session(), "--window", "9k", "--json"]);
    const replay = JSON.parse(out) as Record<string, number> & { rounds: { tokens_after: number }[] };
    expect(code).toBe(0);
    expect(replay.calls).toBe(41);
    expect(replay.calls_over_budget).toBe(0);
    expect(replay.calls_over_budget_without).toBeGreaterThan(10);
    expect(replay.most_tokens_sent).toBeLessThanOrEqual(7500);
    expect(replay.rounds.length).toBeGreaterThan(1);
    expect(replay.cached_share).toBeGreaterThan(0.5);
    expect(replay.prompt_tokens).toBeLessThan(Number(replay.prompt_tokens_without));
    expect(readdirSync(folder)).toEqual(["session.json"]);
  });
});

describe("inspect", () => {
  it("shows tokens by layer, role and tool that add up, and whether it would trigger", async () => {
    const { out } = await run(["inspect", session(), "--window", "12k", "--json"]);
    const seen = JSON.parse(out) as {
      tokens: number;
      fixed_tokens: number;
      would_trigger: boolean;
      layers: Record<string, { tokens: number }>;
      roles: { tokens: number }[];
      tools: { name: string }[];
    };
    const sum = (all: { tokens: number }[]) =>
      all.reduce((total, one) => total + one.tokens, seen.fixed_tokens);
    expect(sum(Object.values(seen.layers))).toBe(seen.tokens);
    expect(sum(seen.roles)).toBe(seen.tokens);
    expect(seen.tools.map((tool) => tool.name)).toEqual(["Read"]);
    expect(seen.would_trigger).toBe(true);
    expect((await run(["inspect", "session.json"])).out).toContain("No compaction would start.");
  });
});

describe("diff", () => {
  it("counts a session as inspect does, in a format where a request costs tokens of its own too", async () => {
    const list = [
      { role: "user", content: "Port the parser." },
      { role: "assistant", content: "Done." },
    ];
    writeFileSync(join(folder, "chat.json"), JSON.stringify({ model: "gpt-4o", messages: list }));
    const inspected = JSON.parse((await run(["inspect", "chat.json", "--json"])).out) as { tokens: number };
    const compared = JSON.parse((await run(["diff", "chat.json", "chat.json", "--json"])).out) as object;
    expect(compared).toMatchObject({ tokens_before: inspected.tokens, tokens_after: inspected.tokens });
  });
});

describe("a broken line", () => {
  it("is reported by plan, replay, diff and lint as by the main command", async () => {
    const entry = (n: number) =>
      JSON.stringify({ role: n % 2 === 0 ? "user" : "assistant", content: `${n}` });
    session("broken.jsonl", [entry(0), entry(1), '{"role":', entry(2), entry(3)].join("\n"));
    const words = "line 3: not JSON, left out";
    for (const command of [["plan"], ["plan", "--target", "1k"], ["replay"], ["lint"], ["inspect"], []]) {
      expect((await run([...command, "broken.jsonl"])).out, command.join(" ")).toContain(words);
    }
    expect((await run(["diff", "broken.jsonl", "broken.jsonl"])).out.split(words)).toHaveLength(3);
    for (const command of [["plan"], ["replay"], ["lint"], ["repair"]]) {
      const { out } = await run([...command, "broken.jsonl", "--json"]);
      expect(JSON.parse(out), command.join(" ")).toMatchObject({ problems: [{ line: 3 }] });
    }
  });
});

describe("plan", () => {
  it("is what the main job then does, and touches nothing", async () => {
    const plan = JSON.parse((await run(["plan", session(), "--json", "--target", "2500"])).out) as {
      tokens_before: number;
      messages: { action: string }[];
    };
    expect(readdirSync(folder)).toEqual(["session.json"]);
    const done = JSON.parse((await run(["session.json", "--json", "--target", "2500"])).out) as Record<
      string,
      number
    >;
    expect(done.tokens_before).toBe(plan.tokens_before);
    expect(plan.messages).toHaveLength(Number(done.messages_before));
    const gone = plan.messages.filter((message) => message.action === "summarize").length;
    // Stubs carry an archive id in the real run, so a step or two less may find room beside them.
    expect(Math.abs(gone - Number(done.pruned_count))).toBeLessThanOrEqual(6);
  });

  it("tells the notices of aider from what the user typed", async () => {
    const turns = Array.from({ length: 40 }, (_, turn) =>
      [`#### step ${turn}: ${"mend the mooring ".repeat(20)}`, "Done.", `> Tokens: ${turn}k sent.`].join(
        "\n\n",
      ),
    );
    session("history.md", ["# aider chat started at 2026-01-02 03:04:05", ...turns].join("\n\n"));
    const { out } = await run(["plan", "history.md", "--target", "2k", "--all"]);
    expect(out).toMatch(/ program +\d+ .* Tokens: 39k sent/);
    expect(out).toMatch(/ user +\d+ .* step 39/);
  });

  it("folds long runs, and --all shows every message", async () => {
    const folded = (await run(["plan", session(), ...QUARTER])).out;
    const all = (await run(["plan", "session.json", ...QUARTER, "--all"])).out;
    expect(folded).toContain("⋮");
    expect(all).not.toContain("⋮");
    expect(all.split("\n").filter((line) => /^ +\d+ {2}(?:user|assistant|tool) /.test(line))).toHaveLength(
      83,
    );
  });
});

describe("archive", () => {
  it("ARC-4 lists, shows and searches what was archived", async () => {
    await run([session(), ...QUARTER, "--archive", "kept"]);
    expect((await run(["archive", "--archive", "kept"])).out).toMatch(
      / {2}session-[0-9a-f]{6} {2}Port the parser\./,
    );
    const listed = (await run(["archive", "show", "--archive", "kept"])).out;
    const id = /^ +3 {2}(\w{10}) {2}tool/m.exec(listed)?.[1] ?? "";
    const whole = await run(["archive", "show", "session", id, "--archive", "kept"]);
    expect(whole.out).toContain("29: const value_0_29 = 0;");
    expect((await run(["archive", "search", "value_7_3", "--archive", "kept"])).out).toContain(
      "value_7_3 = 21",
    );
    const found = await run(["archive", "search", '"value_7_3 ="', "session", "--archive", "kept", "--json"]);
    const { hits } = JSON.parse(found.out) as { hits: { archive_id: string; session_id: string }[] };
    expect(hits.map((hit) => hit.session_id)).toEqual([expect.stringMatching(/^session-[0-9a-f]{6}$/)]);
    const again = await run(["archive", "show", "session", hits[0]?.archive_id ?? "", "--archive", "kept"]);
    expect(again.out).toContain("value_7_3 = 21");
    const missing = await run(["archive", "show", "sesion", "--archive", "kept"]);
    expect(missing.code).toBe(1);
    expect(missing.err).toContain("no session sesion");
  });
});

describe("archive list", () => {
  it("shows time, size and first request, clipped to the screen", async () => {
    await run([session(), ...QUARTER, "--archive", "kept"]);
    const { sessions } = JSON.parse((await run(["archive", "list", "--archive", "kept", "--json"])).out) as {
      sessions: { id: string; steps: number[]; title: string; at: string; messages: number }[];
    };
    expect(sessions).toEqual([
      {
        id: expect.stringMatching(/^session-[0-9a-f]{6}$/) as string,
        steps: [1],
        title: expect.any(String),
        at: NOW.toISOString(),
        messages: 83,
        tokens_before: expect.any(Number),
        tokens_after: expect.any(Number),
      },
    ]);
    const title = sessions[0]?.title ?? "";
    expect(title.length).toBeGreaterThan(10);
    const later = { now: () => new Date(NOW.getTime() + 3 * 3_600_000) };
    const shown = (await run(["archive", "--archive", "kept"], { columns: 80, ...later })).out.replaceAll(
      PAINT,
      "",
    );
    expect(shown).toMatch(/^ {4}step 1 · 3 h ago · 83 messages · [\d.]+k → [\d.]+k tokens$/m);
    expect(shown).toContain(title.slice(0, 20));
    const narrow = (await run(["archive", "--archive", "kept"], { columns: 60 })).out.replaceAll(PAINT, "");
    const clipped = narrow.split("\n").find((line) => line.startsWith("  session")) ?? "";
    expect(displayWidth(clipped)).toBeLessThanOrEqual(60);
    expect(clipped).toMatch(/…$/);
  });

  it("lists what was archived without a record, and names no words of the agent's host", async () => {
    const hosted = { role: "user", content: "<system-reminder>rules</system-reminder>" };
    const { messages, ...rest } = JSON.parse(body(40)) as { messages: object[] };
    const file = session("hosted.json", JSON.stringify({ ...rest, messages: [hosted, ...messages] }));
    await run([file, ...QUARTER, "--archive", "kept"]);
    const id = readdirSync(join(folder, "kept")).find((name) => name.startsWith("hosted-")) ?? "";
    rmSync(join(folder, "kept", id, "summary-001.json"));
    const { out } = await run(["archive", "--archive", "kept"]);
    expect(out).toMatch(/ {2}hosted-[0-9a-f]{6} {2}Port the parser.*\n {4}step 1 · 84 messages\n/);
  });
});

describe("archive undo", () => {
  it("takes the newest compaction of a program's session back, once", async () => {
    const turns = Array.from({ length: 54 }, (_, index) => [
      { role: "user", content: `question ${index} ${"tide ".repeat(60)}` },
      { role: "assistant", content: `answer ${index} ${"rope ".repeat(60)}` },
    ]).flat();
    const config = { maxContextTokens: 8000, policy: { hardCapBuffer: 200 } };
    const program = new CompactManager(config, { storage: createFsDriver({ root: join(folder, "kept") }) });
    expect((await program.preflight("chat-1", turns)).report.compacted).toBe(true);
    await program.flush();
    const undone = await run(["archive", "undo", "chat-1", "--archive", "kept"]);
    expect([undone.code, undone.err]).toEqual([0, ""]);
    expect(undone.out).toContain("compaction 1 of chat-1 is undone: its next call has 7.3k tokens again");
    const next = new CompactManager(config, { storage: createFsDriver({ root: join(folder, "kept") }) });
    expect((await next.preflight("chat-1", turns)).report.reason).toBe("undone");
    const again = await run(["archive", "undo", "chat-1", "--archive", "kept"]);
    expect(again.code).toBe(1);
    expect(again.err).toContain("has no compaction to undo");
  });
});

describe("archive restore", () => {
  it("ARC-4 writes the original list in its own format, and reports no difference", async () => {
    const file = session();
    await run([file, ...QUARTER, "--archive", "kept"]);
    const restored = await run(["archive", "restore", "session", "--archive", "kept", "-o", "back.json"]);
    expect(restored.code).toBe(0);
    expect(restored.out).toContain("It does not differ");
    expect(JSON.parse(readFileSync(join(folder, "back.json"), "utf8"))).toEqual(
      (JSON.parse(readFileSync(join(folder, file), "utf8")) as { messages: unknown[] }).messages,
    );
    const twice = await run(["archive", "restore", "session", "1", "--archive", "kept", "-o", "back.json"]);
    expect(twice.code).toBe(2);
    expect(twice.err).toContain("--force");
  });

  it("RED-1 reports where secrets were redacted, on one line each for any session id", async () => {
    const { messages: list } = JSON.parse(body(40)) as { messages: { content: unknown }[] };
    list[0] = { ...list[0], content: "password=hunter2-and-more" };
    writeFileSync(join(folder, "secret.json"), JSON.stringify(list));
    await run(["secret.json", ...QUARTER, "--archive", "kept"]);
    const restored = await run(["archive", "restore", "--archive", "kept", "-o", "back.json"]);
    expect(restored.out).toMatch(/! messages\[0\] \(\w{10}\): secrets were taken out/);
    expect(readFileSync(join(folder, "back.json"), "utf8")).not.toContain("hunter2");
    const json = await run(["archive", "restore", "secret", "--archive", "kept", "--json"]);
    const told = JSON.parse(json.out) as { messages: unknown[]; differences: { index: number }[] };
    expect(told.messages.length).toBe(list.length);
    expect(told.differences.map(({ index }) => index)).toEqual([0]);
  });

  it.each([
    [["archive", "restore", "--archive", "kept"], 2, "needs an output file"],
    [["archive", "restore", "session", "9", "--archive", "kept", "-o", "x.json"], 1, "no step 9"],
    [["archive", "restore", "nobody", "--archive", "kept", "-o", "x.json"], 1, "no session nobody"],
    [["archive", "list", "--archive", "kept", "-o", "x.json"], 2, "-o is not a flag of this command"],
    [["archive", "search", "x", "nobody", "--archive", "kept"], 1, "no session nobody"],
  ])("%j exits with %i", async (argv, code, words) => {
    await run([session(), ...QUARTER, "--archive", "kept"]);
    const refused = await run(argv);
    expect(refused.code).toBe(code);
    expect(refused.err).toContain(words);
  });
});

it("compact proxy does not start with a window that no call could have", async () => {
  const { code, err } = await run(["proxy", "--window", "5"]);
  expect(code).not.toBe(0);
  expect(err).toContain("policy.hard_cap_buffer must be less than max_context_tokens, which is 5");
});

describe("config check", () => {
  it.each([
    [
      "model: gpt-4o\npolicy: {target_context_tokens: 500000}",
      "x.yaml:2:33 policy.target_context_tokens must be less than",
    ],
    ["storage: {kind: s3}", "x.yaml:1:17 storage.kind is s3, and no bucket is named"],
  ])("refuses what a manager would refuse: %s", async (text, problem) => {
    writeFileSync(join(folder, "x.yaml"), text);
    const { code, err } = await run(["config", "check", "x.yaml"]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(problem) });
  });

  it("CFG-1 names file, place and what is wrong, and exits with 1", async () => {
    writeFileSync(join(folder, "bad.yaml"), "policy:\n  trigger_pct: 7\n");
    const bad = await run(["config", "check", "bad.yaml"]);
    expect(bad.code).toBe(1);
    expect(bad.err).toContain("bad.yaml:2");
    expect(bad.err).toContain("policy.trigger_pct must be 0.0-1.0");
    writeFileSync(join(folder, "good.yaml"), "policy:\n  trigger_pct: 0.8\n");
    expect(await run(["config", "check", "good.yaml"])).toMatchObject({ code: 0, err: "" });
  });

  it("checks what the environment sets, with a file and without one", async () => {
    expect(await run(["config", "check"])).toMatchObject({ code: 0, err: "" });
    const wrong = await run(["config", "check"], { env: { COMPACT_TRIGGER_PCT: "9" } });
    expect(wrong).toMatchObject({ code: 1, out: "" });
    expect(wrong.err).toMatch(
      /COMPACT_TRIGGER_PCT policy\.trigger_pct must be 0\.0-1\.0.*\n1 problem in the environment/,
    );
    writeFileSync(join(folder, "compact.yaml"), "model: gpt-4o\n");
    const besideFile = await run(["config", "check"], { env: { COMPACT_TRIGGER_PCT: "9" } });
    expect(besideFile.err).toMatch(/\n1 problem in the environment\n$/);
    writeFileSync(join(folder, "compact.yaml"), "policy:\n  trigger_pct: 7\n");
    const both = await run(["config", "check"], { env: { COMPACT_HARD_CAP_BUFFER: "x" } });
    expect(both.err).toMatch(/\n1 problem in compact\.yaml, 1 problem in the environment\n$/);
  });

  it("refuses of a file that is only found what other commands refuse", async () => {
    writeFileSync(join(folder, "compact.yaml"), "redaction: {enabled: false}\n");
    const found = await run(["config", "check"]);
    expect(found).toMatchObject({ code: 1, err: expect.stringContaining("may not be set here") });
    const env = { COMPACT_CONFIG: "compact.yaml" };
    expect(await run(["config", "check"], { env })).toMatchObject({ code: 0, err: "" });
    expect(await run(["config", "check", "compact.yaml"])).toMatchObject({ code: 0, err: "" });
  });

  it("checks the file that is named where several lie in the folder", async () => {
    writeFileSync(join(folder, "compact.yaml"), "model: gpt-4o\n");
    writeFileSync(join(folder, "compact.json"), "{}");
    expect(await run(["config", "check"])).toMatchObject({ code: 1 });
    expect(await run(["config", "check", "compact.yaml"])).toMatchObject({ code: 0, err: "" });
  });

  it("guesses a name with two letters swapped", async () => {
    writeFileSync(join(folder, "compact.yaml"), "modle: gpt-4o\n");
    expect((await run(["config", "check"])).err).toContain("did you mean model?");
  });

  it("warns about unknown variables, and stays valid", async () => {
    const told = await run(["config", "check"], { env: { COMPACT_NOPE: "1" } });
    expect([told.code, told.err]).toEqual([0, expect.stringContaining("COMPACT_NOPE is not a setting")]);
    const json = await run(["config", "check", "--json"], { env: { COMPACT_NOPE: "1" } });
    expect(JSON.parse(json.out)).toMatchObject({ valid: true, warnings: [expect.stringContaining("NOPE")] });
  });
});

describe("config show", () => {
  it("lists the command's own defaults, without those that are configured", async () => {
    const flat = (await run(["config", "show"])).out.replaceAll(/\s+/g, " ");
    expect(flat).toContain("this command takes: storage.root");
    expect(flat.slice(flat.indexOf("this command takes"))).toContain("policy.on_overflow elide");
    writeFileSync(join(folder, "compact.yaml"), "policy:\n  on_overflow: error\nstorage:\n  root: kept\n");
    expect((await run(["config", "show"])).out).not.toContain("this command takes");
  });
});
