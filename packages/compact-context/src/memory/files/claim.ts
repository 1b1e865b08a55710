import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type FileHandle, link, lstat, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { later } from "../../errors.ts";
import { dropTemp, hasEnded, machine, tempName } from "../../storage/fs/files.ts";
import { systemCode } from "../../storage/fs/folders.ts";

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
  try {
    const { pid, machine: where, started } = JSON.parse(text) as Partial<Process>;
    if (typeof pid !== "number") return undefined;
    return { pid, machine: String(where), started: String(started ?? "") };
  } catch {
    return undefined;
  }
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
