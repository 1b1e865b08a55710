import { CompactError } from "compact-context/internal/errors";
import { checkMemory, createMemoryWriter, readMemory } from "compact-context/memory";
import type { Invocation } from "../command.ts";
import { type ChannelFolders, channelFolders } from "../files/channel.ts";
import { oneLine } from "../render/safe.ts";
import { changeLines, logLines, memoryLines, problemLines, undoLines } from "../views/memory.ts";

interface Folders extends ChannelFolders {
  readonly user: string | undefined;
}

async function foldersOf({ flags, ports }: Invocation): Promise<Folders> {
  return { ...(await channelFolders("memory", flags, ports)), user: flags.user };
}

export async function showMemory(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const files = await readMemory(await foldersOf(invocation));
  if (flags.json === true) terminal.printJson({ files });
  else terminal.print(memoryLines(files, { now: ports.now().getTime(), terminal }));
  return 0;
}

export async function logMemory(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const [id] = invocation.words;
  const { changes, problems } = await createMemoryWriter(await foldersOf(invocation)).log();
  const one = changes.find((change) => change.id === id);
  if (id !== undefined && one === undefined) throw noChange(id);
  if (flags.json === true) terminal.printJson(one ?? { changes, problems });
  else if (one !== undefined) terminal.print(changeLines(one, terminal));
  else terminal.print(logLines(changes, { all: flags.all === true, terminal }));
  return 0;
}

export async function undoMemory(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const [id = ""] = invocation.words;
  const result = await createMemoryWriter(await foldersOf(invocation)).undo(id, {
    partial: flags.partial === true,
  });
  if (flags.json === true) terminal.printJson({ undoes: id, ...result });
  else terminal.print(undoLines(id, result, terminal));
  return result.changeId === undefined ? 1 : 0;
}

export async function forgetMemory(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const [id = ""] = invocation.words;
  const result = await createMemoryWriter(await foldersOf(invocation)).apply(
    [{ op: "forget", target: id, forGood: true }],
    {
      author: "person",
      reason: "compact memory forget",
    },
  );
  const [refused] = result.refused;
  if (refused !== undefined) {
    throw new CompactError("NotFound", refused.message, {
      place: oneLine(id),
      hint: "compact memory show lists the items with their ids.",
    });
  }
  if (flags.json === true) terminal.printJson(result);
  else
    terminal.print([
      "",
      `  ${terminal.paint("good", "forgotten")}  ${oneLine(id)}, in ${result.changeId ?? ""}`,
      "",
    ]);
  return 0;
}

export async function checkMemoryFiles(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const problems = await checkMemory({ ...(await foldersOf(invocation)), now: ports.now().getTime() });
  const errors = problems.filter(({ severity }) => severity === "error").length;
  if (flags.json === true) terminal.printJson({ errors, problems });
  else terminal.print(problemLines(problems, terminal));
  return errors > 0 ? 1 : 0;
}

function noChange(id: string): CompactError {
  return new CompactError("NotFound", `the log has no change ${oneLine(id)}`, {
    hint: "compact memory log --all lists every change with its id.",
  });
}
