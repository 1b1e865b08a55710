import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { createLruMap } from "../../errors.ts";
import { fstat, lstat } from "./disk.ts";
import { entriesOf, type Place, removeIfThere, systemCode } from "./folders.ts";

// Temporary files: each tells in its name which process on which machine writes it, so that what a dead one
// left can be removed.

const TEMP = /^\.temp-(?:([0-9a-f]{12})-(\d+)-)?[0-9a-f-]{36}$/;
const LEFT_OVER_AFTER = 60 * 60 * 1000;

/** Names of the temporary files that this process still uses. */
const needed = new Set<string>();

/** A new temporary file name that identifies its process and machine; must be followed by `dropTemp`. */
export function tempName(): string {
  const name = `.temp-${machine()}-${process.pid}-${randomUUID()}`;
  needed.add(name);
  return name;
}

/** For a temporary file that was given its final name. */
export function forgetTemp(path: string): void {
  needed.delete(basename(path));
}

/** Removes a temporary file; if that fails now, a later sweep removes it. */
export async function dropTemp(path: string): Promise<void> {
  forgetTemp(path);
  try {
    await removeIfThere(path);
  } catch (error) {
    swept = createLruMap(MOST_SWEPT);
    throw error;
  }
}

const SWEEP_AGAIN_MS = 10 * 60_000;
const MOST_SWEPT = 4096;
/** When each folder was last swept, by path. */
let swept = createLruMap<number>(MOST_SWEPT);

/** Sweeps on the first write into a folder, then at most every ten minutes. */
export async function sweepSometimes({ folder, shown }: Place, written: number): Promise<void> {
  const last = swept.get(shown);
  const now = Date.now();
  if (last !== undefined && Math.abs(now - last) < SWEEP_AGAIN_MS) return;
  swept.set(shown, now);
  await sweepTemps(folder, (await fstat(written)).mtimeMs);
}

/**
 * Removes temporary files of dead processes from a folder: at once if the process ran on this machine,
 * otherwise after an hour. `now` is in milliseconds of the disk's clock.
 */
export async function sweepTemps(folder: string, now: number): Promise<void> {
  for (const { name } of await entriesOf(folder)) {
    const temp = TEMP.exec(name);
    if (temp === null) continue;
    const path = join(folder, name);
    try {
      const isOld = (await lstat(path)).mtimeMs < now - LEFT_OVER_AFTER;
      if (isOld || (!needed.has(name) && isGone(temp[1], Number(temp[2])))) await removeIfThere(path);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
}

function isGone(where: string | undefined, pid: number): boolean {
  return (where === machine() && pid === process.pid) || hasEnded(where, pid);
}

/** True if the process ran on this machine and has ended; false if that cannot be determined. */
export function hasEnded(where: string | undefined, pid: number): boolean {
  if (where !== machine()) return false;
  try {
    process.kill(pid, 0);
    // A zombie: it still has a pid but no longer runs.
    return /\) [ZX] /.test(part(() => readFileSync(`/proc/${pid}/stat`, "utf8")));
  } catch (error) {
    return systemCode(error) === "ESRCH";
  }
}

let known: string | undefined;

/** Equal for processes that share a pid namespace: one boot of one machine, and one container on it. */
export function machine(): string {
  known ??= createHash("sha256")
    .update(
      [
        // A runtime with permissions may not tell it: then this process takes no other for one of its machine.
        part(hostname) || randomUUID(),
        part(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
        part(() => readlinkSync("/proc/self/ns/pid")),
      ].join("\n"),
    )
    .digest("hex")
    .slice(0, 12);
  return known;
}

/** Empty where the system has no such thing, or the runtime does not allow to ask. */
function part(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
