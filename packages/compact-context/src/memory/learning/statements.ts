import type { Message } from "../../core/message.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { DEICTIC, isRule, newsOf, tellsFact, tellsState } from "./facts.ts";
import {
  CHOSEN,
  PERMITS,
  REMEMBER,
  REMEMBER_THAT,
  SAID_ON,
  STRONG_CHANGE,
  TELLS_CHANGE,
  TRANSIENT,
} from "./language.ts";
import { insteadOfForgotten, ownAsides, ownStatements, saidIn, sentencesOf } from "./own-words.ts";
import { relationOf } from "./relation.ts";
import { heldBy, shareIn, topicTerms } from "./terms.ts";

/** Sections of a channel's MEMORY.md that the runtime adds to. */
export type DurableSection = "Constraints" | "Decisions" | "Facts";

/** Something the user said that holds beyond the session, verbatim. */
export interface DurableStatement {
  readonly section: DurableSection;
  readonly text: string;
  /** Id of the message with the statement. */
  readonly from: string;
}

/** Emoticons and unfinished sentences. */
const CHAT =
  /\p{Extended_Pictographic}|(?:^|\s)[:;]-?[|()DPp](?:\s|$)|\.\.\.$|^\(?[a-z1-9]\) (?:why|how|what|who|when|where)\b/iu;
const SHORTEST = 9;
/** `Remember to …` is a task. */
const TO_DO = /^to (?!.*\b(?:each|every|always)\b)|^never ?mind/i;
const SHORTEST_UNSPACED = 5;
const LONGEST = 300;
/** A message with more statements is a document: its rules belong to its task. */
const MOST_OF_ONE = 6;
/** A message with more sentences is a story: its events are not facts, but states in it may be. */
const MOST_OF_TALK = 8;

/** True for transient states. */
export function isTransient(text: string): boolean {
  return TRANSIENT.test(text);
}

/** Rules that people state in their own name, oldest first: lasting ones, and those in `firm`. */
export function ownRules(messages: readonly Message[], firm: ReadonlySet<string>): string[] {
  const rules = messages.flatMap((message) =>
    ownStatements(saidIn(message)).filter(
      (text) => firm.has(text) || firm.has(`${text}.`) || (isRule(text) && isStatement(text)),
    ),
  );
  return [...new Set(rules)];
}

/** Minimum share of a statement's words in the user's own sentences for it to be theirs. */
const OWN_WORDS = 0.6;

/** Whether a model's statement is covered by what the user says in their own name. */
export function isSaidByUser(statement: string, messages: readonly Message[]): boolean {
  const own = messages.flatMap((message) => ownStatements(saidIn(message)));
  return heldBy(statement, own.join("\n")) >= OWN_WORDS;
}

/**
 * What people settled in their own words: lasting rules, choices, facts about them and their habits, what
 * they asked to remember, and corrections of something in `known`.
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
  const typed = saidIn(message);
  const sentences = joined(ownStatements(typed), known);
  const instead = new Set(insteadOfForgotten(typed));
  const isStory = sentencesOf(typed).length > MOST_OF_TALK;
  const found = sentences.flatMap((sentence, index): Told[] => {
    const lead = REMEMBER.exec(sentence)?.[0] ?? "";
    const plain = sentence.slice(lead.length);
    if (TO_DO.test(plain) || isBareRequest(sentence)) return [];
    const isAsked = lead !== "" || REMEMBER_THAT.test(plain) || isBareRequest(sentences[index + 1] ?? "");
    const asked = isAsked || instead.has(sentence);
    return toldIn(asked ? plain.replace(/^to (?=\p{L})/u, "") : plain, { asked, isStory }, known);
  });
  const said = [...found, ...(isStory ? [] : asidesIn(typed, found))];
  return said.map((told) => ({ ...told, text: capitalized(told.text), from: message.id }));
}

type Told = Omit<Found, "from">;

/** The lasting statement of a sentence: all of it, or the part with news about something known. */
function toldIn(text: string, heard: Heard, known: readonly string[]): Told[] {
  if (!isStatement(text)) return [];
  const { asked, isStory } = heard;
  const section = sectionOf(text, heard, known);
  if (section !== undefined) return [{ section, text, asked }];
  const news = isStory ? undefined : newsOf(text, known);
  if (news === undefined || !isStatement(news) || TRANSIENT.test(news.replace(SAID_ON, " "))) return [];
  return [{ section: "Facts", text: news, asked }];
}

/** Facts told along with a request, except those already found. */
function asidesIn(typed: string, found: readonly Told[]): Told[] {
  return ownAsides(typed).flatMap(({ text, reads }): Told[] => {
    const isTold = found.some((one) => one.text.includes(text));
    if (isTold || !isStatement(text) || TRANSIENT.test(text) || !tellsFact(reads)) return [];
    return [{ section: "Facts", text, asked: false }];
  });
}

/** Joins a correction in two sentences: `The date slipped. It is the 21st.`, `Correction. The port is 80.` */
function joined(sentences: readonly string[], known: readonly string[]): string[] {
  const corrected = (text: string): readonly string[] => known.filter((older) => means(text, older));
  const corrects = (text: string): boolean => corrected(text).length > 0;
  const result: string[] = [];
  for (const sentence of sentences) {
    const last = result.at(-1);
    const both = `${last} ${sentence}`;
    const goesOn =
      last !== undefined &&
      both.length < LONGEST &&
      (GOES_ON.test(sentence)
        ? corrects(last) || isBareChange(last)
        : TELLS_CHANGE.test(last) &&
          !corrects(sentence) &&
          corrected(last).every((older) => isNear(sentence, older)));
    if (goesOn && (corrects(both) || isBareChange(last))) result[result.length - 1] = both;
    else result.push(sentence);
  }
  return result;
}

/** It says that something changed, but not to what: `We relicensed.` */
function isBareChange(sentence: string): boolean {
  return STRONG_CHANGE.test(sentence) && sentence.split(/\s+/).length <= 3;
}

/** It corrects this statement. */
function means(text: string, older: string): boolean {
  return ["replaces", "likely"].includes(relationOf(text, older));
}

/** They share a topic word. */
function isNear(one: string, other: string): boolean {
  return shareIn(topicTerms(one), topicTerms(other)) > 0;
}

/** The subject or topic is in the sentence before. */
const GOES_ON =
  /^(?:(?:it|they|that|he|she|there|only|es|sie|il|elle|c['’]|ello|ela|это|он|она)(?:['’]s)?|(?:just |finally |already )?(?:picked up|bought|got|ordered|went with|switched to|moved (?:to|in)|joined|using|typing this on|now (?:on|at|in|with|using)))\s/iu;

/** `Remember that.`: refers to the sentence before. */
function isBareRequest(sentence: string): boolean {
  return REMEMBER_THAT.test(sentence) && sentence.replace(REMEMBER_THAT, "").trim() === "";
}

interface Heard {
  readonly asked: boolean;
  readonly isStory: boolean;
}

function sectionOf(text: string, heard: Heard, known: readonly string[]): DurableSection | undefined {
  const { asked } = heard;
  if (!asked && TRANSIENT.test(text))
    return TRANSIENT.test(text.replace(SAID_ON, " ")) ? undefined : sectionOfChange(text, known);
  const isFact = isToldAsFact(text, heard);
  if (CHOSEN.test(text)) return /\s[a-d1-9][.!]?$/i.test(text) ? undefined : "Decisions";
  if (asked || isFact) return isRule(text) && !isFact ? "Constraints" : "Facts";
  return isWish(text, heard) ? "Constraints" : sectionOfChange(text, known);
}

function isToldAsFact(text: string, { asked, isStory }: Heard): boolean {
  return tellsFact(text) && (asked || !isStory || tellsState(text));
}

/** In a story, or about something mentioned before, only an imperative is a wish. */
function isWish(text: string, { isStory }: Heard): boolean {
  return isRule(text) && (!(isStory || DEICTIC.test(text)) || rulesIn(text).length > 0);
}

/** Lifts a rule for good, or corrects something known. */
function sectionOfChange(text: string, known: readonly string[]): DurableSection | undefined {
  if (!known.some((older) => means(text, older))) return undefined;
  return PERMITS.test(text) ? "Constraints" : "Facts";
}

function isStatement(text: string): boolean {
  const least = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(text) ? SHORTEST_UNSPACED : SHORTEST;
  return text.length >= least && text.length < LONGEST && !/[?？:：]$/.test(text) && !CHAT.test(text);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
