import { fstatSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { CompactError } from "compact-context/internal/errors";
import { inCommandWords } from "./hints.ts";
import { createPaint, type Paint } from "./render/table.ts";
import { oneLine, safeJson, safeLines, snakeKeys, truncate, wrap } from "./render/text.ts";

// What a command uses of its process, so that tests can replace it: streams, folders, environment, clock.

/** An output stream. */
export interface Screen {
  write(text: string): void;
  /** True once the reader has closed the pipe (`compact … | head`); further output is dropped. */
  readonly isClosed?: boolean;
  /** Resolves once everything is written; rejects with `StorageFailed` if it cannot be. */
  flushed?(): Promise<void>;
  readonly isTerminal: boolean;
  /** Width in cells; undefined if it is not a terminal. */
  readonly columns: number | undefined;
}

/** Everything that commands use of their process, except files. */
export interface CliPorts {
  /** Results. */
  readonly stdout: Screen;
  /** Progress, warnings and errors. */
  readonly stderr: Screen;
  /** Read by commands for the argument `-`. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working folder; throws `NotFound` if it was deleted. */
  readonly cwd: string;
  /** The user's folder; throws `NotFound` if the system has none. */
  readonly home: string;
  now(): Date;
  /** Milliseconds of a monotonic clock. */
  clock(): number;
  newId(): string;
  /** Asks the user; absent without a terminal. */
  readonly ask?: (question: string) => Promise<string>;
  /** Resolves on Ctrl-C and on a signal to end the process. */
  readonly stopped?: () => Promise<void>;
}

/** The ports of this process. */
export function processPorts(): CliPorts {
  const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true;
  return {
    stdout: screenOf(process.stdout),
    stderr: screenOf(process.stderr),
    stdin: process.stdin,
    env: process.env,
    get cwd() {
      return folderOf(
        () => process.cwd(),
        "the working folder does not exist any more",
        "Change to an existing folder.",
      );
    },
    get home() {
      const named = process.env.HOME || process.env.USERPROFILE;
      return (
        named ||
        folderOf(() => userInfo().homedir, "this user has no home folder", "Set HOME, or name a file.")
      );
    },
    now: () => new Date(),
    clock: () => performance.now(),
    newId: () => crypto.randomUUID(),
    stopped,
    ask: interactive ? ask : undefined,
  };
}

/** A folder that the system tells; throws `NotFound` where it does not. */
function folderOf(tell: () => string, problem: string, hint: string): string {
  try {
    return tell();
  } catch (cause) {
    throw new CompactError("NotFound", problem, { hint, cause });
  }
}

type OutputStream = NodeJS.WriteStream & { readonly fd: number };

const screens = new WeakMap<OutputStream, Screen>();

/** One screen per stream: each adds an error listener that is never removed. */
function screenOf(stream: OutputStream): Screen {
  const screen = screens.get(stream) ?? createScreen(stream);
  screens.set(stream, screen);
  return screen;
}

/** A closed pipe (`compact … | head`) is not an error; a full disk is. */
function createScreen(stream: OutputStream): Screen {
  let failure: NodeJS.ErrnoException | undefined;
  stream.on("error", (error) => {
    failure ??= error;
  });
  // The stream of a file takes a part of a text for the whole: the rest is lost on a disk that fills up.
  const isFile = fstatSync(stream.fd).isFile();
  return {
    write: (text) => {
      if (failure !== undefined) return;
      if (!isFile) {
        stream.write(text);
        return;
      }
      try {
        writeFileSync(stream.fd, text);
      } catch (error) {
        failure = error as NodeJS.ErrnoException;
      }
    },
    get isClosed() {
      return failure !== undefined;
    },
    async flushed() {
      if (failure === undefined) await new Promise<void>((resolve) => stream.write("", () => resolve()));
      if (failure === undefined || failure.code === "EPIPE") return;
      const problem = `the output could not be written: ${failure.code ?? failure.message}`;
      const hint = "Check the disk of the output file.";
      throw new CompactError("StorageFailed", problem, { hint, cause: failure });
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

/** The answer; empty after Ctrl-D and Ctrl-C. */
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

/** Formatted output. */
export interface Terminal {
  /** Layout width in cells, 40 to 120. */
  readonly width: number;
  readonly paint: Paint;
  print(lines: readonly string[]): void;
  /** Prints one JSON document. Keys become snake_case, except below the keys `asIs`. */
  printJson(value: unknown, asIs?: ReadonlySet<string>): void;
  /** Prints a note on stderr; the text is escaped here. */
  warn(text: string): void;
}

const MIN_WIDTH = 40;
const MAX_WIDTH = 120;

/** A terminal over stdout and stderr; 80 cells wide if stdout has no width. */
export function createTerminal(ports: CliPorts): Terminal {
  const configured = Number(ports.env.COLUMNS);
  const columns = ports.stdout.columns ?? (Number.isInteger(configured) && configured > 0 ? configured : 80);
  const warnPaint = createPaint(ports.stderr.isTerminal, ports.env);
  return {
    width: Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, columns)),
    paint: createPaint(ports.stdout.isTerminal, ports.env),
    print: (lines) => ports.stdout.write(`${lines.join("\n")}\n`),
    printJson: (value, asIs) => ports.stdout.write(`${safeJson(snakeKeys(value, asIs))}\n`),
    warn: (text) => printBeside(`${warnPaint("warn", "note")}   `, oneLine(inCommandWords(text)), 7, ports),
  };
}

/** Prints a text on stderr beside a label of `cells` cells; on a terminal, lines that are too wide are wrapped. */
export function printBeside(
  label: string,
  text: string,
  cells: number,
  { stderr }: Pick<CliPorts, "stderr">,
): void {
  const { columns = 0 } = stderr;
  // A terminal of unknown size says 0.
  const room = columns < MIN_WIDTH ? Number.POSITIVE_INFINITY : columns - cells;
  const lines = safeLines(text).flatMap((line) => (line.length * 2 <= room ? [line] : wrap(line, room)));
  stderr.write(`${label}${lines.join(`\n${" ".repeat(cells)}`)}\n`);
}

/** A progress line on stderr; only on a terminal, and only for work of more than a second. */
export interface Progress {
  /** Shows the current stage; `share` is 0 to 1 if known. */
  show(stage: string, share?: number): void;
  /** Clears the line. */
  end(): void;
}

const DELAY_MS = 1000;
const REFRESH_MS = 100;
const BAR_CELLS = 20;

export function createProgress(ports: Pick<CliPorts, "stderr" | "clock">): Progress {
  const { stderr, clock } = ports;
  if (!stderr.isTerminal) return { show: () => undefined, end: () => undefined };
  const started = clock();
  let shown = Number.NEGATIVE_INFINITY;
  let last = "";
  return {
    show: (stage, share) => {
      const now = clock();
      if (now - started < DELAY_MS || (stage === last && now - shown < REFRESH_MS)) return;
      shown = now;
      last = stage;
      const filled = Math.round(Math.min(1, Math.max(0, share ?? 0)) * BAR_CELLS);
      const bar = share === undefined ? "" : ` ${"█".repeat(filled)}${"░".repeat(BAR_CELLS - filled)}`;
      stderr.write(`\r${truncate(`${oneLine(stage)}${bar}`, (stderr.columns ?? 80) - 1)}\u001b[K`);
    },
    end: () => {
      if (last !== "") stderr.write("\r\u001b[K");
      last = "";
    },
  };
}
