import type { Dirent } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Source } from "../files/source.ts";
import { isRecord, type JsonRecord, listOf, recordOf, stringOf } from "../transcripts/json.ts";

// Facts about a session from the beginning and the end of its file, without reading all of it.

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

/** Facts from one record of a session file. */
export interface RecordFacts {
  readonly folder?: string;
  readonly title?: string;
  /** Text of a user message, which a host may also have written. */
  readonly userText?: string;
  readonly tokens?: number;
}

/** Bytes; enough for the instructions that some tools put before the first message. */
const EDGE_BYTES = 512 * 1024;

/** The facts of a JSON lines file. */
export async function factsOfLines(
  path: string,
  factsOf: (record: JsonRecord) => RecordFacts,
): Promise<SessionFacts> {
  const { head, tail } = await readEdges(path);
  const [first = [], last = []] = [head, tail].map((text) =>
    text.split("\n").map(parse).filter(isRecord).map(factsOf),
  );
  const all = [...first, ...last];
  return {
    folder: all.find(({ folder }) => folder !== undefined)?.folder,
    title: all.findLast(({ title }) => title !== undefined)?.title ?? requestsIn(first)[0],
    lastRequest: requestsIn(all).at(-1),
    tokens: all.findLast(({ tokens = 0 }) => tokens > 0)?.tokens,
  };
}

const USER_TEXT =
  /"type"\s*:\s*"user"[^{}]{0,400}?"(?:content|text)"\s*:\s*(?:\[\s*\{\s*"text"\s*:\s*)?("(?:[^"\\]|\\.)*")/g;

/** The facts of one JSON document, found by patterns because its edges cannot be parsed. */
export async function factsOfDocument(path: string): Promise<SessionFacts> {
  const { head, tail } = await readEdges(path);
  const title = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(head)?.[1];
  const requests = (text: string): string[] =>
    requestsIn(
      Array.from(text.matchAll(USER_TEXT), ([, quoted]) => ({ userText: stringOf(parse(quoted ?? "")) })),
    );
  return {
    title: stringOf(parse(title ?? "")) ?? requests(head)[0],
    lastRequest: requests(`${head}${tail}`).at(-1),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function requestsIn(records: readonly RecordFacts[]): string[] {
  return records.flatMap(({ userText }) => requestOf(userText) ?? []);
}

/** The text of a user message, unless a program inserted it: such text starts with a tag or a known heading. */
function requestOf(userText: string | undefined): string | undefined {
  const text = userText?.trim() ?? "";
  const isProgram = /^(?:<[a-z]|# AGENTS\.md|Caveat:|\[Request interrupted|\/[a-z:-]+$)/i.test(text);
  return text === "" || isProgram ? undefined : text;
}

/** The text of a message's content: a string or a list of blocks. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  const texts = listOf(content).flatMap((block) => stringOf(recordOf(block).text) ?? []);
  return texts.length === 0 ? undefined : (texts.find((text) => requestOf(text) !== undefined) ?? texts[0]);
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
export interface Places {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly changed: number;
}

/** The entries of a folder; empty if it is missing or unreadable. */
export async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** Non-empty files below a folder, at most `depth` folders down, filtered by name; links are not followed. */
export async function filesBelow(
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

/** The first and the last bytes of a file as text, without overlap; empty if it cannot be read. */
async function readEdges(path: string): Promise<{ readonly head: string; readonly tail: string }> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return { head: "", tail: "" };
  const read = async (from: number, to: number): Promise<string> => {
    const length = Math.max(0, to - from);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString("utf8", 0, bytesRead);
  };
  try {
    const { size } = await file.stat();
    const end = Math.min(EDGE_BYTES, size);
    return { head: await read(0, end), tail: await read(Math.max(end, size - EDGE_BYTES), size) };
  } catch {
    return { head: "", tail: "" };
  } finally {
    await file.close();
  }
}
