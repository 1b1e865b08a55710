import { open, readdir, stat } from "node:fs/promises";
import type { AgentTool } from "compact-context/internal/agent/tool";
import { CompactError } from "compact-context/internal/errors";
import { formatBytes, formatCount } from "../../render/numbers.ts";
import type { Workplace } from "../workplace.ts";
import { numberArgument, objectSchema, textArgument } from "./arguments.ts";

const LINES = 2_000;
/** Larger files are for `run` with sed, head or grep. */
const MOST_BYTES = 10_000_000;
const MOST_ENTRIES = 500;

/** Reads a file with line numbers, or lists a folder. */
export function readTool(workplace: Workplace): AgentTool {
  return {
    name: "read",
    description:
      "Reads a text file of the working folder, lines numbered from 1, or lists a folder. Long files come in pieces: go on with offset.",
    schema: objectSchema(
      {
        path: { description: "The file or folder, relative to the working folder." },
        offset: { type: "integer", description: "First line to read; 1 when left out." },
        limit: { type: "integer", description: `Most lines; ${LINES} when left out.` },
      },
      ["path"],
    ),
    paths: (args) => [textArgument(args, "path")],
    concurrent: true,
    async execute(args) {
      const path = textArgument(args, "path");
      const offset = numberArgument(args, "offset", 1);
      const limit = Math.min(LINES, numberArgument(args, "limit", LINES));
      const real = await workplace.toRead(path);
      const stats = await stat(real);
      if (stats.isDirectory()) return listed(real, path);
      if (!stats.isFile()) throw unreadable(path, "is no regular file");
      if (stats.size > MOST_BYTES) {
        throw unreadable(path, `has ${formatBytes(stats.size)}; read parts of it with run`);
      }
      return numbered(await contentOf(real, path), offset, limit);
    },
  };
}

async function listed(folder: string, path: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const left = names.length - MOST_ENTRIES;
  const more = left > 0 ? `\n(${formatCount(left)} more)` : "";
  return names.length === 0 ? `${path} is empty.` : names.slice(0, MOST_ENTRIES).join("\n") + more;
}

async function contentOf(file: string, path: string): Promise<string> {
  const handle = await open(file, "r");
  try {
    const bytes = await handle.readFile();
    if (bytes.subarray(0, 8_000).includes(0)) {
      throw unreadable(path, `is no text (${formatBytes(bytes.length)})`);
    }
    return bytes.toString("utf8");
  } finally {
    await handle.close();
  }
}

function numbered(text: string, offset: number, limit: number): string {
  if (text === "") return "The file is empty.";
  const lines = text.replace(/\n$/, "").split("\n");
  if (offset > lines.length) return `The file has only ${formatCount(lines.length)} lines.`;
  const shown = lines.slice(offset - 1, offset - 1 + limit);
  const last = offset - 1 + shown.length;
  const more =
    last < lines.length ? `\n(of ${formatCount(lines.length)} lines; go on with offset ${last + 1})` : "";
  return shown.map((line, index) => `${offset + index}\t${line}`).join("\n") + more;
}

function unreadable(path: string, why: string): CompactError {
  return new CompactError("InvalidArgument", `${path} ${why}`, { place: path, hint: "Choose another file." });
}
