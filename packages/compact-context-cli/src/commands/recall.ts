import { CompactError } from "compact-context/internal/errors";
import {
  type MemorySource,
  type RecalledMemory,
  type RecallResult,
  recallRelevantMemory,
} from "compact-context/memory";
import { channelFolders } from "../files/channel.ts";
import type { Invocation } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { type Row, table } from "../render/table.ts";
import { oneLine, safeLines } from "../render/width.ts";

const MEMORY: readonly MemorySource[] = [
  "channel-session",
  "channel-memory",
  "workspace-memory",
  "channel-history",
];
const LOGS: readonly MemorySource[] = ["channel-log", "channel-context"];

export async function recallMemory(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal, words } = invocation;
  const folders = await channelFolders("recall", invocation);
  const result = await recallRelevantMemory({
    query: queryOf(words),
    ...folders,
    sources: flags.all === true ? [...MEMORY, ...LOGS] : MEMORY,
    now: ports.now().getTime(),
    warn: (text) => terminal.warn(text),
  });
  if (flags.json === true) terminal.printJson(result);
  else terminal.print(["", ...linesOf(result.items, result.candidates, invocation)]);
  if (flags.json !== true && flags.debug === true) terminal.print(decisionLines(result, terminal));
  return 0;
}

function queryOf(words: readonly string[]): string {
  const [query = ""] = words;
  if (query.trim() !== "") return query;
  throw new CompactError("InvalidUsage", "compact recall needs a query", {
    hint: "Write compact recall 'some words' --channel DIR.",
  });
}

function linesOf(items: readonly RecalledMemory[], candidates: number, { terminal }: Invocation): string[] {
  if (items.length === 0) {
    return [
      `  Nothing in ${candidates === 1 ? "one section" : `${candidates} sections`} speaks to that.`,
      "",
    ];
  }
  return items.flatMap(({ path, timestamp, content, ...item }) => {
    const noted = timestamp === undefined ? "" : `  ${timestamp.slice(0, 10)}`;
    return [
      `  ${terminal.paint("strong", nameOf(item))}  ${terminal.paint("faint", `${oneLine(path)}${noted}`)}`,
      ...safeLines(content).map((line) => `    ${line}`),
      "",
    ];
  });
}

type RecallDecision = RecallResult["decisions"][number];

const WHY: Readonly<Record<RecallDecision["outcome"], string>> = {
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
function decisionLines(result: RecallResult, terminal: Terminal): string[] {
  const { decisions, renderedText, candidates } = result;
  const rows = decisions.map(
    (one): Row => [
      one.score.toFixed(2),
      `${Math.round(one.coverage * 100)}%`,
      nameOf(one),
      {
        text: WHY[one.outcome],
        style: one.outcome === "injected" || one.outcome === "clipped" ? "good" : "faint",
      },
    ],
  );
  return [
    `  ${terminal.paint("strong", "Looked at")}  ${decisions.length} of ${candidates} sections: score, share of the query's words, what became of it`,
    "",
    ...table(rows, ["right", "right", "flexible", "left"], terminal),
    ...(decisions.length === 0 ? ["  No section has a word of it."] : []),
    "",
    `  ${terminal.paint("faint", `The block has ${renderedText.length} characters and stands before the user's words.`)}`,
    "",
  ];
}

function nameOf({ source, title }: Pick<RecallDecision, "source" | "title">): string {
  return title === "" ? source : `${source} / ${oneLine(title)}`;
}
