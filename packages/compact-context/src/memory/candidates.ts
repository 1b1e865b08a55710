import { join } from "node:path";
import { errorMessage, isObject, requireOptions, requireText } from "../errors.ts";
import { parsedJson } from "../summarizers/extractive/text.ts";
import { type MemoryItem, type MemoryTrust, readDocument, slug } from "./changes/document.ts";
import { CHANNEL_FILES, refuseOutside, WORKSPACE_FILES } from "./files/folders.ts";
import { type MemoryFile, readMemoryFile } from "./files/write-file.ts";
import { scanMarkdown } from "./markdown.ts";
import { stripRuntimeContext } from "./pack.ts";
import { findDate, readTimestamp } from "./ranking/dates.ts";
import type { RecallCandidate } from "./ranking/units.ts";

/** Source of a memory. The two logs are cold: searched only on request. */
export type MemorySource =
  | "channel-session"
  | "channel-memory"
  | "workspace-memory"
  | "channel-history"
  | "channel-log"
  | "channel-context";

/** Topic of a section, from its heading. */
export type SectionKind =
  | "title"
  | "current-state"
  | "user-intent"
  | "active-files"
  | "decisions"
  | "constraints"
  | "errors"
  | "next-steps"
  | "open-loops"
  | "worklog"
  | "update"
  | "other";

/** A section of a memory file, ready for ranking. */
export interface MemoryCandidate extends RecallCandidate {
  readonly source: MemorySource;
  readonly path: string;
  readonly title: string;
  /** ISO 8601; when it was noted, according to the text or, for SESSION.md, the file. */
  readonly timestamp?: string;
  readonly sectionKind: SectionKind;
  /** Among equally relevant candidates, the higher one comes first. */
  readonly priority: number;
  /** For a single item written by the runtime, its id. */
  readonly item?: string;
  /** Recorded trust, and the tool or person it comes from. */
  readonly trust?: MemoryTrust;
  readonly from?: string;
  /** First line of the content, from 1. */
  readonly line: number;
}

const KINDS: readonly (readonly [SectionKind, RegExp])[] = [
  ["current-state", /current state|状态|現状/i],
  ["next-steps", /next|todo|to do|下一步|次の/i],
  ["errors", /error|correction|lesson|错误|エラー/i],
  ["constraints", /constraint|rule|preference|约束|制約/i],
  ["user-intent", /intent|goal|目标|目的/i],
  ["decisions", /decision|决定|決定/i],
  ["open-loops", /open (?:loop|question)|pending|blocker|待办/i],
  ["active-files", /active file|文件/i],
  ["worklog", /work ?log|日志/i],
  ["update", /^update\b/i],
  ["title", /^(?:session )?title$/i],
];

function sectionKindOf(headings: readonly string[]): SectionKind {
  for (const heading of headings.toReversed()) {
    const known = KINDS.find(([, pattern]) => pattern.test(heading));
    if (known !== undefined) return known[0];
  }
  return "other";
}

const SOURCE_PRIORITY: Readonly<Record<MemorySource, number>> = {
  "channel-session": 100,
  "channel-memory": 80,
  "workspace-memory": 60,
  "channel-history": 40,
  "channel-log": 20,
  "channel-context": 20,
};
const KIND_PRIORITY: Partial<Readonly<Record<SectionKind, number>>> = {
  "current-state": 9,
  "next-steps": 8,
  errors: 7,
  constraints: 7,
  decisions: 6,
  "user-intent": 5,
  "open-loops": 4,
};

/** The source decides; the kind orders sections of one source. */
function priorityOf(source: MemorySource, kind: SectionKind): number {
  return SOURCE_PRIORITY[source] + (KIND_PRIORITY[kind] ?? 0);
}

export interface BuildMemoryCandidatesOptions {
  readonly workspaceDir: string;
  readonly channelDir: string;
  /** Called for a file that exists but cannot be read; its sections are then missing. */
  readonly warn?: (message: string) => void;
}

/** Sections longer than this many characters are split between items: a recalled piece is about one thing. */
const SECTION_CHARS = 600;

/**
 * The sections of the memory files: workspace MEMORY.md, and the channel's SESSION.md, MEMORY.md and
 * HISTORY.md. Missing or unreadable files and templates yield none; the logs are never read.
 */
export async function buildMemoryCandidates(
  options: BuildMemoryCandidatesOptions,
): Promise<readonly MemoryCandidate[]> {
  requireOptions(options, "options", "Pass the channel's folder: { channelDir }.");
  requireText(options.channelDir, "options.channelDir", "Pass the channel's folder: { channelDir }.");
  return (await readMemoryCandidates(options)).candidates;
}

/** The candidates, and a key that changes when the files change. `lines` yields each item separately. */
export async function readMemoryCandidates(
  options: BuildMemoryCandidatesOptions,
  by: "sections" | "lines" = "sections",
): Promise<{ readonly candidates: readonly MemoryCandidate[]; readonly state: string }> {
  const files: readonly (readonly [MemorySource, string])[] = [
    ["channel-session", join(options.channelDir, CHANNEL_FILES.session)],
    ["channel-memory", join(options.channelDir, CHANNEL_FILES.memory)],
    ["workspace-memory", join(options.workspaceDir, WORKSPACE_FILES.memory)],
    ["channel-history", join(options.channelDir, CHANNEL_FILES.history)],
  ];
  const maxChars = by === "lines" ? 1 : SECTION_CHARS;
  const read = await Promise.all(
    files.map(async ([source, path]) => {
      const file = await readOrWarn(path, options);
      if (file === undefined) return { candidates: [], state: path };
      const state = `${path} ${file.version} ${file.modified}`;
      return { candidates: candidatesOfFile(source, path, file, maxChars), state };
    }),
  );
  return {
    candidates: read.flatMap(({ candidates }) => candidates),
    state: read.map(({ state }) => state).join("\n"),
  };
}

async function readOrWarn(
  path: string,
  { workspaceDir, channelDir, warn }: BuildMemoryCandidatesOptions,
): Promise<MemoryFile | undefined> {
  try {
    await refuseOutside(path, [workspaceDir, channelDir]);
    return await readMemoryFile(path);
  } catch (error) {
    warn?.(`${path} is left out of the recall: ${errorMessage(error)}`);
    return undefined;
  }
}

function candidatesOfFile(
  source: MemorySource,
  path: string,
  file: MemoryFile,
  maxChars: number,
): readonly MemoryCandidate[] {
  const used = new Set<string>();
  return piecesOf(file.text, maxChars).map(({ first, headings, content }, order) => {
    const sectionKind = sectionKindOf(headings);
    const title = headings.join(" › ");
    const isNoted = first.time !== undefined;
    const written = source === "channel-session" ? file.modified : undefined;
    const time = readTimestamp(first.time) ?? timeOf(headings, content) ?? written;
    const name = `${source}:${slug(title) || "preamble"}`;
    // The first piece of a name uses the name as its id; others add their first item's id, so ids stay stable
    // when pieces come and go.
    const id = used.has(name) ? `${name}#${first.id}` : name;
    used.add(name);
    return {
      id,
      source,
      path,
      title,
      content,
      item: isNoted ? first.id : undefined,
      timestamp: time === undefined ? undefined : new Date(time).toISOString(),
      sectionKind,
      priority: priorityOf(source, sectionKind),
      section: `${source}:${title}`,
      order,
      line: first.line,
      trust: isNoted ? first.trust : undefined,
      from: isNoted ? first.source : undefined,
    };
  });
}

/** A piece of a file under one heading: consecutive items of one day and origin. */
interface Piece {
  readonly first: MemoryItem;
  readonly headings: readonly string[];
  readonly content: string;
}

/** The pieces of a text in order. Items are joined while the piece stays shorter than `maxChars`. */
export function piecesOf(text: string, maxChars: number): readonly Piece[] {
  const lines = scanMarkdown(text);
  const textOf = (first: number, last: number): string =>
    lines
      .slice(first - 1, last)
      .map((line) => line.text.trimEnd())
      .join("\n")
      .replace(/\n{3,}/g, "\n\n");
  return readDocument("MEMORY.md", text).sections.flatMap(({ path, items }) => {
    const headings = path.filter((heading) => heading !== "");
    const pieces: Piece[] = [];
    for (const item of items) {
      const open = pieces.at(-1);
      const whole = textOf(open?.first.line ?? item.line, item.lastLine);
      const isOne = open !== undefined && originOf(open.first) === originOf(item) && whole.length < maxChars;
      if (isOne) pieces[pieces.length - 1] = { ...open, content: whole };
      else pieces.push({ first: item, headings, content: textOf(item.line, item.lastLine) });
    }
    return pieces;
  });
}

/** The day and origin of an item that the runtime wrote. */
function originOf({ time, trust, source }: MemoryItem): string {
  return time === undefined ? "" : `${time.slice(0, 10)} ${trust} ${source}`;
}

/** When a section was noted: the date of its innermost dated heading, else at the start of its text. */
function timeOf(headings: readonly string[], content: string): number | undefined {
  const texts = [...headings.toReversed(), /^\W*(.{0,40})/u.exec(content)?.[1] ?? ""];
  return texts.map(timeIn).find((time) => time !== undefined);
}

const ISO_TIME = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/;

function timeIn(text: string): number | undefined {
  const iso = ISO_TIME.exec(text)?.[0];
  return (iso === undefined ? undefined : readTimestamp(iso)) ?? findDate(text)?.start;
}

const LOGS: readonly (readonly [MemorySource, string])[] = [
  ["channel-log", CHANNEL_FILES.log],
  ["channel-context", CHANNEL_FILES.context],
];

/** The entries of a channel's logs, one per line, without recalled context; only for a search of that log. */
export async function buildColdCandidates(
  { channelDir, warn }: Pick<BuildMemoryCandidatesOptions, "channelDir" | "warn">,
  sources: readonly MemorySource[],
): Promise<readonly MemoryCandidate[]> {
  const read = LOGS.filter(([source]) => sources.includes(source)).map(async ([source, name]) => {
    const path = join(channelDir, name);
    const lines = ((await readMemoryFile(path))?.text ?? "").split("\n");
    const entries = lines.map((line) => (line.trim() === "" ? "blank" : parsedJson(line)));
    const broken = entries.filter((entry) => entry !== "blank" && !isObject(entry)).length;
    if (broken > 0) warn?.(`${path}: ${broken} of ${lines.length} lines are no JSON and are not searched`);
    return entries.flatMap((entry, index) =>
      isObject(entry) ? candidateOf(entry, source, path, index + 1) : [],
    );
  });
  return (await Promise.all(read)).flat();
}

function candidateOf(
  entry: Readonly<Record<string, unknown>>,
  source: MemorySource,
  path: string,
  line: number,
): readonly MemoryCandidate[] {
  const inner = isObject(entry.message) ? entry.message : entry;
  const content = stripRuntimeContext(textOf(inner.content ?? inner.text ?? entry.message)).trim();
  if (content === "") return [];
  const author = [inner.userName, inner.author, inner.user, inner.role].find(
    (name) => typeof name === "string",
  );
  const time = readTimestamp(entry.timestamp ?? entry.date ?? entry.ts ?? inner.timestamp);
  const timestamp = time === undefined ? undefined : new Date(time).toISOString();
  return [
    {
      id: `${source}:${line}`,
      source,
      path,
      title: "",
      content,
      author: typeof author === "string" ? author : undefined,
      timestamp,
      sectionKind: "other",
      priority: priorityOf(source, "other"),
      section: `${source}:${timestamp?.slice(0, 10) ?? ""}`,
      order: line,
      line,
    },
  ];
}

/** The text of a message's content: the string itself, or its text parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}
