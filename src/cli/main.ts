import { closest } from "../config/names.ts";
import { CompactError } from "../errors.ts";
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
    return await run(argv, ports);
  } catch (error) {
    return reportFailure(error, ports);
  }
}

async function run(argv: readonly string[], ports: CliPorts): Promise<number> {
  const terminal = createTerminal(ports);
  const [first = "", ...rest] = argv;
  if (["--version", "-V", "version"].includes(first)) terminal.print([await versionText()]);
  else if (["help", "--help", "-h"].includes(first)) printHelp(rest, terminal);
  else return runCommand(argv, ports, terminal);
  return 0;
}

function printHelp([name]: readonly string[], terminal: Terminal): void {
  const command = name === undefined ? undefined : commandNamed(name);
  if (name === undefined) terminal.print(generalHelp(compactCommand, COMMANDS, terminal));
  else if (command === undefined) throw noCommand(name);
  else terminal.print(commandHelp(name, command, terminal));
}

/** The command is the first word; everything that names none is the main job. */
async function runCommand(argv: readonly string[], ports: CliPorts, terminal: Terminal): Promise<number> {
  const [first = ""] = argv;
  const named = commandNamed(first);
  const command = named ?? compactCommand;
  const { positionals, flags } = parseArguments(named === undefined ? argv : argv.slice(1), command.flags);
  if (flags.help === true) {
    if (named === undefined) terminal.print(generalHelp(compactCommand, COMMANDS, terminal));
    else terminal.print(commandHelp(first, named, terminal));
    return 0;
  }
  const [word = ""] = positionals;
  if (positionals.length > command.mostWords) {
    throw named === undefined ? noCommand(word) : tooMany(positionals, first, command);
  }
  try {
    return await command.run({ words: positionals, flags, ports, terminal });
  } catch (error) {
    throw named === undefined ? perhapsCommand(error, word) : error;
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

function tooMany(words: readonly string[], name: string, command: Command): CompactError {
  return new CompactError("InvalidUsage", `${words[command.mostWords] ?? ""} is one word too many`, {
    hint: `Usage: compact ${name} ${command.usage}`,
  });
}
