import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { globPattern } from "./glob.ts";
import type { AgentTool } from "./tool.ts";

/** Paths that somebody is bound to. */
export interface PathBound {
  /** Who sets it, for people, such as `skill release`. */
  readonly by: string;
  /** Globs relative to the workspace. */
  readonly paths: readonly string[];
}

/** Links that follow one another; more of them are a circle. */
const MOST_LINKS = 40;

/** Why a call would leave the bound; undefined where it stays inside. Links are followed first. */
export async function outsideOf(
  { by, paths }: PathBound,
  { tool, arguments: args }: { readonly tool: AgentTool; readonly arguments: unknown },
  workspaceDir: string,
): Promise<string | undefined> {
  if (tool.paths === "none") return undefined;
  if (tool.paths === undefined)
    return `Not run: ${by} may touch ${paths.join(", ")} only, and ${tool.name} does not say which files it touches.`;
  const patterns = paths.map(globPattern);
  const root = await realPath(resolve(workspaceDir));
  for (const path of tool.paths(args)) {
    const real = await realPath(isAbsolute(path) ? path : join(root, path));
    const inside = relative(root, real).split(sep).join("/");
    if (
      inside.startsWith("../") ||
      inside === ".." ||
      isAbsolute(inside) ||
      !patterns.some((one) => one.test(inside))
    )
      return `Not run: ${by} may touch ${paths.join(", ")} only, and ${path} is outside.`;
  }
  return undefined;
}

/** Where a path leads, also one that is not there yet, and a link that leads nowhere. */
async function realPath(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    if (parent === path) return path;
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined && links < MOST_LINKS) return realPath(resolve(parent, target), links + 1);
    return join(await realPath(parent, links), basename(path));
  }
}
