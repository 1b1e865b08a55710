import { CompactError } from "compact-context/internal/errors";
import type { MemorySource } from "compact-context/memory";
import { type RecalledMemory, recallRelevantMemory } from "compact-context/memory";
import type { Invocation } from "../command.ts";
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

export async function recallMemory(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal, words } = invocation;
  const folders = await channelFolders("recall", flags, ports);
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
