import type { Dirent } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Source } from "../files/source.ts";
import { isRecord, type JsonRecord, listOf, recordOf, stringOf } from "../transcripts/json.ts";
import { usageRecord } from "../transcripts/session.ts";
import type { UsageSource } from "../transcripts/transcript.ts";

// What the beginning and the end of a session file say of it, without reading the whole.

/** What a list of sessions says about one; what its file does not say is left out. */
export interface SessionFacts {
  /** The folder that the agent worked in. */
  readonly folder?: string;
  /** The session's own title, else how the first user message begins. */
  readonly title?: string;
  /** What the user asked last. */
  readonly ask?: string;
  /** Tokens of the newest prompt, as its provider reported them. */
  readonly tokens?: number;
}

/** What one record of a session file says about the session. */
export interface Hint {
  readonly folder?: string;
  /** A title of the session's own. */
  readonly name?: string;
  /** Words of the user, or of a host that speaks in the user's place. */
  readonly words?: string;
  readonly tokens?: number;
}

/** Enough for the instructions that some tools put before the first message. */
const EDGE_BYTES = 512 * 1024;

/** The facts of a file of records, one a line, from its beginning and its end. */
export async function factsOfLines(
  path: string,
  hintOf: (record: JsonRecord) => Hint,
): Promise<SessionFacts> {
  const { head, tail } = await edgesOf(path, EDGE_BYTES);
  const hints = (text: string): Hint[] => text.split("\n").map(parse).filter(isRecord).map(hintOf);
  const [first, last] = [hints(head), hints(tail)];
  const all = [...first, ...last];
  return {
    folder: all.find(({ folder }) => folder !== undefined)?.folder,
    title: all.findLast(({ name }) => name !== undefined)?.name ?? spokenIn(first)[0],
    ask: spokenIn(all).at(-1),
    tokens: all.findLast(({ tokens }) => tokens !== undefined)?.tokens,
  };
}

const USER_WORDS =
  /"type"\s*:\s*"user"[^{}]{0,400}?"(?:content|text)"\s*:\s*(?:\[\s*\{\s*"text"\s*:\s*)?("(?:[^"\\]|\\.)*")/g;

/** The facts of one JSON document, which need not be read whole. */
export async function factsOfDocument(path: string): Promise<SessionFacts> {
  const { head, tail } = await edgesOf(path, EDGE_BYTES);
  const own = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(head)?.[1];
  const asks = (text: string): string[] =>
    spokenIn(Array.from(text.matchAll(USER_WORDS), ([, words]) => ({ words: stringOf(parse(words ?? "")) })));
  return { title: stringOf(parse(own ?? "")) ?? asks(head)[0], ask: asks(`${head}${tail}`).at(-1) };
}

/** Tokens of the prompt that a provider's usage record reports. */
export function promptTokens(source: UsageSource, usage: unknown): number | undefined {
  return usageRecord(source, usage, { segment: 0, index: 0 })?.promptTokens;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function spokenIn(hints: readonly Hint[]): string[] {
  return hints.flatMap(({ words }) => spoken(words) ?? []);
}

/** The words themselves, unless a program put them there: those begin with a tag or a file's heading. */
function spoken(words: string | undefined): string | undefined {
  const text = words?.trim() ?? "";
  const isProgram = /^(?:<[a-z]|# AGENTS\.md|Caveat:|\[Request interrupted|\/[a-z:-]+$)/i.test(text);
  return text === "" || isProgram ? undefined : text;
}

/** The text of a message's content, whichever of the usual shapes it has. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  const texts = listOf(content).flatMap((block) => stringOf(recordOf(block).text) ?? []);
  return texts.length === 0 ? undefined : (texts.find((text) => spoken(text) !== undefined) ?? texts[0]);
}

/** A session that an agent left on this computer. */
export interface FoundSession {
  /** The tool that wrote it, as people call it. */
  readonly tool: string;
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds since 1970 of its last change. */
  readonly changed: number;
  /** Read when asked for, and only so much of the file. */
  facts(): Promise<SessionFacts>;
  open(): Promise<Source>;
}

/** Where to look: the user's folder and environment. */
export interface Places {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly changed: number;
}

/** The entries of a folder; none where it is missing or may not be read. */
export async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** Files below a folder, at most `depth` folders down, whose name passes; links are not followed. */
export async function filesBelow(
  folder: string,
  depth: number,
  wanted: (name: string) => boolean,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) found.push(...(await filesBelow(path, depth - 1, wanted)));
    if (!entry.isFile() || !wanted(entry.name)) continue;
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined && facts.size > 0) {
      found.push({ path, bytes: facts.size, changed: facts.mtimeMs });
    }
  }
  return found;
}

/** The first and the last bytes of a file as text, which do not overlap; empty where it cannot be read. */
async function edgesOf(
  path: string,
  bytes: number,
): Promise<{ readonly head: string; readonly tail: string }> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return { head: "", tail: "" };
  const read = async (from: number, to: number): Promise<string> => {
    const length = Math.max(0, to - from);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString("utf8", 0, bytesRead);
  };
  try {
    const { size } = await file.stat();
    const end = Math.min(bytes, size);
    return { head: await read(0, end), tail: await read(Math.max(end, size - bytes), size) };
  } catch {
    return { head: "", tail: "" };
  } finally {
    await file.close();
  }
}
