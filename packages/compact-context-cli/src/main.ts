import { closest } from "compact-context/internal/config/schema";
import { CompactError } from "compact-context/internal/errors";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { compactCommand } from "./commands/compact.ts";
import { COMMANDS } from "./commands/index.ts";
import { reportFailure } from "./failure.ts";
import { commandHelp, generalHelp, versionText } from "./help.ts";
import { type CliPorts, processPorts } from "./ports.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

/** Runs one command line, without `node` and the script; resolves to the exit code and never throws. */
export async function main(argv: readonly string[], ports: CliPorts = processPorts()): Promise<number> {
  try {
    const code = await run(argv, ports);
    await ports.stdout.flushed?.();
    return code;
  } catch (error) {
    return reportFailure(error, ports);
  }
}

async function run(argv: readonly string[], ports: CliPorts): Promise<number> {
  const terminal = createTerminal(ports);
  const [first = "", ...rest] = argv;
  if (["--version", "-V", "version"].includes(first)) terminal.print([await versionText()]);
  else if (["help", "--help", "-h"].includes(first)) terminal.print(helpFor(rest[0], terminal));
  else return runCommand(choose(argv), ports, terminal);
  return 0;
}

function helpFor(name: string | undefined, terminal: Terminal): string[] {
  if (name === undefined) return generalHelp(compactCommand, COMMANDS, terminal);
  const command = commandNamed(name);
  if (command === undefined) throw noCommand(name);
  return commandHelp(name, command, terminal);
}

interface Choice {
  /** Undefined for the main job, which has no name. */
  readonly name: string | undefined;
  readonly command: Command;
  /** The words after the name. */
  readonly rest: readonly string[];
}

/** The command is the first word; everything that names none is the main job. */
function choose(argv: readonly string[]): Choice {
  const [name = "", ...rest] = argv;
  const command = commandNamed(name);
  return command === undefined
    ? { name: undefined, command: compactCommand, rest: argv }
    : { name, command, rest };
}

async function runCommand(choice: Choice, ports: CliPorts, terminal: Terminal): Promise<number> {
  const { name, command, rest } = choice;
  const { positionals: words, flags } = parseArguments(rest, command.flags);
  if (flags.help === true) {
    terminal.print(helpFor(name, terminal));
    return 0;
  }
  if (words.length > command.mostWords) throw tooMany(words, choice);
  try {
    return await command.run({ words, flags, ports, terminal });
  } catch (error) {
    throw name === undefined ? perhapsCommand(error, words[0] ?? "") : error;
  }
}

function commandNamed(name: string): Command | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

/** A file that is not there may be a mistyped command. */
function perhapsCommand(error: unknown, word: string): unknown {
  const missing = CompactError.isInstance(error) && error.code === "NotFound" && error.place === word;
  const near = missing ? closest(word, Object.keys(COMMANDS)) : undefined;
  if (near === undefined) return error;
  return new CompactError("InvalidUsage", `there is no command and no file ${word}`, {
    hint: `Did you mean compact ${near}?`,
  });
}

function noCommand(word: string): CompactError {
  const near = closest(word, [...Object.keys(COMMANDS), "help"]);
  return new CompactError("InvalidUsage", `there is no command ${word}`, {
    hint: `${near === undefined ? "" : `Did you mean compact ${near}? `}compact help lists them.`,
  });
}

function tooMany(words: readonly string[], { name, command }: Choice): CompactError {
  const [first = ""] = words;
  if (name === undefined && !/[./\\]/.test(first)) return noCommand(first);
  const usage = ["compact", name, command.usage].filter((word) => word !== undefined && word !== "");
  return new CompactError("InvalidUsage", `${words[command.mostWords] ?? ""} is one word too many`, {
    hint: `Usage: ${usage.join(" ")}`,
  });
}
