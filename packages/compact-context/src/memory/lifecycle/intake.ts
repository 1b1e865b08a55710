import type { Message } from "../../core/message.ts";
import { createKeyedMutex } from "../../errors.ts";
import { consolidate } from "../consolidation/consolidate.ts";
import { lessonsOf } from "../lessons.ts";
import type { TaskContext } from "../memory-task.ts";
import type { Lane } from "./lane.ts";
import type { Pending, PendingRange } from "./pending.ts";
import type { Taken } from "./taken.ts";
import { upkeep } from "./upkeep.ts";

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

export interface IntakePorts {
  readonly context: TaskContext;
  readonly taken: Taken;
  readonly pending: Pending;
  readonly lane: Lane;
}

export function createIntake({ context, taken, pending, lane }: IntakePorts): Intake {
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
