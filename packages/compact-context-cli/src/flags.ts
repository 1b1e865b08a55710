import { CompactError, closest } from "compact-context/internal/errors";
import type { CliPorts, Terminal } from "./ports.ts";
import { oneLine } from "./render/text.ts";

// What every command is made of: its flags, words and texts; and what it is given when it runs.

/** One flag of the command line. */
export interface FlagSpec {
  /** What its value is called in help; absent for a switch. */
  readonly value?: string;
  readonly short?: string;
  readonly help: string;
}

/** Every flag there is; each command names those that it takes. */
export const FLAGS = {
  model: { value: "NAME", help: "the model that will read on: decides window and tokenizer" },
  window: { value: "N", help: "the model's limit in tokens, such as 200k" },
  target: { value: "N", help: "tokens to aim for: 20000, 20k, or 25% of what it has now" },
  format: { value: "NAME", help: "the transcript's format; detected when left out" },
  strategy: {
    value: "NAME",
    help: "what the summary is for: task_state, decision_log, code_delta, brief, step_ledger, requirements_ledger",
  },
  "on-overflow": {
    value: "elide|error",
    help: "when what must stay is too large: cut it in the middle (elide), or give up (error)",
  },
  summarizer: {
    value: "WHO",
    help: "who writes the summary: builtin (needs no model), openai:MODEL, anthropic:MODEL, URL[#MODEL]",
  },
  deadline: { value: "SECONDS", help: "what a model may take for the summary, all attempts together" },
  config: { value: "FILE", help: "settings to use; compact.yaml here when left out" },
  archive: {
    value: "DIR",
    help: "where originals are kept; the project's archive, else your own, when left out",
  },
  session: { value: "ID", help: "the one session of the archive to read" },
  output: { value: "FILE", short: "o", help: "write the result here; a transcript in its own format" },
  provider: {
    value: "NAME",
    help: "whose rules: openai-chat, anthropic, gemini, …; the session's own, else openai-chat, when left out",
  },
  channel: { value: "DIR", help: "the channel's folder, with SESSION.md and MEMORY.md" },
  workspace: { value: "DIR", help: "the workspace's folder; the one above the channel when left out" },
  user: { value: "NAME", help: "who asks, for a channel that is not for everybody" },
  debug: { help: "also what was looked at, with scores and reasons" },
  partial: { help: "also when only a part can be taken back" },
  port: { value: "N", help: "the page's port; one that is free when left out" },
  open: { help: "open the page in your browser" },
  view: { help: "watch it in a page in your browser, which stays until Ctrl-C" },
  "base-url": {
    value: "URL",
    help: "a server that speaks OpenAI's chat completions, such as http://localhost:11434/v1",
  },
  upstream: { value: "URL", help: "where calls go on to; each provider's own address when left out" },
  log: { value: "text|json", help: "how it tells what it does: for people, or a JSON record a line" },
  tenant: { value: "NAME", help: "the sessions of this tenant" },
  days: { value: "N", help: "delete sessions that nobody wrote to for so many days" },
  "max-bytes": { value: "N", help: "delete the oldest sessions while there are more bytes, such as 10G" },
  yes: { help: "really delete" },
  "dry-run": { help: "change nothing: watch the calls, and tell what would be compacted" },
  new: { help: "begin a new session" },
  force: { help: "let -o replace a file that is there already" },
  summary: { help: "print the whole summary, and nothing else" },
  json: { help: "machine output on stdout, everything else on stderr" },
  pending: { help: "the session goes on: calls at its end may still be answered" },
  strict: {
    help: "also what strict chat templates and DeepSeek demand: roles in turn, one system message, reasoning_content",
  },
  all: { help: "every message, long runs too" },
  pii: { help: "also take out e-mail addresses, telephone numbers, payment cards, bank accounts" },
  help: { short: "h", help: "this text" },
} as const satisfies Readonly<Record<string, FlagSpec>>;

export type FlagName = keyof typeof FLAGS;

/** Flags that decide a result: a command line that is offered to be run again must say them again. */
export const DECIDING: readonly FlagName[] = [
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

/** The flags that were given: text for those with a value, true for switches. */
export type Flags = {
  readonly [Name in FlagName]?: (typeof FLAGS)[Name] extends { readonly value: string } ? string : true;
};

/** The one of the known choices that a flag was given, if it was; throws `InvalidUsage` for any other. */
export function oneOf<T extends string>(
  given: string | undefined,
  flag: string,
  known: readonly T[],
): T | undefined {
  const found = known.find((one) => one === given);
  if (given === undefined || found !== undefined) return found;
  const near = closest(given, known);
  throw new CompactError("InvalidUsage", `${flag} ${given}: there is no such choice`, {
    place: flag,
    hint: `${near === undefined ? "" : `Did you mean ${near}? `}Choose one of ${known.join(", ")}.`,
  });
}

/** Text that can be pasted into a shell as one word. */
export function shellWord(text: string): string {
  const safe = oneLine(text);
  return /^[\w@%+=:,./~-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}

/** A command to paste: its words, then those of the named flags that were given. */
export function commandLine(words: readonly string[], flags: Flags, names: readonly FlagName[]): string {
  const given = names.flatMap((name) => {
    const value = flags[name];
    return typeof value === "string" ? [`--${name}`, shellWord(value)] : [];
  });
  return [...words.map(shellWord), ...given].join(" ");
}

/** What a command is given to work with. */
export interface Invocation {
  /** The words that are neither the command nor a flag. */
  readonly words: readonly string[];
  readonly flags: Flags;
  readonly ports: CliPorts;
  readonly terminal: Terminal;
}

/** Runs a command; resolves to the exit code: 0 done, 1 failed. Throws `CompactError` for the rest. */
export type Run = (invocation: Invocation) => Promise<number>;

/** A command, or one of the actions of a command. */
export interface Command {
  readonly name: string;
  /** Its words behind the name: `<before> <after>` must be there, `[session]` may be. */
  readonly words?: string;
  /** What it does, half a line. */
  readonly summary: string;
  readonly flags?: readonly FlagName[];
  /** What a flag means here, where that is something else than for other commands. */
  readonly flagHelp?: Readonly<Partial<Record<FlagName, string>>>;
  /** What else a reader should know, one paragraph each. */
  readonly notes?: readonly string[];
  /** Command lines to try, the most usual first. */
  readonly examples: readonly string[];
  /** Runs where the words name no command: `compact FILE`, `compact archive`. */
  readonly isDefault?: boolean;
  /** Everything behind the name is for the command itself, such as the program that `compact proxy --` starts. */
  readonly passesThrough?: boolean;
  /** Commands below this one. */
  readonly actions?: readonly Command[];
  /** Loads what it runs: nothing of a command is loaded before somebody asks for it. */
  readonly load?: () => Promise<Run>;
}
