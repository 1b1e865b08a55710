import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { numberOf, recordOf, stringOf } from "../transcripts/json.ts";
import type { FoundSession, Places } from "./facts.ts";
import { entriesOf, filesBelow } from "./facts.ts";

/** `storage/session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`. */
function opencodeFolder({ home, env }: Places): string {
  return join(env.XDG_DATA_HOME ?? join(home, ".local", "share"), "opencode");
}

/** Newer OpenCode keeps its sessions in a database, which only its own export opens. */
export function hasOpencodeDatabase(places: Places): boolean {
  return existsSync(join(opencodeFolder(places), "opencode.db"));
}

/** The sessions that OpenCode keeps in files, in no order. */
export async function opencodeSessions(places: Places): Promise<FoundSession[]> {
  const storage = join(opencodeFolder(places), "storage");
  const files = await filesBelow(join(storage, "session"), 1, (name) => /^ses_.*\.json$/.test(name));
  const sessions = await Promise.all(
    files.map(async ({ path, changed }) => {
      const info = recordOf(await readJson(path));
      const id = stringOf(info.id);
      // A session with a parent belongs to a sub-agent.
      if (id === undefined || info.parentID !== undefined) return [];
      const messages = await filesBelow(join(storage, "message", id), 0, isJson);
      if (messages.length === 0) return [];
      const session: FoundSession = {
        tool: "OpenCode",
        id,
        bytes: messages.reduce((sum, file) => sum + file.bytes, 0),
        changed: numberOf(recordOf(info.time).updated) ?? changed,
        facts: async () => ({ folder: stringOf(info.directory), title: stringOf(info.title) }),
        open: async () => ({
          name: `OpenCode session ${id}`,
          word: id,
          bytes: 0,
          chunks: () => exportChunks(storage, id, info),
        }),
      };
      return [session];
    }),
  );
  return sessions.flat();
}

/** The session as `opencode export` writes it: one document of the session, its messages and their parts. */
async function* exportChunks(storage: string, id: string, info: unknown): AsyncGenerator<string> {
  yield `{"info":${JSON.stringify(info)},"messages":[`;
  const names = await jsonNames(join(storage, "message", id));
  let separator = "";
  for (const name of names) {
    const message = await readJson(join(storage, "message", id, name));
    const folder = join(storage, "part", name.replace(/\.json$/, ""));
    const parts = await Promise.all((await jsonNames(folder)).map((part) => readJson(join(folder, part))));
    yield `${separator}${JSON.stringify({ info: message, parts })}`;
    separator = ",";
  }
  yield "]}\n";
}

/** Names sort by the time they were made: OpenCode's ids ascend. */
async function jsonNames(folder: string): Promise<string[]> {
  const entries = await entriesOf(folder);
  return entries
    .filter((entry) => entry.isFile() && isJson(entry.name))
    .map((entry) => entry.name)
    .sort();
}

function isJson(name: string): boolean {
  return name.endsWith(".json");
}

async function readJson(path: string): Promise<unknown> {
  try {
    const { size } = await stat(path);
    // A whole session of the tool is smaller than this; a single part never comes near.
    if (size > 256 * 1024 * 1024) return undefined;
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}
