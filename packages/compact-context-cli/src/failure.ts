import { CompactError, errorMessage } from "compact-context/internal/errors";
import type { CliPorts } from "./ports.ts";
import { createPaint } from "./render/palette.ts";
import { safeLines } from "./render/safe.ts";

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
  say(paint("bad", "error   "), `${error.code}: ${error.message}`);
  if (error.place !== undefined && !error.message.includes(error.place)) say("at      ", error.place);
  if (error.hint !== "") say("try     ", error.hint);
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
