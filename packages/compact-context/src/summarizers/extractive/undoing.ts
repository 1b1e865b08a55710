/** What commands take back: commits, and changes of files that were not committed. */

import { programsOf } from "./commands.ts";
import { oneLine } from "./text.ts";

/** Git's message for where it stands after a reset. */
const STANDS = /^HEAD is now at ([0-9a-f]{7,40}) (.{1,140})/m;
/** Another commit than the last one. */
const ELSEWHERE = /^(?:(?:HEAD|@)[~^@{]|ORIG_HEAD|[0-9a-f]{7,40}$|(?:origin|upstream)\/)/;

/** The commit that a reset ended at, empty if it was not told; undefined for a command that rewrites nothing. */
export function headAfter(command: string, printed: string): string | undefined {
  const rewrites = gitRuns(command).some(([verb, ...rest]) => {
    if (verb === "reset") return rest.includes("--hard") || rest.some((word) => ELSEWHERE.test(word));
    return verb === "rebase" && !rest.includes("--abort");
  });
  if (!rewrites) return undefined;
  const [, id, title = ""] = STANDS.exec(printed) ?? [];
  return id === undefined ? "" : `${id} "${oneLine(title)}"`;
}

/** The files whose changes a command throws away; `.` stands for all. */
export function discardedBy(command: string): string[] {
  return gitRuns(command).flatMap(([verb, ...rest]) => {
    if (verb === "reset") return rest.includes("--hard") ? ["."] : [];
    const names = rest.slice(rest.indexOf("--") + 1).filter((word) => !word.startsWith("-"));
    if (verb === "checkout") return rest.includes("--") || rest.join() === "." ? names : [];
    return verb === "restore" && (!rest.includes("--staged") || rest.includes("--worktree")) ? names : [];
  });
}

/** True if a path is one of the files, or in a folder among them. */
export function isAmong(path: string, files: readonly string[]): boolean {
  return files.some((file) => {
    const name = file.replace(/^\.\//, "").replace(/\/$/, "");
    return file === "." || `/${path}/`.includes(`/${name.replace(/^\//, "")}/`);
  });
}

/** The words behind `git` of each of its runs. */
function gitRuns(command: string): string[][] {
  return programsOf(command).flatMap(({ words }) => {
    if (words[0] !== "git") return [];
    return [words.slice(words[1] === "-C" ? 3 : 1)];
  });
}
