import type { Message } from "../messages/message.ts";
import { type KeepCounts, partition } from "../policy/partition.ts";
import { newestTypedAsk } from "./ask.ts";
import { markSummaries } from "./assemble.ts";
import type { LayerName } from "./report.ts";

/** The layer of each message; a summary of ours is its own layer. */
export function layersOf(messages: readonly Message[], keep: KeepCounts): LayerName[] {
  const marked = markSummaries(messages);
  const { layers } = partition(marked, keep, newestTypedAsk(marked));
  return marked.map((message, index) =>
    message.meta?.summaryVersion === undefined ? (layers[index] ?? "remainder") : "summary",
  );
}
