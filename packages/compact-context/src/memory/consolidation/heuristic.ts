import type { Message } from "../../core/message.ts";
import { readConversation } from "../../summarizers/extractive/reading.ts";
import { openTasks } from "../../summarizers/extractive/steps.ts";
import { clipEnd, oneLine } from "../../summarizers/extractive/text.ts";
import {
  itemsOf,
  type MemoryDocument,
  type MemoryItem,
  type MemoryOperation,
  plainWords,
} from "../changes/document.ts";
import { forgottenBy } from "../changes/forget.ts";
import type { Superseded } from "../changes/retired.ts";
import { withoutToldSecrets } from "../learning/own-words.ts";
import { relationOf, replacedBy, restOf, sayTheSame } from "../learning/relation.ts";
import { type DurableStatement, durableStatements } from "../learning/statements.ts";
import { heldBy, topicTerms } from "../learning/terms.ts";
import { forgetWishes, isMeant, meantBy, withNewer } from "../learning/wishes.ts";
import { tellableNow } from "../memory-task.ts";
import {
  firstSentence,
  isFirmRule,
  isTellingDecision,
  type WorklogLine,
  worklogOf,
  worklogText,
} from "../session-update/wording.ts";

/** What to write for messages that leave the conversation. */
export interface Consolidation {
  /** For MEMORY.md. */
  readonly operations: readonly MemoryOperation[];
  readonly history: HistoryEntry | undefined;
}

/** What the memory already contains. */
export interface Known {
  readonly memory: MemoryDocument;
  readonly superseded: readonly Superseded[];
  /** The session of the messages. */
  readonly sessionId: string;
  readonly isForgotten: (text: string) => boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * The lasting statements of the messages as operations on MEMORY.md, and the rest as a history entry, without
 * a model. A statement replaces another only if it says so; otherwise both stay.
 */
export function consolidationOf(messages: readonly Message[], known: Known): Consolidation {
  const { memory, superseded, isForgotten, at } = known;
  const items = itemsOf(memory);
  const statements = durableStatements(
    messages,
    items.map(({ text }) => text),
  ).filter(({ text }) => !isForgotten(text) && withoutToldSecrets(text) === text);
  const former = superseded.map(({ text }) => text);
  const { forget, rest } = withoutForgotten(messages, statements, { items, former });
  const gone = new Set(
    forget.flatMap((operation) => (operation.op === "forget" ? (operation.target ?? []) : [])),
  );
  let left = items.filter(({ id }) => !gone.has(id));
  const operations = newestOfEach(rest).flatMap((statement) => {
    const made = operationFor(statement, left, known);
    const taken = new Set(made.flatMap((operation) => ("target" in operation ? [operation.target] : [])));
    left = left.filter(({ id }) => !taken.has(id));
    return made;
  });
  const told = tellableNow(messages, isForgotten);
  return { operations: [...forget, ...operations], history: historyEntry(told, at) };
}

/** The forget requests as operations, and the statements that none of them matches. */
function withoutForgotten(
  messages: readonly Message[],
  statements: readonly DurableStatement[],
  { items, former }: { readonly items: readonly MemoryItem[]; readonly former: readonly string[] },
): { readonly forget: readonly MemoryOperation[]; readonly rest: readonly DurableStatement[] } {
  const placeOf = new Map(messages.map(({ id }, index) => [id, index]));
  const placeIn = (id: string): number => placeOf.get(id) ?? 0;
  const forget: MemoryOperation[] = [];
  const asking: MemoryOperation[] = [];
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
    const why = "the user asked for it";
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
    asking.push(...asked.map((text) => ({ op: "forget", said: text, why }) as const));
    const isToldAgain = forgottenBy(asked, []);
    const isAsking = (text: string): boolean =>
      isToldAgain(text) ||
      asked.some((sentence) => ` ${plainWords(sentence)} `.includes(` ${plainWords(text)} `));
    rest = rest.filter(
      (statement) => !said.includes(statement) && !(statement.from === from && isAsking(statement.text)),
    );
    left = left.filter((item) => !known.texts.includes(item));
  }
  return { forget: [...forget, ...asking], rest };
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
  { section, text, from }: DurableStatement,
  items: readonly MemoryItem[],
  { memory, sessionId }: Known,
): MemoryOperation[] {
  if (items.some((item) => sayTheSame(item.text, text) && relationOf(text, item.text) !== "replaces"))
    return [];
  const origin = { trust: "person", source: `${sessionId}/${from}` } as const;
  const noted = items.filter(({ writtenBy }) => writtenBy !== "person");
  const [older, ...others] = replacedBy(text, noted);
  if (older === undefined) return [{ op: "add", section, text, ...origin }];
  return [
    { op: "supersede", target: older.id, text, ...origin },
    ...others.map(({ id }) => ({ op: "invalidate", target: id, why: `the user said: ${text}` }) as const),
    ...[older, ...others].flatMap((item) => keptOf(item, text, memory)),
  ];
}

/** The rest of a replaced item, as a separate item in the same section. */
export function keptOf(
  { id, text, trust, source }: MemoryItem,
  newer: string,
  { sections }: MemoryDocument,
): MemoryOperation[] {
  const rest = restOf(text, newer);
  const section = sections.find(({ items }) => items.some((item) => item.id === id))?.heading || "Facts";
  return rest === undefined ? [] : [{ op: "add", section, text: rest, trust, source }];
}

/** A dated section of HISTORY.md. */
interface HistoryEntry {
  readonly heading: string;
  /** Bullets, one per line. */
  readonly text: string;
}

const MOST_TURNS = 8;
const MOST_OF_A_KIND = 3;
const LONGEST = 260;
const TITLE = 90;

/** Events in these messages, one line per notable turn; undefined if there are none. */
export function historyEntry(messages: readonly Message[], at: number): HistoryEntry | undefined {
  const task = readConversation(messages);
  const log = worklogOf(task);
  const decided = task.decisions.map(({ text }) => text).filter(isTellingDecision);
  const lines = [
    ...tellingTurns(log),
    ...labelled("Decided", decided.slice(-MOST_OF_A_KIND)),
    ...labelled(
      "Asked for",
      task.rules
        .map(({ text }) => text)
        .filter(isFirmRule)
        .slice(0, MOST_OF_A_KIND)
        .toReversed(),
    ),
    ...labelled(
      "Left open",
      openTasks(task.plan)
        .slice(0, MOST_OF_A_KIND)
        .map(({ text }) => text),
    ),
  ];
  const [first] = log;
  if (first === undefined || lines.length === 0) return undefined;
  const telling = task.requests.find(({ text }) => text.length >= TITLE / 5) ?? task.requests[0];
  return entryOf(clipEnd(firstSentence(telling?.text ?? first.asked), TITLE), lines, at);
}

/** An entry with its date, from which recall derives its age. */
export function entryOf(title: string, lines: readonly string[], at: number): HistoryEntry {
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
  const lines = log.filter((line) => kept.has(line)).map(worklogText);
  return left > 0 ? [...lines, `${left} smaller ${left === 1 ? "turn" : "turns"} between them`] : lines;
}

function labelled(label: string, items: readonly string[]): string[] {
  return [...new Set(items)].map((item) => `${label}: ${item}`);
}
