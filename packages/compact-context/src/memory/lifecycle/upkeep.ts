import { cleanUp } from "../consolidation/clean-up.ts";
import { foldHistory } from "../consolidation/fold-history.ts";
import { promote } from "../consolidation/promote.ts";
import type { TaskContext } from "../memory-task.ts";

/** What follows a consolidation, beside the run; each step may fail without stopping the next. Rejects with the first failure. */
export async function upkeep(context: TaskContext, signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const step of [promote, cleanUp, foldHistory]) {
    if (signal?.aborted === true) return;
    await step(context, signal).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
