import { join } from "node:path";
import { requireOptions, requireText } from "../../errors.ts";
import { refuseOutside } from "../files/inside.ts";
import { WORKSPACE_FILES } from "../files/names.ts";
import { readMemoryFile } from "../files/write-file.ts";
import { type ChannelFolder, findChannel } from "./channel-files.ts";
import { type MemoryDocument, readDocument } from "./document.ts";
import type { MemoryFileName } from "./operation.ts";

export interface MemoryOverviewFile {
  /** `workspace` files are people's and never written. */
  readonly place: "channel" | "workspace";
  readonly path: string;
  readonly document: MemoryDocument;
  /** Milliseconds since 1970. */
  readonly modified: number;
  readonly characters: number;
}

const FILES: readonly MemoryFileName[] = ["SESSION.md", "MEMORY.md", "HISTORY.md"];

/** The memory files that a recall reads, with their sections and items; those that are missing are left out. */
export async function readMemory(folder: ChannelFolder): Promise<readonly MemoryOverviewFile[]> {
  requireOptions(folder, "folder", "Pass the channel's folder: { channelDir }.");
  requireText(folder.channelDir, "folder.channelDir", "Pass the channel's folder: { channelDir }.");
  const { channelDir } = await findChannel(folder);
  const paths = FILES.map((file) => ({ place: "channel" as const, file, path: join(channelDir, file) }));
  const { workspaceDir } = folder;
  const shared =
    workspaceDir === undefined
      ? []
      : [
          {
            place: "workspace" as const,
            file: FILES[1] ?? "MEMORY.md",
            path: join(workspaceDir, WORKSPACE_FILES.memory),
          },
        ];
  const read = [...paths, ...shared].map(async ({ place, file, path }) => {
    await refuseOutside(path, [channelDir, ...(workspaceDir === undefined ? [] : [workspaceDir])]);
    const found = await readMemoryFile(path);
    if (found === undefined) return [];
    const { text, version, modified } = found;
    return [{ place, path, document: readDocument(file, text, version), modified, characters: text.length }];
  });
  return (await Promise.all(read)).flat();
}
