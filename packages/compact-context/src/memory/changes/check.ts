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
  readDocument,
} from "./document.ts";
import { RETIRED_FILE, retiredAs } from "./retired.ts";
import {
  type ChannelFolder,
  type ChannelPlace,
  findChannel,
  LOG_FILE,
  readLog,
  readPending,
} from "./store.ts";

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
  return (await readEach(folder)).flatMap(({ file, error }) => {
    if (error !== undefined) throw error;
    return file === undefined ? [] : [file];
  });
}

interface ReadOne {
  /** Name used in problems. */
  readonly name: string;
  readonly file?: MemoryOverviewFile;
  readonly error?: unknown;
}

async function readEach(folder: ChannelFolder): Promise<readonly ReadOne[]> {
  requireOptions(folder, "folder", "Pass the channel's folder: { channelDir }.");
  requireText(folder.channelDir, "folder.channelDir", "Pass the channel's folder: { channelDir }.");
  const { channelDir } = await findChannel(folder);
  const { workspaceDir } = folder;
  const places: (readonly [place: "channel" | "workspace", dir: string, file: MemoryFileName])[] = [
    ["channel", channelDir, "SESSION.md"],
    ["channel", channelDir, "MEMORY.md"],
    ["channel", channelDir, "HISTORY.md"],
  ];
  if (workspaceDir !== undefined) places.push(["workspace", workspaceDir, WORKSPACE_FILES.memory]);
  return Promise.all(
    places.map(async ([place, dir, file]): Promise<ReadOne> => {
      const path = join(dir, file);
      const name = place === "channel" ? file : `workspace ${file}`;
      try {
        await refuseOutside(path, [channelDir, workspaceDir ?? channelDir]);
        const found = await readMemoryFile(path);
        if (found === undefined) return { name };
        const { text, modified } = found;
        const document = readDocument(file, text);
        return { name, file: { place, path, document, modified, characters: text.length } };
      } catch (error) {
        return { name, error };
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

/** Problems in the memory of a channel and its workspace, by file and line; changes nothing. */
export async function checkMemory(options: CheckOptions): Promise<readonly MemoryProblem[]> {
  const read = await readEach(options);
  const place = await findChannel(options);
  const redactor = options.redactor ?? createRedactor();
  const files = read.flatMap(({ name, file }) => (file === undefined ? [] : [{ ...file, name }]));
  const retired = (await readMemoryFile(join(place.channelDir, RETIRED_FILE)))?.text ?? "";
  const items = files
    .filter(({ document }) => document.file === "MEMORY.md")
    .flatMap(({ name, document }) =>
      itemsOf(document).map((item) => ({ ...item, place: `${name}:${item.line}` })),
    );
  const unreadable = read.filter(({ error }) => error !== undefined);
  const hint = "Put a plain file there that this user may read.";
  return [
    ...unreadable.map(({ name, error }) => problem("unreadable", name, errorMessage(error), hint)),
    ...files.flatMap((file) => [
      ...malformed(file),
      ...secrets(file, redactor),
      ...large(file),
      ...stale(file, options.now),
    ]),
    ...returned(items, retired),
    ...duplicates(items),
    ...conflicts(items),
    ...(await logProblems(place)),
    ...(await unfinished(place)),
  ];
}

interface CheckedFile extends MemoryOverviewFile {
  readonly name: string;
}

type PlacedItem = MemoryItem & { readonly place: string };

const ERRORS: readonly MemoryProblem["kind"][] = ["malformed", "secret", "unreadable", "unfinished"];

function problem(
  kind: MemoryProblem["kind"],
  place: string,
  message: string,
  hint: string,
  severity: MemoryProblem["severity"] = ERRORS.includes(kind) ? "error" : "warning",
): MemoryProblem {
  return { kind, severity, place, message, hint };
}

function malformed({ name, document: { text } }: CheckedFile): readonly MemoryProblem[] {
  const lines = linesOf(text);
  const numbered = (wrong: RegExp): number[] =>
    lines.flatMap((line, index) => (wrong.test(line) ? [index + 1] : []));
  const open = text.lastIndexOf("<!--");
  const comment = open >= 0 && !text.includes("-->", open) ? [linesOf(text.slice(0, open)).length] : [];
  const at = (places: readonly number[], message: string, hint: string): readonly MemoryProblem[] =>
    places.map((line) => problem("malformed", `${name}:${line}`, message, hint));
  return [
    ...at(
      numbered(/^(?:<{7} |={7}$|>{7} )/),
      "a conflict of a merge is not resolved",
      "Keep one of the two texts and delete the marks.",
    ),
    ...at(numbered(/[\0\uFFFD]/), "the line holds bytes that are no text", "Save the file as UTF-8."),
    ...at(comment, "a comment is opened and never closed", "Close it with -->, or take the <!-- out."),
    ...at(
      openFence(lines),
      "a code block is opened and never closed",
      "Close it with the marks that open it.",
    ),
  ];
}

/** The line of an unclosed fence. */
function openFence(lines: readonly string[]): readonly number[] {
  let [open, at] = ["", 0];
  lines.forEach((line, index) => {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (marks === undefined) return;
    if (at === 0) [open, at] = [marks, index + 1];
    else if (marks.startsWith(open) && line.trim() === marks) at = 0;
  });
  return at > 0 ? [at] : [];
}

function secrets(
  { name, document: { text } }: CheckedFile,
  redactor: Pick<Redactor, "redactText">,
): readonly MemoryProblem[] {
  const lines = linesOf(text);
  const redacted = linesOf(redactor.redactText(text));
  const isAligned = redacted.length === lines.length;
  const found = lines.flatMap((line, index) => (isAligned && line !== redacted[index] ? [index + 1] : []));
  const hint = "Take it out here, and change the secret: what reads the memory has read it.";
  return (isAligned ? found : [1]).map((line) =>
    problem("secret", `${name}:${line}`, "the line looks like it holds a secret", hint),
  );
}

/** Characters above which a file should be folded or cleaned up, and days after which it may be stale. */
const LIMITS: Readonly<Record<MemoryFileName, { readonly chars: number; readonly days: number }>> = {
  "SESSION.md": { chars: 12_000, days: 30 },
  "MEMORY.md": { chars: 12_000, days: 180 },
  "HISTORY.md": { chars: 20_000, days: Number.POSITIVE_INFINITY },
};
const LONG_ITEM = 1_000;

function large({ name, characters, document }: CheckedFile): readonly MemoryProblem[] {
  const most = LIMITS[document.file].chars;
  const hint =
    document.file === "HISTORY.md" ? "Fold its oldest sections." : "Take out what no longer matters.";
  const message = `${characters} characters; more than ${most} are seldom read`;
  const long = itemsOf(document).filter(({ text }) => text.length > LONG_ITEM);
  return [
    ...(characters > most ? [problem("oversized", name, message, hint)] : []),
    ...long.map(({ text, line }) =>
      problem(
        "oversized",
        `${name}:${line}`,
        `one item of ${text.length} characters`,
        "Cut it into items that say one thing each.",
      ),
    ),
  ];
}

function stale({ name, modified, document }: CheckedFile, now: number): readonly MemoryProblem[] {
  const hint = "Look whether it still holds; a newer text supersedes it.";
  const times: readonly (readonly [string, number])[] =
    document.file === "SESSION.md"
      ? [[name, modified]]
      : itemsOf(document).map(({ time, line }) => [`${name}:${line}`, Date.parse(time ?? "")]);
  return times
    .map(([place, time]) => [place, Math.floor((now - time) / DAY)] as const)
    .filter(([, days]) => days >= LIMITS[document.file].days)
    .map(([place, days]) => problem("stale", place, `last written ${days} days ago`, hint));
}

function returned(items: readonly PlacedItem[], retired: string): readonly MemoryProblem[] {
  return items.flatMap(({ writtenBy, text, place }) => {
    const entry = writtenBy === "person" ? undefined : retiredAs(retired, text);
    const hint = `Take it out, or its line out of ${RETIRED_FILE}.`;
    return entry === undefined ? [] : [problem("retired", place, `it was ${entry.as} before`, hint)];
  });
}

function duplicates(items: readonly PlacedItem[]): readonly MemoryProblem[] {
  const first = new Map<string, string>();
  return items.flatMap(({ text, place }) => {
    const words = plainWords(text);
    const known = first.get(words);
    if (known !== undefined)
      return [problem("duplicate", place, `the same as ${known}`, "Take one of them out.")];
    first.set(words, place);
    return [];
  });
}

/** Items that give different values of one thing. */
function conflicts(items: readonly PlacedItem[]): readonly MemoryProblem[] {
  const isApart = (one: MemoryItem, other: MemoryItem): boolean =>
    relationOf(one.text, other.text) === "apart";
  const hint = "Take out the one that is out of date; a recall gives the newer first.";
  return items.flatMap((newer, index) =>
    items
      .slice(0, index)
      .filter((older) => !isApart(newer, older) || !isApart(older, newer))
      .map((older) => problem("conflict", newer.place, `it may not hold together with ${older.place}`, hint)),
  );
}

async function logProblems(place: ChannelPlace): Promise<readonly MemoryProblem[]> {
  const { problems } = await readLog(place);
  const hint = "Changes from before it can still be listed; what it said is lost.";
  return problems.map(({ line, message }) => problem("log", `${LOG_FILE}:${line}`, message, hint));
}

async function unfinished(place: ChannelPlace): Promise<readonly MemoryProblem[]> {
  const file = ".memory/pending.json";
  try {
    const pending = await readPending(place);
    if (pending === undefined) return [];
    const hint = "The next change finishes it; nothing is lost.";
    return [problem("unfinished", file, `the change ${pending.change.id} is not finished`, hint, "warning")];
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    return [problem("unfinished", file, error.message, error.hint)];
  }
}
