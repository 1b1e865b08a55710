import { join } from "node:path";
import { requireOptions, requireText } from "../errors.ts";
import type { ChannelMemory } from "../memory/channel-memory.ts";
import { CHANNEL_FILES, WORKSPACE_FILES } from "../memory/files/ensure.ts";
import { readMemoryFile } from "../memory/files/write-file.ts";
import type { RecalledMemory } from "../memory/recall.ts";
import { checkUser } from "../memory/scope.ts";

/** What `/memory` tells: the files, and what they say to a query. */
export interface MemoryView {
  /** False where the agent has no memory. */
  readonly enabled: boolean;
  readonly files: readonly { readonly path: string; readonly characters: number }[];
  /** SESSION.md: the state of the work. */
  readonly session: string;
  readonly found: readonly RecalledMemory[];
}

export interface MemoryViewOptions {
  readonly memory?: ChannelMemory;
  readonly channelDir?: string;
  readonly workspaceDir?: string;
}

/** Throws `NotFound` where the channel is not for the user of the memory. */
export async function memoryView(options: MemoryViewOptions, query: string | undefined): Promise<MemoryView> {
  requireOptions(options, "options", "Pass { memory?, channelDir?, workspaceDir? }.");
  if (query !== undefined) requireText(query, "query", "Pass the question as text, or leave it out.");
  const { memory, channelDir, workspaceDir } = options;
  if (channelDir !== undefined) await checkUser(channelDir, memory?.user);
  const channel = [CHANNEL_FILES.session, CHANNEL_FILES.memory, CHANNEL_FILES.history];
  const paths = [
    ...(channelDir === undefined ? [] : channel.map((name) => join(channelDir, name))),
    ...(workspaceDir === undefined ? [] : [join(workspaceDir, WORKSPACE_FILES.memory)]),
  ];
  const read = await Promise.all(paths.map(async (path) => ({ path, file: await readMemoryFile(path) })));
  const asked = query === undefined || query.trim() === "" ? undefined : query;
  return {
    enabled: memory !== undefined,
    files: read.flatMap(({ path, file }) =>
      file === undefined ? [] : [{ path, characters: file.text.length }],
    ),
    session: channelDir === undefined ? "" : (read[0]?.file?.text ?? ""),
    found: asked === undefined ? [] : ((await memory?.recall(asked, { live: [] }))?.items ?? []),
  };
}
