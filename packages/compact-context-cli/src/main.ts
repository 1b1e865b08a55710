import { CompactError, closest } from "compact-context/internal/errors";
import { COMMANDS } from "./commands/index.ts";
import { reportFailure } from "./failure.ts";
import { type CliPorts, processPorts } from "./ports.ts";
import { readCommandLine } from "./program.ts";
import { createTerminal } from "./terminal.ts";

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
  const asked = readCommandLine(argv, COMMANDS, terminal);
  if ("text" in asked) {
    terminal.print([asked.text]);
    return 0;
  }
  const { path, words, flags } = asked;
  const runCommand = await asked.load();
  try {
    return await runCommand({ words, flags, ports, terminal });
  } catch (error) {
    throw path === "" ? perhapsCommand(error, words[0] ?? "") : error;
  }
}

/** A file that is not there may be a mistyped command. */
function perhapsCommand(error: unknown, word: string): unknown {
  const missing = CompactError.isInstance(error) && error.code === "NotFound" && error.place === word;
  const near = missing ? closest(word, COMMANDS.actions?.map(({ name }) => name) ?? []) : undefined;
  if (near === undefined && !(missing && /^[a-z]+$/.test(word))) return error;
  const guess = near === undefined ? "" : `Did you mean compact ${near}? `;
  return new CompactError("InvalidUsage", `there is no command and no file ${word}`, {
    hint: `${guess}compact help lists the commands, \`compact\` alone the newest sessions on this computer.`,
  });
}
