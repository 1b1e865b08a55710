import { CompactError } from "compact-context/internal/errors";
import {
  type MemorySource,
  type RecalledMemory,
  type RecallResult,
  recallRelevantMemory,
} from "compact-context/memory";
import { channelFolders } from "../files/config.ts";
import { type Invocation, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { columnNames, type Row, table } from "../render/table.ts";
import { formatPercent, oneLine, paragraph, plural, safeLines } from "../render/text.ts";

const NOTES: readonly MemorySource[] = [
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
    sources: flags.all === true ? [...NOTES, ...LOGS] : NOTES,
    now: ports.now().getTime(),
    warn: (text) => terminal.warn(text),
  });
  printResult(invocation, result, () => [
    "",
    ...linesOf(result.items, result.candidates, terminal),
    ...(flags.debug === true ? decisionLines(result, terminal) : []),
  ]);
  return 0;
}

function queryOf(words: readonly string[]): string {
  const [query = ""] = words;
  if (query.trim() !== "") return query;
  throw new CompactError("InvalidUsage", "compact recall needs a query", {
    hint: "Write compact recall 'some words' --channel DIR.",
  });
}

function linesOf(items: readonly RecalledMemory[], candidates: number, terminal: Terminal): string[] {
  if (items.length === 0) return [`  Nothing in ${plural(candidates, "section")} is relevant.`, ""];
  return items.flatMap(({ path, timestamp, content, ...item }) => {
    const date = timestamp === undefined ? "" : `  ${timestamp.slice(0, 10)}`;
    return [
      `  ${terminal.paint("strong", nameOf(item))}${date}`,
      `    ${terminal.paint("faint", oneLine(path))}`,
      ...safeLines(content).flatMap((line) => paragraph(line, terminal.width, 4)),
      "",
    ];
  });
}

type RecallDecision = RecallResult["decisions"][number];

const REASONS: Readonly<Record<RecallDecision["outcome"], string>> = {
  injected: "given to the model",
  clipped: "given to the model, cut to fit",
  folded: "left out: the same as one above",
  "no-room": "left out: those above use the whole budget",
  weak: "left out: too few of the question's words",
  unsure: "left out: no section has many of the question's words, so only the best is given",
  live: "left out: already in the conversation",
  "not-meant": "left out: not chosen by the ranking model",
};

/** All candidates with their score, their share of the query's words, and the outcome. */
function decisionLines(result: RecallResult, terminal: Terminal): string[] {
  const { decisions, renderedText, candidates } = result;
  const rows = decisions.map(
    (one): Row => [
      one.score.toFixed(2),
      formatPercent(one.coverage, 1),
      nameOf(one),
      {
        text: REASONS[one.outcome],
        style: one.outcome === "injected" || one.outcome === "clipped" ? "good" : "faint",
      },
    ],
  );
  const note = (text: string): string[] =>
    paragraph(text, terminal.width).map((line) => terminal.paint("faint", line));
  if (rows.length === 0) return [...note("No section has a word of the question."), ""];
  const given =
    renderedText === ""
      ? "nothing"
      : `${plural(renderedText.length, "character")}, before the user's message`;
  return [
    `  ${terminal.paint("strong", "Candidates")}  ${decisions.length} of ${plural(candidates, "section")}, the best first`,
    "",
    ...table(
      [columnNames("score", "words", "section", "outcome"), ...rows],
      ["right", "right", "wrapped", "wrapped"],
      terminal,
    ),
    "",
    ...note(
      `Words: share of the question's words in the section; rare words count more. The model is given ${given}.`,
    ),
    "",
  ];
}

function nameOf({ source, title }: Pick<RecallDecision, "source" | "title">): string {
  return title === "" ? source : `${source} / ${oneLine(title)}`;
}
