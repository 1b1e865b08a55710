import type { Message } from "../../core/message.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { readSaid } from "../../summarizers/extractive/typed.ts";
import { tellsFact } from "./facts.ts";
import {
  CHOSEN,
  FORBIDS,
  LASTING,
  PERMITS,
  REMEMBER,
  REMEMBER_THAT,
  STRONG_CHANGE,
  TRANSIENT,
  WEAK_CHANGE,
} from "./language.ts";
import { relationOf } from "./meaning.ts";
import { ownStatements } from "./own-words.ts";
import { heldBy } from "./same.ts";

/** Sections of a channel's MEMORY.md that the runtime adds to. */
export type DurableSection = "Constraints" | "Decisions" | "Facts";

/** Something that the user said and that will hold beyond the session, word for word. */
export interface DurableStatement {
  readonly section: DurableSection;
  readonly text: string;
  /** Id of the message that says it. */
  readonly from: string;
}

const SHORTEST = 9;
/** `Remember to …` is something to do. */
const TO_DO = /^to |^never ?mind/i;
const SHORTEST_UNSPACED = 5;
const LONGEST = 300;
/** One message that says more is a document, not a wish: its rules belong to its task. */
const MOST_OF_ONE = 6;

/** True for words about a passing state of affairs. */
export function isTransient(text: string): boolean {
  return TRANSIENT.test(text);
}

/** Rules that people say in their own name, oldest first: lasting ones, and those among `firm`. */
export function ownRules(messages: readonly Message[], firm: ReadonlySet<string>): string[] {
  const rules = messages.flatMap((message) =>
    ownStatements(readSaid(message).typed).filter(
      (text) => firm.has(text) || firm.has(`${text}.`) || (isRule(text) && isStatement(text)),
    ),
  );
  return [...new Set(rules)];
}

/** Share of a statement's words that the user's own must hold for it to be theirs. */
const OWN_WORDS = 0.6;

/** Whether what a model makes of messages stands in sentences that the user says in their own name. */
export function isSaidByUser(statement: string, messages: readonly Message[]): boolean {
  const own = messages.flatMap((message) => ownStatements(readSaid(message).typed));
  return heldBy(statement, own.join("\n")) >= OWN_WORDS;
}

/**
 * What people settled for longer in their own words: rules from now on, choices, facts about them and their ways, what they
 * asked to remember, and what corrects something in `known`.
 */
export function durableStatements(
  messages: readonly Message[],
  known: readonly string[],
): DurableStatement[] {
  const all: DurableStatement[] = [];
  for (const message of messages) {
    const found = inMessage(message, [...known, ...all.map(({ text }) => text)]);
    all.push(...(found.length > MOST_OF_ONE ? found.filter(({ asked }) => asked) : found));
  }
  return all.map(({ section, text, from }) => ({ section, text, from }));
}

type Found = DurableStatement & { readonly asked: boolean };

function inMessage(message: Message, known: readonly string[]): Found[] {
  const sentences = ownStatements(readSaid(message).typed);
  return sentences.flatMap((sentence, index): Found[] => {
    const next = sentences[index + 1] ?? "";
    const lead = REMEMBER.exec(sentence)?.[0] ?? "";
    const plain = sentence.slice(lead.length);
    const asked = lead !== "" || REMEMBER_THAT.test(plain) || isBareRequest(next);
    const text = capitalized(plain);
    if (!isStatement(text) || TO_DO.test(text) || isBareRequest(sentence)) return [];
    const section = sectionOf(text, asked, known);
    return section === undefined ? [] : [{ section, text, from: message.id, asked }];
  });
}

/** `Remember that.`: the sentence before is meant. */
function isBareRequest(sentence: string): boolean {
  return REMEMBER_THAT.test(sentence) && sentence.replace(REMEMBER_THAT, "").trim() === "";
}

function sectionOf(text: string, asked: boolean, known: readonly string[]): DurableSection | undefined {
  if (!asked && TRANSIENT.test(text)) return undefined;
  const isFact = tellsFact(text);
  if (CHOSEN.test(text)) return "Decisions";
  if (asked || isFact) return isRule(text) && !isFact ? "Constraints" : "Facts";
  return isRule(text) ? "Constraints" : sectionOfChange(text, known);
}

/** What lifts a rule for good, or corrects something that is known. */
function sectionOfChange(text: string, known: readonly string[]): DurableSection | undefined {
  if (PERMITS.test(text) && (LASTING.test(text) || WEAK_CHANGE.test(text))) return "Constraints";
  const changes = STRONG_CHANGE.test(text) || WEAK_CHANGE.test(text) || PERMITS.test(text);
  const meant = known.map((older) => relationOf(text, older));
  if (!meant.includes("replaces") && !(changes && meant.includes("conflicts"))) return undefined;
  return PERMITS.test(text) ? "Constraints" : "Facts";
}

/** A wish that is to hold: `always …`, `never …`, `from now on …`. */
function isRule(text: string): boolean {
  if (/[:：]$/.test(text)) return false;
  return LASTING.test(text) ? isImperative(text) : false;
}

/** Facts may say "always" too; a wish begins with its verb, or forbids. */
function isImperative(text: string): boolean {
  return (
    rulesIn(text).length > 0 ||
    FORBIDS.test(text) ||
    LASTING.test(text.slice(0, 24)) ||
    /[\u3040-\u9fff]/u.test(text)
  );
}

function isStatement(text: string): boolean {
  const least = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(text) ? SHORTEST_UNSPACED : SHORTEST;
  return text.length >= least && text.length < LONGEST && !/[?？:：]$/.test(text);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
