import type { CompactionReport } from "../core/report.ts";
import { readArgument, requireOptions } from "../errors.ts";

const number = (value: number): string => value.toLocaleString("en-US");

/** One line that announces a compaction: what it took, what it kept and where the rest is. */
export function compactedText(report: CompactionReport): string {
  requireOptions(report, "report", "Pass the report of a compaction.");
  return readArgument("report", "Pass the report of a compaction as it was given.", () => wordsFor(report));
}

function wordsFor(report: CompactionReport): string {
  const { tokensBefore, tokensAfter, prunedCount, clearedCount, archive, layers, reason } = report;
  const place = archive === undefined ? "" : `; originals in ${archive.location}`;
  const size = `${number(tokensBefore)} to ${number(tokensAfter)} tokens`;
  if (reason === "tool_output") return `long tool output shortened: ${size}${place}`;
  const cleared = clearedCount === 0 ? "" : `, ${clearedCount} tool results emptied`;
  const { pinned, recent, toolPairs, remainder } = layers.after;
  const kept = pinned.messages + recent.messages + toolPairs.messages + remainder.messages;
  return `compacted: ${size}, ${prunedCount} messages summarized${cleared}, ${kept} kept${place}`;
}
