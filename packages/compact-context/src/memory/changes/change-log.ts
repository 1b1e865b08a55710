import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "../../redaction/redactor.ts";
import { readMemoryFile, writeMemoryFile } from "../files/write-file.ts";
import type { ChangedFile } from "./apply.ts";
import type { MemoryAuthor, MemoryOperation, RefusalReason } from "./operation.ts";

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

export interface ReadLog {
  readonly changes: readonly MemoryChange[];
  /** Lines that cannot be read. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** A longer log keeps its newest half: every change is told for as long as anybody looks back. */
const MOST_CHANGES = 2_000;
/** So long is a log that can be too long. */
const LONG_LOG = 500_000;

/** All changes, oldest first; one that was written twice, by two processes at once, is there once. */
export async function readLog(channelDir: string): Promise<ReadLog> {
  const text = (await readMemoryFile(join(channelDir, LOG_FILE)))?.text ?? "";
  return readLogText(text);
}

export function readLogText(text: string): ReadLog {
  const changes = new Map<string, MemoryChange>();
  const problems: { line: number; message: string }[] = [];
  text.split("\n").forEach((raw, index) => {
    if (raw.trim() === "") return;
    const change = parseLine(raw);
    if (change === undefined) problems.push({ line: index + 1, message: "the line is cut off or damaged" });
    else if (!changes.has(change.id)) changes.set(change.id, change);
  });
  return { changes: [...changes.values()], problems };
}

/** Adds a change to the log; durable when it resolves. */
export async function appendChange(channelDir: string, change: MemoryChange): Promise<void> {
  const path = join(channelDir, LOG_FILE);
  const handle = await open(path, "a+", 0o600);
  let size = 0;
  try {
    ({ size } = await handle.stat());
    const last = Buffer.alloc(1);
    await handle.read(last, 0, 1, Math.max(0, size - 1));
    // A line that a crash cut off stays, as a line of its own.
    const gap = size === 0 || last[0] === 10 ? "" : "\n";
    await handle.appendFile(`${gap}${JSON.stringify(change)}\n`, "utf8");
    await handle.datasync();
  } finally {
    await handle.close();
  }
  if (size > LONG_LOG) await shorten(path);
}

async function shorten(path: string): Promise<void> {
  const lines = ((await readMemoryFile(path))?.text ?? "").split("\n").filter((line) => line !== "");
  if (lines.length <= MOST_CHANGES) return;
  await writeMemoryFile(path, `${lines.slice(-MOST_CHANGES / 2).join("\n")}\n`);
}

/** Fields that hold ids, times and names of kinds: a text that is taken out of the words may stand in them by chance. */
const NO_WORDS: ReadonlySet<string> = new Set([
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

/** The log's text after every text in the words of its lines went through `edit`; lines that cannot be read leave. */
export function editLog(text: string, edit: (text: string) => string): string {
  return text
    .split("\n")
    .flatMap((raw) => {
      const change = parseLine(raw);
      if (change === undefined) return [];
      const edited = JSON.stringify(change, (name, value: unknown) =>
        typeof value === "string" && !NO_WORDS.has(name) ? edit(value) : value,
      );
      return [`${edited}\n`];
    })
    .join("");
}

function parseLine(raw: string): MemoryChange | undefined {
  if (!raw.startsWith("{")) return undefined;
  try {
    const value = JSON.parse(raw) as Partial<MemoryChange>;
    return typeof value.id === "string" && Array.isArray(value.operations)
      ? (value as MemoryChange)
      : undefined;
  } catch {
    return undefined;
  }
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
