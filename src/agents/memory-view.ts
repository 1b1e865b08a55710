import { join } from "node:path";
import { CHANNEL_FILES, WORKSPACE_FILES } from "../memory/files/names.ts";
import { readMemoryFile } from "../memory/files/write-file.ts";
import type { RecalledMemory } from "../memory/recall.ts";
import type { AgentOptions } from "./agent-options.ts";

/** What `/memory` tells: the files, and what they say to a query. */
export interface MemoryView {
  /** False where the agent has no memory. */
  readonly enabled: boolean;
  readonly files: readonly { readonly path: string; readonly characters: number }[];
  /** SESSION.md: the state of the work. */
  readonly session: string;
  readonly found: readonly RecalledMemory[];
}

export async function memoryView(
  { memory, channelDir, workspaceDir }: AgentOptions,
  query: string | undefined,
): Promise<MemoryView> {
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
    found: asked === undefined ? [] : ((await memory?.recall(asked))?.items ?? []),
  };
}
