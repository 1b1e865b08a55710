import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { createInterface } from "node:readline/promises";

/** Where text goes, and how much of it fits on a line. */
export interface Screen {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Cells of a line; undefined where it is no terminal. */
  readonly columns: number | undefined;
}

/** Everything of the outside that the commands touch beside files. */
export interface CliPorts {
  /** Results. */
  readonly stdout: Screen;
  /** Everything that is no result: progress, warnings, errors. */
  readonly stderr: Screen;
  /** What is piped in, for commands that take `-` in place of a file. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  now(): Date;
  /** Milliseconds of a steady clock. */
  clock(): number;
  newId(): string;
  /** Asks whoever sits at the terminal; absent where nobody does. */
  readonly ask?: (question: string) => Promise<string>;
  /** Resolves when the person has had enough (Ctrl-C) or the process is asked to end. */
  readonly stopped?: () => Promise<void>;
}

/** The process that runs: its streams, environment and clocks. */
export function processPorts(): CliPorts {
  const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true;
  return {
    stdout: screenOf(process.stdout),
    stderr: screenOf(process.stderr),
    stdin: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    home: process.env.HOME ?? process.env.USERPROFILE ?? homedir(),
    now: () => new Date(),
    clock: () => performance.now(),
    newId: () => randomUUID(),
    stopped,
    ...(interactive ? { ask } : {}),
  };
}

/** A reader that leaves (`compact … | head`) is no error: what it does not take is dropped. */
function screenOf(stream: NodeJS.WriteStream): Screen {
  let open = true;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    open = false;
  });
  return {
    write: (text) => {
      if (open) stream.write(text);
    },
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.isTTY === true ? stream.columns : undefined;
    },
  };
}

function stopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
}

/** The answer; empty when the reader closes the input (Ctrl-D) or gives up (Ctrl-C). */
async function ask(question: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new Promise<string>((resolve) => {
    prompt.once("close", () => resolve(""));
    prompt.once("SIGINT", () => {
      process.stdout.write("\n");
      prompt.close();
    });
  });
  try {
    return await Promise.race([prompt.question(question), closed]);
  } finally {
    prompt.close();
  }
}
