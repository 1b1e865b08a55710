import { asData } from "../../summarizers/llm/prompts.ts";
import { itemsOf, type MemoryDocument } from "../changes/document.ts";
import type { AddItem } from "../changes/operation.ts";
import { heldBy, sayTheSame } from "../learning/same.ts";
import { isTransient } from "../learning/statements.ts";
import { runTask, type TaskContext } from "../memory-task.ts";
import { parseSessionMemory } from "../session-memory.ts";
import type { SessionMemoryState } from "../session-sections.ts";
import { RULES_OF_RECORDS } from "../session-update/by-model.ts";
import type { SidecarTask } from "../sidecar/task.ts";

/** What the channel's notes say at one time. */
interface Notes {
  readonly session: SessionMemoryState;
  readonly history: MemoryDocument;
  readonly memory: MemoryDocument;
}

/** Entries of the history, beside the session, that must say the same before it is taken to hold for good. */
const TIMES = 2;
const MOST_AT_ONCE = 5;
/** Share of a statement's words that a note must hold to be its source. */
const FOUNDED = 0.6;
const MOST_CHARACTERS = 12_000;
const ASKED = /^Asked for: /;
const DECIDED = /^Decided: /;

/** Takes into MEMORY.md what came up in session after session. */
export async function promote(context: TaskContext, signal?: AbortSignal): Promise<"written" | "unchanged"> {
  const { writer } = context;
  const notes: Notes = {
    session: parseSessionMemory((await writer.read("SESSION.md")).text),
    history: await writer.read("HISTORY.md"),
    memory: await writer.read("MEMORY.md"),
  };
  if (notes.history.sections.filter(({ items }) => items.length > 0).length < TIMES) return "unchanged";
  return runTask<readonly AddItem[]>(
    {
      name: "promotion",
      byModel: () => promotionTask(notes),
      byProgram: () => recurring(notes),
    },
    async (items) => {
      if (items.length === 0) return false;
      const note = {
        author: "promotion",
        reason: "it came up again and again",
        sources: ["SESSION.md", "HISTORY.md"],
      } as const;
      return (await writer.apply(items, note)).changeId !== undefined;
    },
    context,
    signal,
  );
}

/** Rules and decisions of the session that entries of the history, told apart by their dates, say as well. */
function recurring({ session, history, memory }: Notes): AddItem[] {
  const known = itemsOf(memory).map(({ text }) => text);
  const isNew = (text: string): boolean =>
    !isTransient(text) && !known.some((item) => sayTheSame(item, text));
  const found = (
    items: readonly string[],
    section: string,
    label: RegExp,
    trust: "person" | "agent",
  ): AddItem[] =>
    items
      .filter((text) => isNew(text) && timesIn(history, text, label) >= TIMES)
      .map((text) => ({ op: "add", section, text, trust }));
  return [
    ...found(session.constraints, "Constraints", ASKED, "person"),
    ...found(session.decisions, "Decisions", DECIDED, "agent"),
  ].slice(0, MOST_AT_ONCE);
}

function timesIn({ sections }: MemoryDocument, statement: string, label: RegExp): number {
  return sections.filter(({ items }) =>
    items.some(({ text }) => label.test(text) && sayTheSame(text.replace(label, ""), statement)),
  ).length;
}

const SYSTEM = `You keep the long-term memory of a channel in which a user works with an AI agent. You are given its history, the notes of the session and the memory. Find what came up in at least ${TIMES} different entries of the history, is not in the memory, and will still hold in a month.

${RULES_OF_RECORDS}

The object has one field, "promote": a list of at most ${MOST_AT_ONCE} {"section": "Constraints" | "Decisions" | "Facts", "text"}; an empty list when there is nothing. Copy the text from the notes where you can.`;

function promotionTask(notes: Notes): SidecarTask<readonly AddItem[]> {
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

/** Only what the notes themselves say; a rule only where a person asked for it. */
function readPromotion({ promote: list }: { readonly promote?: unknown }, notes: Notes): AddItem[] {
  if (!Array.isArray(list)) throw new Error("promote must be a list");
  const history = itemsOf(notes.history).map(({ text }) => text);
  const asked = [
    ...notes.session.constraints,
    ...history.filter((text) => ASKED.test(text)).map((text) => text.replace(ASKED, "")),
  ];
  const said = [...asked, ...notes.session.decisions, ...history.map((text) => text.replace(DECIDED, ""))];
  const saysSo = (texts: readonly string[], text: string): boolean =>
    texts.some((one) => heldBy(text, one) >= FOUNDED);
  return list.slice(0, MOST_AT_ONCE).flatMap((entry: unknown): AddItem[] => {
    const { section, text } = (entry ?? {}) as { readonly section?: unknown; readonly text?: unknown };
    if (typeof text !== "string") throw new Error("every entry of promote needs a text");
    if (isTransient(text) || !saysSo(said, text)) return [];
    const trust = saysSo(asked, text) ? "person" : "agent";
    return [{ op: "add", section: sectionFor(section, trust), text, trust }];
  });
}

function sectionFor(section: unknown, trust: "person" | "agent"): string {
  if (section === "Constraints") return trust === "person" ? section : "Facts";
  return section === "Decisions" ? section : "Facts";
}
