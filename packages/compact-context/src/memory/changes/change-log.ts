import { type FileHandle, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "../../redaction/redactor.ts";
import { readMemoryFile } from "../files/write-file.ts";
import { fingerprint } from "./mark.ts";
import type { MemoryAuthor, MemoryOperation, RefusalReason } from "./operation.ts";
import type { ChangedFile } from "./plan.ts";

/** The list of a channel's changes, one line each, oldest first. */
export const LOG_FILE = "memory-log.jsonl";

/** An operation as the log shows it: long texts by their length. */
export type LoggedOperation = Readonly<Record<string, unknown>> & { readonly op: MemoryOperation["op"] };

export interface FileChange {
  /** Versions, `null` where there was no file. */
  readonly before: string | null;
  readonly after: string | null;
  /** True when somebody else changed the same lines at that moment, whose text was left. */
  readonly gaveWay?: boolean;
}

export interface MemoryChange {
  readonly id: string;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly author: MemoryAuthor;
  readonly reason: string;
  readonly sources: readonly string[];
  readonly files: Partial<Readonly<Record<ChangedFile, FileChange>>>;
  readonly operations: readonly LoggedOperation[];
  readonly refused: readonly {
    readonly operation: LoggedOperation;
    readonly reason: RefusalReason;
    readonly message: string;
  }[];
  /** The change that this one takes back. */
  readonly undoes?: string;
}

/** A change as its line says it, with the hash of the line before. */
interface Line extends MemoryChange {
  readonly previous: string;
}

export interface ReadLog {
  readonly changes: readonly MemoryChange[];
  /** Lines that cannot be read, or do not follow the one before. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

const FIRST = "first";

/** All changes, oldest first; one that was written twice, by two processes at once, is there once. */
export async function readLog(channelDir: string): Promise<ReadLog> {
  const text = (await readMemoryFile(join(channelDir, LOG_FILE)))?.text ?? "";
  return readLogText(text);
}

export function readLogText(text: string): ReadLog {
  const changes = new Map<string, MemoryChange>();
  const problems: { line: number; message: string }[] = [];
  const heads = new Set([FIRST]);
  text.split("\n").forEach((raw, index) => {
    if (raw.trim() === "") return;
    const line = parseLine(raw);
    if (line === undefined) {
      problems.push({ line: index + 1, message: "the line is cut off or damaged" });
      return;
    }
    const { previous, ...change } = line;
    if (!changes.has(change.id)) {
      if (!heads.has(previous)) {
        problems.push({ line: index + 1, message: "a line before this one is missing or was edited" });
      }
      heads.clear();
      changes.set(change.id, change);
    }
    heads.add(hashOf(raw));
  });
  return { changes: [...changes.values()], problems };
}

/** Adds a change to the log; durable when it resolves. */
export async function appendChange(channelDir: string, change: MemoryChange): Promise<void> {
  const path = join(channelDir, LOG_FILE);
  const handle = await open(path, "a+", 0o600);
  try {
    const tail = await readTail(handle);
    const last = lastLine(tail) ?? lastLine(await readFile(path, "utf8"));
    const line: Line = { ...change, previous: last === undefined ? FIRST : hashOf(last) };
    // A line that a crash cut off stays, as a line of its own.
    const gap = tail === "" || tail.endsWith("\n") ? "" : "\n";
    await handle.appendFile(`${gap}${JSON.stringify(line)}\n`, "utf8");
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

function lastLine(text: string): string | undefined {
  return text.split("\n").findLast((raw) => parseLine(raw) !== undefined);
}

const TAIL_BYTES = 65_536;

/** The last lines of a file, the first of them perhaps cut. */
async function readTail(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
  await handle.read(bytes, 0, bytes.length, size - bytes.length);
  return bytes.toString("utf8");
}

/** Fields that hold ids, times and names of kinds: a text that is taken out of the words may stand in them by chance. */
const NO_WORDS: ReadonlySet<string> = new Set([
  "previous",
  "time",
  "author",
  "undoes",
  "before",
  "after",
  "op",
  "file",
  "target",
  "trust",
  "ifVersion",
]);

/** The log's text after every text in the words of its lines went through `edit`, each line following the one before again. */
export function editLog(text: string, edit: (text: string) => string): string {
  let hash = FIRST;
  return text
    .split("\n")
    .flatMap((raw) => {
      const line = parseLine(raw);
      if (line === undefined) return [];
      const edited = JSON.stringify({ ...line, previous: hash }, (name, value: unknown) =>
        typeof value === "string" && !NO_WORDS.has(name) ? edit(value) : value,
      );
      hash = hashOf(edited);
      return [`${edited}\n`];
    })
    .join("");
}

function parseLine(raw: string): Line | undefined {
  if (!raw.startsWith("{")) return undefined;
  try {
    const value = JSON.parse(raw) as Partial<Line>;
    const whole = typeof value.id === "string" && typeof value.previous === "string";
    return whole && Array.isArray(value.operations) ? (value as Line) : undefined;
  } catch {
    return undefined;
  }
}

function hashOf(raw: string): string {
  return fingerprint(raw, 16);
}

const LONGEST_LOGGED = 1_000;

/** Fields of operations that callers word as they like. */
const WORDED: ReadonlySet<string> = new Set(["section", "heading", "why", "source"]);

/** An operation for the log, secrets taken out: the text of an item as it is, that of sections and files by its length. */
export function loggedOperation(
  operation: MemoryOperation,
  { redactText }: Pick<Redactor, "redactText">,
  id?: string,
): LoggedOperation {
  const {
    op,
    text,
    topic: _topic,
    said: _said,
    ...rest
  } = {
    text: undefined,
    topic: undefined,
    said: undefined,
    ...operation,
  };
  const others = Object.entries(rest).map(([name, value]) => [
    name,
    WORDED.has(name) && typeof value === "string" ? redactText(value) : value,
  ]);
  const isItem = op === "add" || op === "supersede";
  return {
    op,
    id,
    ...Object.fromEntries(others),
    text: text !== undefined && isItem ? redactText(text).slice(0, LONGEST_LOGGED) : undefined,
    characters: text === undefined || isItem ? undefined : text.length,
  };
}
