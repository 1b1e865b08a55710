import { clipEnd, oneLine } from "../../summarizers/extractive/text.ts";
import {
  type ChangeNote,
  itemsOf,
  type MemoryDocument,
  type MemoryItem,
  type MemorySection,
  type Operation,
} from "../changes/document.ts";
import { sayTheSame } from "../learning/relation.ts";
import { isTransient } from "../learning/statements.ts";
import { runTask, type TaskContext, type TwoForms } from "../memory-task.ts";
import { parseSessionMemory } from "../session-memory.ts";

type Done = Promise<"written" | "unchanged">;
type UpkeepOperation = Operation<"add" | "invalidate" | "foldSections">;

/** Background maintenance after a consolidation. Runs every step, then rejects with the first failure. */
export async function upkeep(context: TaskContext, signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const step of [promote, cleanUp, foldHistory]) {
    if (signal?.aborted === true) return;
    await step(context).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/** Runs a task and applies its operations. */
function change(task: TwoForms<readonly UpkeepOperation[]>, note: ChangeNote, context: TaskContext): Done {
  const settle = async (operations: readonly UpkeepOperation[]): Promise<boolean> =>
    operations.length > 0 && (await context.writer.apply(operations, note)).changeId !== undefined;
  return runTask(task, settle, context);
}

// ---- MEMORY.md: only lasting statements, each once

/** Removes transient statements and duplicates from MEMORY.md; lines that people wrote stay. */
export async function cleanUp(context: TaskContext): Done {
  const items = itemsOf(await context.writer.read("MEMORY.md"));
  if (!items.some(isOurs)) return "unchanged";
  const reason = "MEMORY.md holds what lasts, once";
  const note = { author: "cleanup", reason, sources: ["MEMORY.md"] } as const;
  return change({ name: "cleanup", byProgram: () => outOfPlace(items) }, note, context);
}

function isOurs({ writtenBy }: MemoryItem): boolean {
  return writtenBy !== "person";
}

/** Transient items a person did not ask to remember, and the older of two that say the same. */
function outOfPlace(items: readonly MemoryItem[]): Operation<"invalidate">[] {
  return items.filter(isOurs).flatMap((item): Operation<"invalidate">[] => {
    const again = items.find((other) => isSaidAgain(item, other));
    if (again !== undefined) return [{ op: "invalidate", target: item.id, why: `said again in ${again.id}` }];
    if (item.trust === "person" || !isTransient(item.text)) return [];
    return [{ op: "invalidate", target: item.id, why: "it told of a passing state" }];
  });
}

function isSaidAgain(item: MemoryItem, other: MemoryItem): boolean {
  if (other.id === item.id || !sayTheSame(item.text, other.text)) return false;
  if (!isOurs(other)) return true;
  const older = (item.time ?? "").localeCompare(other.time ?? "");
  return older < 0 || (older === 0 && item.line < other.line);
}

// ---- HISTORY.md: folded when long

/** The history is folded at this many entries or characters; the newest entries are kept. */
export const FOLDING = { entries: 40, characters: 48_000, kept: 20 } as const;

const DATED = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d/;
const LONGEST = 240;

/** Folds the oldest entries into one section, a line each; the entries move to the history's archive. */
export async function foldHistory(context: TaskContext): Done {
  const old = entriesToFold(await context.writer.read("HISTORY.md"));
  if (old.length === 0) return "unchanged";
  const note = { author: "history", reason: `${old.length} older entries became one section` } as const;
  const fold = {
    op: "foldSections",
    sections: old.map(({ id }) => id),
    heading: `${dayOf(old[0])} to ${dayOf(old.at(-1))}`,
    text: old.map((section) => `- ${clipEnd(oneLine(lineOf(section)), LONGEST)}`).join("\n"),
  } as const;
  return change({ name: "history-folding", byProgram: () => [fold] }, note, context);
}

/** Dated entries except the newest, oldest first; empty while the history is short. Other sections stay. */
function entriesToFold({ sections }: MemoryDocument): readonly MemorySection[] {
  const entries = sections.filter(({ heading, level }) => level === 2 && DATED.test(heading));
  const characters = entries.flatMap(({ items }) => items).reduce((sum, { text }) => sum + text.length, 0);
  if (entries.length < FOLDING.entries && characters < FOLDING.characters) return [];
  return entries.slice(0, Math.max(0, entries.length - FOLDING.kept));
}

function dayOf(section: MemorySection | undefined): string {
  return DATED.exec(section?.heading ?? "")?.[1] ?? "";
}

/** Its date, its title, and a decision or else the last line. */
function lineOf(section: MemorySection): string {
  const title = section.heading.replace(/^\S+\s*/, "");
  const said = section.items.find(({ text }) => /^Decided: /.test(text)) ?? section.items.at(-1);
  return `${dayOf(section)} ${title}${said === undefined ? "" : `: ${said.text}`}`;
}

// ---- recurring statements

/** Number of history entries that must say the same as the session before it counts as lasting. */
const TIMES = 2;
const MOST_AT_ONCE = 5;
const ASKED = /^Asked for: /;
const DECIDED = /^Decided: /;

/** Adds to MEMORY.md the rules and decisions of the session that also occur in enough history entries. */
export async function promote({ writer, ...context }: TaskContext): Done {
  const session = parseSessionMemory((await writer.read("SESSION.md")).text);
  const { sections } = await writer.read("HISTORY.md");
  const known = itemsOf(await writer.read("MEMORY.md")).map(({ text }) => text);
  if (sections.filter(({ items }) => items.length > 0).length < TIMES) return "unchanged";
  const recurs = (text: string, label: RegExp): boolean =>
    !isTransient(text) &&
    !known.some((item) => sayTheSame(item, text)) &&
    sections.filter(({ items }) =>
      items.some((item) => label.test(item.text) && sayTheSame(item.text.replace(label, ""), text)),
    ).length >= TIMES;
  const byProgram = (): readonly Operation<"add">[] => {
    const rules = session.constraints.filter((text) => recurs(text, ASKED));
    const decisions = session.decisions.filter((text) => recurs(text, DECIDED));
    return [
      ...rules.map((text) => ({ op: "add", section: "Constraints", text, trust: "person" }) as const),
      ...decisions.map((text) => ({ op: "add", section: "Decisions", text, trust: "agent" }) as const),
    ].slice(0, MOST_AT_ONCE);
  };
  const reason = "it came up again and again";
  const note = { author: "promotion", reason, sources: ["SESSION.md", "HISTORY.md"] } as const;
  return change({ name: "promotion", byProgram }, note, { writer, ...context });
}
