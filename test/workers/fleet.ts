import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The package must be built, because workers are separate processes. */
export const built: boolean = existsSync(
  join(import.meta.dirname, "../../packages/compact-context/dist/index.js"),
);

export interface WorkerSettings {
  readonly kind: "postgres" | "fs";
  readonly session: string;
  readonly url?: string;
  readonly schema?: string;
  readonly root?: string;
  readonly leaseMs?: number;
  readonly summarizeMs?: number;
}

/** A worker process and its output so far. */
export interface Worker {
  readonly lines: readonly string[];
  readonly running: boolean;
  /** Resolves with the first line, past or future, that matches; undefined if the worker has ended. */
  heard(test: (line: string) => boolean): Promise<string | undefined>;
  /** Calls the listener for every line from now on. */
  onLine(listener: (line: string) => void): void;
  turn(turn: number): void;
  signal(name: NodeJS.Signals): void;
  /** Lets the worker exit normally. */
  end(): Promise<void>;
}

export function startWorker(settings: WorkerSettings): Worker {
  const script = join(import.meta.dirname, "worker.mjs");
  const child = spawn(process.execPath, [script, JSON.stringify(settings)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const listeners = new Set<(line: string | undefined) => void>();
  const tell = (line: string | undefined): void => {
    for (const listener of [...listeners]) listener(line);
  };
  const ended = endOf(child, () => tell(undefined));
  let running = true;
  void ended.then(() => {
    running = false;
  });
  // Output written just before a kill arrives after it: only the end of the output is the worker's end.
  createInterface({ input: child.stdout ?? process.stdin }).on("line", (line) => {
    lines.push(line);
    tell(line);
  });
  child.stdin?.on("error", () => {});
  return {
    lines,
    get running() {
      return running;
    },
    heard: (test) =>
      new Promise((done) => {
        const said = lines.find(test);
        if (said !== undefined || !running) {
          done(said);
          return;
        }
        const listener = (line: string | undefined): void => {
          if (line !== undefined && !test(line)) return;
          listeners.delete(listener);
          done(line);
        };
        listeners.add(listener);
      }),
    onLine: (listener) =>
      listeners.add((line) => {
        if (line !== undefined) listener(line);
      }),
    turn: (turn) => child.stdin?.write(`turn ${turn}\n`),
    signal: (name) => child.kill(name),
    async end() {
      child.stdin?.end();
      await ended;
    },
  };
}

function endOf(child: ChildProcess, tell: () => void): Promise<void> {
  return new Promise((done) => {
    child.on("close", () => {
      done();
      tell();
    });
  });
}
