import { eventLine } from "../../core/archive.ts";
import type { CompactEvent, Exporter } from "../../core/ports.ts";
import { escapeControl, requireOptions } from "../../errors.ts";

// Exporters that stay in the process: a file, the terminal.

/** Writes one JSON record a line through `append`, which gets the line with its newline. */
export function createJsonlExporter(options: {
  readonly append: (line: string) => void | Promise<void>;
}): Exporter {
  return { export: (event: CompactEvent) => options.append(eventLine(event)) };
}

const MAX_VALUE = 120;

/**
 * Writes one line per event through `write` (without its newline), standard error when left out: words for people
 * when `terminal` is true, JSON otherwise. Without `terminal`, whether standard error is one decides.
 */
export function createConsoleExporter(
  options: { readonly write?: (line: string) => void; readonly terminal?: boolean } = {},
): Exporter {
  requireOptions(options);
  const { write = (line) => console.error(line), terminal = isTerminal() } = options;
  return {
    export(event) {
      write(terminal ? readableLine(event) : asciiJson(eventLine(event).trimEnd()));
    },
  };
}

function isTerminal(): boolean {
  const { process } = globalThis as { process?: { stderr?: { isTTY?: boolean } } };
  return process?.stderr?.isTTY === true;
}

/** JSON.stringify leaves C1 controls and bidi marks as they are; a log viewer may obey them. */
function asciiJson(json: string): string {
  return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function readableLine(event: CompactEvent): string {
  const time = event.startedAt.slice(11, 23);
  const took = Date.parse(event.endedAt) - Date.parse(event.startedAt);
  const words = [time, event.status === "error" ? `${event.name} FAILED` : event.name, event.sessionId];
  for (const [name, value] of Object.entries(event.properties)) words.push(`${name}=${shown(value)}`);
  if (took > 0) words.push(`(${took} ms)`);
  return escapeControl(words.join(" ")).replace(/[\n\t]/g, " ");
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const short = text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
  return typeof value === "string" && /\s/.test(short) ? JSON.stringify(short) : short;
}
