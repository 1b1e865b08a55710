import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { CompactError, requireOptions, requireText } from "../errors.ts";
import { isInside, leadsTo, outside } from "./files/ensure.ts";
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

/** The tags that set what the runtime adds apart from what the user wrote. */
const ANY_TAG = /<(?=\/?\s*(?:runtime_context|user_message|system)\b)/gi;
const OPEN = "<runtime_context>\n";
const CLOSE = "\n</runtime_context>";
const BLOCK = /^<runtime_context>\n[\s\S]*?\n<\/runtime_context>\n\n/;
const USER = /^<user_message>\n([\s\S]*)\n<\/user_message>$/;

/** Characters of the tags around a block. */
export const RUNTIME_CONTEXT_CHARS: number = OPEN.length + CLOSE.length;

/** Text in which none of the runtime's tags opens or closes: what was recalled cannot pretend to be the user. */
export function escapeRuntimeTags(text: string): string {
  requireText(text, "text", "Pass the text itself.");
  return text.replace(ANY_TAG, "&lt;");
}

/** A block of what was recalled; empty text for nothing, never empty tags. */
export function renderRuntimeContext(body: string): string {
  requireText(body, "body", "Pass the text itself.");
  return body.trim() === "" ? "" : `${OPEN}${body}${CLOSE}`;
}

/**
 * The user's turn with a `<runtime_context>` block before it. It goes into the user message and not into the system
 * prompt, which stays the same, byte by byte, from turn to turn. Without a block it is the user's own text, unchanged.
 */
export function injectRuntimeContext(userText: string, block: string): string {
  requireText(userText, "userText", "Pass the user's own text.");
  requireText(block, "block", "Pass what renderRuntimeContext gave back.");
  if (block.trim() === "") return userText;
  return `${block}\n\n<user_message>\n${userText}\n</user_message>`;
}

/** The user's own text again: what was recalled must not be learned a second time. */
export function stripRuntimeContext(text: string): string {
  requireText(text, "text", "Pass the text itself.");
  const rest = text.replace(BLOCK, "");
  return rest === text ? text : (USER.exec(rest)?.[1] ?? rest);
}
