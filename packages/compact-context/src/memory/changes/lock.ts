import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { CompactError } from "../../errors.ts";
import { hasEnded, machine } from "../../storage/fs/files.ts";
import { systemCode } from "../../storage/fs/folders.ts";

/**
 * How one process at a time changes a channel, without any lock of the operating system: `lock` is a folder that comes
 * into being, with its owner's name in it, by a rename, which fails where another one is. Whatever the owner writes is
 * made in `lock/TOKEN/` and renamed from there. Whoever takes the lock over renames the folder away first: an owner
 * that was only asleep then renames from a path that is gone, and fails.
 */
export interface ChannelLock {
  /** Makes a file in the lock's own folder, on disk when it resolves. */
  stage(name: string, text: string, mode?: number): Promise<void>;
  /** Moves a staged file to its place, or rejects with `LOCK_LOST` and changes nothing. */
  commit(name: string, to: string): Promise<void>;
  /** Moves a file from its place into the lock's folder, which goes with the lock. */
  remove(path: string, name: string): Promise<void>;
  release(): Promise<void>;
}

export interface LockPorts {
  readonly randomId: () => string;
  /** Milliseconds of a steady clock. */
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** How long an owner that shows no change may hold the lock. */
  readonly leaseMs: number;
  /** How long to wait for the lock. */
  readonly waitMs: number;
}

/** Thrown when another process took the lock over: nothing more was written. */
export const LOCK_LOST: unique symbol = Symbol("the lock was taken over");

interface Owner {
  readonly token: string;
  readonly machine: string;
  readonly pid: number;
}

/** Waits for the lock of `folder`; an owner that has ended, or that holds it longer than its lease, is taken over. */
export async function takeLock(folder: string, ports: LockPorts): Promise<ChannelLock> {
  const token = ports.randomId();
  const mine = join(folder, `.lock-${machine()}-${process.pid}-${token}`);
  const lock = join(folder, "lock");
  await mkdir(join(mine, token), { recursive: true, mode: 0o700 });
  const owner: Owner = { token, machine: machine(), pid: process.pid };
  await writeDurably(join(mine, "owner.json"), JSON.stringify(owner), 0o600);
  try {
    await waitFor(lock, mine, ports);
  } catch (error) {
    await rm(mine, { recursive: true, force: true });
    throw error;
  }
  await sweep(folder);
  return heldLock({ lock, own: join(lock, token), gone: mine });
}

const LEFT_OVER = /^\.lock-([0-9a-f]+)-(\d+)-/;

/** Removes what processes left that ended while they waited or took a lock over. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, where, pid] = LEFT_OVER.exec(name) ?? [];
    if (pid !== undefined && Number(pid) !== process.pid && hasEnded(where, Number(pid)))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function waitFor(lock: string, mine: string, ports: LockPorts): Promise<void> {
  const start = ports.clock();
  const isStale = createStaleCheck(ports);
  for (let round = 0; !(await moved(mine, lock)); round++) {
    const owner = await ownerOf(lock);
    if (isStale(owner)) {
      await takeAway(lock, `${mine}-taken-${round}`);
      continue;
    }
    if (ports.clock() - start > ports.waitMs) throw stillHeld(lock, owner);
    await ports.sleep(2 + ((process.pid + 7 * round) % 20));
  }
}

/**
 * True for an owner that has ended, or that was seen for longer than a lease: no clocks are compared. One that cannot
 * be told has its lease like any other.
 */
function createStaleCheck({ clock, leaseMs }: LockPorts): (owner: Owner | undefined) => boolean {
  let seen: { readonly token: string | undefined; readonly since: number } | undefined;
  return (owner) => {
    if (seen === undefined || seen.token !== owner?.token) seen = { token: owner?.token, since: clock() };
    const ended = owner !== undefined && owner.pid !== process.pid && hasEnded(owner.machine, owner.pid);
    return ended || clock() - seen.since > leaseMs;
  };
}

/** The one moment of taking: false when somebody else has the lock. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "EPERM", "EACCES"].includes(systemCode(error) ?? "")) return false;
    throw error;
  }
}

/** Nothing when the lock has just been given back, or where its owner's name is lost or damaged. */
async function ownerOf(lock: string): Promise<Owner | undefined> {
  try {
    const owner = JSON.parse(await readFile(join(lock, "owner.json"), "utf8")) as Partial<Owner> | null;
    return typeof owner?.token === "string" ? (owner as Owner) : undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function takeAway(lock: string, to: string): Promise<void> {
  try {
    await rename(lock, to);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return;
    throw error;
  }
  await rm(to, { recursive: true, force: true });
}

interface LockPaths {
  readonly lock: string;
  /** The owner's own folder in it. */
  readonly own: string;
  /** Where the lock is moved to when it is given back. */
  readonly gone: string;
}

function heldLock({ lock, own, gone }: LockPaths): ChannelLock {
  const fenced = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (systemCode(error) === "ENOENT") throw LOCK_LOST;
      throw error;
    }
  };
  return {
    stage: (name, text, mode = 0o600) => fenced(writeDurably(join(own, name), text, mode)),
    commit: (name, to) => fenced(rename(join(own, name), to)),
    remove: (path, name) => fenced(rename(path, join(own, name))),
    async release() {
      // Robbed owners find their folder gone and leave the new owner's alone.
      if (await moved(own, `${own}-released`).catch(() => false)) await takeAway(lock, gone);
    },
  };
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const handle = await open(path, "wx", mode);
  try {
    await handle.writeFile(text, "utf8");
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function stillHeld(lock: string, owner: Owner | undefined): CompactError {
  const who = owner === undefined ? "another process" : `another process (${owner.pid})`;
  return new CompactError("Conflict", `${who} is changing this memory`, {
    place: lock,
    hint: "Try again; a process that hangs loses the lock by itself.",
  });
}
