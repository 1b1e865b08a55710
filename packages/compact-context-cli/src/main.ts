import { CompactError, errorMessage, hasCode } from "compact-context/internal/errors";
import { COMMANDS } from "./commands/index.ts";
import { didYouMean, misuse } from "./flags.ts";
import { hintOf, inCommandWords } from "./hints.ts";
import { type CliPorts, createTerminal, printBeside, processPorts } from "./ports.ts";
import { readCommandLine } from "./program.ts";
import { createPaint } from "./render/table.ts";

// Runs one command line: parses it, loads the command, reports errors, returns the exit code.

/**
 * Runs one command line, without `node` and the script; resolves to the exit code, and never throws. The process can end
 * then: all work is done and all output written.
 */
export async function main(argv: readonly string[], ports: CliPorts = processPorts()): Promise<number> {
  let code: number;
  try {
    code = await run(argv, ports);
    await ports.stdout.flushed?.();
  } catch (error) {
    code = reportFailure(error, ports);
    await Promise.allSettled([ports.stdout.flushed?.()]);
  }
  await Promise.allSettled([ports.stderr.flushed?.()]);
  return code;
}

async function run(argv: readonly string[], ports: CliPorts): Promise<number> {
  const terminal = createTerminal(ports);
  const parsed = readCommandLine(argv, COMMANDS, terminal);
  if ("text" in parsed) {
    terminal.print([parsed.text]);
    return 0;
  }
  const { path, words, flags } = parsed;
  const runCommand = await parsed.load();
  try {
    return await runCommand({ words, flags, ports, terminal });
  } catch (error) {
    throw path === "" ? unknownCommand(error, words[0] ?? "") : error;
  }
}

/** A missing file may be a mistyped command; other errors are returned unchanged. */
function unknownCommand(error: unknown, word: string): unknown {
  if (!hasCode(error, "NotFound") || error.place !== word) return error;
  const names = (COMMANDS.actions ?? []).map(({ name }) => name);
  const guess = didYouMean(word, ["help", ...names], "compact ");
  if (guess === "" && !/^[a-z]+$/.test(word)) return error;
  const hint = `${guess}compact help lists the commands, \`compact\` alone the newest sessions on this computer.`;
  return misuse(`there is no command and no file ${word}`, hint);
}

/** Prints an error on stderr with its place and hint; returns the exit code: 2 for wrong usage, else 1. */
export function reportFailure(error: unknown, ports: CliPorts): number {
  const paint = createPaint(ports.stderr.isTerminal, ports.env);
  const print = (label: string, text: string): void => printBeside(label, text, "error   ".length, ports);
  if (!CompactError.isInstance(error)) {
    const [problem, hint] = unexpected(error);
    print(paint("bad", "error   "), problem);
    print("try     ", hint);
    if (ports.env.DEBUG === "compact" && error instanceof Error) print("", error.stack ?? "");
    return 1;
  }
  print(paint("bad", "error   "), `${error.code}: ${inCommandWords(error.message)}`);
  if (error.place !== undefined && !error.message.includes(error.place)) print("at      ", error.place);
  const hint = hintOf(error);
  if (hint !== "") print("try     ", hint);
  return error.code === "InvalidUsage" ? 2 : 1;
}

/** A refused system call, such as `EACCES` or `EROFS`, is not a bug of compact. */
function unexpected(error: unknown): readonly [problem: string, hint: string] {
  const reason = errorMessage(error);
  return error instanceof Error && "syscall" in error
    ? [
        `the system refused: ${reason}`,
        "Check that the path exists, that this user has access, and that the disk has room.",
      ]
    : [
        `unexpected: ${reason}`,
        "This is a bug of compact: please report it with the command that caused it.",
      ];
}
