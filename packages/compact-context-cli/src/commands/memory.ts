import { CompactError } from "compact-context/internal/errors";
import { checkMemory, readMemory } from "compact-context/internal/memory/changes/check";
import { createMemoryWriter } from "compact-context/memory";
import { openArchive } from "../archive.ts";
import type { Invocation } from "../command.ts";
import { type ChannelFolders, channelFolders } from "../files/channel.ts";
import { readConfig } from "../files/config.ts";
import { plural } from "../render/numbers.ts";
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
  const writer = createMemoryWriter(await foldersOf(invocation));
  const { sections } = await writer.read("MEMORY.md");
  const item = sections.flatMap(({ items }) => items).find((one) => one.id === id);
  const result = await writer.apply([{ op: "forget", target: id }], {
    author: "person",
    reason: "compact memory forget",
  });
  const [refused] = result.refused;
  if (refused !== undefined) {
    throw new CompactError("NotFound", refused.message, {
      place: oneLine(id),
      hint: "compact memory show lists the items with their ids.",
    });
  }
  const asked = item !== undefined && flags.archive !== undefined;
  const sessions = asked ? await deleteArchived(item.text, invocation) : [];
  if (flags.json === true) terminal.printJson({ ...result, sessions });
  else
    terminal.print([
      "",
      `  ${terminal.paint("good", "forgotten")}  ${oneLine(id)}`,
      ...result.forgotten.map(({ file, pieces }) => `      ${plural(pieces, "piece")} out of ${file}`),
      ...sessions.map((session) => `      archived session ${oneLine(session)} deleted`),
      "",
    ]);
  return 0;
}

/** Deletes the archived sessions that hold a text word for word, whole: an archive is never rewritten. */
async function deleteArchived(
  text: string,
  { flags, ports, terminal }: Invocation,
): Promise<readonly string[]> {
  const warn = (said: string): void => terminal.warn(said);
  const settings = readConfig({ file: flags.config, cwd: ports.cwd, env: ports.env, warn });
  const archive = openArchive({ ...settings, flag: flags.archive, ports, warn });
  const phrase = `"${text.replaceAll('"', " ").replace(/[.!?。]+$/, "")}"`;
  const sessions = new Set<string>();
  for (;;) {
    const { hits } = await archive.search(phrase, { limit: 100 });
    const found = new Set(hits.map(({ sessionId }) => sessionId).filter((one) => !sessions.has(one)));
    if (found.size === 0) return [...sessions];
    for (const sessionId of found) {
      await archive.delete(sessionId);
      sessions.add(sessionId);
    }
  }
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
