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
import { storageFailed, syncFile, systemCode } from "../../storage/fs/folders.ts";
import { dropTemp, hasEnded, machine, tempName } from "../../storage/fs/temps.ts";
import { parsedJson } from "../../summarizers/extractive/text.ts";

export interface MemoryFile {
  readonly text: string;
  /** Stands for this very text; hand it back when writing over it. */
  readonly version: string;
  /** When it was written, in milliseconds since 1970. */
  readonly modified: number;
}

const inTurn = createKeyedMutex();

/** A file's text; undefined where there is none. Throws `NotFound` for one that is somewhere else too. */
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
 * Throws `NotFound` for a file that has a name in another folder too (a hard link): it may be somebody else's. A second name
 * beside it is that of a file that is being made.
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
 * Replaces a file's text as a whole: whoever reads sees the old one or the new one, after a crash too. With
 * `ifVersion` only over that text (`null`: only where there is no file); rejects with `Conflict` otherwise.
 * A link is followed, and the file keeps its mode. It is `modified` at that time, now when left out.
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

/** Makes a file where there is none; false, and nothing changed, where there is one. */
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
      await syncFile(handle);
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

/** A rename lasts when its folder is on disk; some file systems cannot be asked for it. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await syncFile(handle).finally(() => handle.close());
  } catch (error) {
    if (!["EISDIR", "EPERM", "EINVAL", "ENOTSUP"].includes(systemCode(error) ?? "")) throw error;
  }
}

/** Stands for a text; the same for the same text. */
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

// ---- whose something is

/** Milliseconds after its last sign that an owner is taken to be gone where its process cannot be asked for. */
export const CLAIM_LEASE_MS = 30_000;

/** A file that says whose something is, from its taking to its release. */
export interface Claim {
  /** A sign that the owner is there; false once somebody else has the claim. */
  renew(): Promise<boolean>;
  /** Gives such signs until it is called off. */
  keep(): () => void;
  release(): Promise<void>;
}

/** Who has a claim. */
export interface ClaimOwner {
  readonly pid: number;
  /** False for a process whose number means nothing here. */
  readonly onThisMachine: boolean;
}

export interface ClaimOptions {
  /** Whether this process may take from itself; it waits for nothing then. */
  readonly fromItself: boolean;
}

/**
 * Makes the file of a claim where there is none, or takes it from an owner that has ended: one whose process is no more,
 * or that gave no sign for longer than a lease from where its process cannot be asked for. Of many that try, one gets it;
 * the others are given the owner.
 */
export async function takeClaim(
  path: string,
  { fromItself }: ClaimOptions,
): Promise<{ readonly claim: Claim } | { readonly owner: ClaimOwner }> {
  const self = { pid: process.pid, machine: machine(), started: startOf(process.pid) };
  const mine = `${JSON.stringify({ ...self, id: randomUUID() })}\n`;
  for (;;) {
    const now = await placed(path, mine);
    if (now === undefined) return { claim: claimOf(path, mine) };
    const seen = await readClaim(path);
    if (seen === undefined) continue;
    const owner = ownerIn(seen.text);
    const isOwn = fromItself && owner !== undefined && isSame(owner, self);
    if (owner !== undefined && !isOwn && !isGone(owner, now - seen.modified))
      return { owner: { pid: owner.pid, onThisMachine: owner.machine === self.machine } };
    await takeAway(path, seen.text);
  }
}

interface Process {
  readonly pid: number;
  readonly machine: string;
  /** When it was started, in the machine's own count; empty where that cannot be told. */
  readonly started: string;
}

function claimOf(path: string, mine: string): Claim {
  const renew = async (): Promise<boolean> => {
    // Who took it away by mistake puts it back at once.
    for (const wait of [10, 40, 0]) {
      const found = await renewed(path, mine);
      if (found !== undefined) return found;
      await sleep(wait);
    }
    return false;
  };
  return {
    renew,
    keep: () => later(CLAIM_LEASE_MS / 3, () => void renew().catch(() => false), true),
    release: () => takeAway(path, mine),
  };
}

/** Whether the file is this claim's, written again in place, which nobody else's can become; undefined for none. */
async function renewed(path: string, mine: string): Promise<boolean | undefined> {
  const handle = await openIfThere(path, "r+");
  if (handle === undefined) return undefined;
  try {
    if ((await handle.readFile("utf8")) !== mine) return false;
    await handle.write(mine, 0);
    return true;
  } finally {
    await handle.close();
  }
}

/** The file with its text in one moment; where one is there, what the disk's clock says now. */
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

/** Removes the file of this text; another one that came into its place meanwhile is put back. */
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

/** Opened and not only looked at: a file of another machine is shown as it is there. */
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

/** Nobody for a text that no claim has. */
function ownerIn(text: string): Process | undefined {
  const owner = parsedJson(text);
  if (!isObject(owner) || typeof owner.pid !== "number") return undefined;
  return { pid: owner.pid, machine: String(owner.machine), started: String(owner.started ?? "") };
}

function isSame(one: Process, other: Process): boolean {
  return one.pid === other.pid && one.machine === other.machine && one.started === other.started;
}

function isGone(owner: Process, silentMs: number): boolean {
  if (owner.machine !== machine()) return silentMs > CLAIM_LEASE_MS;
  return hasEnded(owner.machine, owner.pid) || startOf(owner.pid) !== owner.started;
}

/** The number of a process may come again, with another start. Empty on systems that do not tell it. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")")).split(" ")[20] ?? "";
  } catch {
    return "";
  }
}
