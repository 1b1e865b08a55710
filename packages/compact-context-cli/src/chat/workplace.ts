import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { CompactError } from "compact-context/internal/errors";

/** The folder that an agent may touch. */
export interface Workplace {
  /** Its real path. */
  readonly root: string;
  /**
   * The real path of a file in it that is to be read, or made: links are followed first. Rejects with
   * `InvalidArgument` for what lies outside.
   */
  toRead(path: string): Promise<string>;
  /** The same for what is to be written; the folders of the agent's own records and of git are left alone. */
  toWrite(path: string): Promise<string>;
}

const OWN_FOLDERS = [".compact", ".git"];

export async function createWorkplace(folder: string): Promise<Workplace> {
  const root = await realpath(folder);
  const toRead = async (path: string): Promise<string> => {
    const real = await realOf(resolve(root, path));
    const inside = relative(root, real);
    if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return real;
    throw new CompactError("InvalidArgument", `${path} is outside of the working folder`, {
      place: path,
      hint: "Only files below the working folder can be touched.",
    });
  };
  return {
    root,
    toRead,
    async toWrite(path) {
      const real = await toRead(path);
      const own = relative(root, real)
        .split(sep)
        .find((part) => OWN_FOLDERS.includes(part.toLowerCase()));
      if (own === undefined) return real;
      throw new CompactError("InvalidArgument", `${path} is in ${own}, which tools do not write to`, {
        place: path,
        hint: "Choose a place outside of it.",
      });
    },
  };
}

/** The real path of a file, or of the nearest folder above one that is not there yet. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = dirname(path);
    if (code !== "ENOENT" || above === path) throw error;
    return join(await realOf(above), basename(path));
  }
}
