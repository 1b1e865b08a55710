import { clipEnd, oneLine } from "../../summarizers/extractive/text.ts";
import { asData } from "../../summarizers/llm/prompts.ts";
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
import { heldBy } from "../learning/terms.ts";
import { runTask, type TaskContext, type TwoForms } from "../memory-task.ts";
import { parseSessionMemory, type SessionMemoryState } from "../session-memory.ts";
import { RULES_OF_RECORDS } from "../session-update/update.ts";
import type { SidecarTask } from "../sidecar.ts";
import { sectionOf } from "./consolidate.ts";

type Done = Promise<"written" | "unchanged">;
type UpkeepOperation = Operation<"add" | "invalidate" | "foldSections">;

/** Background maintenance after a consolidation. Runs every step, then rejects with the first failure. */
export async function upkeep(context: TaskContext, signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const step of [promote, cleanUp, foldHistory]) {
    if (signal?.aborted === true) return;
    await step(context, signal).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

/** Runs a task and applies its operations. */
function change(
  task: TwoForms<readonly UpkeepOperation[]>,
  note: ChangeNote,
  context: TaskContext,
  signal?: AbortSignal,
): Done {
  const settle = async (operations: readonly UpkeepOperation[]): Promise<boolean> =>
    operations.length > 0 && (await context.writer.apply(operations, note)).changeId !== undefined;
  return runTask(task, settle, context, signal);
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

/** The channel's notes. */
interface Notes {
  readonly session: SessionMemoryState;
  readonly history: MemoryDocument;
  readonly memory: MemoryDocument;
}

/** Number of history entries that must say the same as the session before it counts as lasting. */
const TIMES = 2;
const MOST_AT_ONCE = 5;
/** Minimum share of a statement's words that a note must contain to be its source. */
const FOUNDED = 0.6;
const MOST_CHARACTERS = 12_000;
const ASKED = /^Asked for: /;
const DECIDED = /^Decided: /;

/** Adds to MEMORY.md what recurs across sessions. */
export async function promote(context: TaskContext, signal?: AbortSignal): Done {
  const { writer } = context;
  const notes: Notes = {
    session: parseSessionMemory((await writer.read("SESSION.md")).text),
    history: await writer.read("HISTORY.md"),
    memory: await writer.read("MEMORY.md"),
  };
  if (notes.history.sections.filter(({ items }) => items.length > 0).length < TIMES) return "unchanged";
  const reason = "it came up again and again";
  const note = { author: "promotion", reason, sources: ["SESSION.md", "HISTORY.md"] } as const;
  const forms = { byModel: () => promotionTask(notes), byProgram: () => recurring(notes) };
  return change({ name: "promotion", ...forms }, note, context, signal);
}

/** Rules and decisions of the session that also occur in enough history entries. */
function recurring({ session, history, memory }: Notes): Operation<"add">[] {
  const known = itemsOf(memory).map(({ text }) => text);
  const recurs = (text: string, label: RegExp): boolean =>
    !isTransient(text) &&
    !known.some((item) => sayTheSame(item, text)) &&
    history.sections.filter(({ items }) =>
      items.some((item) => label.test(item.text) && sayTheSame(item.text.replace(label, ""), text)),
    ).length >= TIMES;
  const rules = session.constraints.filter((text) => recurs(text, ASKED));
  const decisions = session.decisions.filter((text) => recurs(text, DECIDED));
  return [
    ...rules.map((text) => ({ op: "add", section: "Constraints", text, trust: "person" }) as const),
    ...decisions.map((text) => ({ op: "add", section: "Decisions", text, trust: "agent" }) as const),
  ].slice(0, MOST_AT_ONCE);
}

const SYSTEM = `You keep the long-term memory of a channel in which a user works with an AI agent. You are given its history, the notes of the session and the memory. Find what came up in at least ${TIMES} different entries of the history, is not in the memory, and will still hold in a month.

${RULES_OF_RECORDS}

The object has one field, "promote": a list of at most ${MOST_AT_ONCE} {"section": "Constraints" | "Decisions" | "Facts", "text"}; an empty list when there is nothing. Copy the text from the notes where you can.`;

function promotionTask(notes: Notes): SidecarTask<readonly Operation<"add">[]> {
  const memory = itemsOf(notes.memory).map(({ text }) => text);
  const session = [...notes.session.constraints, ...notes.session.decisions];
  const block = (name: string, text: string): string => `<${name}>\n${asData(text)}\n</${name}>`;
  return {
    name: "promotion",
    systemPrompt: SYSTEM,
    prompt: [
      block("memory", memory.join("\n").slice(0, MOST_CHARACTERS)),
      block("notes_so_far", session.join("\n").slice(0, MOST_CHARACTERS)),
      block("records", notes.history.text.slice(-MOST_CHARACTERS)),
    ].join("\n\n"),
    shape: "object",
    parse: (text) => readPromotion(JSON.parse(text) as { readonly promote?: unknown }, notes),
  };
}

/** Accepts only what the notes say, and a rule only if a person asked for it. */
function readPromotion({ promote: list }: { readonly promote?: unknown }, notes: Notes): Operation<"add">[] {
  if (!Array.isArray(list)) throw new Error("promote must be a list");
  const history = itemsOf(notes.history).map(({ text }) => text);
  const asked = [
    ...notes.session.constraints,
    ...history.filter((text) => ASKED.test(text)).map((text) => text.replace(ASKED, "")),
  ];
  const said = [...asked, ...notes.session.decisions, ...history.map((text) => text.replace(DECIDED, ""))];
  const saysSo = (texts: readonly string[], text: string): boolean =>
    texts.some((one) => heldBy(text, one) >= FOUNDED);
  return list.slice(0, MOST_AT_ONCE).flatMap((entry: unknown): Operation<"add">[] => {
    const { section, text } = (entry ?? {}) as { readonly section?: unknown; readonly text?: unknown };
    if (typeof text !== "string") throw new Error("every entry of promote needs a text");
    if (isTransient(text) || !saysSo(said, text)) return [];
    const trust = saysSo(asked, text) ? "person" : "agent";
    return [{ op: "add", section: sectionOf(section, trust), text, trust }];
  });
}
