import { mkdirSync, writeFileSync } from "node:fs";
import { lstat, mkdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { CompactError, isObject, requireOptions, requireText } from "../../errors.ts";
import { storageFailed, systemCode } from "../../storage/fs/folders.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";
import { SESSION_SECTIONS } from "../session-memory.ts";
import { createFile, readMemoryFile } from "./write-file.ts";

/** Files that people maintain for a whole workspace. */
export const WORKSPACE_FILES = { soul: "SOUL.md", agents: "AGENTS.md", memory: "MEMORY.md" } as const;

/** Files of a channel: three for recall, two cold logs. */
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

const SESSION_TEMPLATE = page(...SESSION_SECTIONS.map(({ heading, note }) => section(`# ${heading}`, note)));

/** Initial content of a channel's files: headings, and comments that are never recalled. */
const CHANNEL_TEMPLATES: Readonly<Record<string, string>> = {
  [CHANNEL_FILES.memory]: page(
    "# Channel memory",
    section("## Constraints", "What must hold in this channel from now on."),
    section("## Decisions", "What was decided, when and why."),
    section("## Open loops", "What is promised or waited for."),
    section("## Facts", "What else is worth knowing next month."),
  ),
  [CHANNEL_FILES.session]: SESSION_TEMPLATE,
  [CHANNEL_FILES.history]: page(
    "# Channel history",
    "<!-- Older work, one dated section each, newest last. -->",
  ),
  [CHANNEL_FILES.log]: "",
  [CHANNEL_FILES.context]: "",
};

/** The headings of a new channel's files, in small letters. */
export const CHANNEL_HEADINGS: readonly string[] = Object.values(CHANNEL_TEMPLATES).flatMap((text) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading.toLowerCase()),
);

/** Initial content of the files that people maintain; never overwritten. */
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

/** Creates what is missing in a workspace and returns the created paths; existing files are unchanged. */
export async function ensureWorkspace(workspaceDir: string): Promise<readonly string[]> {
  requireText(workspaceDir, "workspaceDir", "Pass the path of the workspace's folder.");
  return ensureAll(workspaceDir, WORKSPACE_TEMPLATES, WORKSPACE_FOLDERS);
}

/** Creates what is missing in a channel, also in an old one; returns the created paths. */
export async function ensureChannel(channelDir: string): Promise<readonly string[]> {
  requireText(channelDir, "channelDir", "Pass the path of the channel's folder.");
  return ensureAll(channelDir, CHANNEL_TEMPLATES, CHANNEL_FOLDERS);
}

export async function ensureChannelSessionFile(channelDir: string): Promise<void> {
  const path = getChannelSessionPath(channelDir);
  if (!(await isThere(path))) await createFile(path, SESSION_TEMPLATE);
}

export function ensureChannelSessionFileSync(channelDir: string): void {
  const path = getChannelSessionPath(channelDir);
  mkdirSync(channelDir, { recursive: true });
  try {
    writeFileSync(path, SESSION_TEMPLATE, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw storageFailed(error, path);
  }
}

/** The text of SESSION.md; created from the template if missing. */
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

/** True for a path at or below a folder; both must be real paths. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Maximum number of links followed; more are treated as a cycle. */
const MOST_LINKS = 40;

/** The target of an absolute path, links followed; the path or a link's target need not exist. */
export async function leadsTo(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    if (parent === path) return path;
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined && links < MOST_LINKS) return leadsTo(resolve(parent, target), links + 1);
    return join(await leadsTo(parent, links), basename(path));
  }
}

/** Throws `NotFound` for an existing file whose real path is outside all of the folders. */
export async function refuseOutside(path: string, folders: readonly string[]): Promise<void> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return;
  const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  if (!roots.some((root) => root !== undefined && isInside(root, real))) throw outside(path);
}

export function outside(path: string): CompactError {
  return new CompactError("NotFound", "the path leads out of the workspace", {
    place: path,
    hint: "Memory is read and written inside one workspace only: put the file there, not a link to it.",
  });
}

export interface MemoryScopeRequest {
  readonly workspaceDir: string;
  /** The channel's folder below the workspace, such as `team` or `groups/ops`. */
  readonly channel: string;
  /** The requesting user. */
  readonly user?: string;
  /** Restricts the channel to these users if it has no user list yet. Default: everyone in the workspace. */
  readonly users?: readonly string[];
}

/** The folders of one channel and the requesting user, as recall and writers take them. */
export interface MemoryScope {
  readonly workspaceDir: string;
  readonly channelDir: string;
  readonly user?: string;
}

const SCOPE_FILE = join(".memory", "scope.json");
const SEGMENT = /^[\p{L}\p{N}_@#+-][\p{L}\p{N}_.@#+-]{0,127}$/u;

/**
 * The folders of a channel for one user. `NotFound` for a name that leads out of the workspace, and for a
 * user who is not on the channel's list: a user without access must not learn that it exists.
 */
export async function openMemoryScope(request: MemoryScopeRequest): Promise<MemoryScope> {
  requireOptions(
    request,
    "request",
    "Pass the workspace's folder and the channel's name: { workspaceDir, channel }.",
  );
  const { workspaceDir, channel, user, users } = request;
  requireText(channel, "request.channel", "Name the channel, such as team/general.");
  const segments = channel.split("/");
  if (!segments.every((segment) => SEGMENT.test(segment))) throw noMemory(channel);
  const root = await realpath(workspaceDir).catch(() => {
    throw noMemory(channel);
  });
  const channelDir = join(root, ...segments);
  if (!isInside(root, await leadsTo(channelDir))) throw outside(channel);
  if (users !== undefined) {
    await mkdir(join(channelDir, ".memory"), { recursive: true, mode: 0o700 });
    await createFile(join(channelDir, SCOPE_FILE), `${JSON.stringify({ users })}\n`);
  }
  await checkUser(channelDir, user);
  return { workspaceDir: root, channelDir, user };
}

/** Throws `NotFound` if the channel names its users without this one, or if that list is unreadable. */
export async function checkUser(channelDir: string, user: string | undefined): Promise<void> {
  const file = await readMemoryFile(join(channelDir, SCOPE_FILE));
  if (file === undefined) return;
  const list = parsedJson(file.text);
  const users: unknown = isObject(list) ? list.users : undefined;
  if (user === undefined || !Array.isArray(users) || !users.includes(user)) throw noMemory(channelDir);
}

function noMemory(channel: string): CompactError {
  return new CompactError("NotFound", "there is no such memory for this user", {
    place: channel,
    hint: "Ask for a channel of this workspace, with the user whom it is for.",
  });
}
