import type { CliPorts } from "./ports.ts";
import { snakeKeys } from "./render/json.ts";
import { createPaint, type Paint } from "./render/palette.ts";
import { oneLine, safeJson } from "./render/safe.ts";

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
