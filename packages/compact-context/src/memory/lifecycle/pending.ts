import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Message } from "../../core/message.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { WORK_FOLDER } from "../changes/channel-files.ts";
import { takeClaim } from "../files/claim.ts";
import { createFile, readMemoryFile } from "../files/write-file.ts";
import { tellable } from "../lessons.ts";

/** Messages that wait to be taken in. */
export interface PendingRange {
  readonly id: string;
  readonly sessionId: string;
  readonly messages: readonly Message[];
}

/** Ranges on disk: they outlive the process that was to take them in. */
export interface Pending {
  /** Durable when it resolves, secrets taken out. */
  add(sessionId: string, messages: readonly Message[]): Promise<PendingRange>;
  all(): Promise<readonly PendingRange[]>;
  /**
   * Takes a range in with `work`, after which it waits no more; it does after a rejection. Nothing where somebody else is
   * at it, of this process or another one, or was.
   */
  takeIn(range: PendingRange, work: () => Promise<unknown>): Promise<void>;
}

const CLAIM = ".claim";

export function createPending(channelDir: string, redactor: Pick<Redactor, "redactValue">): Pending {
  const folder = join(channelDir, WORK_FOLDER, "pending");
  return {
    async add(sessionId, messages) {
      const plain = messages.map(({ native: _native, format: _format, ...message }) => message);
      const safe = tellable(redactor.redactValue(plain) as readonly Message[], () => false, "wishes");
      const range = { id: `${randomUUID()}.json`, sessionId, messages: safe };
      await createFile(join(folder, range.id), JSON.stringify({ sessionId, messages: safe }));
      return range;
    },
    async all() {
      const names = await readdir(folder).catch((): string[] => []);
      // Left by a process that ended between its range and its claim.
      const done = names.filter(
        (name) => name.endsWith(CLAIM) && !names.includes(name.slice(0, -CLAIM.length)),
      );
      await Promise.all(done.map((name) => rm(join(folder, name), { force: true })));
      const read = names.filter((name) => name.endsWith(".json")).map((name) => readRange(folder, name));
      return (await Promise.all(read)).flat();
    },
    async takeIn({ id }, work) {
      const path = join(folder, id);
      const taken = await takeClaim(`${path}${CLAIM}`, { fromItself: false });
      if ("owner" in taken) return;
      const stopKeeping = taken.claim.keep();
      try {
        if ((await readMemoryFile(path)) === undefined) return;
        await work();
        await rm(path, { force: true });
      } finally {
        stopKeeping();
        await taken.claim.release();
      }
    },
  };
}

/** None for a file that cannot be read: it was never finished, and its messages are in the archive. */
async function readRange(folder: string, id: string): Promise<PendingRange[]> {
  try {
    const text = (await readMemoryFile(join(folder, id)))?.text ?? "";
    const { sessionId, messages } = JSON.parse(text) as Omit<PendingRange, "id">;
    return Array.isArray(messages) ? [{ id, sessionId, messages }] : [];
  } catch {
    return [];
  }
}
