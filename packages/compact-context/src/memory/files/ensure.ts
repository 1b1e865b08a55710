import { lstatSync, mkdirSync } from "node:fs";
import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { requireText } from "../../errors.ts";
import { SESSION_SECTIONS } from "../session-memory.ts";
import { createFile, createFileSync, readMemoryFile } from "./write-file.ts";

/** Files that people keep for a whole workspace. */
export const WORKSPACE_FILES = { soul: "SOUL.md", agents: "AGENTS.md", memory: "MEMORY.md" } as const;

/** Files of a channel: three that are recalled from, two logs that are kept cold. */
export const CHANNEL_FILES = {
  memory: "MEMORY.md",
  session: "SESSION.md",
  history: "HISTORY.md",
  log: "log.jsonl",
  context: "context.jsonl",
} as const;

const WORKSPACE_FOLDERS: readonly string[] = ["sub-agents", "skills", "events"];
const CHANNEL_FOLDERS: readonly string[] = ["skills", "scratch"];

export function getChannelSessionPath(channelDir: string): string {
  requireText(channelDir, "channelDir", "Pass the path of the channel's folder.");
  return join(channelDir, CHANNEL_FILES.session);
}

const page = (...blocks: readonly string[]): string => `${blocks.join("\n\n")}\n`;
const section = (heading: string, note: string): string => `${heading}\n\n<!-- ${note} -->`;

/** What a channel's files say before anything is known: headings, and comments that are never recalled. */
const CHANNEL_TEMPLATES: Readonly<Record<string, string>> = {
  [CHANNEL_FILES.memory]: page(
    "# Channel memory",
    section("## Constraints", "What must hold in this channel from now on."),
    section("## Decisions", "What was decided, when and why."),
    section("## Open loops", "What is promised or waited for."),
    section("## Facts", "What else is worth knowing next month."),
  ),
  [CHANNEL_FILES.session]: page(
    ...SESSION_SECTIONS.map(({ heading, note }) => section(`# ${heading}`, note)),
  ),
  [CHANNEL_FILES.history]: page(
    "# Channel history",
    "<!-- Older work, one dated section each, newest last. -->",
  ),
  [CHANNEL_FILES.log]: "",
  [CHANNEL_FILES.context]: "",
};

/** First versions of the files that people keep; never written again. */
const WORKSPACE_TEMPLATES: Readonly<Record<string, string>> = {
  [WORKSPACE_FILES.soul]: page("# Soul", "<!-- Who the agent is: its voice, its values. Kept by people. -->"),
  [WORKSPACE_FILES.agents]: page(
    "# Agents",
    "<!-- How to work in this workspace: rules, tools, habits. Kept by people. -->",
  ),
  [WORKSPACE_FILES.memory]: page(
    "# Workspace memory",
    "<!-- What holds in every channel. Kept by people. -->",
  ),
};

/** Makes what is missing of a workspace; files that are there, even empty ones, stay as they are. */
export async function ensureWorkspace(workspaceDir: string): Promise<readonly string[]> {
  requireText(workspaceDir, "workspaceDir", "Pass the path of the workspace's folder.");
  return ensureAll(workspaceDir, WORKSPACE_TEMPLATES, WORKSPACE_FOLDERS);
}

/** Makes what is missing of a channel, an old one's files too; gives the paths that were made. */
export async function ensureChannel(channelDir: string): Promise<readonly string[]> {
  requireText(channelDir, "channelDir", "Pass the path of the channel's folder.");
  return ensureAll(channelDir, CHANNEL_TEMPLATES, CHANNEL_FOLDERS);
}

export async function ensureChannelSessionFile(channelDir: string): Promise<void> {
  const path = getChannelSessionPath(channelDir);
  if (!(await isThere(path))) await createFile(path, sessionTemplate());
}

export function ensureChannelSessionFileSync(channelDir: string): void {
  const path = getChannelSessionPath(channelDir);
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return;
  mkdirSync(channelDir, { recursive: true });
  createFileSync(path, sessionTemplate());
}

/** The text of SESSION.md; the template's, made now, where there was none. */
export async function readChannelSession(channelDir: string): Promise<string> {
  await ensureChannelSessionFile(channelDir);
  return (await readMemoryFile(getChannelSessionPath(channelDir)))?.text ?? "";
}

async function ensureAll(
  folder: string,
  templates: Readonly<Record<string, string>>,
  folders: readonly string[],
): Promise<readonly string[]> {
  const made: string[] = [];
  for (const name of folders) {
    const path = join(folder, name);
    if (await isThere(path)) continue;
    await mkdir(path, { recursive: true });
    made.push(path);
  }
  for (const [name, text] of Object.entries(templates)) {
    const path = join(folder, name);
    if (!(await isThere(path)) && (await createFile(path, text))) made.push(path);
  }
  return made;
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function sessionTemplate(): string {
  return CHANNEL_TEMPLATES["SESSION.md"] ?? "";
}
