import { randomUUID } from "node:crypto";
import { main } from "../../packages/compact-context-cli/src/main.ts";

/** Exit code and output of a command line. */
export interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process, in a folder that is also the user's home. */
export async function runCommand(folder: string, argv: readonly string[]): Promise<Result> {
  const said = { out: "", err: "" };
  const screen = (name: "out" | "err") => ({
    write: (text: string) => {
      said[name] += text;
    },
    isTerminal: false,
    columns: 80,
  });
  const code = await main(argv, {
    stdout: screen("out"),
    stderr: screen("err"),
    env: {},
    cwd: folder,
    home: folder,
    now: () => new Date(),
    clock: () => performance.now(),
    newId: randomUUID,
  });
  return { code, ...said };
}
