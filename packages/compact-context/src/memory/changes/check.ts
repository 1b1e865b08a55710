import { join } from "node:path";
import { CompactError, errorMessage, requireOptions, requireText } from "../../errors.ts";
import { createRedactor, type Redactor } from "../../redaction/redactor.ts";
import { refuseOutside, WORKSPACE_FILES } from "../files/folders.ts";
import { readMemoryFile } from "../files/write-file.ts";
import { relationOf } from "../learning/relation.ts";
import { linesOf } from "../markdown.ts";
import { DAY } from "../ranking/dates.ts";
import {
  itemsOf,
  type MemoryDocument,
  type MemoryFileName,
  type MemoryItem,
  plainWords,
  RETIRED_FILE,
  readDocument,
} from "./document.ts";
import { retiredAs } from "./forget.ts";
import { type ChannelFolder, findChannel, LOG_FILE, readLog, readPending } from "./store.ts";

export interface MemoryOverviewFile {
  /** `workspace` files belong to people and are never written. */
  readonly place: "channel" | "workspace";
  readonly path: string;
  readonly document: MemoryDocument;
  /** Milliseconds since 1970. */
  readonly modified: number;
  readonly characters: number;
}

/** The memory files that recall reads, with their sections and items; missing files are omitted. */
export async function readMemory(folder: ChannelFolder): Promise<readonly MemoryOverviewFile[]> {
  return readEach(folder, (_, error) => {
    throw error;
  });
}

/** The files that can be read; `fail` hears of the others. */
async function readEach(
  folder: ChannelFolder,
  fail: (name: string, error: unknown) => void,
): Promise<readonly MemoryOverviewFile[]> {
  requireOptions(folder, "folder", "Pass the channel's folder: { channelDir }.");
  requireText(folder.channelDir, "folder.channelDir", "Pass the channel's folder: { channelDir }.");
  const { channelDir } = await findChannel(folder);
  const { workspaceDir } = folder;
  const places: (readonly [MemoryOverviewFile["place"], string, MemoryFileName])[] = [
    ["channel", channelDir, "SESSION.md"],
    ["channel", channelDir, "MEMORY.md"],
    ["channel", channelDir, "HISTORY.md"],
  ];
  if (workspaceDir !== undefined) places.push(["workspace", workspaceDir, WORKSPACE_FILES.memory]);
  const read = places.map(async ([place, dir, file]): Promise<MemoryOverviewFile[]> => {
    const path = join(dir, file);
    try {
      await refuseOutside(path, [channelDir, workspaceDir ?? channelDir]);
      const found = await readMemoryFile(path);
      if (found === undefined) return [];
      const { text, modified } = found;
      return [{ place, path, document: readDocument(file, text), modified, characters: text.length }];
    } catch (error) {
      fail(nameIn(place, file), error);
      return [];
    }
  });
  return (await Promise.all(read)).flat();
}

/** A file's name in problems. */
function nameIn(place: MemoryOverviewFile["place"], file: MemoryFileName): string {
  return place === "channel" ? file : `workspace ${file}`;
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
  /** Errors are always wrong; warnings deserve a look. */
  readonly severity: "error" | "warning";
  /** File, and line if there is one: `MEMORY.md:12`. */
  readonly place: string;
  readonly message: string;
  readonly hint: string;
}

export interface CheckOptions extends ChannelFolder {
  readonly redactor?: Pick<Redactor, "redactText">;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What can be found: its kind, what is said of it, with `#` for the value, and what to do. */
const FINDINGS = {
  unreadable: ["unreadable", "#", "Put a plain file there that this user may read."],
  merge: [
    "malformed",
    "a conflict of a merge is not resolved",
    "Keep one of the two texts and delete the marks.",
  ],
  bytes: ["malformed", "the line holds bytes that are no text", "Save the file as UTF-8."],
  comment: ["malformed", "a comment is opened and never closed", "Close it with -->, or take the <!-- out."],
  fence: ["malformed", "a code block is opened and never closed", "Close it with the marks that open it."],
  secret: [
    "secret",
    "the line looks like it holds a secret",
    "Take it out here, and change the secret: what reads the memory has read it.",
  ],
  longFile: ["oversized", "#", "Take out what no longer matters."],
  longHistory: ["oversized", "#", "Fold its oldest sections."],
  longItem: ["oversized", "one item of # characters", "Cut it into items that say one thing each."],
  stale: ["stale", "last written # days ago", "Look whether it still holds; a newer text supersedes it."],
  retired: ["retired", "it was # before", `Take it out, or its line out of ${RETIRED_FILE}.`],
  duplicate: ["duplicate", "the same as #", "Take one of them out."],
  conflict: [
    "conflict",
    "it may not hold together with #",
    "Take out the one that is out of date; a recall gives the newer first.",
  ],
  log: ["log", "#", "Changes from before it can still be listed; what it said is lost."],
  unfinished: ["unfinished", "the change # is not finished", "The next change finishes it; nothing is lost."],
} as const satisfies Record<string, readonly [MemoryProblem["kind"], string, string]>;

const ERRORS: readonly MemoryProblem["kind"][] = ["malformed", "secret", "unreadable"];

type Tell = (what: keyof typeof FINDINGS, place: string, value?: string | number) => void;

type PlacedItem = MemoryItem & { readonly place: string };

/** Problems in the memory of a channel and its workspace, by file and line; changes nothing. */
export async function checkMemory(options: CheckOptions): Promise<readonly MemoryProblem[]> {
  const problems: MemoryProblem[] = [];
  const tell: Tell = (what, place, value = "") => {
    const [kind, said, hint] = FINDINGS[what];
    const severity = ERRORS.includes(kind) ? "error" : "warning";
    problems.push({ kind, severity, place, message: said.replace("#", () => String(value)), hint });
  };
  const files = await readEach(options, (name, error) => tell("unreadable", name, errorMessage(error)));
  const place = await findChannel(options);
  const redactor = options.redactor ?? createRedactor();
  const items: PlacedItem[] = [];
  for (const file of files) {
    const { document } = file;
    const name = nameIn(file.place, document.file);
    checkText(name, document.text, redactor, tell);
    checkSize(name, file, options.now, tell);
    if (document.file !== "MEMORY.md") continue;
    for (const item of itemsOf(document)) items.push({ ...item, place: `${name}:${item.line}` });
  }
  checkItems(items, (await readMemoryFile(join(place.channelDir, RETIRED_FILE)))?.text, tell);
  for (const { line, message } of (await readLog(place)).problems)
    tell("log", `${LOG_FILE}:${line}`, message);
  const pending = ".memory/pending.json";
  try {
    const id = (await readPending(place))?.change.id;
    if (id !== undefined) tell("unfinished", pending, id);
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    const { message, hint } = error;
    problems.push({ kind: "unfinished", severity: "error", place: pending, message, hint });
  }
  return problems;
}

/** Lines that are damaged or hold a secret. */
function checkText(name: string, text: string, redactor: Pick<Redactor, "redactText">, tell: Tell): void {
  const lines = linesOf(text);
  const redacted = linesOf(redactor.redactText(text));
  const isAligned = redacted.length === lines.length;
  if (!isAligned) tell("secret", `${name}:1`);
  lines.forEach((line, index) => {
    const place = `${name}:${index + 1}`;
    if (/^(?:<{7} |={7}$|>{7} )/.test(line)) tell("merge", place);
    if (/[\0\uFFFD]/.test(line)) tell("bytes", place);
    if (isAligned && line !== redacted[index]) tell("secret", place);
  });
  const open = text.lastIndexOf("<!--");
  if (open >= 0 && !text.includes("-->", open))
    tell("comment", `${name}:${linesOf(text.slice(0, open)).length}`);
  const fence = openFence(lines);
  if (fence > 0) tell("fence", `${name}:${fence}`);
}

/** The line of an unclosed fence; 0 if there is none. */
function openFence(lines: readonly string[]): number {
  let [open, at] = ["", 0];
  lines.forEach((line, index) => {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (marks === undefined) return;
    if (at === 0) [open, at] = [marks, index + 1];
    else if (marks.startsWith(open) && line.trim() === marks) at = 0;
  });
  return at;
}

/** Characters above which a file should be folded or cleaned up, and days after which it may be stale. */
const LIMITS: Readonly<Record<MemoryFileName, { readonly chars: number; readonly days: number }>> = {
  "SESSION.md": { chars: 12_000, days: 30 },
  "MEMORY.md": { chars: 12_000, days: 180 },
  "HISTORY.md": { chars: 20_000, days: Number.POSITIVE_INFINITY },
};
const LONG_ITEM = 1_000;

/** Files and items that are too long or old. */
function checkSize(
  name: string,
  { modified, characters, document }: MemoryOverviewFile,
  now: number,
  tell: Tell,
): void {
  const { chars, days } = LIMITS[document.file];
  if (characters > chars)
    tell(
      document.file === "HISTORY.md" ? "longHistory" : "longFile",
      name,
      `${characters} characters; more than ${chars} are seldom read`,
    );
  const checkAge = (place: string, time: number): void => {
    const since = Math.floor((now - time) / DAY);
    if (since >= days) tell("stale", place, since);
  };
  if (document.file === "SESSION.md") checkAge(name, modified);
  for (const { text, time, line } of itemsOf(document)) {
    if (text.length > LONG_ITEM) tell("longItem", `${name}:${line}`, text.length);
    if (document.file !== "SESSION.md") checkAge(`${name}:${line}`, Date.parse(time ?? ""));
  }
}

/** Items that were retired, that say the same, or that give different values of one thing. */
function checkItems(items: readonly PlacedItem[], retired: string | undefined, tell: Tell): void {
  const first = new Map<string, string>();
  items.forEach(({ writtenBy, text, place }, index) => {
    const entry = writtenBy === "person" ? undefined : retiredAs(retired, text);
    if (entry !== undefined) tell("retired", place, entry.as);
    const words = plainWords(text);
    const known = first.get(words);
    if (known === undefined) first.set(words, place);
    else tell("duplicate", place, known);
    for (const older of items.slice(0, index))
      if (relationOf(text, older.text) !== "apart" || relationOf(older.text, text) !== "apart")
        tell("conflict", place, older.place);
  });
}
