import type { CliPorts } from "./ports.ts";
import { createPaint, type Paint } from "./render/palette.ts";
import { oneLine, safeJson, snakeKeys } from "./render/safe.ts";
import { truncate } from "./render/width.ts";

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
    warn: (text) => ports.stderr.write(`${warnPaint("warn", "note")}   ${oneLine(text)}\n`),
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
