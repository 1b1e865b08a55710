import { CompactError } from "compact-context/internal/errors";
import { checkMemory } from "compact-context/internal/memory/changes/check";
import { itemsOf } from "compact-context/internal/memory/changes/document";
import { readMemory } from "compact-context/internal/memory/changes/overview";
import { createMemoryWriter } from "compact-context/internal/memory/changes/writer";
import { actionNamed } from "../actions.ts";
import { openArchive } from "../archive.ts";
import type { Command, Invocation } from "../command.ts";
import { channelFolders } from "../files/channel.ts";
import { readConfig } from "../files/config.ts";
import { plural } from "../render/numbers.ts";
import { oneLine } from "../render/safe.ts";
import { changeLines, logLines, memoryLines, problemLines, undoLines } from "../views/memory.ts";

interface Folders {
  readonly channelDir: string;
  readonly workspaceDir: string;
  readonly user: string | undefined;
}

type Action = (folders: Folders, word: string | undefined, invocation: Invocation) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = { show, log, undo, forget, check };

export const memoryCommand: Command = {
  usage: "show | log [change] | undo CHANGE | forget ITEM | check  --channel DIR",
  summary:
    "a channel's memory: its items with ids and ages, every change of it, taking one back, what is wrong",
  flags: ["channel", "workspace", "user", "partial", "all", "archive", "json"],
  flagHelp: { all: "every change, not the newest 20 alone" },
  notes: [
    "show lists the sections of SESSION.md, MEMORY.md and HISTORY.md with the id of every item, since when it stands there, who said it and where.",
    "log lists the newest 20 changes, --all every one; with a change's id what it did and what it refused.",
    "undo makes the files what they were before a change. Lines that were changed again since stay; then nothing is done, unless --partial says that the rest will do.",
    "forget takes an item out for good: wherever the channel's folder tells it, and says where that was. It is not learned again. With --archive the archived sessions there that hold it word for word are deleted, too.",
    "check exits with 1 when it finds errors, 0 otherwise.",
  ],
  mostWords: 2,
  run: async (invocation) => {
    const { words, flags, ports } = invocation;
    const [name = "show", word] = words;
    const action = actionNamed(ACTIONS, name, "memory");
    if (flags.channel === undefined) throw noChannel(name);
    const folders = await channelFolders(flags.channel, flags, ports);
    return action({ ...folders, user: flags.user }, word, invocation);
  },
};

async function show(
  folders: Folders,
  _: string | undefined,
  { flags, ports, terminal }: Invocation,
): Promise<number> {
  const files = await readMemory(folders);
  if (flags.json === true) terminal.printJson({ files });
  else terminal.print(memoryLines(files, { now: ports.now().getTime(), terminal }));
  return 0;
}

async function log(
  folders: Folders,
  id: string | undefined,
  { flags, terminal }: Invocation,
): Promise<number> {
  const { changes, problems } = await createMemoryWriter(folders).log();
  const one = changes.find((change) => change.id === id);
  if (id !== undefined && one === undefined) throw noChange(id);
  if (flags.json === true) terminal.printJson(one ?? { changes, problems });
  else if (one !== undefined) terminal.print(changeLines(one, terminal));
  else terminal.print(logLines(changes, { all: flags.all === true, terminal }));
  return 0;
}

async function undo(
  folders: Folders,
  id: string | undefined,
  { flags, terminal }: Invocation,
): Promise<number> {
  if (id === undefined) throw missing("undo", "a change", "compact memory log lists them");
  const result = await createMemoryWriter(folders).undo(id, { partial: flags.partial === true });
  if (flags.json === true) terminal.printJson({ undoes: id, ...result });
  else terminal.print(undoLines(id, result, terminal));
  return result.changeId === undefined ? 1 : 0;
}

async function forget(folders: Folders, id: string | undefined, invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  if (id === undefined) throw missing("forget", "an item", "compact memory show lists them");
  const writer = createMemoryWriter(folders);
  const item = itemsOf(await writer.read("MEMORY.md")).find((one) => one.id === id);
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
  const sessions =
    item === undefined || flags.archive === undefined ? [] : await deleteArchived(item.text, invocation);
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
  const { config } = readConfig({ file: flags.config, cwd: ports.cwd, env: ports.env, warn });
  const archive = openArchive(config, { flag: flags.archive, cwd: ports.cwd, warn });
  const phrase = `"${text.replaceAll('"', " ").replace(/[.!?。]+$/, "")}"`;
  const sessions = new Set<string>();
  for (;;) {
    const { hits } = await archive.search(phrase, { limit: 100 });
    if (hits.length === 0) return [...sessions];
    for (const { sessionId } of hits) {
      if (sessions.has(sessionId)) continue;
      await archive.delete(sessionId);
      sessions.add(sessionId);
    }
  }
}

async function check(
  folders: Folders,
  _: string | undefined,
  { flags, ports, terminal }: Invocation,
): Promise<number> {
  const problems = await checkMemory({ ...folders, now: ports.now().getTime() });
  const errors = problems.filter(({ severity }) => severity === "error").length;
  if (flags.json === true) terminal.printJson({ errors, problems });
  else terminal.print(problemLines(problems, terminal));
  return errors > 0 ? 1 : 0;
}

function noChannel(action: string): CompactError {
  return new CompactError("InvalidUsage", "compact memory needs a channel", {
    hint: `Write compact memory ${action} --channel DIR, the folder with SESSION.md and MEMORY.md.`,
  });
}

function noChange(id: string): CompactError {
  return new CompactError("NotFound", `the log has no change ${oneLine(id)}`, {
    hint: "compact memory log --all lists every change with its id.",
  });
}

function missing(action: string, what: string, hint: string): CompactError {
  return new CompactError("InvalidUsage", `compact memory ${action} needs ${what}`, { hint: `${hint}.` });
}
