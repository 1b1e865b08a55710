import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { CompactError, requireOptions, requireText } from "../errors.ts";
import { isInside, leadsTo, outside } from "./files/inside.ts";
import { createFile, readMemoryFile } from "./files/write-file.ts";

export interface MemoryScopeRequest {
  readonly workspaceDir: string;
  /** The channel's folder below the workspace, such as `team` or `groups/ops`. */
  readonly channel: string;
  /** Who asks. */
  readonly user?: string;
  /** Whom a channel that names nobody yet is for from now on; everybody in the workspace when left out. */
  readonly users?: readonly string[];
}

/** What recall and writers take: the folders of one channel, and who asks. */
export interface MemoryScope {
  readonly workspaceDir: string;
  readonly channelDir: string;
  readonly user?: string;
}

const SCOPE_FILE = join(".memory", "scope.json");
const SEGMENT = /^[\p{L}\p{N}_@#+-][\p{L}\p{N}_.@#+-]{0,127}$/u;

/**
 * The folders of a channel for one user. `NotFound`, whatever is there, for a name that leads out of the workspace and
 * for a user whom the channel is not for: who may not read it does not learn that it exists.
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

/** Throws `NotFound` when the channel names its users and this is none of them, or when that list cannot be read. */
export async function checkUser(channelDir: string, user: string | undefined): Promise<void> {
  const file = await readMemoryFile(join(channelDir, SCOPE_FILE));
  if (file === undefined) return;
  if (user === undefined || !usersIn(file.text)?.includes(user)) throw noMemory(channelDir);
}

function usersIn(text: string): readonly unknown[] | undefined {
  try {
    const { users } = JSON.parse(text) as { readonly users?: unknown };
    return Array.isArray(users) ? users : undefined;
  } catch {
    return undefined;
  }
}

function noMemory(channel: string): CompactError {
  return new CompactError("NotFound", "there is no such memory for this user", {
    place: channel,
    hint: "Ask for a channel of this workspace, with the user whom it is for.",
  });
}
