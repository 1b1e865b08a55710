import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { CompactError } from "compact-context/internal/errors";
import { openFile, openStdin, type Source, STDIN } from "../files/source.ts";
import type { CliPorts } from "../ports.ts";
import { type JsonRecord, numberOf, recordOf, stringOf } from "../transcripts/json.ts";
import { ANTHROPIC_USAGE, PI_USAGE, promptTokens, RESPONSES_USAGE } from "../transcripts/transcript.ts";
import {
  contentText,
  entriesOf,
  type FoundSession,
  factsOfDocument,
  factsOfLines,
  filesBelow,
  type Places,
  type RecordFacts,
  type SessionFacts,
} from "./facts.ts";

// Finds the sessions that agent tools keep on this computer.

/** A tool that keeps each session in one file. */
interface FileTool {
  readonly name: string;
  folder(places: Places): string;
  /** Number of folder levels between that folder and the files. */
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
    // Files of sub-agents are beside that of their session.
    isSession: (file) => file.endsWith(".jsonl") && !file.startsWith("agent-"),
    factsOf: (path) => factsOfLines(path, claudeFacts),
  },
  {
    name: "Codex",
    folder: ({ home, env }) => join(env.CODEX_HOME ?? join(home, ".codex"), "sessions"),
    depth: 3,
    isSession: (file) => file.startsWith("rollout-") && file.endsWith(".jsonl"),
    factsOf: (path) => factsOfLines(path, codexFacts),
  },
  {
    name: "pi",
    folder: ({ home }) => join(home, ".pi", "agent", "sessions"),
    depth: 3,
    isSession: (file) => file.endsWith(".jsonl"),
    factsOf: (path) => factsOfLines(path, piFacts),
  },
  {
    name: "Gemini CLI",
    folder: ({ home }) => join(home, ".gemini", "tmp"),
    depth: 2,
    isSession: (file) => /^session-.*\.jsonl?$/.test(file),
    factsOf: factsOfDocument,
  },
];

/** True for a file in a tool's session folder: the tool resumes what is written there. */
export function isKeptByTool(path: string, places: Places): boolean {
  return FILE_TOOLS.some((tool) => path.startsWith(tool.folder(places) + sep));
}

/** The sessions of one tool, unordered. */
async function sessionsOf(tool: FileTool, places: Places): Promise<FoundSession[]> {
  const files = await filesBelow(tool.folder(places), tool.depth, tool.isSession);
  return files.map(({ path, bytes, changed }) => {
    const id = idIn(basename(path));
    return {
      tool: tool.name,
      id,
      bytes,
      changed,
      facts: () => tool.factsOf(path),
      open: async () => ({ ...(await openFile(path, "/")), word: id }),
    };
  });
}

function claudeFacts(record: JsonRecord): RecordFacts {
  const folder = stringOf(record.cwd);
  const title = stringOf(record.customTitle) ?? stringOf(record.aiTitle);
  if (title !== undefined) return { folder, title };
  if (record.type === "summary") return { title: stringOf(record.summary) };
  const message = recordOf(record.message);
  if (record.isSidechain === true || record.isMeta === true) return { folder };
  if (record.type === "assistant") return { folder, tokens: promptTokens(ANTHROPIC_USAGE, message.usage) };
  const isUser = record.type === "user" && record.isCompactSummary !== true;
  return { folder, userText: isUser ? contentText(message.content) : undefined };
}

function codexFacts(record: JsonRecord): RecordFacts {
  const payload = recordOf(record.payload);
  if (record.type === "session_meta") return { folder: stringOf(payload.cwd) };
  if (payload.type === "user_message") return { userText: stringOf(payload.message) };
  if (payload.type === "token_count") {
    return { tokens: promptTokens(RESPONSES_USAGE, recordOf(payload.info).last_token_usage) };
  }
  const isUser = payload.type === "message" && payload.role === "user";
  return isUser ? { userText: contentText(payload.content) } : {};
}

function piFacts(record: JsonRecord): RecordFacts {
  if (record.type === "session") return { folder: stringOf(record.cwd) };
  if (record.type === "session_info") return { title: stringOf(record.name) };
  const message = recordOf(record.message);
  if (message.role === "assistant") return { tokens: promptTokens(PI_USAGE, message.usage) };
  return message.role === "user" ? { userText: contentText(message.content) } : {};
}

/** `storage/session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`. */
function opencodeFolder({ home, env }: Places): string {
  return join(env.XDG_DATA_HOME ?? join(home, ".local", "share"), "opencode");
}

/** Newer versions of OpenCode keep their sessions in a database, which only `opencode export` reads. */
export function hasOpencodeDatabase(places: Places): boolean {
  return existsSync(join(opencodeFolder(places), "opencode.db"));
}

/** The sessions that OpenCode keeps in files, unordered. */
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

/** The session as one JSON document, as `opencode export` writes it. */
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

/** In order of creation: OpenCode's ids ascend. */
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
    // Larger than any real session, let alone one part of it.
    if (size > 256 * 1024 * 1024) return undefined;
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** All sessions of known tools, the newest first. */
export async function discoverSessions(places: Places): Promise<FoundSession[]> {
  const found = await Promise.all([
    ...FILE_TOOLS.map((tool) => sessionsOf(tool, places)),
    opencodeSessions(places),
  ]);
  return found.flat().toSorted((a, b) => b.changed - a.changed || a.id.localeCompare(b.id));
}

/**
 * Opens the transcript that an argument names: a file, `-` for standard input, a session's number in the list, or a
 * prefix of its id. Throws `NotFound`, or `InvalidUsage` for an ambiguous prefix.
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
    const session = sessionNamed(await discoverSessions(places), word);
    if (session === undefined) throw error;
    return session.open();
  }
}

function sessionNamed(sessions: readonly FoundSession[], word: string): FoundSession | undefined {
  const isNumber = /^\d{1,4}$/.test(word);
  const numbered = isNumber ? sessions[Number(word) - 1] : undefined;
  if (numbered !== undefined) return numbered;
  const matches = sessions.filter((session) => session.id.toLowerCase().startsWith(word.toLowerCase()));
  if (matches.length === 0 && isNumber) {
    throw new CompactError("NotFound", `there is no session ${word}: ${sessions.length} were found`, {
      hint: "`compact` alone lists them.",
    });
  }
  if (matches.length <= 1) return matches[0];
  throw new CompactError("InvalidUsage", `${word} matches ${matches.length} sessions`, {
    hint: `Give more of the id: ${matches
      .slice(0, 4)
      .map((session) => session.id)
      .join(", ")}.`,
  });
}
