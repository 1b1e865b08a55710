import { join } from "node:path";
import { requireList, requireOptions, requireText } from "../errors.ts";
import { type MemoryCandidate, type MemorySource, priorityOf } from "./candidates.ts";
import { CHANNEL_FILES } from "./files/ensure.ts";
import { readMemoryFile } from "./files/write-file.ts";
import { readTimestamp } from "./ranking/dates.ts";
import { stripRuntimeContext } from "./scope.ts";

export interface BuildColdCandidatesOptions {
  readonly channelDir: string;
  /** The logs to read among these. */
  readonly sources: readonly MemorySource[];
  /** Told how many lines could not be read. */
  readonly warn?: (message: string) => void;
}

const LOGS: readonly (readonly [MemorySource, string])[] = [
  ["channel-log", CHANNEL_FILES.log],
  ["channel-context", CHANNEL_FILES.context],
];

/**
 * The entries of a channel's logs, one each line that holds a text, what was recalled in them taken out. They are never
 * among the memory's candidates: only a search that names its log sees them.
 */
export async function buildColdCandidates(
  options: BuildColdCandidatesOptions,
): Promise<readonly MemoryCandidate[]> {
  requireOptions(options, "options", "Pass { channelDir, sources }.");
  requireText(options.channelDir, "options.channelDir", "Pass the path of the channel's folder.");
  requireList(options.sources, "options.sources", 'Name the logs to read, such as ["history"].');
  const read = LOGS.filter(([source]) => options.sources.includes(source)).map(async ([source, name]) => {
    const path = join(options.channelDir, name);
    const text = (await readMemoryFile(path))?.text ?? "";
    const lines = text.split("\n");
    const entries = lines.map((line) => (line.trim() === "" ? "blank" : parseEntry(line)));
    const broken = entries.filter((entry) => entry === undefined).length;
    if (broken > 0)
      options.warn?.(`${path}: ${broken} of ${lines.length} lines are no JSON and are not searched`);
    return entries.flatMap((entry, index) =>
      entry === undefined || entry === "blank" ? [] : candidateOf(entry, { source, path, line: index + 1 }),
    );
  });
  return (await Promise.all(read)).flat();
}

type Entry = Readonly<Record<string, unknown>>;

function parseEntry(line: string): Entry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function candidateOf(
  entry: Entry,
  { source, path, line }: { readonly source: MemorySource; readonly path: string; readonly line: number },
): readonly MemoryCandidate[] {
  const inner = isEntry(entry.message) ? entry.message : entry;
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

/** The text of a message's content: itself, or that of its text parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => (isEntry(part) && typeof part.text === "string" ? part.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}
