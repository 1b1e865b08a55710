import { lstat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CompactError } from "compact-context/internal/errors";
import type { Invocation } from "../flags.ts";
import { oneLine } from "../render/width.ts";

interface ChannelFolders {
  readonly channelDir: string;
  readonly workspaceDir: string;
  /** Who asks. */
  readonly user: string | undefined;
}

/**
 * The folders of `--channel` and `--workspace` for a command. Rejects with `InvalidUsage` without `--channel`, with
 * `NotFound` where it is no folder.
 */
export async function channelFolders(
  command: string,
  { flags, ports: { cwd } }: Pick<Invocation, "flags" | "ports">,
): Promise<ChannelFolders> {
  const { channel, user } = flags;
  if (channel === undefined) {
    throw new CompactError("InvalidUsage", `compact ${command} needs a channel`, {
      hint: `Write compact ${command} … --channel DIR, the folder with SESSION.md and MEMORY.md.`,
    });
  }
  const channelDir = resolve(cwd, channel);
  const isFolder = await lstat(channelDir).then(
    (stats) => stats.isDirectory() || stats.isSymbolicLink(),
    () => false,
  );
  const workspaceDir = resolve(cwd, flags.workspace ?? dirname(channelDir));
  if (isFolder) return { channelDir, workspaceDir, user };
  throw new CompactError("NotFound", `there is no folder ${oneLine(channel)}`, {
    place: oneLine(channel),
    hint: "Name the folder of a channel, with SESSION.md and MEMORY.md in it.",
  });
}
