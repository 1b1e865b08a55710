import { objectOf } from "../../providers/request.ts";

/**
 * True for what the SDK hands over under `conversationId` or `previousResponseId` in the midst of a run: results
 * whose calls only the provider has. The list is then no history, and nothing of it can be compacted here.
 */
export function isDelta(items: readonly unknown[]): boolean {
  const calls = new Set<unknown>();
  let results = 0;
  for (const item of items) {
    const { type, callId } = objectOf(item);
    if (typeof type !== "string" || callId === undefined) continue;
    if (!type.endsWith("_result") && !type.endsWith("_output")) calls.add(callId);
    else if (calls.has(callId)) return false;
    else results += 1;
  }
  return results > 0;
}

export const DELTA_WARNING: string =
  "the provider keeps this conversation (conversationId or previousResponseId), so that only its newest items are here: " +
  "nothing is compacted. Set modelSettings.contextManagement for compaction on the provider's side, or leave the ids out.";
