import { join } from "node:path";
import { CompactError, errorMessage, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { refuseOutside, WORKSPACE_FILES } from "../files/ensure.ts";
import { readMemoryFile } from "../files/write-file.ts";
import { relationOf } from "../learning/relation.ts";
import { linesOf } from "../markdown.ts";
import { DAY } from "../ranking/dates.ts";
import { LOG_FILE, readLog } from "./change-log.ts";
import { itemsOf, type MemoryDocument, type MemoryItem, plainWords, readDocument } from "./document.ts";
import type { MemoryFileName } from "./operation.ts";
import { RETIRED_FILE, retiredAs } from "./retired.ts";
import { type ChannelFolder, type ChannelPlace, findChannel, readPending } from "./store.ts";

export interface MemoryOverviewFile {
  /** `workspace` files are people's and never written. */
  readonly place: "channel" | "workspace";
  readonly path: string;
  readonly document: MemoryDocument;
  /** Milliseconds since 1970. */
  readonly modified: number;
  readonly characters: number;
}

/** The memory files that a recall reads, with their sections and items; those that are missing are left out. */
export async function readMemory(folder: ChannelFolder): Promise<readonly MemoryOverviewFile[]> {
  return (await readEach(folder)).flatMap((one) => {
    if (one.failed) throw one.error;
    return one.file === undefined ? [] : [one.file];
  });
}

type ReadOne = { readonly name: string } & (
  | { readonly failed: false; readonly file: MemoryOverviewFile | undefined }
  | { readonly failed: true; readonly error: unknown }
);

async function readEach(folder: ChannelFolder): Promise<readonly ReadOne[]> {
  requireOptions(folder, "folder", "Pass the channel's folder: { channelDir }.");
  requireText(folder.channelDir, "folder.channelDir", "Pass the channel's folder: { channelDir }.");
  const { channelDir } = await findChannel(folder);
  const { workspaceDir = channelDir } = folder;
  const own = (["SESSION.md", "MEMORY.md", "HISTORY.md"] as const).map(
    (file) => ({ place: "channel", name: file, file, path: join(channelDir, file) }) as const,
  );
  const shared = {
    place: "workspace",
    name: "workspace MEMORY.md",
    file: "MEMORY.md",
    path: join(workspaceDir, WORKSPACE_FILES.memory),
  } as const;
  const all = folder.workspaceDir === undefined ? own : [...own, shared];
  return Promise.all(
    all.map(async ({ place, name, file, path }): Promise<ReadOne> => {
      try {
        await refuseOutside(path, [channelDir, workspaceDir]);
        const found = await readMemoryFile(path);
        if (found === undefined) return { name, failed: false, file: undefined };
        const { text, version, modified } = found;
        const document = readDocument(file, text, version);
        return { name, failed: false, file: { place, path, document, modified, characters: text.length } };
      } catch (error) {
        return { name, failed: true, error };
      }
    }),
  );
}

export interface MemoryProblem {
  readonly kind:
    | "malformed"
    | "duplicate"
    | "conflict"
    | "stale"
    | "oversized"
    | "secret"
    | "retired"
    | "unreadable"
    | "log"
    | "unfinished";
  /** Errors are wrong in any case; warnings are worth a look. */
  readonly severity: "error" | "warning";
  /** File, and line where there is one: `MEMORY.md:12`. */
  readonly place: string;
  readonly message: string;
  readonly hint: string;
}

export interface CheckOptions extends ChannelFolder {
  readonly redactor?: Pick<Redactor, "redactText">;
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface CheckedFile extends MemoryOverviewFile {
  readonly name: string;
}

type PlacedItem = MemoryItem & { readonly place: string };

/** Characters beyond which a file is worth folding or cleaning up, and days after which it may be out of date. */
const CHECKED: Readonly<Record<MemoryFileName, { readonly chars: number; readonly days: number }>> = {
  "SESSION.md": { chars: 12_000, days: 30 },
  "MEMORY.md": { chars: 12_000, days: 180 },
  "HISTORY.md": { chars: 20_000, days: Number.POSITIVE_INFINITY },
};
const LONG_ITEM = 1_000;

/** What is wrong or doubtful in a channel's memory and its workspace's, by file and line; changes nothing. */
export async function checkMemory(options: CheckOptions): Promise<readonly MemoryProblem[]> {
  const read = await readEach(options);
  const place = await findChannel(options);
  const redactor = options.redactor ?? createRedactor();
  const files = read.flatMap(({ name, ...one }) =>
    one.failed || one.file === undefined ? [] : [{ ...one.file, name }],
  );
  const retired = (await readMemoryFile(join(place.channelDir, RETIRED_FILE)))?.text ?? "";
  const items = files
    .filter(({ document }) => document.file === "MEMORY.md")
    .flatMap(({ name, document }) =>
      itemsOf(document).map((item) => ({ ...item, place: `${name}:${item.line}` })),
    );
  return [
    ...read.flatMap((one) => (one.failed ? [unreadable(one.name, one.error)] : [])),
    ...files.flatMap((file) => [
      ...malformed(file),
      ...secrets(file, redactor),
      ...large(file),
      ...stale(file, options.now),
    ]),
    ...returned(items, retired),
    ...duplicates(items),
    ...conflicts(items),
    ...(await logProblems(place.channelDir)),
    ...(await unfinished(place)),
  ];
}

function unreadable(place: string, error: unknown): MemoryProblem {
  const hint = "Put a plain file there that this user may read.";
  return { kind: "unreadable", severity: "error", place, message: errorMessage(error), hint };
}

async function unfinished(place: ChannelPlace): Promise<readonly MemoryProblem[]> {
  const where = { kind: "unfinished", place: ".memory/pending.json" } as const;
  try {
    const pending = await readPending(place);
    if (pending === undefined) return [];
    const hint = "The next change finishes it; nothing is lost.";
    const message = `the change ${pending.change.id} is not finished`;
    return [{ ...where, severity: "warning", message, hint }];
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    return [{ ...where, severity: "error", message: error.message, hint: error.hint }];
  }
}

function malformed({ name, document }: CheckedFile): readonly MemoryProblem[] {
  const problems: MemoryProblem[] = [];
  const add = (line: number, message: string, hint: string): void => {
    problems.push({ kind: "malformed", severity: "error", place: `${name}:${line}`, message, hint });
  };
  const lines = linesOf(document.text);
  lines.forEach((line, index) => {
    if (/^(?:<{7} |={7}$|>{7} )/.test(line)) {
      add(
        index + 1,
        "a conflict of a merge is not resolved",
        "Keep one of the two texts and delete the marks.",
      );
    }
    if (/[\0\uFFFD]/.test(line))
      add(index + 1, "the line holds bytes that are no text", "Save the file as UTF-8.");
  });
  const open = document.text.lastIndexOf("<!--");
  if (open >= 0 && !document.text.includes("-->", open)) {
    const line = linesOf(document.text.slice(0, open)).length;
    add(line, "a comment is opened and never closed", "Close it with -->, or take the <!-- out.");
  }
  const fence = openFence(lines);
  if (fence > 0)
    add(fence, "a code block is opened and never closed", "Close it with the marks that open it.");
  return problems;
}

/** The line of a fence that nothing closes; 0 where all are closed. */
function openFence(lines: readonly string[]): number {
  let open: { readonly marks: string; readonly line: number } | undefined;
  lines.forEach((line, index) => {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (marks === undefined) return;
    if (open === undefined) open = { marks, line: index + 1 };
    else if (marks.startsWith(open.marks) && line.trim() === marks) open = undefined;
  });
  return (open as { line: number } | undefined)?.line ?? 0;
}

function secrets(
  { name, document }: CheckedFile,
  redactor: Pick<Redactor, "redactText">,
): readonly MemoryProblem[] {
  const redacted = linesOf(redactor.redactText(document.text));
  const lines = linesOf(document.text);
  const found =
    redacted.length === lines.length
      ? lines.flatMap((line, index) => (line === redacted[index] ? [] : [index + 1]))
      : [1];
  return found.map((line) => ({
    kind: "secret",
    severity: "error",
    place: `${name}:${line}`,
    message: "the line looks like it holds a secret",
    hint: "Take it out here, and change the secret: what reads the memory has read it.",
  }));
}

function large({ name, characters, document }: CheckedFile): readonly MemoryProblem[] {
  const problems: MemoryProblem[] = [];
  const add = (place: string, message: string, hint: string): void => {
    problems.push({ kind: "oversized", severity: "warning", place, message, hint });
  };
  const most = CHECKED[document.file].chars;
  if (characters > most) {
    const hint =
      document.file === "HISTORY.md" ? "Fold its oldest sections." : "Take out what no longer matters.";
    add(name, `${characters} characters; more than ${most} are seldom read`, hint);
  }
  for (const { text, line } of itemsOf(document)) {
    if (text.length > LONG_ITEM) {
      add(
        `${name}:${line}`,
        `one item of ${text.length} characters`,
        "Cut it into items that say one thing each.",
      );
    }
  }
  return problems;
}

function stale({ name, modified, document }: CheckedFile, now: number): readonly MemoryProblem[] {
  const { days } = CHECKED[document.file];
  const hint = "Look whether it still holds; a newer text supersedes it.";
  const say = (place: string, time: number): MemoryProblem => ({
    kind: "stale",
    severity: "warning",
    place,
    message: `last written ${Math.floor((now - time) / DAY)} days ago`,
    hint,
  });
  if (document.file === "SESSION.md") return now - modified > days * DAY ? [say(name, modified)] : [];
  return itemsOf(document).flatMap(({ time, line }) => {
    const at = Date.parse(time ?? "");
    return now - at > days * DAY ? [say(`${name}:${line}`, at)] : [];
  });
}

function warning(
  kind: MemoryProblem["kind"],
  { place }: PlacedItem,
  message: string,
  hint: string,
): MemoryProblem {
  return { kind, severity: "warning", place, message, hint };
}

function returned(items: readonly PlacedItem[], retired: string): readonly MemoryProblem[] {
  return items.flatMap((item) => {
    const entry = item.writtenBy === "person" ? undefined : retiredAs(retired, item.text);
    if (entry === undefined) return [];
    const hint = `Take it out, or its line out of ${RETIRED_FILE}.`;
    return [warning("retired", item, `it was ${entry.as} before`, hint)];
  });
}

function duplicates(items: readonly PlacedItem[]): readonly MemoryProblem[] {
  return items.flatMap((item, index) => {
    const first = items.slice(0, index).find((other) => plainWords(other.text) === plainWords(item.text));
    if (first === undefined) return [];
    return [warning("duplicate", item, `the same as ${first.place}`, "Take one of them out.")];
  });
}

/** Two items that tell different values of one thing. */
function conflicts(items: readonly PlacedItem[]): readonly MemoryProblem[] {
  return items.flatMap((newer, index) =>
    items.slice(0, index).flatMap((older): MemoryProblem[] => {
      const apart = (one: MemoryItem, other: MemoryItem): boolean =>
        relationOf(one.text, other.text) === "apart";
      if (apart(newer, older) && apart(older, newer)) return [];
      const hint = "Take out the one that is out of date; a recall gives the newer first.";
      return [warning("conflict", newer, `it may not hold together with ${older.place}`, hint)];
    }),
  );
}

async function logProblems(channelDir: string): Promise<readonly MemoryProblem[]> {
  const { problems } = await readLog(channelDir);
  return problems.map(({ line, message }) => ({
    kind: "log",
    severity: message.includes("cut off") ? "warning" : "error",
    place: `${LOG_FILE}:${line}`,
    message,
    hint: "Changes from before it can still be listed; what it said is lost.",
  }));
}
