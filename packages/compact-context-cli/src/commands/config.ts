import { resolve } from "node:path";
import { formatProblem } from "compact-context/internal/config/layer";
import { checkConfig, readConfigFile } from "compact-context/internal/config/load";
import { CompactError } from "compact-context/internal/errors";
import type { Command } from "../command.ts";
import { plural } from "../render/numbers.ts";
import { oneLine } from "../render/safe.ts";

export const configCommand: Command = {
  usage: "check FILE",
  summary: "checks a configuration file without running anything",
  flags: ["json"],
  mostWords: 2,
  run: async ({ words, flags, ports, terminal }) => {
    const [action, file] = words;
    if (action !== "check" || file === undefined) {
      throw new CompactError("InvalidUsage", "compact config needs `check` and a file", {
        hint: "Write compact config check compact.yaml.",
      });
    }
    const problems = checkConfig(readConfigFile(resolve(ports.cwd, file)), file);
    const valid = problems.length === 0;
    if (flags.json === true) terminal.printJson({ file, valid, problems });
    else if (valid) terminal.print([`${terminal.paint("good", "ok")}  ${oneLine(file)} is valid`]);
    else {
      for (const problem of problems) ports.stderr.write(`${oneLine(formatProblem(problem))}\n`);
      ports.stderr.write(`${plural(problems.length, "problem")} in ${oneLine(file)}\n`);
    }
    return valid ? 0 : 1;
  },
};
