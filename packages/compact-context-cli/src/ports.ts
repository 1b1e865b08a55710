import { homedir } from "node:os";
import { CompactError } from "compact-context/internal/errors";
import { inCommandWords } from "./hints.ts";
import { createPaint, type Paint } from "./render/table.ts";
import { oneLine, safeJson, snakeKeys, truncate } from "./render/text.ts";

// The world outside a command, so that tests can give another: screens, folders, environment, clock.

/** Where text goes, and how much of it fits on a line. */
export interface Screen {
  write(text: string): void;
  /** True once nobody reads any more (`compact … | head`): what is still written is dropped. */
  readonly isLeft?: boolean;
  /** Resolves when everything was written; rejects with `StorageFailed` where it could not be. */
  flushed?(): Promise<void>;
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
  /** The working folder; reading it throws `NotFound` where it was deleted meanwhile. */
  readonly cwd: string;
  /** The user's folder; reading it throws `NotFound` where the system knows none. */
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
    get cwd() {
      return workingFolder();
    },
    get home() {
      return homeFolder();
    },
    now: () => new Date(),
    clock: () => performance.now(),
    newId: () => crypto.randomUUID(),
    stopped,
    ask: interactive ? ask : undefined,
  };
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new CompactError("NotFound", "the folder this runs in is not there any more", {
      hint: "Change to a folder that is there.",
      cause,
    });
  }
}

function homeFolder(): string {
  const named = process.env.HOME || process.env.USERPROFILE;
  if (named) return named;
  try {
    return homedir();
  } catch (cause) {
    throw new CompactError("NotFound", "this user has no home folder to look for sessions in", {
      hint: "Set HOME, or name a file.",
      cause,
    });
  }
}

const screens = new WeakMap<NodeJS.WriteStream, Screen>();

/** One for each stream, however often it is asked for: each listens for its errors as long as the process lives. */
function screenOf(stream: NodeJS.WriteStream): Screen {
  const screen = screens.get(stream) ?? createScreen(stream);
  screens.set(stream, screen);
  return screen;
}

/** A reader that leaves (`compact … | head`) is no error; a full disk is. */
function createScreen(stream: NodeJS.WriteStream): Screen {
  let failure: NodeJS.ErrnoException | undefined;
  stream.on("error", (error) => {
    failure ??= error;
  });
  return {
    write: (text) => {
      if (failure === undefined) stream.write(text);
    },
    get isLeft() {
      return failure !== undefined;
    },
    async flushed() {
      if (failure === undefined) await new Promise<void>((resolve) => stream.write("", () => resolve()));
      if (failure === undefined || failure.code === "EPIPE") return;
      throw new CompactError(
        "StorageFailed",
        `the output could not be written: ${failure.code ?? failure.message}`,
        {
          hint: "Check the disk that it goes to.",
          cause: failure,
        },
      );
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
  const { createInterface } = await import("node:readline/promises");
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

/** Prints lines for a person. */
export interface Terminal {
  /** Cells to lay things out for: 60 to 120. */
  readonly width: number;
  readonly paint: Paint;
  print(lines: readonly string[]): void;
  /** The machine output: one JSON document, keys in snake_case but for what is below the keys `asIs`. */
  printJson(value: unknown, asIs?: ReadonlySet<string>): void;
  /** To stderr: something the reader should know beside the result; any text, made safe here. */
  warn(text: string): void;
}

const NARROWEST = 60;
const WIDEST = 120;

/** A terminal over stdout and stderr; as wide as it is, 80 where it has no width. */
export function createTerminal(ports: CliPorts): Terminal {
  const asked = Number(ports.env.COLUMNS);
  const columns = ports.stdout.columns ?? (Number.isInteger(asked) && asked > 0 ? asked : 80);
  const warnPaint = createPaint(ports.stderr.isTerminal, ports.env);
  return {
    width: Math.min(WIDEST, Math.max(NARROWEST, columns)),
    paint: createPaint(ports.stdout.isTerminal, ports.env),
    print: (lines) => ports.stdout.write(`${lines.join("\n")}\n`),
    printJson: (value, asIs) => ports.stdout.write(`${safeJson(snakeKeys(value, asIs))}\n`),
    warn: (text) => ports.stderr.write(`${warnPaint("warn", "note")}   ${oneLine(inCommandWords(text))}\n`),
  };
}

/** One line on stderr that says what is going on; only on a terminal, only for work over a second. */
export interface Progress {
  /** What is being done now, any text; `share` 0 to 1 where it is known. */
  show(stage: string, share?: number): void;
  /** Takes the line away. */
  end(): void;
}

const QUIET_MS = 1000;
const REFRESH_MS = 100;
const BAR = 20;

export function createProgress(ports: Pick<CliPorts, "stderr" | "clock">): Progress {
  const { stderr, clock } = ports;
  if (!stderr.isTerminal) return { show: () => undefined, end: () => undefined };
  const started = clock();
  let shown = Number.NEGATIVE_INFINITY;
  let last = "";
  return {
    show: (stage, share) => {
      const now = clock();
      if (now - started < QUIET_MS || (stage === last && now - shown < REFRESH_MS)) return;
      shown = now;
      last = stage;
      const filled = Math.round(Math.min(1, Math.max(0, share ?? 0)) * BAR);
      const bar = share === undefined ? "" : ` ${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
      stderr.write(`\r${truncate(`${oneLine(stage)}${bar}`, (stderr.columns ?? 80) - 1)}\u001b[K`);
    },
    end: () => {
      if (last !== "") stderr.write("\r\u001b[K");
      last = "";
    },
  };
}
