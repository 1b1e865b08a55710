import { join } from "node:path";
import { CompactError } from "compact-context/internal/errors";
import {
  checkMemory,
  type MemoryOverviewFile,
  type MemoryProblem,
  readMemory,
} from "compact-context/internal/memory/changes/check";
import type { LoggedOperation, MemoryChange } from "compact-context/internal/memory/changes/store";
import { createMemoryWriter, type UndoResult } from "compact-context/internal/memory/changes/writer";
import { foldedText, searchableText } from "compact-context/internal/search/words";
import { type MemorySource, type RecallResult, recallRelevantMemory } from "compact-context/memory";
import { archiveOf } from "../archive.ts";
import { HISTORY_FILE, removeFromHistory } from "../chat/input.ts";
import { channelFolders } from "../files/config.ts";
import { type Invocation, misuse, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { columnNames, type Row, table } from "../render/table.ts";
import {
  formatAge,
  formatCount,
  formatPercent,
  oneLine,
  paragraph,
  plural,
  safeLines,
} from "../render/text.ts";

type MemoryDocument = MemoryOverviewFile["document"];
type MemoryItem = MemoryDocument["sections"][number]["items"][number];

export async function showMemory(invocation: Invocation): Promise<number> {
  const { ports, terminal } = invocation;
  const files = (await readMemory(await channelFolders("memory", invocation))).map(withWriter);
  printResult(invocation, { files }, () => [
    "",
    ...files.flatMap((file) => fileLines(file, ports.now().getTime(), terminal)),
    ...(files.length === 0 ? ["  There is no memory here yet.", ""] : []),
  ]);
  return 0;
}

export async function logMemory(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const [id] = invocation.words;
  const { changes, problems } = await createMemoryWriter(await channelFolders("memory", invocation)).log();
  const one = changes.find((change) => change.id === id);
  if (id !== undefined && one === undefined) {
    throw new CompactError("NotFound", `the log has no change ${oneLine(id)}`, {
      hint: "compact memory log --all lists all changes with their ids.",
    });
  }
  printResult(invocation, one ?? { changes, problems }, () =>
    one === undefined ? logLines(changes, { all: flags.all === true, terminal }) : changeLines(one, terminal),
  );
  return 0;
}

export async function undoMemory(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const [id = ""] = invocation.words;
  const result = await createMemoryWriter(await channelFolders("memory", invocation)).undo(id, {
    partial: flags.partial === true,
  });
  printResult(invocation, { undoes: id, ...result }, () => undoLines(id, result, terminal));
  return result.changeId === undefined ? 1 : 0;
}

/** The files with items, in the order in which an id is looked for. */
const FILES = ["MEMORY.md", "SESSION.md", "HISTORY.md"] as const;

export async function forgetMemory(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation;
  const [id = ""] = invocation.words;
  const folders = await channelFolders("memory", invocation);
  const writer = createMemoryWriter(folders);
  const documents = await Promise.all(FILES.map((file) => writer.read(file)));
  const items = documents.flatMap(({ sections }) => sections.flatMap((section) => section.items));
  const item = items.find((one) => one.id === id);
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
    item !== undefined && flags.archive !== undefined ? await deleteArchived(item.text, invocation) : [];
  const removed =
    item === undefined ? 0 : await removeFromHistory(join(folders.workspaceDir, HISTORY_FILE), item.text);
  const forgotten = [...result.forgotten, ...(removed > 0 ? [{ file: HISTORY_FILE, pieces: removed }] : [])];
  printResult(invocation, { ...result, forgotten, sessions }, () => [
    "",
    `  ${terminal.paint("good", "forgotten")}  ${oneLine(id)}`,
    ...forgotten.map(({ file, pieces }) => `      ${plural(pieces, "piece")} removed from ${file}`),
    ...sessions.map((session) => `      archived session ${oneLine(session)} deleted`),
    ...(flags.archive !== undefined && sessions.length === 0
      ? ["      no archived session contains it literally"]
      : []),
    "",
  ]);
  return 0;
}

/** Deletes the archived sessions that contain a text literally; they are deleted whole, as an archive is never rewritten. */
async function deleteArchived(text: string, invocation: Invocation): Promise<readonly string[]> {
  const archive = await archiveOf(invocation);
  const phrase = foldedText(text.replace(/[.!?。]+$/, "")).trim();
  // A query cannot contain quotation marks: it finds the texts between them, and the message tells.
  const pieces = phrase.split('"').filter((piece) => piece.trim() !== "");
  const query = pieces.map((piece) => `"${piece}"`).join(" ");
  const sessions = new Set<string>();
  for (;;) {
    const { hits } = await archive.search(query, { limit: 100 });
    const found = new Set<string>();
    for (const { sessionId, archiveId } of hits.filter((hit) => !sessions.has(hit.sessionId))) {
      const archived = await archive.findMessage(sessionId, archiveId);
      if (archived !== undefined && foldedText(searchableText(archived.message)).includes(phrase))
        found.add(sessionId);
    }
    if (found.size === 0) return [...sessions];
    for (const sessionId of found) {
      await archive.delete(sessionId);
      sessions.add(sessionId);
    }
  }
}

export async function checkMemoryFiles(invocation: Invocation): Promise<number> {
  const { ports, terminal } = invocation;
  const problems = await checkMemory({
    ...(await channelFolders("memory", invocation)),
    now: ports.now().getTime(),
  });
  const errors = problems.filter(({ severity }) => severity === "error").length;
  printResult(invocation, { errors, problems }, () => problemLines(problems, terminal));
  return errors > 0 ? 1 : 0;
}

/** Writers of the files whose lines carry no author mark. */
const DEFAULT_WRITERS: Readonly<
  Partial<Record<MemoryDocument["file"], Pick<MemoryItem, "writtenBy" | "trust">>>
> = {
  "SESSION.md": { writtenBy: "session-update", trust: "agent" },
  "HISTORY.md": { writtenBy: "history", trust: "agent" },
};

/** The file with the default writer for each line without a mark. */
function withWriter({ document, ...file }: MemoryOverviewFile): MemoryOverviewFile {
  const writer = DEFAULT_WRITERS[document.file];
  const sections = document.sections.map((section) => ({
    ...section,
    items: section.items.map((item) => (item.writtenBy === "person" ? { ...item, ...writer } : item)),
  }));
  return { ...file, document: { ...document, sections } };
}

/** A file's sections with their items: text, id, date and origin. */
function fileLines(
  { document, place, path, modified, characters }: MemoryOverviewFile,
  now: number,
  terminal: Terminal,
): string[] {
  const items = document.sections.flatMap((section) => section.items);
  const name = place === "workspace" ? `workspace ${document.file}` : document.file;
  const facts = `${plural(items.length, "item")}, ${plural(characters, "character")}, written ${formatAge(now - modified)}`;
  return [
    `  ${terminal.paint("strong", name)}`,
    `    ${facts}`,
    `    ${terminal.paint("faint", oneLine(path))}`,
    ...document.sections
      .filter((section) => section.items.length > 0)
      .flatMap((section) => [
        `    ${oneLine(section.heading) || "(no heading)"}  ${terminal.paint("faint", section.id)}`,
        ...section.items.flatMap((item) => itemLines(item, terminal)),
      ]),
    "",
  ];
}

function itemLines(item: MemoryItem, terminal: Terminal): string[] {
  const since = item.time === undefined ? "" : `since ${item.time.slice(0, 10)}, `;
  const from = `${since}${originOf(item)}`;
  return [
    ...indented(item.text, 6, terminal),
    ...indented(`${from}, ${item.id}`, 8, terminal).map((line) =>
      terminal.paint(item.trust === "tool" ? "warn" : "faint", line),
    ),
  ];
}

/** Author of an item, and its source. */
function originOf({ edited, writtenBy, trust, source }: MemoryItem): string {
  if (edited) return "edited by hand";
  if (writtenBy === "person") return "written by hand";
  if (writtenBy === "session-update" || writtenBy === "history") return "from the session";
  if (trust === "tool") return `from the tool ${oneLine(source ?? "")}`;
  if (trust === "agent") return "inferred by the agent";
  const [, session, message] = /^(.+)\/(.+?)$/.exec(source ?? "") ?? [];
  return message === undefined
    ? "said by you"
    : `said by you in ${oneLine(session ?? "")}, message ${oneLine(message)}`;
}

const SHOWN_CHANGES = 20;

/** Changes, newest first: time, author, operations and reason. */
function logLines(
  changes: readonly MemoryChange[],
  { all, terminal }: { readonly all: boolean; readonly terminal: Terminal },
): string[] {
  const newest = changes.toReversed();
  const shown = all ? newest : newest.slice(0, SHOWN_CHANGES);
  if (shown.length === 0) return ["", "  There are no changes yet.", ""];
  const more = newest.length - shown.length;
  return [
    "",
    ...shown.flatMap((change) => [
      `  ${terminal.paint("strong", change.id)}  ${change.time.replace("T", " ").slice(0, 16)}  ${change.author}`,
      ...indented(`${summaryOf(change)}: ${change.reason}`, 6, terminal),
    ]),
    ...(more > 0 ? ["", `  ${formatCount(more)} older ones: compact memory log --all`] : []),
    "",
  ];
}

function summaryOf({ operations, refused, undoes }: MemoryChange): string {
  if (undoes !== undefined) return `undo ${undoes}`;
  const counts = new Map<string, number>();
  for (const { op } of operations) counts.set(op, (counts.get(op) ?? 0) + 1);
  const done = [...counts].map(([op, count]) => (count === 1 ? op : `${op} ×${count}`)).join(", ");
  return refused.length === 0 ? done : `${done} (${refused.length} refused)`;
}

/** One change: its files, its operations, and those that were refused. */
function changeLines(change: MemoryChange, terminal: Terminal): string[] {
  const { id, time, author, reason, sources, files, operations, refused } = change;
  return [
    "",
    `  ${terminal.paint("strong", id)}  ${time}  ${author}`,
    ...indented(reason, 4, terminal),
    ...(sources.length === 0 ? [] : indented(`from ${sources.join(", ")}`, 4, terminal)),
    "",
    ...Object.entries(files).flatMap(([file, { before, after, gaveWay }]) => {
      const states = `${before ?? "(none)"} → ${after ?? "(none)"}`;
      const edit = gaveWay === true ? ", replaced by a manual edit" : "";
      return indented(`${file} ${states}${edit}`, 4, terminal);
    }),
    "",
    ...operations.flatMap((operation) => operationLines(operation, "good", terminal)),
    ...refused.flatMap(({ operation, message }) => [
      ...operationLines(operation, "warn", terminal),
      ...indented(`refused: ${message}`, 8, terminal),
    ]),
    `    ${terminal.paint("faint", operations.some(({ op }) => op === "forget") ? "It forgot something: it cannot be undone." : `compact memory undo ${id} undoes it.`)}`,
    "",
  ];
}

function operationLines(
  { op, id, text, characters, section, file, target }: LoggedOperation,
  style: "good" | "warn",
  terminal: Terminal,
): string[] {
  const where = [file, section, target, id].filter((part): part is string => typeof part === "string");
  const size = typeof characters === "number" ? `  ${plural(characters, "character")}` : "";
  return [
    `    ${terminal.paint(style, op)}  ${[...new Set(where)].map(oneLine).join("  ")}${size}`,
    ...(typeof text === "string" ? indented(text, 8, terminal) : []),
  ];
}

/** Escaped text in lines indented by `cells`. */
function indented(text: string, cells: number, { width }: Terminal): string[] {
  return paragraph(oneLine(text), width, cells);
}

/** The result of an undo, or the lines that prevent it. */
function undoLines(id: string, { changeId, left }: UndoResult, terminal: Terminal): string[] {
  const kept = left.flatMap(({ file, line, lastLine, later }) => {
    const by = later.length === 0 ? "" : ` (${later.join(", ")})`;
    return indented(
      `${file} lines ${line}–${lastLine} as ${id} left them were changed since${by}`,
      4,
      terminal,
    );
  });
  if (changeId !== undefined) {
    const part = left.length > 0 ? "a part of " : "";
    return ["", `  ${terminal.paint("good", "undone")}  ${part}${oneLine(id)}, in ${changeId}`, ...kept, ""];
  }
  if (left.length === 0) return ["", `  Nothing of ${oneLine(id)} is left to undo.`, ""];
  return [
    "",
    `  ${terminal.paint("warn", "not undone")}`,
    ...kept,
    ...indented("Undo the later changes first, or undo only the rest with --partial.", 4, terminal),
    "",
  ];
}

/** The problems, errors first. */
function problemLines(problems: readonly MemoryProblem[], terminal: Terminal): string[] {
  if (problems.length === 0)
    return ["", `  ${terminal.paint("good", "clean")}  This memory has no problems.`, ""];
  const rank = ({ severity }: MemoryProblem): number => (severity === "error" ? 0 : 1);
  return [
    "",
    ...problems
      .toSorted((one, other) => rank(one) - rank(other))
      .flatMap(({ severity, kind, place, message, hint }) => [
        `  ${terminal.paint(severity === "error" ? "bad" : "warn", severity)}  ${kind}  ${oneLine(place)}`,
        ...indented(message, 6, terminal),
        ...indented(hint, 6, terminal).map((line) => terminal.paint("faint", line)),
      ]),
    "",
  ];
}

const NOTES: readonly MemorySource[] = [
  "channel-session",
  "channel-memory",
  "workspace-memory",
  "channel-history",
];
const LOGS: readonly MemorySource[] = ["channel-log", "channel-context"];

export async function recallMemory(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal, words } = invocation;
  const [query = ""] = words;
  const folders = await channelFolders("recall", invocation);
  if (query.trim() === "") {
    throw misuse("compact recall needs a query", "Write compact recall 'some words' --channel DIR.");
  }
  const result = await recallRelevantMemory({
    query,
    ...folders,
    sources: flags.all === true ? [...NOTES, ...LOGS] : NOTES,
    now: ports.now().getTime(),
    warn: (text) => terminal.warn(text),
  });
  printResult(invocation, result, () => [
    "",
    ...recalledLines(result, terminal),
    ...(flags.debug === true ? decisionLines(result, terminal) : []),
  ]);
  return 0;
}

function recalledLines({ items, candidates }: RecallResult, terminal: Terminal): string[] {
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

const DECISIONS: Readonly<Record<RecallDecision["outcome"], string>> = {
  injected: "given to the model",
  clipped: "given to the model, cut to fit",
  folded: "left out: the same as another",
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
        text: DECISIONS[one.outcome],
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
