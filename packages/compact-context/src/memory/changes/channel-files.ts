import { lstat, mkdir, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isInside, leadsTo, outside } from "../files/ensure.ts";
import { type MemoryFile, readMemoryFile } from "../files/write-file.ts";
import { checkUser } from "../scope.ts";
import { CHANGED_FILES, type ChangedFile, type Texts } from "./apply.ts";

/** The folder in a channel where the runtime keeps its lock and what can be undone. */
export const WORK_FOLDER = ".memory";

/** Files of a channel as they were read; undefined where there is none. */
export type ReadFiles = Partial<Readonly<Record<ChangedFile, MemoryFile | undefined>>>;

export interface ChannelFolder {
  /** The folder of one channel; nothing outside it is written. */
  readonly channelDir: string;
  /** Links in the channel may lead into the workspace, not out of it; the channel must be inside. */
  readonly workspaceDir?: string;
  /** Who asks; a channel that names its users gives `NotFound` to anybody else. */
  readonly user?: string;
}

/** Where a channel's files really are; every path is inside `root`. */
export interface ChannelPlace {
  readonly channelDir: string;
  readonly work: string;
  /** The file itself, links followed. Throws `NotFound` for one that a link puts elsewhere. */
  path(file: ChangedFile): Promise<string>;
}

/** Finds a channel's folder; `NotFound` when it is not inside the workspace, links followed, or for other users. */
export async function findChannel({ channelDir, workspaceDir, user }: ChannelFolder): Promise<ChannelPlace> {
  await checkUser(channelDir, user);
  const channel = await leadsTo(resolve(channelDir));
  const root = workspaceDir === undefined ? channel : await leadsTo(resolve(workspaceDir));
  if (!isInside(root, channel)) throw outside(channelDir);
  return {
    channelDir: channel,
    work: join(channel, WORK_FOLDER),
    async path(file) {
      const path = join(channel, file);
      const real = await realpath(path).catch(() => path);
      if (!isInside(root, real)) throw outside(path);
      return real;
    },
  };
}

/** As `findChannel`, and makes the folder and what the runtime needs in it. */
export async function openChannel(folder: ChannelFolder): Promise<ChannelPlace> {
  await findChannel(folder);
  await mkdir(folder.channelDir, { recursive: true });
  const place = await findChannel(folder);
  await mkdir(place.work, { recursive: true, mode: 0o700 });
  if (!(await lstat(place.work)).isDirectory()) throw outside(place.work);
  return place;
}

export async function readFiles(place: ChannelPlace): Promise<ReadFiles> {
  const read = CHANGED_FILES.map(
    async (file) => [file, await readMemoryFile(await place.path(file))] as const,
  );
  return Object.fromEntries(await Promise.all(read));
}

export function textsOf(files: ReadFiles): Texts {
  return Object.fromEntries(
    CHANGED_FILES.flatMap((file) => (files[file] === undefined ? [] : [[file, files[file].text]])),
  );
}
