import { join } from "node:path";
import { CompactError, errorMessage, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { refuseOutside } from "../files/inside.ts";
import { CHANNEL_FILES, WORKSPACE_FILES } from "../files/names.ts";
import { type MemoryFile, readMemoryFile } from "../files/write-file.ts";
import { relationOf } from "../learning/meaning.ts";
import { DAY } from "../ranking/dates.ts";
import { LOG_FILE, readLog } from "./change-log.ts";
import { type ChannelFolder, type ChannelPlace, findChannel } from "./channel-files.ts";
import { itemsOf, type MemoryDocument, readDocument, slug } from "./document.ts";
import { pendingChange } from "./journal.ts";
import type { MemoryFileName } from "./operation.ts";
import { RETIRED_FILE, retiredAs } from "./retired.ts";
import { linesOf } from "./text-lines.ts";

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

interface CheckedFile {
  readonly name: string;
  readonly file: MemoryFileName;
  readonly read: MemoryFile;
  readonly document: MemoryDocument;
}

/** Characters beyond which a file is worth folding or cleaning up, and days after which it may be out of date. */
const CHECKED: Readonly<Record<MemoryFileName, { readonly chars: number; readonly days: number }>> = {
  "SESSION.md": { chars: 12_000, days: 30 },
  "MEMORY.md": { chars: 12_000, days: 180 },
  "HISTORY.md": { chars: 20_000, days: Number.POSITIVE_INFINITY },
};
const LONG_ITEM = 1_000;

/** What is wrong or doubtful in a channel's memory and its workspace's, by file and line; changes nothing. */
export async function checkMemory(options: CheckOptions): Promise<readonly MemoryProblem[]> {
  requireOptions(options, "options", "Pass the channel's folder: { channelDir }.");
  requireText(options.channelDir, "options.channelDir", "Pass the channel's folder: { channelDir }.");
  const place = await findChannel(options);
  const redactor = options.redactor ?? createRedactor();
  const read = await Promise.all(placesOf(options).map((one) => readChecked(one, options)));
  const files = read.flatMap((one) => ("kind" in one ? [] : [one]));
  const retired = (await readMemoryFile(join(place.channelDir, RETIRED_FILE)))?.text ?? "";
  return [
    ...read.flatMap((one) => ("kind" in one ? [one] : [])),
    ...files.flatMap((file) => [
      ...malformed(file),
      ...secrets(file, redactor),
      ...large(file),
      ...stale(file, options.now),
      ...returned(file, retired),
    ]),
    ...duplicates(files),
    ...conflicts(files),
    ...(await logProblems(place.channelDir)),
    ...(await unfinished(place)),
  ];
}

type CheckedPlace = readonly [name: string, file: MemoryFileName, path: string];

function placesOf({ channelDir, workspaceDir }: CheckOptions): readonly CheckedPlace[] {
  const own: readonly CheckedPlace[] = [
    ["SESSION.md", "SESSION.md", join(channelDir, CHANNEL_FILES.session)],
    ["MEMORY.md", "MEMORY.md", join(channelDir, CHANNEL_FILES.memory)],
    ["HISTORY.md", "HISTORY.md", join(channelDir, CHANNEL_FILES.history)],
  ];
  if (workspaceDir === undefined) return own;
  return [...own, ["workspace MEMORY.md", "MEMORY.md", join(workspaceDir, WORKSPACE_FILES.memory)]];
}

async function readChecked(
  [name, file, path]: CheckedPlace,
  { channelDir, workspaceDir = channelDir }: CheckOptions,
): Promise<CheckedFile | MemoryProblem> {
  try {
    await refuseOutside(path, [channelDir, workspaceDir]);
    const read = (await readMemoryFile(path)) ?? {
      text: "",
      version: "",
      modified: Number.POSITIVE_INFINITY,
    };
    return { name, file, read, document: readDocument(file, read.text, read.version) };
  } catch (error) {
    const hint = "Put a plain file there that this user may read.";
    return { kind: "unreadable", severity: "error", place: name, message: errorMessage(error), hint };
  }
}

async function unfinished(place: ChannelPlace): Promise<readonly MemoryProblem[]> {
  const where = { kind: "unfinished", place: ".memory/pending.json" } as const;
  try {
    const pending = await pendingChange(place);
    if (pending === undefined) return [];
    const hint = "The next change finishes it; nothing is lost.";
    return [{ ...where, severity: "warning", message: `the change ${pending} is not finished`, hint }];
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    return [{ ...where, severity: "error", message: error.message, hint: error.hint }];
  }
}

function malformed({ name, read }: CheckedFile): readonly MemoryProblem[] {
  const problems: MemoryProblem[] = [];
  const add = (line: number, message: string, hint: string): void => {
    problems.push({ kind: "malformed", severity: "error", place: `${name}:${line}`, message, hint });
  };
  const lines = linesOf(read.text);
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
  const open = read.text.lastIndexOf("<!--");
  if (open >= 0 && !read.text.includes("-->", open)) {
    const line = linesOf(read.text.slice(0, open)).length;
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
  { name, read }: CheckedFile,
  redactor: Pick<Redactor, "redactText">,
): readonly MemoryProblem[] {
  const redacted = linesOf(redactor.redactText(read.text));
  const lines = linesOf(read.text);
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

function large({ name, file, read, document }: CheckedFile): readonly MemoryProblem[] {
  const problems: MemoryProblem[] = [];
  const add = (place: string, message: string, hint: string): void => {
    problems.push({ kind: "oversized", severity: "warning", place, message, hint });
  };
  const most = CHECKED[file].chars;
  if (read.text.length > most) {
    const hint = file === "HISTORY.md" ? "Fold its oldest sections." : "Take out what no longer matters.";
    add(name, `${read.text.length} characters; more than ${most} are seldom read`, hint);
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

function stale({ name, file, read, document }: CheckedFile, now: number): readonly MemoryProblem[] {
  const { days } = CHECKED[file];
  const hint = "Look whether it still holds; a newer text supersedes it.";
  const say = (place: string, time: number): MemoryProblem => ({
    kind: "stale",
    severity: "warning",
    place,
    message: `last written ${Math.floor((now - time) / DAY)} days ago`,
    hint,
  });
  if (file === "SESSION.md") return now - read.modified > days * DAY ? [say(name, read.modified)] : [];
  return itemsOf(document).flatMap(({ time, line }) => {
    const at = Date.parse(time ?? "");
    return now - at > days * DAY ? [say(`${name}:${line}`, at)] : [];
  });
}

function returned({ name, file, document }: CheckedFile, retired: string): readonly MemoryProblem[] {
  if (file !== "MEMORY.md") return [];
  return itemsOf(document).flatMap(({ text, line, writtenBy }) => {
    const entry = writtenBy === "person" ? undefined : retiredAs(retired, text);
    if (entry === undefined) return [];
    return [
      {
        kind: "retired" as const,
        severity: "warning" as const,
        place: `${name}:${line}`,
        message: `it was ${entry.as} before`,
        hint: `Take it out, or its line out of ${RETIRED_FILE}.`,
      },
    ];
  });
}

function duplicates(files: readonly CheckedFile[]): readonly MemoryProblem[] {
  const seen = new Map<string, string>();
  return files
    .filter(({ file }) => file === "MEMORY.md")
    .flatMap(({ name, document }) =>
      itemsOf(document).flatMap(({ text, line }): MemoryProblem[] => {
        const key = slug(text);
        const place = `${name}:${line}`;
        const first = seen.get(key);
        seen.set(key, first ?? place);
        if (first === undefined) return [];
        const message = `the same as ${first}`;
        return [{ kind: "duplicate", severity: "warning", place, message, hint: "Take one of them out." }];
      }),
    );
}

/** Two items that tell different values of one thing. */
function conflicts(files: readonly CheckedFile[]): readonly MemoryProblem[] {
  const items = files
    .filter(({ file }) => file === "MEMORY.md")
    .flatMap(({ name, document }) =>
      itemsOf(document).map((item) => ({ ...item, place: `${name}:${item.line}` })),
    );
  return items.flatMap((newer, index) =>
    items.slice(0, index).flatMap((older): MemoryProblem[] => {
      if (relationOf(newer.text, older.text) === "apart" && relationOf(older.text, newer.text) === "apart")
        return [];
      const message = `it may not hold together with ${older.place}`;
      const hint = "Take out the one that is out of date; a recall gives the newer first.";
      return [{ kind: "conflict", severity: "warning", place: newer.place, message, hint }];
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
