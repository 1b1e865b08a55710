import { type Dirent, existsSync } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import type { Message } from "compact-context";
import { CompactError, hasCode } from "compact-context/internal/errors";
import { openFile, openStdin, type Source, STDIN } from "../files/source.ts";
import { misuse } from "../flags.ts";
import type { CliPorts } from "../ports.ts";
import { numberOf, recordOf, stringOf } from "../transcripts/json.ts";
import { readTranscript } from "../transcripts/read.ts";
import type { TranscriptFormat } from "../transcripts/transcript.ts";

// Finds the sessions that agent tools keep on this computer.

/** A session's entry in a list, as far as its file provides it. */
export interface SessionFacts {
  /** The folder that the agent worked in. */
  readonly folder?: string;
  /** The session's title, else its first user message. */
  readonly title?: string;
  /** The latest user message. */
  readonly lastRequest?: string;
  /** Tokens of the newest prompt, as reported by the provider. */
  readonly tokens?: number;
}

/** A session of an agent on this computer. */
export interface FoundSession {
  /** Display name of the tool that wrote it. */
  readonly tool: string;
  readonly id: string;
  readonly bytes: number;
  /** Time of the last change in epoch milliseconds. */
  readonly changed: number;
  /** Reads only the edges of the file. */
  facts(): Promise<SessionFacts>;
  open(): Promise<Source>;
}

/** The user's folder and environment, which locate the session folders. */
export type Places = Pick<CliPorts, "home" | "env">;

/** A tool that keeps each session in one file. */
interface FileTool {
  readonly name: string;
  folder(places: Places): string;
  /** Number of folder levels between that folder and the files. */
  readonly depth: number;
  isSession(file: string): boolean;
  readonly format: TranscriptFormat;
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
    format: "claude-code",
  },
  {
    name: "Codex",
    folder: ({ home, env }) => join(env.CODEX_HOME ?? join(home, ".codex"), "sessions"),
    depth: 3,
    isSession: (file) => file.startsWith("rollout-") && file.endsWith(".jsonl"),
    format: "codex",
  },
  {
    name: "pi",
    folder: ({ home }) => join(home, ".pi", "agent", "sessions"),
    depth: 3,
    isSession: (file) => file.endsWith(".jsonl"),
    format: "pi",
  },
  {
    name: "Gemini CLI",
    folder: ({ home }) => join(home, ".gemini", "tmp"),
    depth: 2,
    isSession: (file) => /^session-.*\.jsonl?$/.test(file),
    format: "gemini-cli",
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
      facts: () => factsOf(path, tool.format),
      open: async () => ({ ...(await openFile(path, "/")), word: id }),
    };
  });
}

/** Bytes; enough for the instructions that some tools put before the first message. */
const EDGE_BYTES = 512 * 1024;

/** The facts of a session, from the beginning and the end of a file of records; a document is read whole. */
async function factsOf(path: string, format: TranscriptFormat): Promise<SessionFacts> {
  try {
    const chunks = path.endsWith(".jsonl") ? await readEdges(path) : await readFile(path, "utf8");
    const { title, cwd, segments, usage } = await readTranscript(chunks, { format });
    const own = segments.flatMap(({ messages, carried }) => messages.slice(carried));
    const requests = own.flatMap(requestIn);
    return {
      folder: cwd,
      title: title ?? requests[0],
      lastRequest: requests.at(-1),
      tokens: usage.at(-1)?.promptTokens,
    };
  } catch {
    return {};
  }
}

/** What the user typed, unless a program inserted it: such text starts with a tag or a known heading. */
function requestIn({ role, parts, meta }: Message): string[] {
  if (role !== "user" || meta?.synthetic === true) return [];
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text.trim()] : []));
  const isProgram = /^(?:$|<[a-z]|# AGENTS\.md|Caveat:|\[Request interrupted|\/[a-z:-]+$)/i;
  return texts.filter((text) => !isProgram.test(text)).slice(0, 1);
}

/** The first and the last bytes of a file as text, without overlap. */
async function readEdges(path: string): Promise<string[]> {
  const file = await open(path);
  const read = async (from: number, to: number): Promise<string> => {
    const length = Math.max(0, to - from);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString("utf8", 0, bytesRead);
  };
  try {
    const { size } = await file.stat();
    const end = Math.min(EDGE_BYTES, size);
    const start = Math.max(end, size - EDGE_BYTES);
    return [await read(0, end), start > end ? "\n" : "", await read(start, size)];
  } finally {
    await file.close();
  }
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
  let separator = "";
  for (const path of await jsonFiles(join(storage, "message", id))) {
    const message = await readJson(path);
    const parts = await Promise.all(
      (await jsonFiles(join(storage, "part", basename(path, ".json")))).map(readJson),
    );
    yield `${separator}${JSON.stringify({ info: message, parts })}`;
    separator = ",";
  }
  yield "]}\n";
}

/** In order of creation: OpenCode's ids ascend. */
async function jsonFiles(folder: string): Promise<string[]> {
  const names = (await entriesOf(folder)).filter((entry) => entry.isFile() && isJson(entry.name));
  return names.map(({ name }) => join(folder, name)).sort();
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

interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly changed: number;
}

/** The entries of a folder; empty if it is missing or unreadable. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** Non-empty files below a folder, at most `depth` folders down, filtered by name; links are not followed. */
async function filesBelow(
  folder: string,
  depth: number,
  isWanted: (name: string) => boolean,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) found.push(...(await filesBelow(path, depth - 1, isWanted)));
    if (!entry.isFile() || !isWanted(entry.name)) continue;
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined && facts.size > 0) {
      found.push({ path, bytes: facts.size, changed: facts.mtimeMs });
    }
  }
  return found;
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
    if (!hasCode(error, "NotFound") || /[/\\.]/.test(word)) throw error;
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
    const problem = `there is no session ${word}: ${sessions.length || "none"} were found`;
    throw new CompactError("NotFound", problem, { hint: "`compact` alone lists them." });
  }
  if (matches.length <= 1) return matches[0];
  const some = matches.slice(0, 4).map(({ id }) => id);
  throw misuse(`${word} matches ${matches.length} sessions`, `Give more of the id: ${some.join(", ")}.`);
}
