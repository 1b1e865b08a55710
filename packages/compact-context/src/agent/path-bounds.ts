import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { isInside, leadsTo } from "../memory/files/inside.ts";
import { globPattern } from "./glob.ts";
import type { AgentTool } from "./tool.ts";

/** Paths that somebody is bound to. */
export interface PathBound {
  /** Who sets it, for people, such as `skill release`. */
  readonly by: string;
  /** Globs relative to the workspace. */
  readonly paths: readonly string[];
}

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
  const root = await leadsTo(resolve(workspaceDir));
  for (const path of tool.paths(args)) {
    const real = await leadsTo(isAbsolute(path) ? path : join(root, path));
    const way = relative(root, real).split(sep).join("/");
    if (!isInside(root, real) || !patterns.some((one) => one.test(way)))
      return `Not run: ${by} may touch ${paths.join(", ")} only, and ${path} is outside.`;
  }
  return undefined;
}
