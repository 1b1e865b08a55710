import { CompactError } from "compact-context/internal/errors";
import type { MemorySource } from "compact-context/internal/memory/memory-candidate";
import { type RecalledMemory, recallRelevantMemory } from "compact-context/internal/memory/recall";
import type { Command, Invocation } from "../command.ts";
import { channelFolders } from "../files/channel.ts";
import { oneLine, safeLines } from "../render/safe.ts";
import { decisionLines } from "../views/recall.ts";

const MEMORY: readonly MemorySource[] = [
  "channel-session",
  "channel-memory",
  "workspace-memory",
  "channel-history",
];
const LOGS: readonly MemorySource[] = ["channel-log", "channel-context"];

export const recallCommand: Command = {
  usage: "<query> --channel DIR",
  summary: "what a channel's memory says to a question: the sections that would be put before the message",
  flags: ["channel", "workspace", "user", "all", "debug", "json"],
  flagHelp: { all: "the channel's logs as well" },
  notes: [
    "Reads SESSION.md, MEMORY.md and HISTORY.md of the channel and MEMORY.md of the workspace; writes nothing.",
    "--all searches the channel's logs as well. --json has the text of the block, too.",
    "--debug adds every section that was looked at, its score, and why it is in the block or not.",
    "Exit code 0 also when nothing is relevant.",
  ],
  mostWords: 1,
  run: async (invocation) => {
    const { flags, ports, terminal, words } = invocation;
    const folders = await channelFolders(channelIn(flags.channel), flags, ports);
    const result = await recallRelevantMemory({
      query: queryOf(words),
      ...folders,
      user: flags.user,
      sources: flags.all === true ? [...MEMORY, ...LOGS] : MEMORY,
      now: ports.now().getTime(),
      warn: (text) => terminal.warn(text),
    });
    if (flags.json === true) terminal.printJson(result);
    else terminal.print(["", ...linesOf(result.items, result.candidates, invocation)]);
    if (flags.json !== true && flags.debug === true) terminal.print(decisionLines(result, terminal));
    return 0;
  },
};

function queryOf(words: readonly string[]): string {
  const [query = ""] = words;
  if (query.trim() !== "") return query;
  throw new CompactError("InvalidUsage", "compact recall needs a query", {
    hint: "Write compact recall 'some words' --channel DIR.",
  });
}

function channelIn(given: string | undefined): string {
  if (given !== undefined) return given;
  throw new CompactError("InvalidUsage", "compact recall needs a channel", {
    hint: "Write compact recall 'some words' --channel DIR, the folder with SESSION.md and MEMORY.md.",
  });
}

function linesOf(items: readonly RecalledMemory[], candidates: number, { terminal }: Invocation): string[] {
  if (items.length === 0) {
    return [
      `  Nothing in ${candidates === 1 ? "one section" : `${candidates} sections`} speaks to that.`,
      "",
    ];
  }
  return items.flatMap(({ source, title, path, timestamp, content }) => {
    const name = title === "" ? source : `${source} / ${oneLine(title)}`;
    const noted = timestamp === undefined ? "" : `  ${timestamp.slice(0, 10)}`;
    return [
      `  ${terminal.paint("strong", name)}  ${terminal.paint("faint", `${oneLine(path)}${noted}`)}`,
      ...safeLines(content).map((line) => `    ${line}`),
      "",
    ];
  });
}
