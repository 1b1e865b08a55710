import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  stat,
  utimes,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CompactError, createKeyedMutex, isObject, later, requireText } from "../../errors.ts";
import { fsync } from "../../storage/fs/disk.ts";
import { storageFailed, systemCode } from "../../storage/fs/folders.ts";
import { dropTemp, hasEnded, machine, tempName } from "../../storage/fs/temps.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";

export interface MemoryFile {
  readonly text: string;
  /** Identifies this exact text; pass it back as `ifVersion` when writing. */
  readonly version: string;
  /** Modification time in milliseconds since 1970. */
  readonly modified: number;
}

const inTurn = createKeyedMutex();

/** A file's text; undefined if there is none. Throws `NotFound` for a file with a hard link elsewhere. */
export async function readMemoryFile(path: string): Promise<MemoryFile | undefined> {
  requireText(path, "path", "Pass the path of a memory file.");
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), lstat(path)]);
    await refuseShared(path);
    return { text, version: versionOf(text), modified: mtimeMs };
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw storageFailed(error, path);
  }
}

/**
 * Throws `NotFound` for a file that has a hard link in another folder: it may belong to someone else. A
 * second name in the same folder is that of a file being created.
 */
export async function refuseShared(path: string): Promise<void> {
  const { nlink, ino } = await stat(path);
  if (nlink < 2) return;
  const folder = dirname(await realpath(path));
  const beside = await Promise.all(
    (await readdir(folder)).map((name) => lstat(join(folder, name)).catch(() => undefined)),
  );
  const names = beside.filter((one) => one?.ino === ino).length;
  if ((await stat(path)).nlink > names)
    throw new CompactError("NotFound", "the file has another name in another folder (a hard link)", {
      place: path,
      hint: "It may be somebody else's: put a copy there, not a link to it.",
    });
}

/**
 * Replaces a file's text atomically: a reader sees the old or the new text, even after a crash. With
 * `ifVersion` only over that text (`null`: only if there is no file); otherwise rejects with `Conflict`. A
 * link is followed, and the file keeps its mode. `modified` sets the file's time. Default: now.
 */
export async function writeMemoryFile(
  path: string,
  text: string,
  { ifVersion, modified }: { readonly ifVersion?: string | null; readonly modified?: number } = {},
): Promise<{ readonly version: string }> {
  return inTurn(path, async () => {
    if (ifVersion === null) {
      if (!(await createFile(path, text, modified))) throw changed(path);
      return { version: versionOf(text) };
    }
    if (ifVersion !== undefined && (await readMemoryFile(path))?.version !== ifVersion) throw changed(path);
    await replaceFile(path, text, modified);
    return { version: versionOf(text) };
  });
}

/** Creates a file; false, with nothing changed, if it exists. */
export async function createFile(path: string, text: string, modified?: number): Promise<boolean> {
  return withTemp(path, { text, mode: 0o600, modified }, async (temp, target) => {
    try {
      await link(temp, target);
      return true;
    } catch (error) {
      if (systemCode(error) === "EEXIST") return false;
      throw error;
    }
  });
}

async function replaceFile(path: string, text: string, modified: number | undefined): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const mode = await lstat(target).then(
    (stats) => stats.mode & 0o777,
    () => 0o600,
  );
  await withTemp(target, { text, mode, modified }, (temp) => rename(temp, target));
}

async function withTemp<T>(
  path: string,
  { text, mode, modified }: { readonly text: string; readonly mode: number; readonly modified?: number },
  commit: (temp: string, path: string) => Promise<T>,
): Promise<T> {
  const folder = dirname(path);
  const temp = join(folder, tempName());
  try {
    await mkdir(folder, { recursive: true });
    const handle = await open(temp, "wx", mode);
    try {
      await handle.writeFile(text, "utf8");
      await handle.chmod(mode);
      if (modified !== undefined) await utimes(temp, modified / 1000, modified / 1000);
      await fsync(handle.fd);
    } finally {
      await handle.close();
    }
    const done = await commit(temp, path);
    await syncFolder(folder);
    return done;
  } catch (error) {
    throw storageFailed(error, path);
  } finally {
    await dropTemp(temp);
  }
}

/** A rename is durable once its folder is synced; some file systems do not support that. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await fsync(handle.fd).finally(() => handle.close());
  } catch (error) {
    if (!["EISDIR", "EPERM", "EINVAL", "ENOTSUP"].includes(systemCode(error) ?? "")) throw error;
  }
}

/** Hash of a text; equal for equal texts. */
export function versionOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("base64url").slice(0, 22);
}

/** The version of a file's text; `null` if there is no file. */
export function versionOrNull(text: string | undefined): string | null {
  return text === undefined ? null : versionOf(text);
}

function changed(path: string): CompactError {
  return new CompactError("Conflict", "the file was changed since it was read", {
    place: path,
    hint: "Read it again and repeat the change on what is there now.",
  });
}

// ---- claims

/** Milliseconds after its last renewal that an owner counts as gone if its process cannot be checked. */
export const CLAIM_LEASE_MS = 30_000;

/** A claim file names the owner of a resource from taking to release. */
export class Claim {
  readonly #path: string;
  readonly #text: string;

  constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
  }

  /** Renews the claim by rewriting it in place; false once another owner has it. */
  async renew(): Promise<boolean> {
    const handle = await openIfThere(this.#path, "r+");
    if (handle === undefined) return false;
    try {
      if ((await handle.readFile("utf8")) !== this.#text) return false;
      await handle.write(this.#text, 0);
      return true;
    } finally {
      await handle.close();
    }
  }

  /** Renews periodically until the returned function is called. */
  keep(): () => void {
    return later(CLAIM_LEASE_MS / 3, () => void this.renew().catch(() => false), true);
  }

  release(): Promise<void> {
    return takeAway(this.#path, this.#text);
  }
}

/** The owner of a claim. */
export interface ClaimOwner {
  readonly pid: number;
  /** False if the process is on another machine and cannot be checked. */
  readonly onThisMachine: boolean;
}

/**
 * Creates a claim file, or takes it over from an owner that has ended: its process no longer exists or, if
 * that cannot be checked, it has not renewed for longer than a lease. Of several contenders one gets the
 * claim; the others get the owner. `fromItself`: whether this process may take over its own
 * claim; otherwise an own claim counts as taken.
 */
export async function takeClaim(
  path: string,
  { fromItself }: { readonly fromItself: boolean },
): Promise<{ readonly claim: Claim } | { readonly owner: ClaimOwner }> {
  const self = { pid: process.pid, machine: machine(), started: startOf(process.pid) };
  const mine = `${JSON.stringify({ ...self, id: randomUUID() })}\n`;
  for (let waits = 0; ; waits++) {
    const now = await placed(path, mine);
    if (now === undefined) return { claim: new Claim(path, mine) };
    const seen = await readClaim(path);
    if (seen === undefined) continue;
    const owner = ownerIn(seen.text);
    const isOwn =
      fromItself &&
      owner?.pid === self.pid &&
      owner.machine === self.machine &&
      owner.started === self.started;
    if (owner !== undefined && !isOwn && !isGone(owner, now - seen.modified))
      return { owner: { pid: owner.pid, onThisMachine: owner.machine === self.machine } };
    // One contender at a time: a claim that another has just placed is never moved.
    const taking = await claimed(`${path}.over`, () => takeAway(path, seen.text));
    if ("done" in taking) continue;
    // A contender that hangs, or died on another machine, gets the claim as far as the others know.
    if (waits === MOST_WAITS) return taking;
    await sleep(WAIT_MS);
  }
}

/** Runs `work` with the claim; the owner, with nothing done, if another has it. */
export async function claimed<T>(
  path: string,
  work: () => Promise<T>,
): Promise<{ readonly done: T } | { readonly owner: ClaimOwner }> {
  const taken = await takeClaim(path, { fromItself: false });
  if ("owner" in taken) return taken;
  const stopKeeping = taken.claim.keep();
  try {
    return { done: await work() };
  } finally {
    stopKeeping();
    await taken.claim.release();
  }
}

interface Process {
  readonly pid: number;
  readonly machine: string;
  /** Start time in the system's own unit; empty if unknown. */
  readonly started: string;
}

/** Another's takeover takes milliseconds: how often and how long to wait for it. */
const MOST_WAITS = 25;
const WAIT_MS = 20;

/** Creates the file with its text atomically. If it already exists, returns the disk's current time. */
async function placed(path: string, text: string): Promise<number | undefined> {
  const temp = join(dirname(path), tempName());
  try {
    const handle = await open(temp, "wx", 0o600);
    await handle.writeFile(text).finally(() => handle.close());
    await link(temp, path);
    return undefined;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    return (await lstat(temp)).mtimeMs;
  } finally {
    await dropTemp(temp);
  }
}

/** Removes the file if it has this text; a file that replaced it in the meantime is restored. */
async function takeAway(path: string, text: string): Promise<void> {
  if ((await readClaim(path))?.text !== text) return;
  const aside = join(dirname(path), tempName());
  try {
    await rename(path, aside);
    if ((await readFile(aside, "utf8")) !== text) await link(aside, path);
  } catch (error) {
    if (!["ENOENT", "EEXIST"].includes(systemCode(error) ?? "")) throw error;
  } finally {
    await dropTemp(aside);
  }
}

/** Opens the file instead of only calling `lstat`: on a shared file system that gives the current state. */
async function readClaim(path: string): Promise<{ text: string; modified: number } | undefined> {
  const handle = await openIfThere(path, "r");
  if (handle === undefined) return undefined;
  try {
    return { text: await handle.readFile("utf8"), modified: (await handle.stat()).mtimeMs };
  } finally {
    await handle.close();
  }
}

async function openIfThere(path: string, flags: "r" | "r+"): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Undefined for a text that is not a claim. */
function ownerIn(text: string): Process | undefined {
  const owner = parsedJson(text);
  if (!isObject(owner) || typeof owner.pid !== "number") return undefined;
  return { pid: owner.pid, machine: String(owner.machine), started: String(owner.started ?? "") };
}

function isGone(owner: Process, silentMs: number): boolean {
  if (owner.machine !== machine()) return silentMs > CLAIM_LEASE_MS;
  return hasEnded(owner.machine, owner.pid) || startOf(owner.pid) !== owner.started;
}

/** A process id can be reused with another start time. Empty on systems without /proc. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")")).split(" ")[20] ?? "";
  } catch {
    return "";
  }
}
