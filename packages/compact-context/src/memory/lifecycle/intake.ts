import { createHash, randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Message } from "../../core/message.ts";
import { createKeyedMutex, hasCode } from "../../errors.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { WORK_FOLDER } from "../changes/store.ts";
import { consolidate } from "../consolidation/by-model.ts";
import { upkeep } from "../consolidation/upkeep.ts";
import { takeClaim } from "../files/claim.ts";
import { createFile, readMemoryFile, writeMemoryFile } from "../files/write-file.ts";
import type { TaskContext } from "../memory-task.ts";
import { lessonsOf, tellable } from "../memory-task.ts";
import type { Lane } from "./refresh.ts";

/** Takes messages in that leave a conversation, each once. */
export interface Intake {
  /** Takes them in now, by program or model; rejects when that failed, with nothing taken in. */
  now(
    sessionId: string,
    messages: readonly Message[],
    signal?: AbortSignal,
  ): Promise<"written" | "unchanged">;
  /** Puts them on disk first, then takes them in beside the run, again after a failure. */
  beside(sessionId: string, messages: readonly Message[]): Promise<"unchanged" | "in_background">;
  /** Takes in what earlier processes left on disk. */
  resume(): Promise<void>;
}

export function createIntake(
  channelDir: string,
  redactor: Pick<Redactor, "redactValue">,
  { context, lane }: { readonly context: TaskContext; readonly lane: Lane },
): Intake {
  const [taken, pending] = [createTaken(channelDir), createPending(channelDir, redactor)];
  // A compaction that did not wait any longer and the hook behind it may come with the same messages.
  const inTurn = createKeyedMutex();
  const takeIn: Intake["now"] = async (sessionId, lessons, signal) => {
    const fresh = await taken.fresh(sessionId, lessons);
    if (fresh.length === 0) return "unchanged";
    const result = await consolidate({ sessionId, messages: fresh }, context, signal);
    await taken.add(sessionId, fresh);
    if (result === "written") lane.keepTrying("the upkeep of the memory", (stop) => upkeep(context, stop));
    return result;
  };
  const now: Intake["now"] = async (sessionId, messages, signal) => {
    const lessons = lessonsOf(messages);
    if (lessons.length === 0) return "unchanged";
    return inTurn("intake", () => takeIn(sessionId, lessons, signal));
  };
  const take = (range: PendingRange): void => {
    lane.keepTrying(`taking messages in (${range.id.slice(0, 8)})`, (signal) =>
      pending.takeIn(range, () => now(range.sessionId, range.messages, signal)),
    );
  };
  return {
    now,
    async beside(sessionId, messages) {
      const fresh = await taken.fresh(sessionId, lessonsOf(messages));
      if (fresh.length === 0) return "unchanged";
      take(await pending.add(sessionId, fresh));
      return "in_background";
    },
    async resume() {
      for (const range of await pending.all()) take(range);
    },
  };
}

// ---- what waits

/** Messages that wait to be taken in. */
interface PendingRange {
  readonly id: string;
  readonly sessionId: string;
  readonly messages: readonly Message[];
}

/** Ranges on disk: they outlive the process that was to take them in. */
interface Pending {
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

// ---- what was taken in

/** The newest so many are remembered; what is older is told apart by what it says. */
const MOST = 5_000;
const MOST_CONFLICTS = 6;

/** Which messages a channel's memory took in, so that none is taken in twice; kept in its work folder, across processes. */
function createTaken(channelDir: string) {
  const path = join(channelDir, WORK_FOLDER, "taken.json");
  const read = async (): Promise<{ readonly keys: readonly string[]; readonly version: string | null }> => {
    const file = await readMemoryFile(path);
    return { keys: keysIn(file?.text), version: file?.version ?? null };
  };
  return {
    /** Those of the messages that were not taken in yet. */
    async fresh(sessionId: string, messages: readonly Message[]): Promise<readonly Message[]> {
      const known = new Set((await read()).keys);
      return messages.filter((message) => !known.has(keyOf(sessionId, message)));
    },
    async add(sessionId: string, messages: readonly Message[]): Promise<void> {
      const added = messages.map((message) => keyOf(sessionId, message));
      for (let attempt = 1; ; attempt += 1) {
        const { keys, version } = await read();
        const all = [...new Set([...keys, ...added])].slice(-MOST);
        try {
          await writeMemoryFile(path, `${JSON.stringify({ taken: all })}\n`, { ifVersion: version });
          return;
        } catch (error) {
          if (!hasCode(error, "Conflict") || attempt === MOST_CONFLICTS) throw error;
        }
      }
    },
  };
}

/** A file that is broken forgets: what it knew may be taken in again, which adds nothing. */
function keysIn(text: string | undefined): readonly string[] {
  try {
    const { taken } = JSON.parse(text ?? "{}") as { readonly taken?: unknown };
    return Array.isArray(taken) ? taken.filter((key) => typeof key === "string") : [];
  } catch {
    return [];
  }
}

function keyOf(sessionId: string, { id }: Message): string {
  return createHash("sha256").update(`${sessionId}\n${id}`, "utf8").digest("base64url").slice(0, 12);
}
