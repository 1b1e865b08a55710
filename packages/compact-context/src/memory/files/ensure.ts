import { lstatSync, mkdirSync } from "node:fs";
import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { requireText } from "../../errors.ts";
import { CHANNEL_FOLDERS, getChannelSessionPath, WORKSPACE_FOLDERS } from "./names.ts";
import { CHANNEL_TEMPLATES, WORKSPACE_TEMPLATES } from "./templates.ts";
import { createFile, createFileSync, readMemoryFile } from "./write-file.ts";

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
