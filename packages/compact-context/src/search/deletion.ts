import type { StorageDriver, StoredEntry } from "../core/ports.ts";
import {
  archiveFiles,
  keysOf,
  ownerFolder,
  type SessionOwner,
  sessionOfKey,
  sha256Hex,
} from "../core/records.ts";
import { CompactError, conflict, createLruMap, hasCode, platform } from "../errors.ts";

// Deletion and expiry. A deletion leaves a tombstone: a hashed key that contains nothing of the deleted data.
// It makes the storage refuse a worker that still holds a deleted session; concurrent writes are undone.

/** Outcome of a deletion. */
export interface Deleted {
  readonly sessions: number;
  /** Deleted stored values: transcripts, summaries, events, states, indexes, queued work. */
  readonly values: number;
}

/** How long and how much to keep. If both are omitted, everything is kept. */
export interface Retention {
  /** Sessions without a write for this many days are deleted. */
  readonly days?: number;
  /** While all sessions together exceed this size, the least recently used one is deleted. */
  readonly maxBytes?: number;
}

/** Outcome of a sweep, or of its dry run. */
export interface Swept {
  /** Folders of the deleted sessions, oldest first. */
  readonly sessions: readonly string[];
  readonly bytes: number;
  /** Totals of the remaining sessions. */
  readonly kept: { readonly sessions: number; readonly bytes: number };
}

const DAY_MS = 86_400_000;
/** No process holds a session longer than this; afterwards its id can be reused. */
const TOMBSTONE_DAYS = 30;
const TOMBSTONES = "~deleted/";

function tombstoneKey(scope: string): string {
  const hash = sha256Hex(scope).slice(0, 40);
  return `${TOMBSTONES}${hash.slice(0, 2)}/${hash.slice(2)}.json`;
}

/** Tombstones that cover a session: its own, its user's and its tenant's. */
function tombstonesOf(session: string): string[] {
  const owners = session.match(/^(?:~t\/[^/]+\/)?(?:~u\/[^/]+\/)?/)?.[0] ?? "";
  const tenant = /^~t\/[^/]+\//.exec(owners)?.[0];
  const scopes = new Set([session, owners, tenant ?? ""]);
  return [...scopes].filter((scope) => scope !== "").map(tombstoneKey);
}

function deletedError(): CompactError {
  return new CompactError("NotFound", "this session was deleted, so nothing of it is stored any more", {
    hint: `Go on under a new session id; this one can be used again ${TOMBSTONE_DAYS} days after its deletion.`,
  });
}

/** A session whose tombstones were checked this recently is checked only after a write, not before. */
const FRESH_MS = 1000;
const MOST_FRESH = 1000;
/**
 * Wraps the driver so that writes to deleted sessions fail with `NotFound`. Tombstones are checked before and
 * after a write: a deletion stores its tombstone first, so either the deletion finds the written value or the
 * writer finds the tombstone.
 */
export function guardDeleted(driver: StorageDriver, now: () => Date = platform.now): StorageDriver {
  const fresh = createLruMap<number>(MOST_FRESH);
  // One text a session: a hash for each of its tombstones is made once.
  const keys = createLruMap<string>(MOST_FRESH);
  const check = async (session: string): Promise<boolean> => {
    const tombstones = keys.get(session) ?? tombstonesOf(session).join("\n");
    keys.set(session, tombstones);
    for (const key of tombstones.split("\n")) {
      // Reading only the version is cheaper, and there is almost never a tombstone.
      if ((await driver.version(key)) === undefined) continue;
      const { at = "" } = JSON.parse((await driver.get(key))?.value ?? "{}") as { readonly at?: string };
      if (now().getTime() - Date.parse(at) > TOMBSTONE_DAYS * DAY_MS) continue;
      fresh.set(session, 0);
      return true;
    }
    fresh.set(session, now().getTime());
    return false;
  };
  const write = async <T>(session: string | undefined, work: () => Promise<T>, undo: () => Promise<void>) => {
    if (session === undefined) return work();
    const since = now().getTime() - (fresh.get(session) ?? 0);
    if (!(since >= 0 && since < FRESH_MS) && (await check(session))) throw deletedError();
    const done = await work();
    if (!(await check(session))) return done;
    await undo();
    throw deletedError();
  };
  const { outbox } = driver;
  return withOwn(driver, {
    outbox:
      outbox &&
      withOwn(outbox, {
        add: (item, claim) =>
          write(
            item.session,
            () => outbox.add(item, claim),
            () => outbox.remove(item),
          ),
      }),
    put: (key, ...rest) =>
      write(
        sessionOfKey(key),
        () => driver.put(key, ...rest),
        () => driver.delete(key),
      ),
    append: (key, ...rest) =>
      write(
        sessionOfKey(key),
        () => driver.append(key, ...rest),
        () => driver.delete(key),
      ),
  });
}

/** Overrides some members of an object; all others are forwarded to it, whatever its class. */
function withOwn<T extends object>(other: T, own: Partial<T>): T {
  return new Proxy(other, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface DeleteOptions {
  readonly now?: () => Date;
  /** Called once no other worker can compact the session: if false, nothing is deleted. */
  still?(): Promise<boolean>;
  /** If true, no tombstone remains and a later writer can start the session again. */
  readonly expired?: boolean;
}

/**
 * Removes everything of a session, given its folder. Rejects with `Conflict` while another worker compacts
 * it; can be called again after any failure. Resolves to the number of values, or undefined if `still`
 * returned false.
 */
export async function deleteSession(
  driver: StorageDriver,
  session: string,
  { now = platform.now, still, expired = false }: DeleteOptions = {},
): Promise<number | undefined> {
  const { leases, outbox } = driver;
  const fence = await leases?.take(session, platform.id());
  if (leases !== undefined && fence === undefined) throw conflict(session);
  try {
    if (still !== undefined && !(await still())) return undefined;
    if (!expired) await putTombstone(driver, session, now);
    const queued = (await outbox?.pending(session)) ?? [];
    for (const id of queued) await outbox?.remove({ session, id });
    let values = queued.length;
    const name = archiveFiles.name(session);
    for (const prefix of [archiveFiles.queue(session), `${session}/`]) {
      for await (const key of keysOf(driver, prefix)) {
        values += 1;
        if (key !== name) await driver.delete(key);
      }
    }
    // Last, so that the session can be found by its id until then.
    await driver.delete(name);
    await driver.purge?.(`${session}/`);
    return values;
  } finally {
    if (fence !== undefined) await leases?.release(fence);
  }
}

async function putTombstone(driver: StorageDriver, scope: string, now: () => Date): Promise<void> {
  await driver.put(tombstoneKey(scope), `${JSON.stringify({ at: now().toISOString() })}\n`);
}

/**
 * Removes every session of a tenant or user. Rejects with `Conflict` if another worker compacts one of them:
 * the other sessions are deleted by then, and the call can be repeated.
 */
export async function deleteOwner(
  driver: StorageDriver,
  owner: SessionOwner,
  now: () => Date = platform.now,
): Promise<Deleted> {
  const folder = ownerFolder(owner);
  await putTombstone(driver, folder, now);
  const sessions = new Set<string>();
  for (const prefix of [folder, `~outbox/${folder}`]) {
    for await (const key of keysOf(driver, prefix)) sessions.add(sessionOfKey(key) ?? "");
  }
  sessions.delete("");
  let busy: string | undefined;
  let values = 0;
  for (const session of sessions) {
    try {
      // The owner's tombstone covers each session.
      values += (await deleteSession(driver, session, { expired: true })) ?? 0;
    } catch (error) {
      if (!hasCode(error, "Conflict")) throw error;
      busy = session;
    }
  }
  if (busy !== undefined) throw conflict(busy);
  await driver.purge?.(folder);
  return { sessions: sessions.size, values };
}

interface Found {
  bytes: number;
  at: number;
}

/**
 * Deletes what `retention` does not keep, and expired tombstones, from all drivers of an archive. A session
 * that is being compacted or was written to meanwhile stays. Expired sessions leave no tombstone: a host that
 * returns starts a new session.
 */
export async function sweep(
  drivers: readonly StorageDriver[],
  { days, maxBytes }: Retention,
  { now = platform.now, dryRun = false }: { readonly now?: () => Date; readonly dryRun?: boolean } = {},
): Promise<Swept> {
  const at = now().getTime();
  const { found, buried, old } = await takeStock(drivers, at);
  const oldestFirst = [...found].sort(([, one], [, other]) => one.at - other.at);
  let kept = oldestFirst.reduce((sum, [, { bytes }]) => sum + bytes, 0);
  let bytes = 0;
  const sessions: string[] = [];
  for (const [session, facts] of oldestFirst) {
    const expired = days !== undefined && at - facts.at > days * DAY_MS;
    const tooMuch = maxBytes !== undefined && kept > maxBytes;
    const isBuried = tombstonesOf(session).some((key) => buried.has(key));
    if (!expired && !tooMuch && !isBuried) continue;
    if (!dryRun && !(await expire(drivers, session, facts.at))) continue;
    sessions.push(session);
    bytes += facts.bytes;
    kept -= facts.bytes;
  }
  if (!dryRun) for (const [driver, key] of old) await driver.delete(key);
  return { sessions, bytes, kept: { sessions: found.size - sessions.length, bytes: kept } };
}

/** The sessions, the keys of tombstones in force, and the expired tombstones. */
async function takeStock(drivers: readonly StorageDriver[], now: number) {
  const found = new Map<string, Found>();
  const buried = new Set<string>();
  const old: [StorageDriver, string][] = [];
  for (const driver of drivers) {
    for await (const entry of entriesOf(driver, "")) {
      const session = sessionOfKey(entry.key);
      if (session !== undefined) addTo(found, session, entry);
      else if (!entry.key.startsWith(TOMBSTONES)) continue;
      else if (now - entry.at > TOMBSTONE_DAYS * DAY_MS) old.push([driver, entry.key]);
      else buried.add(entry.key);
    }
  }
  return { found, buried, old };
}

function addTo(found: Map<string, Found>, session: string, { key, bytes, at }: StoredEntry): void {
  // Queued work is rewritten on every delivery attempt, which is not use of the session.
  const used = key.startsWith("~outbox/") ? 0 : at;
  const facts = found.get(session) ?? { bytes: 0, at: used };
  found.set(session, { bytes: facts.bytes + bytes, at: Math.max(facts.at, used) });
}

/** False if the session was written to since, or is being compacted. */
async function expire(drivers: readonly StorageDriver[], session: string, seen: number): Promise<boolean> {
  const still = async (): Promise<boolean> => {
    for (const driver of drivers) {
      for await (const { at } of entriesOf(driver, `${session}/`)) if (at > seen) return false;
    }
    return true;
  };
  try {
    for (const driver of drivers) {
      if ((await deleteSession(driver, session, { expired: true, still })) === undefined) return false;
    }
    return true;
  } catch (error) {
    if (hasCode(error, "Conflict")) return false;
    throw error;
  }
}

function entriesOf(driver: StorageDriver, prefix: string): AsyncIterable<StoredEntry> {
  if (driver.entries !== undefined) return driver.entries(prefix);
  throw new CompactError("InvalidArgument", "this storage driver does not tell sizes and times", {
    place: driver.location,
    hint: "Give it the method entries(prefix), or delete sessions one by one.",
  });
}
