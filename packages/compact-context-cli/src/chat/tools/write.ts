import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AgentTool } from "compact-context/internal/agent/tool";
import { CompactError } from "compact-context/internal/errors";
import { objectOf } from "compact-context/internal/providers/request";
import { plural } from "../../render/numbers.ts";
import type { Workplace } from "../workplace.ts";
import { objectSchema, textArgument } from "./arguments.ts";

const PATH = { description: "The file, relative to the working folder." };

/** Makes a file, or replaces all of one. */
export function writeTool(workplace: Workplace): AgentTool {
  return {
    name: "write",
    description: "Writes a whole text file of the working folder, new or in place of the one there.",
    schema: objectSchema({ path: PATH, content: { description: "All of the file." } }, ["path", "content"]),
    paths: (args) => [textArgument(args, "path")],
    async execute(args) {
      const path = textArgument(args, "path");
      const content = textArgument(args, "content");
      const real = await workplace.toWrite(path);
      await mkdir(dirname(real), { recursive: true });
      await replaceFile(real, content);
      return `Wrote ${plural(lineCount(content), "line")} to ${path}.`;
    },
  };
}

/** Changes one passage of a file. */
export function editTool(workplace: Workplace): AgentTool {
  return {
    name: "edit",
    description:
      "Replaces one passage of a text file of the working folder. The old text must stand there exactly once, unless all is true.",
    schema: objectSchema(
      {
        path: PATH,
        old: { description: "The passage as it stands, white space included." },
        new: { description: "What takes its place." },
        all: { type: "boolean", description: "Replaces every occurrence; false when left out." },
      },
      ["path", "old", "new"],
    ),
    paths: (args) => [textArgument(args, "path")],
    async execute(args) {
      const path = textArgument(args, "path");
      const [from, to] = [textArgument(args, "old"), textArgument(args, "new")];
      const real = await workplace.toWrite(path);
      const text = textOf(await readFile(real), path);
      const count = from === "" ? 0 : text.split(from).length - 1;
      if (count === 0) throw noPlace(path, "the old text does not stand in it");
      const all = objectOf(args).all === true;
      if (count > 1 && !all) throw noPlace(path, `the old text stands in it ${count} times`);
      await replaceFile(
        real,
        text.replaceAll(from, () => to),
      );
      return `Changed ${plural(count, "place")} of ${path}.`;
    },
  };
}

/** The text of the bytes; what is no UTF-8 would be written back as something else. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CompactError("InvalidArgument", `${path} was not changed: it is no UTF-8 text`, {
      place: path,
      hint: "Change it with a command that leaves the other bytes alone, such as sed.",
    });
  }
}

function noPlace(path: string, why: string): CompactError {
  return new CompactError("InvalidArgument", `${path} was not changed: ${why}`, {
    place: path,
    hint: "Read the file again and give the passage with enough around it to be the only one.",
  });
}

/** Whole or not at all: a full disk leaves the old file as it was. */
async function replaceFile(file: string, content: string): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString("hex")}.tmp`);
  const before = await stat(file).catch(() => undefined);
  try {
    await writeFile(temporary, content, { flag: "wx" });
    if (before !== undefined) await chmod(temporary, before.mode);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export function lineCount(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}
