import { CompactError, closest, errorMessage } from "compact-context/internal/errors";
import { COMMANDS } from "./commands/index.ts";
import { hintOf, inCommandWords } from "./hints.ts";
import { type CliPorts, createTerminal, processPorts } from "./ports.ts";
import { readCommandLine } from "./program.ts";
import { createPaint } from "./render/table.ts";
import { safeLines } from "./render/text.ts";

// One run of the command: reads the command line, loads the command, prints what fails, gives the exit code.

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
  const near = missing
    ? closest(word, ["help", ...(COMMANDS.actions ?? []).map(({ name }) => name)])
    : undefined;
  if (near === undefined && !(missing && /^[a-z]+$/.test(word))) return error;
  const guess = near === undefined ? "" : `Did you mean compact ${near}? `;
  return new CompactError("InvalidUsage", `there is no command and no file ${word}`, {
    hint: `${guess}compact help lists the commands, \`compact\` alone the newest sessions on this computer.`,
  });
}

/** Says on stderr what went wrong, where and what to do; gives the exit code: 2 for wrong use, else 1. */
export function reportFailure(error: unknown, ports: CliPorts): number {
  const paint = createPaint(ports.stderr.isTerminal, ports.env);
  const say = (label: string, text: string): void => {
    const [first = "", ...rest] = safeLines(text);
    ports.stderr.write(`${label}${first}\n${rest.map((line) => `        ${line}\n`).join("")}`);
  };
  if (!CompactError.isInstance(error)) {
    const [problem, advice] = unforeseen(error);
    say(paint("bad", "error   "), problem);
    say("try     ", advice);
    if (ports.env.DEBUG === "compact" && error instanceof Error) say("", error.stack ?? "");
    return 1;
  }
  say(paint("bad", "error   "), `${error.code}: ${inCommandWords(error.message)}`);
  if (error.place !== undefined && !error.message.includes(error.place)) say("at      ", error.place);
  const hint = hintOf(error);
  if (hint !== "") say("try     ", hint);
  return error.code === "InvalidUsage" ? 2 : 1;
}

/** What the operating system said no to, such as `EACCES` or `EROFS`, is no defect of ours. */
function unforeseen(error: unknown): readonly [problem: string, advice: string] {
  const reason = errorMessage(error);
  return error instanceof Error && "syscall" in error
    ? [
        `the system refused: ${reason}`,
        "Check that what it names is there, that this user may use it, and that the disk has room.",
      ]
    : [
        `unexpected: ${reason}`,
        "This is a defect of compact: please report it with the command that led to it.",
      ];
}
