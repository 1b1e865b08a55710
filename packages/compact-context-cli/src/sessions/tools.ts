import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { CompactError } from "compact-context/internal/errors";
import { openFile, openStdin, type Source, STDIN } from "../files/source.ts";
import type { CliPorts } from "../ports.ts";
import { type JsonRecord, numberOf, recordOf, stringOf } from "../transcripts/json.ts";
import {
  contentText,
  entriesOf,
  type FoundFile,
  type FoundSession,
  factsOfDocument,
  factsOfLines,
  filesBelow,
  type Hint,
  type Places,
  promptTokens,
  type SessionFacts,
} from "./facts.ts";

// Where the tools of this computer keep their sessions: what `compact sessions` lists.

/** A tool that keeps each session in one file. */
interface FileTool {
  readonly name: string;
  folder(places: Places): string;
  /** Folders between that folder and the files. */
  readonly depth: number;
  isSession(file: string): boolean;
  factsOf(path: string): Promise<SessionFacts>;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

function idIn(file: string): string {
  return UUID.exec(file)?.[0] ?? file.replace(/\.jsonl?$/, "");
}

const FILE_TOOLS: readonly FileTool[] = [
  {
    name: "Claude Code",
    folder: ({ home, env }) => join(env.CLAUDE_CONFIG_DIR ?? join(home, ".claude"), "projects"),
    depth: 1,
    // Files of sub-agents stand beside their session's.
    isSession: (file) => file.endsWith(".jsonl") && !file.startsWith("agent-"),
    factsOf: (path) => factsOfLines(path, claudeHint),
  },
  {
    name: "Codex",
    folder: ({ home, env }) => join(env.CODEX_HOME ?? join(home, ".codex"), "sessions"),
    depth: 3,
    isSession: (file) => file.startsWith("rollout-") && file.endsWith(".jsonl"),
    factsOf: (path) => factsOfLines(path, codexHint),
  },
  {
    name: "pi",
    folder: ({ home }) => join(home, ".pi", "agent", "sessions"),
    depth: 3,
    isSession: (file) => file.endsWith(".jsonl"),
    factsOf: (path) => factsOfLines(path, piHint),
  },
  {
    name: "Gemini CLI",
    folder: ({ home }) => join(home, ".gemini", "tmp"),
    depth: 2,
    isSession: (file) => file.startsWith("session-") && file.endsWith(".json"),
    factsOf: factsOfDocument,
  },
];

/** True for a file that lies where a tool keeps its sessions, so that the tool resumes what is written there. */
export function isKeptByTool(path: string, places: Places): boolean {
  return FILE_TOOLS.some((tool) => path.startsWith(tool.folder(places) + sep));
}

/** The sessions of one tool, in no order. */
async function sessionsOf(tool: FileTool, places: Places): Promise<FoundSession[]> {
  const files = await filesBelow(tool.folder(places), tool.depth, tool.isSession);
  return files.map((file) => sessionOf(tool, file));
}

function sessionOf(tool: FileTool, { path, bytes, changed }: FoundFile): FoundSession {
  const id = idIn(basename(path));
  return {
    tool: tool.name,
    id,
    bytes,
    changed,
    facts: () => tool.factsOf(path),
    open: async () => ({ ...(await openFile(path, "/")), word: id }),
  };
}

function claudeHint(record: JsonRecord): Hint {
  const folder = stringOf(record.cwd);
  const name = stringOf(record.customTitle) ?? stringOf(record.aiTitle);
  if (name !== undefined) return { folder, name };
  if (record.type === "summary") return { name: stringOf(record.summary) };
  const message = recordOf(record.message);
  if (record.isSidechain === true || record.isMeta === true) return { folder };
  if (record.type === "assistant") return { folder, tokens: promptTokens("anthropic", message.usage) };
  const speaks = record.type === "user" && record.isCompactSummary !== true;
  return { folder, words: speaks ? contentText(message.content) : undefined };
}

function codexHint(record: JsonRecord): Hint {
  const payload = recordOf(record.payload);
  if (record.type === "session_meta") return { folder: stringOf(payload.cwd) };
  if (payload.type === "user_message") return { words: stringOf(payload.message) };
  if (payload.type === "token_count") {
    return { tokens: promptTokens("codex", recordOf(payload.info).last_token_usage) };
  }
  const speaks = payload.type === "message" && payload.role === "user";
  return speaks ? { words: contentText(payload.content) } : {};
}

function piHint(record: JsonRecord): Hint {
  if (record.type === "session") return { folder: stringOf(record.cwd) };
  if (record.type === "session_info") return { name: stringOf(record.name) };
  const message = recordOf(record.message);
  if (message.role === "assistant") return { tokens: promptTokens("pi", message.usage) };
  return message.role === "user" ? { words: contentText(message.content) } : {};
}

/** `storage/session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`. */
function opencodeFolder({ home, env }: Places): string {
  return join(env.XDG_DATA_HOME ?? join(home, ".local", "share"), "opencode");
}

/** Newer OpenCode keeps its sessions in a database, which only its own export opens. */
export function hasOpencodeDatabase(places: Places): boolean {
  return existsSync(join(opencodeFolder(places), "opencode.db"));
}

/** The sessions that OpenCode keeps in files, in no order. */
async function opencodeSessions(places: Places): Promise<FoundSession[]> {
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

/** Every session that known tools left on this computer, the newest first. */
export async function discoverSessions(places: Places): Promise<FoundSession[]> {
  const found = await Promise.all([
    ...FILE_TOOLS.map((tool) => sessionsOf(tool, places)),
    opencodeSessions(places),
  ]);
  return found.flat().toSorted((a, b) => b.changed - a.changed || a.id.localeCompare(b.id));
}

/**
 * The transcript that a word means: a file, `-` for standard input, the number of a session in the list, or the
 * beginning of a session's id. Throws `NotFound`, or `InvalidUsage` when several sessions are meant.
 */
export async function openTranscript(
  word: string,
  places: Places & Pick<CliPorts, "cwd" | "stdin">,
): Promise<Source> {
  if (word === STDIN) return openStdin(places.stdin);
  try {
    return await openFile(word, places.cwd);
  } catch (error) {
    const missing = CompactError.isInstance(error) && error.code === "NotFound";
    if (!missing || /[/\\.]/.test(word)) throw error;
    const session = pick(await discoverSessions(places), word);
    if (session === undefined) throw error;
    return session.open();
  }
}

function pick(sessions: readonly FoundSession[], word: string): FoundSession | undefined {
  const isNumber = /^\d{1,4}$/.test(word);
  const numbered = isNumber ? sessions[Number(word) - 1] : undefined;
  if (numbered !== undefined) return numbered;
  const meant = sessions.filter((session) => session.id.toLowerCase().startsWith(word.toLowerCase()));
  if (meant.length === 0 && isNumber) {
    throw new CompactError("NotFound", `there is no session ${word}: ${sessions.length} were found`, {
      hint: "`compact` alone lists them.",
    });
  }
  if (meant.length <= 1) return meant[0];
  throw new CompactError("InvalidUsage", `${word} is the beginning of ${meant.length} sessions`, {
    hint: `Give more of the id: ${meant
      .slice(0, 4)
      .map((session) => session.id)
      .join(", ")}.`,
  });
}
