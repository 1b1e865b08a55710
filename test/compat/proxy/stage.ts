import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Answer, StubRequest, ToolCall } from "../../stubs/answers.ts";
import { type Stub, type StubOptions, startStub } from "../../stubs/server.ts";

const packages = fileURLToPath(new URL("node_modules", import.meta.url));
export const compactBin = resolve("packages/compact-context-cli/bin/compact.js");
const isBuilt = existsSync("packages/compact-context-cli/dist/main.js");

/** Maximum tokens of a prompt; the clients assume 200,000 and more. */
const WINDOW = 60_000;

/** An agent as its users run it. */
export interface Agent {
  readonly name: string;
  readonly installed: boolean;
  /** Configures the proxy's address in the agent. */
  prepare?(stage: Stage, url: string): void;
  /** Program, arguments and environment of a run; `resume` continues a session. */
  command(
    url: string,
    ask: string,
    resume?: string | true,
  ): {
    readonly program: string;
    readonly words: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  /** A call of the agent's shell tool. */
  shell(command: string): ToolCall;
  /** True for a request of the agent itself, not of its background tasks. */
  isMain(body: StubRequest["body"]): boolean;
  /** Folder of its sessions, relative to its home. */
  readonly sessions: string;
  /** Content of its session files after its own compaction. */
  readonly ownCompaction: RegExp;
}

const KEY = "k".repeat(24);
const has = (path: string): boolean => isBuilt && existsSync(join(packages, path));
const toolsOf = (body: StubRequest["body"]): string => JSON.stringify(body.tools ?? body.input ?? "");

const claudeBin = "@anthropic-ai/claude-code/cli-wrapper.cjs";
export const claude: Agent = {
  name: "Claude Code 2.1.197",
  installed: has(claudeBin),
  command: (url, ask, resume) => ({
    program: process.execPath,
    words: [
      join(packages, claudeBin),
      ...(resume === true ? ["--continue"] : resume === undefined ? [] : ["--resume", resume]),
      ...["-p", ask, "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"],
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      // The stub counts input and output against one window of 60,000.
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: "8000",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  }),
  shell: (command) => ({ name: "Bash", arguments: { command, description: "reads a file" } }),
  isMain: (body) => toolsOf(body).includes('"Bash"'),
  sessions: ".claude/projects",
  ownCompaction: /"isCompactSummary":true|compact_boundary/,
};

const codexBin = "@openai/codex/bin/codex.js";
export const codex: Agent = {
  name: "Codex 0.169.0",
  installed: has(codexBin),
  command: (url, ask, resume) => ({
    program: process.execPath,
    words: [
      ...[join(packages, codexBin), "exec"],
      ...(resume === true ? ["resume", "--last"] : resume === undefined ? [] : ["resume", resume]),
      ...["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
      ...["-c", 'model_provider="compact"', "-c"],
      // It tries a web socket first and falls back to plain requests.
      `model_providers.compact={name="compact",base_url="${url}/v1",wire_api="responses",env_key="STUB_KEY",supports_websockets=true}`,
      ask,
    ],
    env: { STUB_KEY: KEY },
  }),
  shell: (command) => ({
    name: "exec",
    arguments: `const ran = await tools.exec_command({ cmd: ${JSON.stringify(command)} }); text(ran.output);`,
    custom: true,
  }),
  isMain: (body) => toolsOf(body).includes('"exec"'),
  sessions: ".codex/sessions",
  ownCompaction: /"type":"compacted"/,
};

const opencodeBin = "opencode-linux-x64/bin/opencode";
export const opencode: Agent = {
  name: "opencode 1.18.33",
  installed: has(opencodeBin),
  prepare({ folder }, url) {
    const limit = { context: 200_000, output: 8_000 };
    const anthropic = {
      options: { baseURL: `${url}/v1`, apiKey: KEY },
      models: { "claude-sonnet-4-5": { limit } },
    };
    const settings = { autoupdate: false, permission: "allow", provider: { anthropic } };
    writeFileSync(join(folder, "opencode.json"), JSON.stringify(settings));
  },
  command: (_, ask, resume) => ({
    program: join(packages, opencodeBin),
    words: ["run", ...(resume === undefined ? [] : ["--continue"]), "-m", "anthropic/claude-sonnet-4-5", ask],
  }),
  shell: (command) => ({ name: "bash", arguments: { command, description: "reads a file" } }),
  isMain: (body) => toolsOf(body).includes('"bash"'),
  sessions: ".local/share/opencode",
  ownCompaction: /"type":"compaction"|"mode":"compaction"/,
};

/** A working folder with files to read, a separate home, a stub and the proxy in front of it. */
export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), "compact-proxy-"));
  readonly home = join(this.folder, "home");
  /** The stderr output of all proxies. */
  said = "";
  #stub: Stub | undefined;
  #proxy: ChildProcess | undefined;
  #port = 0;
  readonly #children = new Set<ChildProcess>();

  constructor() {
    mkdirSync(join(this.home, ".codex"), { recursive: true });
    for (let file = 0; file < 10; file += 1)
      writeFileSync(join(this.folder, `file${file}.txt`), linesOf(file));
  }

  get stub(): Stub {
    if (this.#stub === undefined) throw new Error("the stub was not started");
    return this.#stub;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async startStub(answers: (request: StubRequest) => Answer | Promise<Answer>, more: StubOptions = {}) {
    this.#stub = await startStub({ window: WINDOW, maxOutput: 128_000, ...more, answers });
  }

  /** Starts the command itself, on the same port as the previous one. */
  async startProxy(flags: readonly string[] = ["--window", String(WINDOW)]): Promise<void> {
    const words = ["proxy", "--port", String(this.#port), "--upstream", this.stub.anthropicUrl, ...flags];
    const child = this.#spawn(process.execPath, [compactBin, ...words, "--archive", "archive"]);
    child.stderr?.on("data", (piece) => {
      this.said += piece;
    });
    this.#proxy = child;
    this.#port = await new Promise<number>((done, fail) => {
      let out = "";
      child.stdout?.on("data", (piece) => {
        out += piece;
        const port = /127\.0\.0\.1:(\d+)/.exec(out)?.[1];
        if (port !== undefined) done(Number(port));
      });
      child.once("close", (code) => fail(new Error(`the proxy ended with ${code}: ${this.said}`)));
    });
  }

  /** Stops the proxy with a signal and waits until it has exited. */
  async stopProxy(signal: NodeJS.Signals): Promise<void> {
    const child = this.#proxy;
    if (child === undefined || child.exitCode !== null) return;
    await new Promise((done) => {
      child.once("close", done);
      child.kill(signal);
    });
  }

  /** Runs an agent to its end; returns its output. */
  async run(agent: Agent, url: string, ask: string, resume?: string | true): Promise<string> {
    agent.prepare?.(this, url);
    const { program, words, env } = agent.command(url, ask, resume);
    return this.runProgram(program, words, env);
  }

  async runProgram(
    program: string,
    words: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<string> {
    const child = this.#spawn(program, words, env);
    let out = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (piece) => {
        out += piece;
      });
    const code = await new Promise<number | null>((done) => child.once("close", done));
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${out.slice(-2_000)}`);
    return out;
  }

  /** The session files of an agent. */
  sessionFiles(agent: Agent): string[] {
    const folder = join(this.home, agent.sessions);
    return readdirSync(folder, { recursive: true })
      .map((name) => join(folder, String(name)))
      .filter((path) => /\.(?:jsonl|db|db-wal)$/.test(path));
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await this.#stub?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #spawn(program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(program, words, {
      cwd: this.folder,
      env: { PATH: process.env.PATH, HOME: this.home, CODEX_HOME: join(this.home, ".codex"), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.add(child);
    child.once("close", () => this.#children.delete(child));
    return child;
  }
}

function linesOf(file: number): string {
  const line = (number: number): string =>
    `file ${file} line ${number}: the quick brown fox number ${file * 100 + number} jumps over the lazy dog`;
  return Array.from({ length: 60 }, (_, number) => line(number)).join("\n");
}

/** The message list of a request. */
export function listOf({ body }: StubRequest): readonly unknown[] {
  const list = body.messages ?? body.input;
  return Array.isArray(list) ? list : [];
}
