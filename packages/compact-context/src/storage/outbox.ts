import type { ClaimedItem, ItemName, Outbox, StorageDriver } from "../core/ports.ts";
import { archiveFiles, keysOf } from "../core/records.ts";
import { unlessOvertaken } from "../errors.ts";

const ROOT = "~outbox/";
const BODY = ".jsonl";
const CONTROL = ".json";

/** The part of an item that changes while it waits; the body is written once. */
interface Control {
  readonly attempts: number;
  /** Epoch milliseconds: when the claim, or the wait after a failure, ends. */
  readonly dueAt: number;
  readonly by?: string;
}

interface StoredControl extends Control {
  /** Null if the item has never been claimed. */
  readonly version: string | null;
}

/**
 * An outbox over any driver, for a few workers: the body in `~outbox/{session}/{id}.jsonl`, the claim in the
 * `.json` file next to it.
 */
export function createDriverOutbox(driver: StorageDriver, now: () => number): Outbox {
  const take = async (item: ItemName, by: string, ms: number): Promise<StoredControl | undefined> => {
    const control = await readControl(driver, item);
    if (control.dueAt > now() && control.by !== by) return undefined;
    const mine: Control = { attempts: control.attempts, dueAt: now() + ms, by };
    return (await writeControl(driver, item, mine, control.version)) ? control : undefined;
  };
  return {
    async add(item, { by, ms }) {
      // Claim before the body is visible, so that no other worker delivers it in the meantime.
      const mine = await take(item, by, ms);
      await unlessOvertaken(() => driver.put(bodyKey(item), item.body, { ifVersion: null }));
      return mine !== undefined;
    },
    async claim({ by, ms }, limit) {
      const claimed: ClaimedItem[] = [];
      const due = (await waiting(driver)).filter(({ dueAt }) => dueAt <= now());
      for (const { session, id } of due) {
        if (claimed.length >= limit) break;
        const control = await take({ session, id }, by, ms);
        if (control === undefined) continue;
        const body = await driver.get(bodyKey({ session, id }));
        // Removed since it was listed: also delete the control file that `take` just wrote.
        if (body === undefined) await driver.delete(controlKey({ session, id }));
        else claimed.push({ session, id, attempts: control.attempts, body: body.value });
      }
      return claimed;
    },
    async renew(item, { by, ms }) {
      const control = await readControl(driver, item);
      if (control.by !== by) return false;
      const { attempts } = control;
      return writeControl(driver, item, { attempts, dueAt: now() + ms, by }, control.version);
    },
    async retry(item, by, { inMs, attempts }) {
      const control = await readControl(driver, item);
      if (control.by !== by) return;
      await writeControl(driver, item, { attempts, dueAt: now() + inMs }, control.version);
    },
    async remove(item) {
      // Body first: an item without a body no longer exists.
      await driver.delete(bodyKey(item));
      await driver.delete(controlKey(item));
    },
    async pending(session) {
      return (await items(driver, archiveFiles.queue(session))).map(({ id }) => id);
    },
    async nextDue() {
      const [first] = await waiting(driver);
      return first === undefined ? undefined : Math.max(0, first.dueAt - now());
    },
  };
}

/** All items, earliest due first. */
async function waiting(driver: StorageDriver): Promise<(ItemName & StoredControl)[]> {
  const names = await items(driver, ROOT);
  const found = await Promise.all(
    names.map(async (name) => ({ ...name, ...(await readControl(driver, name)) })),
  );
  return found.sort((one, other) => one.dueAt - other.dueAt);
}

async function items(driver: StorageDriver, prefix: string): Promise<ItemName[]> {
  const found: ItemName[] = [];
  for await (const key of keysOf(driver, prefix)) {
    const end = key.lastIndexOf("/");
    if (!key.endsWith(BODY)) continue;
    found.push({ session: key.slice(ROOT.length, end), id: key.slice(end + 1, -BODY.length) });
  }
  return found;
}

async function readControl(driver: StorageDriver, item: ItemName): Promise<StoredControl> {
  const stored = await driver.get(controlKey(item));
  if (stored === undefined) return { attempts: 0, dueAt: 0, version: null };
  return { ...(JSON.parse(stored.value) as Control), version: stored.version };
}

/** Resolves to false if another worker wrote first. */
function writeControl(
  driver: StorageDriver,
  item: ItemName,
  control: Control,
  ifVersion: string | null,
): Promise<boolean> {
  return unlessOvertaken(() => driver.put(controlKey(item), JSON.stringify(control), { ifVersion }));
}

function bodyKey({ session, id }: ItemName): string {
  return `${archiveFiles.queue(session)}${id}${BODY}`;
}

function controlKey({ session, id }: ItemName): string {
  return `${archiveFiles.queue(session)}${id}${CONTROL}`;
}
