import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "../../redaction/redactor.ts";
import { readMemoryFile, writeMemoryFile } from "../files/write-file.ts";
import type { MemoryAuthor, MemoryOperation, RefusalReason } from "./operation.ts";
import type { Hunk } from "./patch.ts";
import type { ChangedFile } from "./plan.ts";

/** The list of a channel's changes, one line each, oldest first; the newest with what takes them back. */
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

/** What a change did to a file, for taking it back. */
export interface FileEdit {
  readonly file: ChangedFile;
  readonly hunks: readonly Hunk[];
  /** The text before had no line end at its end. */
  readonly openEnd?: boolean;
  /** Lines of it were forgotten since: its places no longer hold. */
  readonly scrubbed?: boolean;
}

/** A line of the log; `edits` only while the change can be undone. */
export type LogEntry = MemoryChange & { readonly edits?: readonly FileEdit[] };

export interface ReadLog<Change = MemoryChange> {
  readonly changes: readonly Change[];
  /** Lines that cannot be read. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** All changes, oldest first; one that was written twice, by two processes at once, is there once. */
export async function readLog(channelDir: string): Promise<ReadLog<LogEntry>> {
  return readLogText((await readMemoryFile(join(channelDir, LOG_FILE)))?.text ?? "");
}

export function readLogText(text: string): ReadLog<LogEntry> {
  const changes = new Map<string, LogEntry>();
  const problems: { line: number; message: string }[] = [];
  text.split("\n").forEach((raw, index) => {
    if (raw.trim() === "") return;
    const change = parseEntry(raw);
    if (change === undefined) problems.push({ line: index + 1, message: "the line is cut off or damaged" });
    else if (!changes.has(change.id)) changes.set(change.id, change);
  });
  return { changes: [...changes.values()], problems };
}

function parseEntry(raw: string): LogEntry | undefined {
  try {
    const value = JSON.parse(raw) as Partial<LogEntry> | null;
    return typeof value?.id === "string" && Array.isArray(value.operations) ? (value as LogEntry) : undefined;
  } catch {
    return undefined;
  }
}

/** Adds a change to the log; durable when it resolves. */
export async function appendChange(channelDir: string, entry: LogEntry): Promise<void> {
  const path = join(channelDir, LOG_FILE);
  const handle = await open(path, "a+", 0o600);
  let size = 0;
  try {
    ({ size } = await handle.stat());
    const last = Buffer.alloc(1);
    await handle.read(last, 0, 1, Math.max(0, size - 1));
    // A line that a crash cut off stays, as a line of its own.
    const gap = size === 0 || last[0] === 10 ? "" : "\n";
    await handle.appendFile(`${gap}${JSON.stringify(entry)}\n`, "utf8");
    await handle.datasync();
  } finally {
    await handle.close();
  }
  if (size > LONG_LOG) await rewriteLog(channelDir, shortened);
}

/** Bytes beyond which the log is shortened: to so many changes, the newest with their undo data while that fits. */
const LONG_LOG = 2_000_000;
const MOST_CHANGES = 1_000;
const MOST_UNDO = 1_000_000;

function shortened(entries: readonly LogEntry[]): readonly LogEntry[] {
  let whole = 0;
  let written = 0;
  const newest = entries.slice(-MOST_CHANGES).toReversed();
  const kept = newest.flatMap((entry): LogEntry[] => {
    const { edits: _, ...bare } = entry;
    whole += JSON.stringify(entry).length;
    const one = whole <= MOST_UNDO ? entry : bare;
    written += JSON.stringify(one).length;
    return written <= 1.5 * MOST_UNDO ? [one] : [];
  });
  return kept.toReversed();
}

/** Puts other entries in the place of the log's; lines that cannot be read leave. */
export async function rewriteLog(
  channelDir: string,
  edit: (entries: readonly LogEntry[]) => readonly LogEntry[],
): Promise<void> {
  const entries = edit((await readLog(channelDir)).changes);
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  await writeMemoryFile(join(channelDir, LOG_FILE), text);
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
  const { op, ...fields } = operation;
  const isItem = op === "add" || op === "supersede";
  const shown = Object.entries(fields).map(([name, value]): readonly [string, unknown] => {
    if (name === "topic" || name === "said") return [name, undefined];
    if (name === "text" && !isItem) return ["characters", String(value).length];
    if (name === "text") return [name, redactText(String(value)).slice(0, LONGEST_LOGGED)];
    return [name, WORDED.has(name) && typeof value === "string" ? redactText(value) : value];
  });
  return { op, id, ...Object.fromEntries(shown) };
}
