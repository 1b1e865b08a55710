import { CompactError, closest } from "compact-context/internal/errors";
import type { CliPorts, Terminal } from "./ports.ts";
import { oneLine } from "./render/text.ts";

// The types of a command definition, the table of flags, and the input of a running command.

export interface FlagSpec {
  /** Placeholder of its value in help; absent for a switch. */
  readonly value?: string;
  readonly short?: string;
  readonly help: string;
}

/** All flags; each command lists those that it takes. */
export const FLAGS = {
  model: { value: "NAME", help: "the model that continues the session: determines window and tokenizer" },
  window: { value: "N", help: "the model's limit in tokens, such as 200k" },
  target: { value: "N", help: "target size in tokens: 20000, 20k, or 25% of what the file holds" },
  format: { value: "NAME", help: "the transcript's format; default: detected" },
  strategy: {
    value: "NAME",
    help: "kind of summary: task_state, decision_log, code_delta, brief, step_ledger, requirements_ledger",
  },
  "on-overflow": {
    value: "elide|error",
    help: "if protected messages are too large: cut them in the middle (elide), or fail (error)",
  },
  summarizer: {
    value: "WHO",
    help: "who writes the summary: builtin (needs no model), openai:MODEL, anthropic:MODEL, URL[#MODEL]",
  },
  deadline: { value: "SECONDS", help: "time limit of a model's summary, all attempts together" },
  config: { value: "FILE", help: "configuration file; default: compact.yaml here" },
  archive: {
    value: "DIR",
    help: "folder of the originals; default: the project's archive, else your own",
  },
  session: { value: "ID", help: "only this session of the archive" },
  output: { value: "FILE", short: "o", help: "write the result here; a transcript in its own format" },
  provider: {
    value: "NAME",
    help: "whose rules: openai-chat, anthropic, gemini, …; default: the session's, else openai-chat",
  },
  channel: { value: "DIR", help: "the channel's folder, with SESSION.md and MEMORY.md" },
  workspace: { value: "DIR", help: "the workspace's folder; default: the parent of the channel's" },
  user: { value: "NAME", help: "the current user, for a channel with restricted access" },
  debug: { help: "also show the candidates with scores and reasons" },
  partial: { help: "undo what can be undone, even if only in part" },
  port: { value: "N", help: "the page's port; default: a free one" },
  open: { help: "open the page in your browser" },
  "base-url": {
    value: "URL",
    help: "a server with OpenAI's chat completions, such as http://localhost:11434/v1",
  },
  upstream: { value: "URL", help: "URL that calls are forwarded to; default: the provider's own" },
  log: { value: "text|json", help: "log format: text, or one JSON record per line" },
  tenant: { value: "NAME", help: "only sessions of this tenant" },
  days: { value: "N", help: "delete sessions without a write for this many days" },
  "max-bytes": { value: "N", help: "delete the oldest sessions above this total size, such as 10G" },
  yes: { help: "confirm the deletion" },
  "dry-run": { help: "change nothing: report what would be compacted" },
  new: { help: "start a new session" },
  force: { help: "let -o replace an existing file" },
  summary: { help: "print only the full summary" },
  json: { help: "JSON on stdout, everything else on stderr" },
  pending: { help: "the session is still running: calls at its end may be open" },
  strict: {
    help: "also the rules of strict chat templates and DeepSeek: alternating roles, one system message, reasoning_content",
  },
  all: { help: "every message, without folding" },
  pii: { help: "also redact e-mail addresses, telephone numbers, payment cards, bank accounts" },
  help: { short: "h", help: "show this help" },
} as const satisfies Readonly<Record<string, FlagSpec>>;

export type FlagName = keyof typeof FLAGS;

/** Flags that affect the result: a suggested command line must repeat them. */
export const RESULT_FLAGS: readonly FlagName[] = [
  "model",
  "window",
  "target",
  "format",
  "strategy",
  "on-overflow",
  "summarizer",
  "deadline",
  "config",
  "archive",
];

/** The given flags: a string for those with a value, true for switches. */
export type Flags = {
  readonly [Name in FlagName]?: (typeof FLAGS)[Name] extends { readonly value: string } ? string : true;
};

/** The error for a command line that was used incorrectly; `place` is the flag or variable that is wrong. */
export function misuse(problem: string, hint: string, place?: string): CompactError {
  return new CompactError("InvalidUsage", problem, { hint, place });
}

/** `Did you mean X? ` with the closest known word, after `before`; empty if none is close. */
export function didYouMean(word: string, known: readonly string[], before = ""): string {
  const near = closest(word, known);
  return near === undefined ? "" : `Did you mean ${before}${oneLine(near)}? `;
}

/** The value of a flag with fixed choices; throws `InvalidUsage` for any other value. */
export function oneOf<T extends string>(
  given: string | undefined,
  flag: string,
  known: readonly T[],
): T | undefined {
  const found = known.find((one) => one === given);
  if (given === undefined || found !== undefined) return found;
  const hint = `${didYouMean(given, known)}Use one of ${known.join(", ")}.`;
  throw misuse(`${flag} ${given}: unknown value`, hint, flag);
}

const HIGHEST_PORT = 65_535;

/** The port of `--port`, else the default; throws `InvalidUsage` where it is not a port number. */
export function portOf(given: string | undefined, defaultPort: number): number {
  if (given === undefined) return defaultPort;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (port <= HIGHEST_PORT) return port;
  const hint = `Give a number up to ${HIGHEST_PORT}, or leave it out.`;
  throw misuse(`--port ${given}: not a port number`, hint, "--port");
}

/** Quotes text as one word for a shell. */
export function shellWord(text: string): string {
  const safe = oneLine(text);
  return /^[\w@%+=:,./~-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}

/** A command line to paste: its words, then the given ones of the named flags. */
export function commandLine(words: readonly string[], flags: Flags, names: readonly FlagName[]): string {
  const given = names.flatMap((name) => {
    const value = flags[name];
    return typeof value === "string" ? [`--${name}`, shellWord(value)] : [];
  });
  return [...words.map(shellWord), ...given].join(" ");
}

/** The input of a command. */
export interface Invocation {
  /** Positional arguments. */
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly ports: CliPorts;
  readonly terminal: Terminal;
}

/** Prints a result: as JSON with `--json`, else as lines. */
export function printResult(
  { flags, terminal }: Invocation,
  json: unknown,
  lines: () => readonly string[],
): void {
  if (flags.json === true) terminal.printJson(json);
  else terminal.print(lines());
}

/** Runs a command; resolves to the exit code: 0 for success, 1 for failure. Throws `CompactError`. */
export type Run = (invocation: Invocation) => Promise<number>;

/** A command or a subcommand. */
export interface Command {
  readonly name: string;
  /** Positional arguments: `<transcript> <second-file>` are required, `[session]` is optional. */
  readonly words?: string;
  readonly summary: string;
  readonly flags?: readonly FlagName[];
  /** Help of flags with another meaning for this command. */
  readonly flagHelp?: Readonly<Partial<Record<FlagName, string>>>;
  /** Further help, one paragraph each. */
  readonly notes?: readonly string[];
  /** Command lines, the most common first. */
  readonly examples: readonly string[];
  /** Runs if no subcommand is named: `compact FILE`, `compact archive`. */
  readonly isDefault?: boolean;
  /** Options after the first argument belong to it, such as the program that `compact proxy --` starts. */
  readonly passesThrough?: boolean;
  /** Subcommands. */
  readonly actions?: readonly Command[];
  /** Imports the implementation, only when it is needed. */
  readonly load?: () => Promise<Run>;
}
