import { basename, join } from "node:path";
import { openFile } from "../files/source.ts";
import { type JsonRecord, recordOf, stringOf } from "../transcripts/json.ts";
import { type FoundFile, filesBelow } from "./folders.ts";
import type { FoundSession, Places } from "./session.ts";
import { contentText, type TitleHint, titleFromDocument, titleFromLines } from "./title.ts";

/** A tool that keeps each session in one file. */
interface FileTool {
  readonly name: string;
  folder(places: Places): string;
  /** Folders between that folder and the files. */
  readonly depth: number;
  isSession(file: string): boolean;
  idOf(file: string): string;
  titleOf(path: string): Promise<string | undefined>;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

function idIn(file: string): string {
  return UUID.exec(file)?.[0] ?? file.replace(/\.jsonl?$/, "");
}

export const FILE_TOOLS: readonly FileTool[] = [
  {
    name: "Claude Code",
    folder: ({ home, env }) => join(env.CLAUDE_CONFIG_DIR ?? join(home, ".claude"), "projects"),
    depth: 1,
    // Files of sub-agents stand beside their session's.
    isSession: (file) => file.endsWith(".jsonl") && !file.startsWith("agent-"),
    idOf: idIn,
    titleOf: (path) => titleFromLines(path, claudeHint),
  },
  {
    name: "Codex",
    folder: ({ home, env }) => join(env.CODEX_HOME ?? join(home, ".codex"), "sessions"),
    depth: 3,
    isSession: (file) => file.startsWith("rollout-") && file.endsWith(".jsonl"),
    idOf: idIn,
    titleOf: (path) => titleFromLines(path, codexHint),
  },
  {
    name: "pi",
    folder: ({ home }) => join(home, ".pi", "agent", "sessions"),
    depth: 3,
    isSession: (file) => file.endsWith(".jsonl"),
    idOf: idIn,
    titleOf: (path) => titleFromLines(path, piHint),
  },
  {
    name: "Gemini CLI",
    folder: ({ home }) => join(home, ".gemini", "tmp"),
    depth: 2,
    isSession: (file) => file.startsWith("session-") && file.endsWith(".json"),
    idOf: idIn,
    titleOf: titleFromDocument,
  },
];

/** The sessions of one tool, in no order. */
export async function sessionsOf(tool: FileTool, places: Places): Promise<FoundSession[]> {
  const files = await filesBelow(tool.folder(places), tool.depth, tool.isSession);
  return files.map((file) => sessionOf(tool, file));
}

function sessionOf(tool: FileTool, { path, bytes, changed }: FoundFile): FoundSession {
  const id = tool.idOf(basename(path));
  return {
    tool: tool.name,
    id,
    bytes,
    changed,
    title: () => tool.titleOf(path),
    open: async () => ({ ...(await openFile(path, "/")), word: id }),
  };
}

function claudeHint(record: JsonRecord): TitleHint {
  const name = stringOf(record.customTitle) ?? stringOf(record.aiTitle);
  if (name !== undefined) return { name };
  if (record.type === "summary") return { name: stringOf(record.summary) };
  const speaks = record.type === "user" && record.isMeta !== true && record.isSidechain !== true;
  return speaks ? { words: contentText(recordOf(record.message).content) } : {};
}

function codexHint(record: JsonRecord): TitleHint {
  const payload = recordOf(record.payload);
  if (payload.type === "user_message") return { words: stringOf(payload.message) };
  const speaks = payload.type === "message" && payload.role === "user";
  return speaks ? { words: contentText(payload.content) } : {};
}

function piHint(record: JsonRecord): TitleHint {
  if (record.type === "session_info") return { name: stringOf(record.name) };
  const message = recordOf(record.message);
  return message.role === "user" ? { words: contentText(message.content) } : {};
}
