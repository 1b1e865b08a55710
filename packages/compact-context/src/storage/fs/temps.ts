import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { systemCode } from "./errors.ts";
import { entriesOf } from "./folders.ts";

const TEMP = /^\.temp-(?:([0-9a-f]{12})-(\d+)-)?[0-9a-f-]{36}$/;
const LEFT_OVER_AFTER = 60 * 60 * 1000;

/** Names of the temporary files that this process still needs. */
const needed = new Set<string>();

/** A new name for a temporary file, which says which process of which machine it belongs to; `dropTemp` must follow. */
export function tempName(): string {
  const name = `.temp-${machine()}-${process.pid}-${randomUUID()}`;
  needed.add(name);
  return name;
}

/** Removes a temporary file; one that cannot be removed now goes with a later sweep. */
export async function dropTemp(path: string): Promise<void> {
  needed.delete(basename(path));
  await rm(path, { force: true });
}

/**
 * Removes temporary files that a process which died left in a folder: at once when it ran on this machine and is gone,
 * after an hour otherwise. `now` is in milliseconds of the disk's clock.
 */
export async function sweepTemps(folder: string, now: number): Promise<void> {
  for (const { name } of await entriesOf(folder)) {
    const temp = TEMP.exec(name);
    if (temp === null) continue;
    const path = join(folder, name);
    try {
      const isOld = (await lstat(path)).mtimeMs < now - LEFT_OVER_AFTER;
      if (isOld || (!needed.has(name) && isGone(temp[1], Number(temp[2])))) await rm(path, { force: true });
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
}

function isGone(where: string | undefined, pid: number): boolean {
  return (where === machine() && pid === process.pid) || hasEnded(where, pid);
}

/** True when that process was on this machine and is no more; false where that cannot be known. */
export function hasEnded(where: string | undefined, pid: number): boolean {
  if (where !== machine()) return false;
  try {
    process.kill(pid, 0);
    // Killed, but its parent has not asked yet: it has a number and runs no more.
    return /\) [ZX] /.test(part(() => readFileSync(`/proc/${pid}/stat`, "utf8")));
  } catch (error) {
    return systemCode(error) === "ESRCH";
  }
}

let known: string | undefined;

/** The same for processes that can see each other's numbers: one start of one machine, and one container on it. */
export function machine(): string {
  known ??= createHash("sha256")
    .update(
      [
        hostname(),
        part(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
        part(() => readlinkSync("/proc/self/ns/pid")),
      ].join("\n"),
    )
    .digest("hex")
    .slice(0, 12);
  return known;
}

/** Empty on systems that do not have it. */
function part(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
