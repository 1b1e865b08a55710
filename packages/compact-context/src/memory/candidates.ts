import { join } from "node:path";
import { errorMessage, requireOptions, requireText } from "../errors.ts";
import { slug } from "./changes/document.ts";
import { refuseOutside } from "./files/inside.ts";
import { CHANNEL_FILES, WORKSPACE_FILES } from "./files/names.ts";
import { type MemoryFile, readMemoryFile } from "./files/write-file.ts";
import { type MemoryCandidate, type MemorySource, priorityOf, sectionKindOf } from "./memory-candidate.ts";
import { findDate, readTimestamp } from "./ranking/dates.ts";
import { type MarkdownSection, splitSections } from "./sections.ts";

export interface BuildMemoryCandidatesOptions {
  readonly workspaceDir: string;
  readonly channelDir: string;
  /** Told of a file that is there but cannot be read; its sections are missing then. */
  readonly warn?: (message: string) => void;
}

/** Sections longer than this many characters are cut between items: a recalled piece should say one thing. */
const SECTION_CHARS = 600;

/**
 * The sections of the memory files: workspace MEMORY.md, and the channel's SESSION.md, MEMORY.md and HISTORY.md. Files
 * that are missing or cannot be read give none; templates give none either, and the logs are never looked at.
 */
export async function buildMemoryCandidates(
  options: BuildMemoryCandidatesOptions,
): Promise<readonly MemoryCandidate[]> {
  requireOptions(options, "options", "Pass the channel's folder: { channelDir }.");
  requireText(options.channelDir, "options.channelDir", "Pass the channel's folder: { channelDir }.");
  return (await readMemoryCandidates(options)).candidates;
}

/** The candidates, and a text that is the same as long as the files are; `lines` gives every item by itself. */
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
  const read = await Promise.all(
    files.map(async ([source, path]) => {
      const file = await readOrWarn(path, options);
      if (file === undefined) return { candidates: [], state: path };
      const state = `${path} ${file.version} ${file.modified}`;
      const maxChars = by === "lines" ? 1 : SECTION_CHARS;
      return { candidates: candidatesOfFile(source, path, { file, maxChars }), state };
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
  { file, maxChars }: { readonly file: MemoryFile; readonly maxChars: number },
): readonly MemoryCandidate[] {
  const uniqueId = createUniqueIds();
  return splitSections(file.text, { maxChars }).map((section, order) => {
    const sectionKind = sectionKindOf(section.headings);
    const title = section.headings.join(" › ");
    const { mark } = section;
    const noted = mark === undefined ? undefined : readTimestamp(mark.time);
    const timestamp = noted ?? timeOf(section) ?? (source === "channel-session" ? file.modified : undefined);
    return {
      id: uniqueId(`${source}:${slug(title) || "preamble"}`, section.content),
      source,
      path,
      title,
      content: section.content,
      item: mark?.id,
      timestamp: timestamp === undefined ? undefined : new Date(timestamp).toISOString(),
      sectionKind,
      priority: priorityOf(source, sectionKind),
      section: `${source}:${title}`,
      order,
      line: section.line,
      trust: mark?.trust,
      from: mark?.source,
    };
  });
}

/** When a section was noted: what its innermost dated heading says, else a date at the start of its text. */
function timeOf({ headings, content }: MarkdownSection): number | undefined {
  for (const heading of headings.toReversed()) {
    const time = timeIn(heading);
    if (time !== undefined) return time;
  }
  return timeIn(/^\W*(.{0,40})/u.exec(content)?.[1] ?? "");
}

const ISO_TIME = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/;

function timeIn(text: string): number | undefined {
  const iso = ISO_TIME.exec(text)?.[0];
  return (iso === undefined ? undefined : readTimestamp(iso)) ?? findDate(text)?.start;
}

/** The first section of a name keeps it; another one gets a fingerprint of its own text, so that others may come and go. */
function createUniqueIds(): (name: string, content: string) => string {
  const used = new Set<string>();
  return (name, content) => {
    let id = name;
    for (let round = 0; used.has(id); round++)
      id = `${name}#${fingerprint(`${content}${round === 0 ? "" : round}`)}`;
    used.add(id);
    return id;
  };
}

/** 32 bits of FNV-1a, in base 36. */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}
