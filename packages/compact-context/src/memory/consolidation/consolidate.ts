import { type Message, toolCalls } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import { readConversation } from "../../summarizers/extractive/reading.ts";
import { openTasks } from "../../summarizers/extractive/steps.ts";
import { clipEnd, oneLine } from "../../summarizers/extractive/text.ts";
import { asData } from "../../summarizers/llm/prompts.ts";
import {
  itemsOf,
  type MemoryDocument,
  type MemoryItem,
  type MemoryOperation,
  type MemoryOrigin,
  type MemoryTrust,
  plainWords,
} from "../changes/document.ts";
import { forgottenBy, type Superseded } from "../changes/forget.ts";
import { forgetRequests, ownStatements, saidIn, withoutToldSecrets } from "../learning/own-words.ts";
import { relationOf, replacedBy, restOf, sayTheSame } from "../learning/relation.ts";
import {
  type DurableSection,
  type DurableStatement,
  durableStatements,
  isSaidByUser,
  isTransient,
} from "../learning/statements.ts";
import { heldBy, topicTerms } from "../learning/terms.ts";
import { forgetWishes, isMeant, meantBy, withNewer } from "../learning/wishes.ts";
import { lessonsOf, runTask, type TaskContext, tellable, tellableNow, wasAnswered } from "../memory-task.ts";
import {
  firstSentence,
  isFirmRule,
  isTellingDecision,
  rulesOf,
  type WorklogLine,
  worklogOf,
} from "../session-update/state.ts";
import { founded, RULES_OF_RECORDS, recordsText, textsOf } from "../session-update/update.ts";
import type { SidecarTask } from "../sidecar.ts";

/** What to write for messages that leave the conversation. */
interface Consolidation {
  /** For MEMORY.md. */
  readonly operations: readonly MemoryOperation[];
  /** A dated section of HISTORY.md: bullets, one per line. */
  readonly history: { readonly heading: string; readonly text: string } | undefined;
}

/** What the memory already contains. */
interface Known {
  readonly memory: MemoryDocument;
  readonly superseded: readonly Superseded[];
  /** The session of the messages. */
  readonly sessionId: string;
  readonly isForgotten: (text: string) => boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
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
  const known: Known = { memory, superseded, sessionId, isForgotten, at: context.now() };
  const program = consolidationOf(lessons, known);
  // The user's forget requests are carried out, whatever a model decides about the rest.
  const wishes = program.operations.filter(({ op }) => op === "forget");
  // A request that names nothing, such as `forget everything`, is answered too.
  const isAsked =
    wishes.length > 0 ||
    forgetWishes(lessons).some(({ sure }) => sure) ||
    lessons.some((message) => forgetRequests(saidIn(message)).length > 0);
  const settle = async (
    { operations, history }: Consolidation,
    by: "model" | "program",
  ): Promise<boolean> => {
    const all: MemoryOperation[] = by === "program" ? [...operations] : [...wishes, ...operations];
    // A process may have died after writing and before recording it: do not write the same entry twice.
    if (history !== undefined && !(await writer.read("HISTORY.md")).text.includes(history.text))
      all.push({ op: "addSection", ...history });
    const { changeId, forgotten } =
      all.length === 0
        ? { changeId: undefined, forgotten: [] }
        : await writer.apply(all, {
            author: "consolidation",
            reason: `${lessons.length} messages leave the conversation (${by})`,
            sources: [`${lessons[0]?.id ?? ""}…${lessons.at(-1)?.id ?? ""}`],
          });
    if (isAsked || all.some(({ op }) => op === "forget")) context.onForgotten?.(forgotten);
    return changeId !== undefined || forgotten.length > 0;
  };
  const byModel = wasAnswered(lessons) ? () => consolidationTask(lessons, known, session.text) : undefined;
  return runTask({ name: "consolidation", byModel, byProgram: () => program }, settle, context, signal);
}

// ---- by program

/**
 * The lasting statements of the messages as operations on MEMORY.md, and the rest as a history entry, without
 * a model. A statement replaces another only if it says so; otherwise both stay.
 */
function consolidationOf(messages: readonly Message[], known: Known): Consolidation {
  const { memory, superseded, isForgotten, at } = known;
  const items = itemsOf(memory);
  const statements = durableStatements(
    messages,
    items.map(({ text }) => text),
  ).filter(({ text }) => !isForgotten(text) && withoutToldSecrets(text) === text);
  const former = superseded.map(({ text }) => text);
  const { forget, asking, kept, rest } = withoutForgotten(messages, statements, { items, former });
  let left = kept;
  const operations = newestOfEach(rest).flatMap((statement) => {
    const made = operationFor(statement, left, known);
    const taken = new Set(made.flatMap((operation) => ("target" in operation ? [operation.target] : [])));
    left = left.filter(({ id }) => !taken.has(id));
    return made;
  });
  const isAsking = forgottenBy(asking, []);
  const told = tellableNow(messages, (text) => isForgotten(text) || isAsking(text, true));
  return { operations: [...forget, ...operations], history: historyEntry(told, at) };
}

/** The forget requests as operations, their own words, and the items and statements that none of them matches. */
function withoutForgotten(
  messages: readonly Message[],
  statements: readonly DurableStatement[],
  { items, former }: { readonly items: readonly MemoryItem[]; readonly former: readonly string[] },
) {
  const placeOf = new Map(messages.map(({ id }, index) => [id, index]));
  const placeIn = (id: string): number => placeOf.get(id) ?? 0;
  const forget: MemoryOperation[] = [];
  const asking: string[] = [];
  const why = "the user asked for it";
  let [left, rest] = [items, statements];
  for (const wish of forgetWishes(messages)) {
    const { from, all, sure } = wish;
    const before = rest.filter((statement) => placeIn(statement.from) < placeIn(from));
    const told = [...former, ...[...left, ...before].map(({ text }) => text)];
    const known = withNewer(wish, left, { told, meant: meantBy(wish, left) });
    const earlier = withNewer(wish, before, { told, meant: meantBy(wish, before) });
    const topic = known.texts.length > 0 ? known.topic : earlier.topic;
    // The new state given in the same message is not meant.
    const said = [
      ...earlier.texts,
      ...rest.filter((statement) => statement.from === from && isMeant(topic, statement.text)),
    ];
    // One word that several items contain does not tell which one is meant.
    if (!all && known.texts.length > 1 && topicTerms(topic).size < 2 && !OWN.test(topic)) continue;
    const found = known.texts.length + said.length;
    forget.push(
      ...known.texts.map(({ id }) => ({ op: "forget", target: id, topic, why }) as const),
      ...said.map(({ text }) => ({ op: "forget", said: text, topic, why }) as const),
      ...(found === 0 && sure
        ? [{ op: "forget", topic, said: topicTerms(topic).size > 1 ? topic : undefined, why } as const]
        : []),
    );
    // The request's own words name it too.
    const asked =
      found === 0 ? [] : wish.said.filter((text) => heldBy(topic, text) === 1 && topicTerms(text).size > 1);
    asking.push(...asked);
    const isToldAgain = forgottenBy(asked, []);
    const isAsking = (text: string): boolean =>
      isToldAgain(text) ||
      asked.some((sentence) => ` ${plainWords(sentence)} `.includes(` ${plainWords(text)} `));
    rest = rest.filter(
      (statement) => !said.includes(statement) && !(statement.from === from && isAsking(statement.text)),
    );
    left = left.filter((item) => !known.texts.includes(item));
  }
  forget.push(...asking.map((text) => ({ op: "forget", said: text, why }) as const));
  return { forget, asking, kept: left, rest };
}

const OWN = /^(?:my|mine?|meine?n?|mon|ma|mi|o meu|a minha|мо[йюяе]|我的|私の)/iu;

/** The last of several statements that replace each other or say the same. */
function newestOfEach(statements: readonly DurableStatement[]): DurableStatement[] {
  return statements.filter(
    ({ text }, index) =>
      !statements
        .slice(index + 1)
        .some((later) => sayTheSame(later.text, text) || relationOf(later.text, text) === "replaces"),
  );
}

/** A newer statement replaces the runtime's items that it refers to; what people wrote stays next to it. */
function operationFor(
  { section, text, from, corrects }: DurableStatement,
  items: readonly MemoryItem[],
  { memory, sessionId }: Known,
): MemoryOperation[] {
  if (items.some((item) => sayTheSame(item.text, text) && relationOf(text, item.text) !== "replaces"))
    return [];
  const origin = { trust: "person", source: `${sessionId}/${from}` } as const;
  const noted = items.filter(({ writtenBy }) => writtenBy !== "person");
  const [older, ...others] = replacedBy(text, noted, corrects);
  if (older === undefined) return [{ op: "add", section, text, ...origin }];
  return [
    { op: "supersede", target: older.id, text, ...origin },
    ...others.map(({ id }) => ({ op: "invalidate", target: id, why: `the user said: ${text}` }) as const),
    ...[older, ...others].flatMap((item) => keptOf(item, text, memory)),
  ];
}

/** The rest of a replaced item, as a separate item in the same section. */
function keptOf(
  { id, text, trust, source }: MemoryItem,
  newer: string,
  { sections }: MemoryDocument,
): MemoryOperation[] {
  const rest = restOf(text, newer);
  const section = sections.find(({ items }) => items.some((item) => item.id === id))?.heading || "Facts";
  return rest === undefined ? [] : [{ op: "add", section, text: rest, trust, source }];
}

const MOST_TURNS = 8;
const MOST_OF_A_KIND = 3;
const LONGEST = 260;
const TITLE = 90;

/** Events in these messages, one line per notable turn; undefined if there are none. */
export function historyEntry(messages: readonly Message[], at: number): Consolidation["history"] {
  const task = readConversation(messages);
  const log = worklogOf(task);
  const textOf = ({ text }: { readonly text: string }): string => text;
  const labelled = (label: string, items: readonly string[]): string[] =>
    [...new Set(items)].map((item) => `${label}: ${item}`);
  const decided = task.decisions.map(textOf).filter(isTellingDecision);
  const lines = [
    ...tellingTurns(log),
    ...labelled("Decided", decided.slice(-MOST_OF_A_KIND)),
    ...labelled("Asked for", rulesOf(task).slice(-MOST_OF_A_KIND)),
    ...labelled("Left open", openTasks(task.plan).slice(0, MOST_OF_A_KIND).map(textOf)),
  ];
  const [first] = log;
  if (first === undefined || lines.length === 0) return undefined;
  const telling = task.requests.find(({ text }) => text.length >= TITLE / 5) ?? task.requests[0];
  return entryOf(clipEnd(firstSentence(telling?.text ?? first.asked), TITLE), lines, at);
}

/** An entry with its date, from which recall derives its age. */
function entryOf(title: string, lines: readonly string[], at: number): Consolidation["history"] {
  const time = `${new Date(at).toISOString().slice(0, 16)}Z`;
  const bullets = lines.map((line) => `- ${clipEnd(oneLine(line), LONGEST)}`);
  return { heading: `${time} ${oneLine(title)}`, text: bullets.join("\n") };
}

/** The notable turns (changes and failures), filled up with the newest others, in their order. */
function tellingTurns(log: readonly WorklogLine[]): string[] {
  const weighty = log.filter((line) => line.weighty).slice(-MOST_TURNS);
  const others = log.filter((line) => !line.weighty);
  const room = MOST_TURNS - weighty.length;
  const kept = new Set([...weighty, ...(room > 0 ? others.slice(-room) : [])]);
  const left = log.length - kept.size;
  const lines = log.filter((line) => kept.has(line)).map(({ text }) => text);
  return left > 0 ? [...lines, `${left} smaller ${left === 1 ? "turn" : "turns"} between them`] : lines;
}

// ---- by a model

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

interface Asked extends Known {
  readonly messages: readonly Message[];
}

/** The request to decide what of the messages to keep; what SESSION.md has is kept anyway. */
function consolidationTask(
  lessons: readonly Message[],
  known: Known,
  session: string,
): SidecarTask<Consolidation> {
  const input: Asked = { ...known, messages: tellable(lessons, known.isForgotten, "wishes") };
  const memory = itemsOf(input.memory).map(({ id, text }) => `${id}: ${text}`);
  return {
    name: "consolidation",
    systemPrompt: SYSTEM,
    prompt: [
      `The time is ${new Date(input.at).toISOString().slice(0, 16)}Z.`,
      `<memory>\n${asData(memory.join("\n")).slice(0, MOST_MEMORY)}\n</memory>`,
      `<notes_so_far>\n${asData(session).slice(0, MOST_SESSION)}\n</notes_so_far>`,
      `<records>\n${recordsText(input.messages)}\n</records>`,
      "Decide what of these records is kept.",
    ].join("\n\n"),
    shape: "object",
    parse: (text) => readConsolidation(JSON.parse(text) as Fields, input),
  };
}

type Fields = Readonly<Record<string, unknown>>;

const FIELDS = ["add", "supersede", "invalidate", "forget", "merge", "history"];

function readConsolidation(value: Fields, input: Asked): Consolidation {
  if (!FIELDS.some((field) => field in value))
    throw new Error(`it has none of the fields ${FIELDS.join(", ")}`);
  const items = itemsOf(input.memory);
  const isFounded = founded(input.messages, items.map(({ text }) => text).join("\n"));
  const each = (field: string, read: (entry: Fields) => readonly MemoryOperation[]): MemoryOperation[] =>
    entriesOf(value[field], field).flatMap(read);
  /** Of entries that name an item of the memory. */
  const about = (
    field: string,
    read: (item: MemoryItem, entry: Fields) => readonly MemoryOperation[],
  ): MemoryOperation[] =>
    each(field, (entry) => {
      const item = items.find(({ id }) => id === String(entry.id));
      return item === undefined ? [] : read(item, entry);
    });
  const operations = [
    ...about("forget", ({ id }, { record }) => {
      const message = messageOf(record, input.messages);
      if (message === undefined || forgetWishes([message]).length === 0) return [];
      return [{ op: "forget", target: id, why: "the user asked for it" }];
    }),
    ...each("merge", (entry) => merging(entry, items)),
    ...about("supersede", (item, entry) => {
      const text = textIn(entry);
      const origin = personsOrigin(entry, text, input);
      if (origin === undefined) return [];
      return [{ op: "supersede", target: item.id, text, ...origin }, ...keptOf(item, text, input.memory)];
    }),
    ...about("invalidate", ({ id }, entry) => {
      const why = typeof entry.why === "string" ? entry.why : "it no longer holds";
      return personsOrigin(entry, "", input) === undefined ? [] : [{ op: "invalidate", target: id, why }];
    }),
    ...each("add", (entry) => addition(entry, input)),
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

/** Merges items if one sentence says all they say, in their own words. */
function merging(entry: Fields, items: readonly MemoryItem[]): readonly MemoryOperation[] {
  const ids = new Set((Array.isArray(entry.ids) ? entry.ids : []).map(String));
  const [first, ...others] = items.filter(({ id }) => ids.has(id));
  const text = textIn(entry);
  if (first === undefined || others.length === 0) return [];
  const all = [first, ...others].map((item) => item.text);
  if (all.some((item) => heldBy(item, text) < 1) || heldBy(text, all.join("\n")) < 1) return [];
  return [
    { op: "supersede", target: first.id, text, trust: "person" },
    ...others.map(({ id }) => ({ op: "invalidate", target: id, why: `it stands in "${text}"` }) as const),
  ];
}

function addition(entry: Fields, input: Asked): readonly MemoryOperation[] {
  const text = textIn(entry);
  const origin = originOf(entry.record, input);
  if (text === "" || origin === undefined || isTransient(text)) return [];
  if (origin.trust !== "tool")
    return [{ op: "add", section: sectionOf(entry.section, origin.trust), text, ...origin }];
  // A tool's text that reads like a rule is not the user's wish: it is stored as a quote, never as a rule.
  const said = isFirmRule(text)
    ? `"${text.replaceAll('"', "'")}" stands in what ${origin.source ?? "a tool"} gave`
    : text;
  return [{ op: "add", section: "Facts", text: said, ...origin }];
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

function entriesOf(value: unknown, field: string): readonly Fields[] {
  const list: unknown = value ?? [];
  if (!Array.isArray(list) || !list.every(isObject)) throw new Error(`${field} must be a list of objects`);
  return list;
}

function textIn({ text }: Fields): string {
  return typeof text === "string" ? text.trim() : "";
}

function historyIn(
  value: unknown,
  { at }: Asked,
  isFounded: (statement: string) => boolean,
): Consolidation["history"] {
  if (!isObject(value)) return undefined;
  const { title, lines } = value;
  const kept = textsOf(lines ?? [], "history.lines")
    .filter(isFounded)
    .slice(0, MOST_LINES);
  const [first] = kept;
  if (first === undefined) return undefined;
  return entryOf(typeof title === "string" && title !== "" ? title : first, kept, at);
}
