import type { RecallDecision, RecallOutcome } from "compact-context/internal/memory/recall";
import type { RecallResult } from "compact-context/memory";
import { oneLine } from "../render/safe.ts";
import { type Cell, table } from "../render/table.ts";
import type { Terminal } from "../terminal.ts";

const WHY: Readonly<Record<RecallOutcome, string>> = {
  injected: "in the block",
  clipped: "in the block, cut to the room",
  folded: "says the same as one above",
  "no-room": "no room was left",
  weak: "holds too little of the query",
  unsure: "even the best may be chance: it stands alone",
  live: "the conversation holds it already",
  "not-meant": "left out by the reranker",
};

/** Every section that was looked at, with its score, its share of the query's words, and what became of it. */
export function decisionLines(result: RecallResult, terminal: Terminal): string[] {
  const { decisions, renderedText, candidates } = result;
  const rows = decisions.map((one): (Cell | string)[] => [
    one.score.toFixed(2),
    `${Math.round(one.coverage * 100)}%`,
    nameOf(one),
    {
      text: WHY[one.outcome],
      style: one.outcome === "injected" || one.outcome === "clipped" ? "good" : "faint",
    },
  ]);
  return [
    `  ${terminal.paint("strong", "Looked at")}  ${decisions.length} of ${candidates} sections: score, share of the query's words, what became of it`,
    "",
    ...table(rows, {
      columns: [{ align: "right" }, { align: "right" }, { flexible: true }, {}],
      width: terminal.width,
      paint: terminal.paint,
    }),
    ...(decisions.length === 0 ? ["  No section has a word of it."] : []),
    "",
    `  ${terminal.paint("faint", `The block has ${renderedText.length} characters and stands before the user's words.`)}`,
    "",
  ];
}

function nameOf({ source, title }: RecallDecision): string {
  return title === "" ? source : `${source} / ${oneLine(title)}`;
}
