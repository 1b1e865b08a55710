import { type ChildProcess, spawn } from "node:child_process";
import type { AgentTool } from "compact-context/agents";
import { formatCount, formatDuration } from "../../render/numbers.ts";
import type { Workplace } from "../workplace.ts";
import { numberArgument, objectSchema, textArgument } from "./read.ts";

const SECONDS = 120;
const MOST_SECONDS = 600;
/** Of the output, the first and the last so many bytes are kept. */
const HALF = 60_000;
/** Between asking a command to end and ending it. */
const GRACE_MS = 2_000;

/** Runs a command of the shell in the working folder, with nothing to read and a deadline. */
export function runTool(workplace: Workplace, env: NodeJS.ProcessEnv): AgentTool {
  return {
    name: "run",
    description: `Runs a shell command in the working folder and gives its output, errors among it. It has no input and ${SECONDS} s; ask for more with timeout_seconds. Everything it started ends with it.`,
    schema: objectSchema(
      {
        command: { description: "The command line." },
        timeout_seconds: {
          type: "integer",
          description: `At most ${MOST_SECONDS}; ${SECONDS} when left out.`,
        },
      },
      ["command"],
    ),
    deadlineMs: (MOST_SECONDS + 10) * 1000,
    execute: (args, { signal }) => {
      const command = textArgument(args, "command");
      const seconds = Math.min(MOST_SECONDS, numberArgument(args, "timeout_seconds", SECONDS));
      return runCommand({ command, seconds, cwd: workplace.root, env }, signal);
    },
  };
}

interface CommandRun {
  readonly command: string;
  readonly seconds: number;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Output and exit code as text; rejects only where the shell itself cannot be started. */
export async function runCommand(
  { command, seconds, cwd, env }: CommandRun,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn(command, {
    shell: true,
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: what the command starts can be ended with it.
    detached: process.platform !== "win32",
  });
  const started = performance.now();
  const output = createOutput();
  child.stdout?.on("data", output.add);
  child.stderr?.on("data", output.add);
  let late = false;
  const stop = (): void => end(child);
  const timer = setTimeout(() => {
    late = true;
    stop();
  }, seconds * 1000);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const status = await exitOf(child);
    const how = late ? "given up" : status;
    return `${output.text()}\n[${how}, ${formatDuration(performance.now() - started)}]`.trimStart();
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    // Whatever it left running in the background.
    kill(child, "SIGKILL");
  }
}

function end(child: ChildProcess): void {
  kill(child, "SIGTERM");
  setTimeout(() => kill(child, "SIGKILL"), GRACE_MS).unref();
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

/** How it ended; output that a background process still holds is not waited for. */
function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      const done = (): void => resolve(how);
      child.once("close", done);
      setTimeout(done, 200).unref();
    });
  });
}

function createOutput(): { add(piece: Buffer): void; text(): string } {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let left = 0;
  return {
    add(piece) {
      const room = HALF - head.length;
      if (room > 0) head = Buffer.concat([head, piece.subarray(0, room)]);
      const rest = room > 0 ? piece.subarray(room) : piece;
      if (rest.length === 0) return;
      const joined = Buffer.concat([tail, rest.subarray(-HALF)]);
      left += tail.length + rest.length - Math.min(joined.length, HALF);
      tail = joined.subarray(-HALF);
    },
    text() {
      const gap = left === 0 ? "" : `\n[${formatCount(left)} bytes of output were left out]\n`;
      return `${head.toString("utf8")}${gap}${tail.toString("utf8")}`;
    },
  };
}
