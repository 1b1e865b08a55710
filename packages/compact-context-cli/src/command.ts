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

export interface Command {
  /** Its words behind `compact`, such as `inspect <transcript>`. */
  readonly usage: string;
  /** What it does, half a line. */
  readonly summary: string;
  readonly flags: readonly FlagName[];
  /** What a flag means here, where that is something else than for other commands. */
  readonly flagHelp?: Readonly<Partial<Record<FlagName, string>>>;
  /** What else a reader should know; lines. */
  readonly notes?: readonly string[];
  /** Most words it takes; more are a mistake. */
  readonly mostWords: number;
  /** Resolves to the exit code: 0 done, 1 failed. Throws `CompactError` for the rest. */
  run(invocation: Invocation): Promise<number>;
}
