import type { ManagerState } from "../../compaction/ports.ts";
import type { CompactionReport } from "../../compaction/report.ts";

const number = (value: number): string => value.toLocaleString("en-US");
const CELLS = 20;

/** What `/context` tells. */
export function contextText(state: ManagerState, trigger: number): string {
  const { totalTokens, maxContextTokens } = state;
  if (totalTokens === 0) return "Nothing has been sent yet.";
  const used = totalTokens / maxContextTokens;
  const filled = Math.min(CELLS, Math.round(used * CELLS));
  const left = Math.max(0, Math.round(maxContextTokens * trigger - totalTokens));
  const bar = `${"█".repeat(filled)}${"░".repeat(CELLS - filled)}`;
  return [
    `${bar} ${number(totalTokens)} of ${number(maxContextTokens)} tokens (${Math.round(used * 100)} %)`,
    `${number(state.messageCount)} messages are sent; ${number(left)} tokens to the next compaction`,
    state.summaryCount === 0
      ? "nothing has been summarized"
      : `${state.summaryCount} compactions, the newest at ${state.lastSummaryAt}; originals in ${state.archiveSteps} archive steps`,
  ].join("\n");
}

/** One line that announces a compaction. */
export function compactedText(report: CompactionReport): string {
  const { tokensBefore, tokensAfter, prunedCount, clearedCount, archive } = report;
  const cleared = clearedCount === 0 ? "" : `, ${clearedCount} tool results emptied`;
  const place = archive === undefined ? "" : `; originals in ${archive.location}`;
  return `compacted: ${number(tokensBefore)} to ${number(tokensAfter)} tokens, ${prunedCount} messages summarized${cleared}${place}`;
}

export function statusText({ totalTokens, maxContextTokens, summaryVersion }: ManagerState): string {
  const percent = Math.round((totalTokens / maxContextTokens) * 100);
  return `context ${percent} %${summaryVersion === undefined ? "" : `, summary v${summaryVersion}`}`;
}
