import type { FlagName, Flags } from "./flags.ts";
import type { CliPorts } from "./ports.ts";
import type { Terminal } from "./terminal.ts";

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
