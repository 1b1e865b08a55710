import type { Message } from "../../core/message.ts";
import { readConversation } from "../../summarizers/extractive/reading.ts";
import { sentences } from "../../summarizers/extractive/text.ts";
import { itemsOf, type MemoryDocument, type MemoryItem } from "../changes/document.ts";
import type { MemoryOperation } from "../changes/operation.ts";
import { heldBy, likeness } from "../likeness.ts";
import { analyze } from "../ranking/analyze.ts";
import type { SessionMemoryState } from "../session-sections.ts";
import { FINISH } from "../session-update/by-program.ts";
import { type DurableStatement, durableStatements } from "./durable.ts";
import { type HistoryEntry, historyEntry } from "./history-entry.ts";

/** What is to be written of messages that leave. */
export interface Consolidation {
  /** For MEMORY.md. */
  readonly operations: readonly MemoryOperation[];
  readonly history: HistoryEntry | undefined;
}

/** What is known already. */
export interface Known {
  readonly memory: MemoryDocument;
  readonly session: SessionMemoryState;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const FORGET =
  /^(?:please\s+|and\s+)*(?:forget|don['’]?t remember|delete (?:from|out of) (?:your )?memory|vergiss|oublie|olvida|esqueça|dimentica|забудь|忘记|忘掉|忘れて|잊어)\s*(?:that|about|what i said about|dass|que)?\s*/iu;
/** Share of the words after "forget" that an item must hold to be meant. */
const MEANT = 0.8;
const FEWEST_WORDS = 2;

/** The durable of the messages as operations on MEMORY.md, and the rest as an entry of the history; no model. */
export function consolidationOf(messages: readonly Message[], { memory, session, at }: Known): Consolidation {
  const conversation = readConversation(messages);
  const items = itemsOf(memory);
  const forgotten = conversation.requests.flatMap(({ text }) =>
    sentences(text).flatMap((said) => meantBy(said, items)),
  );
  // A step that SESSION.md holds as still to be done is no lasting fact, however it is worded.
  const atHand = session.nextSteps.filter((step) => !step.startsWith(FINISH));
  const statements = newestOfEach(durableStatements(conversation)).filter(
    ({ text }) => !atHand.some((item) => likeness(item, text) >= REWORDED),
  );
  const operations = statements.flatMap((statement) => operationFor(statement, items));
  const forget = [...new Set(forgotten)].map(
    (target) => ({ op: "forget", target, why: "the user asked for it" }) as const,
  );
  return { operations: [...forget, ...operations], history: historyEntry(messages, at) };
}

/** Share of words from which a statement is another one in new words, and from which a change must mean it. */
const REWORDED = 0.85;
const CHANGED = 0.5;

/** Of statements that take each other's place the last one. */
function newestOfEach(statements: readonly DurableStatement[]): DurableStatement[] {
  return statements.filter(
    ({ text }, index) => !statements.slice(index + 1).some((later) => replaces(later, text)),
  );
}

/**
 * Two statements of nearly the same words may be true of two things; only one that speaks of a change takes the place
 * of what it resembles.
 */
function replaces({ text, isChange }: DurableStatement, older: string): boolean {
  return likeness(text, older) >= (isChange ? CHANGED : REWORDED);
}

/** A newer statement takes the place of what the runtime noted on the same; what people wrote stays beside it. */
function operationFor(statement: DurableStatement, items: readonly MemoryItem[]): MemoryOperation[] {
  const { section, text, trust } = statement;
  if (items.some((item) => item.text === text)) return [];
  const older = items.find((item) => item.writtenBy !== "person" && replaces(statement, item.text));
  return older === undefined
    ? [{ op: "add", section, text, trust }]
    : [{ op: "supersede", target: older.id, text, trust }];
}

function meantBy(sentence: string, items: readonly MemoryItem[]): string[] {
  const lead = FORGET.exec(sentence)?.[0];
  if (lead === undefined) return [];
  const topic = sentence.slice(lead.length);
  if (topic.trim().split(/\s+/).length < FEWEST_WORDS && !/[\u3040-\u9fff\uac00-\ud7af]/.test(topic))
    return [];
  const meant = items.filter((item) => heldBy(topic, item.text) >= MEANT).map(({ id }) => id);
  // One word that several items hold does not say which of them is meant.
  return meant.length > 1 && new Set(analyze(topic)).size < FEWEST_WORDS ? [] : meant;
}
