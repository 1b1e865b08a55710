import type { CompactionReport } from "compact-context/internal/core/report";
import { formatCount, plural } from "../render/numbers.ts";

/** What a compaction did, in a line: sizes, and what was kept. */
export function compactionWords(report: CompactionReport): string {
  const { tokensBefore, tokensAfter, prunedCount, clearedCount, layers, reason } = report;
  const size = `${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens`;
  if (reason === "tool_output") return `${size}: long tool output shortened, the whole is archived`;
  const { pinned, recent, toolPairs, remainder } = layers.after;
  const kept = pinned.messages + recent.messages + toolPairs.messages + remainder.messages;
  const cleared = clearedCount === 0 ? "" : `, ${plural(clearedCount, "tool result")} emptied`;
  return `${size}: ${formatCount(prunedCount)} summarized${cleared}, ${formatCount(kept)} kept, all archived`;
}
