import { CompactError } from "compact-context/internal/errors";
import {
  type MemorySource,
  type RecalledMemory,
  type RecallResult,
  recallRelevantMemory,
} from "compact-context/memory";
import { channelFolders } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { columnNames, type Row, table } from "../render/table.ts";
import { formatPercent, oneLine, paragraph, plural, safeLines } from "../render/text.ts";

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
      `  ${terminal.paint("strong", nameOf(item))}${noted}`,
      `    ${terminal.paint("faint", oneLine(path))}`,
      ...safeLines(content).flatMap((line) => paragraph(line, terminal.width, 4)),
      "",
    ];
  });
}

type RecallDecision = RecallResult["decisions"][number];

const WHY: Readonly<Record<RecallDecision["outcome"], string>> = {
  injected: "given to the model",
  clipped: "given to the model, cut to fit",
  folded: "left out: one above says the same",
  "no-room": "left out: those above fill the room there is",
  weak: "left out: it has too few of the question's words",
  unsure: "left out: none has many of the question's words, so the best alone is given",
  live: "left out: the conversation has it already",
  "not-meant": "left out: the model that ranks them did not choose it",
};

/** Every section that was looked at, with its score, how many of the query's words it has, and what became of it. */
function decisionLines(result: RecallResult, terminal: Terminal): string[] {
  const { decisions, renderedText, candidates } = result;
  const rows = decisions.map(
    (one): Row => [
      one.score.toFixed(2),
      formatPercent(one.coverage, 1),
      nameOf(one),
      {
        text: WHY[one.outcome],
        style: one.outcome === "injected" || one.outcome === "clipped" ? "good" : "faint",
      },
    ],
  );
  const said = (text: string): string[] =>
    paragraph(text, terminal.width).map((line) => terminal.paint("faint", line));
  if (rows.length === 0) return [...said("No section has a word of the question."), ""];
  const given =
    renderedText === ""
      ? "nothing"
      : `${plural(renderedText.length, "character")}, before the user's own words`;
  return [
    `  ${terminal.paint("strong", "Looked at")}  ${decisions.length} of ${plural(candidates, "section")}, the best first`,
    "",
    ...table(
      [columnNames("score", "words", "section", "what became of it"), ...rows],
      ["right", "right", "wrapped", "wrapped"],
      terminal,
    ),
    "",
    ...said(
      `Words: how much of the question the section has; rare words count more. The model is given ${given}.`,
    ),
    "",
  ];
}

function nameOf({ source, title }: Pick<RecallDecision, "source" | "title">): string {
  return title === "" ? source : `${source} / ${oneLine(title)}`;
}
