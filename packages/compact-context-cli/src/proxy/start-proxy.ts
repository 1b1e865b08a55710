import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { CompactionReport } from "compact-context/internal/core/report";
import { CompactError } from "compact-context/internal/errors";
import { redact } from "compact-context/redaction";
import { createMemoryDriver } from "compact-context/storage/memory";
import { createMetrics } from "compact-context/tracing";
import { driverOf, watchHealth } from "../archive.ts";
import { readConfig } from "../files/config.ts";
import { type Invocation, oneOf, portOf } from "../flags.ts";
import { inCommandWords } from "../hints.ts";
import type { CliPorts, Terminal } from "../ports.ts";
import { PROVIDERS } from "../providers.ts";
import { formatCount, oneLine, parseTokens, safeJson, snakeKeys } from "../render/text.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import { startProxy } from "./server.ts";
import { createSessions, upstreamsOf } from "./sessions.ts";
import { createTally, type Tally, tallyLine } from "./tally.ts";

/** A fixed port that agents' settings can name. */
const USUAL_PORT = 4180;

/** Serves until Ctrl-C, or until the given program ends; then returns its exit code. */
export async function runProxy(invocation: Invocation): Promise<number> {
  const { words, flags, ports, terminal } = invocation;
  const settings = readConfig(invocation);
  const { config, origins } = settings;
  const upstreams = upstreamsOf(flags.upstream, ports.env);
  const window = flags.window === undefined ? undefined : parseTokens(flags.window, "--window");
  const [program, ...rest] = words;
  const dryRun = flags["dry-run"] === true;
  const screen =
    oneOf(flags.log, "--log", ["text", "json"]) === "json"
      ? createLog(ports)
      : createScreen(ports, terminal, program !== undefined);
  const metrics = createMetrics();
  const storage = dryRun ? createMemoryDriver() : await driverOf(invocation, settings);
  const tally = createTally(config.models);
  const sessions = createSessions({
    // No user can be asked: content that is too long is truncated rather than refused, unless configured
    // otherwise.
    config:
      origins["policy.on_overflow"] === undefined
        ? { ...config, policy: { ...config.policy, onOverflow: "elide" } }
        : config,
    window,
    storage,
    exporters: [metrics],
    warn: screen.problem,
  });
  // An invalid window ends the command instead of failing every call.
  sessions.managerOf(undefined);
  const server = await startProxy({
    port: portOf(flags.port, program === undefined ? USUAL_PORT : 0),
    upstreams,
    sessions,
    tally,
    fetch: createProviderFetch(ports.env),
    metrics: metrics.text,
    health: watchHealth(storage, ports),
    dryRun,
    changed: (report) => screen.changed(tally, report),
    problem: screen.problem,
  });
  try {
    if (program === undefined) {
      // Registered before the lines that explain how to stop are printed.
      const stopped = ports.stopped?.();
      screen.started(server.url, dryRun);
      await stopped;
      return 0;
    }
    const code = await runProgram(program, rest, { ...ports.env, ...clientVariables(server.url) });
    if (tally.totals.requests === 0) terminal.warn(NOBODY_CALLED);
    return code;
  } finally {
    await server.close(DRAIN_MS);
    await sessions.close();
    screen.end(tally);
  }
}

function startLines(url: string, terminal: Terminal, dryRun: boolean): string[] {
  const what = dryRun
    ? "only watches: every call goes on as it came"
    : "keeps each session inside its window";
  return [
    "",
    `  ${terminal.paint("strong", url)}  ${what}`,
    "",
    ...Object.entries(AGENTS).flatMap(([name, setting]) => {
      const [first = "", ...more] = setting(url);
      const label = (text: string): string => `  ${text.padEnd(12)}`;
      return [
        `${label(name)}${first}`,
        ...more.map((line) => `${label("")}${terminal.paint("faint", line)}`),
      ];
    }),
    "",
    "  Figures are at /metrics. Ctrl-C ends it; sessions go on when it is started again.",
    "",
  ];
}

interface ProxyScreen {
  started(url: string, dryRun: boolean): void;
  changed(tally: Tally, report: CompactionReport | undefined): void;
  readonly problem: (message: string) => void;
  end(tally: Tally): void;
}

/** Output on stderr. While a program owns the terminal, output is held back until it ends. */
function createScreen({ stderr }: CliPorts, terminal: Terminal, runsProgram: boolean): ProxyScreen {
  const isLive = stderr.isTerminal && !runsProgram;
  const isQuiet = stderr.isTerminal && runsProgram;
  const kept: string[] = [];
  let problems = 0;
  const clear = isLive ? "\r\u001b[2K" : "";
  return {
    started: (url, dryRun) => terminal.print(startLines(url, terminal, dryRun)),
    changed(tally, report) {
      if (report !== undefined && !isQuiet) {
        const { tokensBefore, tokensAfter } = report;
        stderr.write(
          `${clear}compact ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens${isLive ? "\n" : ` · ${tallyLine(tally)}\n`}`,
        );
      }
      if (isLive) stderr.write(`${clear}${tallyLine(tally)}`);
    },
    problem(message) {
      problems += 1;
      if (isQuiet) {
        if (kept.length < MOST_KEPT) kept.push(message);
        return;
      }
      stderr.write(clear);
      terminal.warn(message);
    },
    end(tally) {
      stderr.write(clear);
      for (const message of kept) terminal.warn(message);
      if (problems > kept.length && isQuiet) terminal.warn(`and ${problems - kept.length} notes more`);
      if (tally.totals.requests > 0) stderr.write(`compact ${oneLine(tallyLine(tally))}\n`);
    },
  };
}

/** The same as one JSON record per line, for log collectors; secrets are redacted. */
function createLog({ stderr, now }: CliPorts): ProxyScreen {
  const say = (level: "info" | "warn", message: string, more: object = {}): void => {
    const words = redact(inCommandWords(message));
    const record = { time: now().toISOString(), level, message: words, ...more };
    stderr.write(`${safeJson(record, 0)}\n`);
  };
  return {
    started: (url) => say("info", "listening", { url }),
    changed(_tally, report) {
      if (report === undefined) return;
      const { reason, tokensBefore, tokensAfter, elapsedMs } = report;
      say("info", "compacted", {
        reason,
        tokens_before: tokensBefore,
        tokens_after: tokensAfter,
        elapsed_ms: Math.round(elapsedMs),
      });
    },
    problem: (message) => say("warn", message),
    end: ({ totals }) => say("info", "ended", snakeKeys(totals) as object),
  };
}

/** Grace period in milliseconds for running responses after a stop signal. */
const DRAIN_MS = 10_000;
const MOST_KEPT = 20;
const NOBODY_CALLED =
  "no model call came through the proxy: the program takes its base URL from elsewhere; `compact proxy` alone prints what to set";

const HANDED = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs a program that owns the terminal; returns 128 plus the signal's number if a signal ended it. */
function runProgram(program: string, words: readonly string[], env: CliPorts["env"]): Promise<number> {
  const child = spawn(program, words, { stdio: "inherit", env });
  // Ctrl-C reaches both processes: the program handles it. Other signals are forwarded.
  const hand = (signal: NodeJS.Signals): void => {
    if (signal !== "SIGINT") child.kill(signal);
  };
  for (const signal of HANDED) process.on(signal, hand);
  return new Promise<number>((resolve, reject) => {
    child.once("error", (cause: NodeJS.ErrnoException) => {
      const missing = cause.code === "ENOENT";
      reject(
        new CompactError(
          "NotFound",
          `${oneLine(program)} could not be started: ${cause.code ?? cause.message}`,
          {
            place: program,
            hint: missing ? "Check that it is installed, or name its path." : "Check that it may be run.",
            cause,
          },
        ),
      );
    });
    child.once("close", (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  }).finally(() => {
    for (const signal of HANDED) process.off(signal, hand);
  });
}

/** How agents are pointed at the proxy: lines to type, or to add to an agent's settings. */
const AGENTS: Readonly<Record<string, (url: string) => readonly string[]>> = {
  "Claude Code": (url) => [`ANTHROPIC_BASE_URL=${url} claude`],
  Codex: (url) => [
    "in ~/.codex/config.toml:",
    'model_provider = "compact"',
    "[model_providers.compact]",
    'name = "OpenAI through Compact"',
    `base_url = "${url}/v1"`,
    'wire_api = "responses"',
    'env_key = "OPENAI_API_KEY"',
  ],
  opencode: (url) => [
    "in opencode.json:",
    `{ "provider": { "anthropic": { "options": { "baseURL": "${url}/v1" } },`,
    `                "openai": { "options": { "baseURL": "${url}/v1" } } } }`,
  ],
  "Gemini CLI": (url) => [`GOOGLE_GEMINI_BASE_URL=${url} gemini`],
  aider: (url) => [`ANTHROPIC_API_BASE=${url} OPENAI_API_BASE=${url}/v1 aider`],
  Cline: (url) => [`in its settings, "Use custom base URL": ${url} (Anthropic), ${url}/v1 (OpenAI)`],
};

/** The environment variables that point clients at this address. */
function clientVariables(url: string): Readonly<Record<string, string>> {
  const named = Object.values(PROVIDERS).map(({ urlVariable, isVersioned, version }) => [
    urlVariable,
    isVersioned ? url + version : url,
  ]);
  return { ...Object.fromEntries(named), ANTHROPIC_API_BASE: url, OPENAI_API_BASE: `${url}/v1` };
}
