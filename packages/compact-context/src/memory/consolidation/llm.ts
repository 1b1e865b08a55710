import { type Message, toolCalls } from "../../core/message.ts";
import { asData } from "../../summarizers/llm/prompts.ts";
import { itemsOf, type MemoryOperation, type MemoryOrigin, type MemoryTrust } from "../changes/document.ts";
import { ownStatements, saidIn } from "../learning/own-words.ts";
import { type DurableSection, isSaidByUser, isTransient } from "../learning/statements.ts";
import { heldBy } from "../learning/terms.ts";
import { forgetWishes } from "../learning/wishes.ts";
import { lessonsOf, runTask, type TaskContext, tellable, wasAnswered } from "../memory-task.ts";
import { founded, RULES_OF_RECORDS, recordsText, textsOf } from "../session-update/llm.ts";
import { isFirmRule } from "../session-update/wording.ts";
import type { SidecarTask } from "../sidecar.ts";
import { type Consolidation, consolidationOf, entryOf, type Known, keptOf } from "./heuristic.ts";

/** What the memory already contains. */
export interface ConsolidationInput extends Known {
  /** The text of SESSION.md: its content is kept anyway while the work goes on. */
  readonly session: string;
}

interface Asked extends ConsolidationInput {
  readonly messages: readonly Message[];
}

const SYSTEM = `You keep the long-term memory of a channel in which a user works with an AI agent. Records of a conversation are about to leave; you decide what of them should still be known in a month.

${RULES_OF_RECORDS}

Keep little: lasting rules and preferences of the user, decisions with their reasons, facts about people, systems and places that later work needs. Never keep the state of a task, a single bug, a test result, or anything that holds for today: that is kept elsewhere. One statement is one sentence that is understood alone, with absolute dates.

The object has these fields; each may be left out:
- "add": list of {"section": "Constraints" | "Decisions" | "Facts", "text", "record": the number of the record that says it}. Constraints come from user records alone.
- "supersede": list of {"id": of an item of the memory that the user says is out of date, "text": what holds now, in the user's words, "record"}. Two rules about different things both stand.
- "invalidate": list of {"id": of an item that the user says is no longer true, "why", "record"}.
- "forget": list of {"id": of an item that the user asks to forget, "record"}.
- "merge": list of {"ids": of items that say the same, "text": one sentence with all that they say}.
- "history": {"title": at most 80 characters, "lines": at most 8 sentences, what was done and how it ended, oldest first}. No transcript.`;

const MOST_SESSION = 4_000;
const MOST_MEMORY = 8_000;
const MOST_OPERATIONS = 12;
const MOST_LINES = 8;

/** The request to decide what of the messages to keep. */
function consolidationTask(
  lessons: readonly Message[],
  given: ConsolidationInput,
): SidecarTask<Consolidation> {
  const input: Asked = { ...given, messages: tellable(lessons, given.isForgotten, "wishes") };
  const memory = itemsOf(input.memory).map(({ id, text }) => `${id}: ${text}`);
  return {
    name: "consolidation",
    systemPrompt: SYSTEM,
    prompt: [
      `The time is ${new Date(input.at).toISOString().slice(0, 16)}Z.`,
      `<memory>\n${asData(memory.join("\n")).slice(0, MOST_MEMORY)}\n</memory>`,
      `<notes_so_far>\n${asData(input.session).slice(0, MOST_SESSION)}\n</notes_so_far>`,
      `<records>\n${recordsText(input.messages)}\n</records>`,
      "Decide what of these records is kept.",
    ].join("\n\n"),
    shape: "object",
    parse: (text) => readConsolidation(JSON.parse(text) as Fields, input),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function readConsolidation(value: Fields, input: Asked): Consolidation {
  const known = ["add", "supersede", "invalidate", "forget", "merge", "history"];
  if (!known.some((field) => field in value))
    throw new Error(`it has none of the fields ${known.join(", ")}`);
  const items = itemsOf(input.memory);
  const texts = new Map(items.map(({ id, text }) => [id, text]));
  const isFounded = founded(input.messages, [...texts.values()].join("\n"));
  const about = (entry: Fields): string[] => (texts.has(String(entry.id)) ? [String(entry.id)] : []);
  const operations: MemoryOperation[] = [
    ...entriesOf(value.forget, "forget").flatMap((entry) =>
      asksToForget(entry.record, input.messages)
        ? about(entry).map((target) => ({ op: "forget", target, why: "the user asked for it" }) as const)
        : [],
    ),
    ...entriesOf(value.merge, "merge").flatMap((entry) => merging(entry, texts)),
    ...entriesOf(value.supersede, "supersede").flatMap((entry) => {
      const origin = personsOrigin(entry, textIn(entry), input);
      return origin === undefined
        ? []
        : items
            .filter(({ id }) => id === String(entry.id))
            .flatMap((item) => [
              { op: "supersede", target: item.id, text: textIn(entry), ...origin } as const,
              ...keptOf(item, textIn(entry), input.memory),
            ]);
    }),
    ...entriesOf(value.invalidate, "invalidate").flatMap((entry) => {
      const why = typeof entry.why === "string" ? entry.why : "it no longer holds";
      return about(entry).flatMap((target) =>
        personsOrigin(entry, "", input) === undefined ? [] : [{ op: "invalidate", target, why } as const],
      );
    }),
    ...entriesOf(value.add, "add").flatMap((entry) => addition(entry, input)),
  ];
  const isKept = (operation: MemoryOperation): boolean => !("text" in operation) || isFounded(operation.text);
  return {
    operations: operations.filter(isKept).slice(0, MOST_OPERATIONS),
    history: historyIn(value.history, input, isFounded),
  };
}

/**
 * Origin of an entry: the user's message it names, if the user says the text there in their own name. For an
 * empty text any own statement of the message is enough.
 */
function personsOrigin(
  { record }: Fields,
  text: string,
  { messages, sessionId }: Asked,
): MemoryOrigin | undefined {
  const message = messageOf(record, messages);
  if (message === undefined || message.role !== "user" || message.meta?.synthetic === true) return undefined;
  const own = ownStatements(saidIn(message));
  if (own.length === 0 || (text !== "" && !isSaidByUser(text, [message]))) return undefined;
  return { trust: "person", source: `${sessionId}/${message.id}` };
}

function asksToForget(record: unknown, messages: readonly Message[]): boolean {
  const message = messageOf(record, messages);
  return message !== undefined && forgetWishes([message]).length > 0;
}

/** Merges items if one sentence says all they say, in their own words. */
function merging(entry: Fields, texts: ReadonlyMap<string, string>): MemoryOperation[] {
  const ids = (Array.isArray(entry.ids) ? entry.ids : []).map(String).filter((id) => texts.has(id));
  const [first, ...others] = ids;
  const text = textIn(entry);
  const all = ids.map((id) => texts.get(id) ?? "");
  if (first === undefined || others.length === 0) return [];
  if (all.some((item) => heldBy(item, text) < 1) || heldBy(text, all.join("\n")) < 1) return [];
  return [
    { op: "supersede", target: first, text, trust: "person" },
    ...others.map((target) => ({ op: "invalidate", target, why: `it stands in "${text}"` }) as const),
  ];
}

function addition(entry: Fields, input: Asked): MemoryOperation[] {
  const text = textIn(entry);
  const origin = originOf(entry.record, input);
  if (text === "" || origin === undefined || isTransient(text)) return [];
  if (origin.trust === "tool") {
    // A tool's text that reads like a rule is not the user's wish: it is stored as a quote, never as a rule.
    const said = isFirmRule(text)
      ? `"${text.replaceAll('"', "'")}" stands in what ${origin.source ?? "a tool"} gave`
      : text;
    return [{ op: "add", section: "Facts", text: said, ...origin }];
  }
  return [{ op: "add", section: sectionOf(entry.section, origin.trust), text, ...origin }];
}

/** The section the model names; only a person's statements may be constraints. */
export function sectionOf(named: unknown, trust: MemoryTrust | undefined): DurableSection {
  if (named === "Constraints" && trust === "person") return named;
  return named === "Decisions" ? named : "Facts";
}

function messageOf(record: unknown, messages: readonly Message[]): Message | undefined {
  return messages[Number(typeof record === "string" ? record.replace(/\D+/g, "") : record) - 1];
}

/** Origin of a record; undefined for an invalid number, and for a user message without own statements. */
function originOf(record: unknown, input: Asked): MemoryOrigin | undefined {
  const { messages } = input;
  const message = messageOf(record, messages);
  if (message === undefined) return undefined;
  const result = message.parts.find(({ type }) => type === "toolResult");
  if (result?.type === "toolResult") {
    const call = messages.flatMap(toolCalls).find(({ id }) => id === result.id);
    return { trust: "tool", source: result.name ?? call?.name ?? "tool" };
  }
  if (message.role === "tool") return { trust: "tool", source: "tool" };
  if (message.role !== "user" || message.meta?.synthetic === true) return { trust: "agent" };
  return personsOrigin({ record }, "", input);
}

function entriesOf(value: unknown, field: string): Fields[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${field} must be a list`);
  return value.map((entry: unknown) => {
    if (typeof entry !== "object" || entry === null) throw new Error(`${field} must be a list of objects`);
    return entry as Fields;
  });
}

function textIn({ text }: Fields): string {
  return typeof text === "string" ? text.trim() : "";
}

function historyIn(
  value: unknown,
  { at }: Asked,
  isFounded: (statement: string) => boolean,
): Consolidation["history"] {
  if (typeof value !== "object" || value === null) return undefined;
  const { title, lines } = value as Fields;
  const kept = textsOf(lines ?? [], "history.lines")
    .filter(isFounded)
    .slice(0, MOST_LINES);
  if (kept.length === 0) return undefined;
  return entryOf(typeof title === "string" && title !== "" ? title : (kept[0] ?? ""), kept, at);
}

/** Consolidates messages: lasting statements into MEMORY.md, events into HISTORY.md. */
export async function consolidate(
  { sessionId, messages }: { readonly sessionId: string; readonly messages: readonly Message[] },
  context: TaskContext,
  signal?: AbortSignal,
): Promise<"written" | "unchanged"> {
  const lessons = lessonsOf(messages);
  if (lessons.length === 0) return "unchanged";
  const { writer } = context;
  const [memory, session, isForgotten, superseded] = await Promise.all([
    writer.read("MEMORY.md"),
    writer.read("SESSION.md"),
    writer.forgotten(),
    writer.superseded(),
  ]);
  const known = { memory, superseded, sessionId, isForgotten, at: context.now() };
  const program = consolidationOf(lessons, known);
  return runTask<Consolidation>(
    {
      name: "consolidation",
      byModel: wasAnswered(lessons)
        ? () => consolidationTask(lessons, { ...known, session: session.text })
        : undefined,
      byProgram: () => program,
    },
    // The user's forget requests are carried out, whatever a model decides about the rest.
    (decided, by) =>
      write(by === "program" ? decided : withWishes(decided, program), by, { lessons, context }),
    context,
    signal,
  );
}

function withWishes(decided: Consolidation, program: Consolidation): Consolidation {
  const wishes = program.operations.filter(({ op }) => op === "forget");
  return { ...decided, operations: [...wishes, ...decided.operations] };
}

async function write(
  { operations, history }: Consolidation,
  by: "model" | "program",
  { lessons, context }: { readonly lessons: readonly Message[]; readonly context: TaskContext },
): Promise<boolean> {
  const all: MemoryOperation[] = [...operations];
  // A process may have died after writing and before recording it: do not write the same entry twice.
  const told = history === undefined ? "" : (await context.writer.read("HISTORY.md")).text;
  if (history !== undefined && !told.includes(history.text)) {
    all.push({ op: "addSection", heading: history.heading, text: history.text });
  }
  const isAsked = all.some(({ op }) => op === "forget") || forgetWishes(lessons).some(({ sure }) => sure);
  if (all.length === 0) {
    if (isAsked) context.onForgotten?.([]);
    return false;
  }
  const first = lessons[0]?.id ?? "";
  const last = lessons.at(-1)?.id ?? "";
  const { changeId, forgotten } = await context.writer.apply(all, {
    author: "consolidation",
    reason: `${lessons.length} messages leave the conversation (${by})`,
    sources: [`${first}…${last}`],
  });
  if (isAsked) context.onForgotten?.(forgotten);
  return changeId !== undefined || forgotten.length > 0;
}
