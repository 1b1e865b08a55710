import type { Message } from "../../core/message.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { readSaid } from "../../summarizers/extractive/typed.ts";
import { type ForgetRequest, readForgetRequest } from "./forgetting.ts";
import { KINDS, otherIn } from "./kinds.ts";
import { FORBIDS, LASTING, PERMITS, THAT } from "./language.ts";
import { read, shareIn, topicTerms } from "./meaning.ts";
import { sentencesOf, typedBefore } from "./own-words.ts";

// What people wish to have forgotten, and which texts they mean.

/** What a user asks to have forgotten, in words. */
export interface ForgetWish extends ForgetRequest {
  /** Id of the message that asks; of "that" the topic is the statement that was just made. */
  readonly from: string;
  /** The sentence that asks, and those of its message that it points to. */
  readonly said: readonly string[];
}

/** The wishes of a conversation, in order. */
export function forgetWishes(messages: readonly Message[]): ForgetWish[] {
  const spoken: string[] = [];
  return messages.flatMap((message) => {
    const typed = readSaid(message);
    if (typed === "") return [];
    const sentences = sentencesOf(typedBefore(typed));
    const wishes = sentences.flatMap((sentence, index): ForgetWish[] => {
      const before = sentences.slice(0, index);
      const request = readForgetRequest(sentence, before);
      if (request === undefined) return [];
      const { topic, points, isLoose, at } = request;
      const said = [sentence.slice(at), ...(isLoose ? before.slice(-2) : [])];
      if (points.length > 0 || !THAT.test(topic)) return [{ ...request, from: message.id, said }];
      const last = spoken.at(-1);
      return last === undefined
        ? []
        : [{ ...request, from: message.id, topic: last, all: false, sure: true, said }];
    });
    spoken.push(...sentencesOf(typed).filter((sentence) => readForgetRequest(sentence) === undefined));
    return wishes.filter(({ topic }) => topicTerms(topic).size > 0);
  });
}

/** True for a text that the topic of a wish means; one of the user's `own` is not what is told of others. */
export function isMeant(topic: string, text: string, isOwn = false): boolean {
  const [wanted, told] = [termsOf(topic), termsOf(text)];
  return shareOf(topic, text, isOwn) >= MOST || (told.size > 1 && shareIn(told, wanted) >= MOST);
}

/** Share of the words of one in the other by which they mean the same. */
const MOST = 0.8;

function shareOf(topic: string, text: string, isOwn: boolean): number {
  const { size } = termsOf(topic);
  return size === 0 ? 0 : heldOf(topic, text, isOwn).length / size;
}

/** A topic's words that a text holds, or tells in words of the same kind. */
function heldOf(topic: string, text: string, isOwn: boolean): readonly string[] {
  const [wanted, told, other] = [termsOf(topic), termsOf(text), otherIn(text)];
  const isOfOther = isOwn && other !== undefined && shareIn(termsOf(other), wanted) === 0;
  const kinds = isOfOther
    ? []
    : KINDS.filter(({ named, told: tells }) => topic.search(named) >= 0 && tells.test(text));
  const byKind = termsOf(kinds.flatMap(({ named }) => topic.match(named) ?? []).join(" "));
  return [...wanted].filter((term) => byKind.has(term) || shareIn(new Set([term]), told) === 1);
}

/** A closing quote is no part of a word, a part of a compound is a word; `mine` and `old` tell nothing. */
function termsOf(text: string): ReadonlySet<string> {
  const words = text.replace(/['’](?![\p{L}])|(?<=\p{L})-(?=\p{L})|我们?的|私の/gu, " ");
  const terms = topicTerms(words.replace(OLD, " "));
  return terms.size > 0 ? terms : topicTerms(words);
}

const OLD =
  /(?<![\p{L}])(?:old|current|former|previous|private|personal|whole|entire|real|full|alte[nrs]?|private[nrs]?|ancien(?:ne)?|viej[oa]|antig[oa]|стар\p{L}{2})(?![\p{L}])/giu;

/** What a wish means, and the words by which other texts tell it. */
export interface Meant<T> {
  readonly texts: readonly T[];
  readonly topic: string;
}

/**
 * The texts that a wish means: those that hold its words. Where none does and it is sure that something is to be
 * forgotten, those that hold most of them; of what a pronoun points to, those that share a telling word.
 */
export function meantBy<T extends { readonly text: string }>(
  wish: ForgetWish,
  texts: readonly T[],
): Meant<T> {
  const { scope, points } = wish;
  const possible = texts.filter(
    ({ text }) => scope === "anything" || (scope === "own" ? isPersonal(text) : isRule(text)),
  );
  for (const topic of points.length > 0 ? points : [wish.topic]) {
    const meant = meantByTopic(topic, wish, possible);
    if (meant.texts.length > 0) return meant;
  }
  return { texts: [], topic: wish.topic };
}

function meantByTopic<T extends { readonly text: string }>(
  topic: string,
  { sure, isLoose, isOwn }: ForgetWish,
  texts: readonly T[],
): Meant<T> {
  const meant = texts.filter(({ text }) => isMeant(topic, text, isOwn));
  if (meant.length > 0) return { texts: meant, topic };
  const most =
    sure && termsOf(topic).size > 1 ? mostOf({ topic, isOwn }, texts, isLoose || isOwn ? 0.5 : 0.6) : [];
  return most.length > 0 || !isLoose ? { texts: most, topic } : telling({ topic, isOwn }, texts);
}

type Named = Pick<ForgetWish, "topic" | "isOwn">;

function mostOf<T extends { readonly text: string }>(
  { topic, isOwn }: Named,
  texts: readonly T[],
  least: number,
): readonly T[] {
  const shares = texts.map(({ text }) => shareOf(topic, text, isOwn));
  const most = Math.max(least, ...shares);
  return texts.filter((_, index) => shares[index] === most);
}

/** A word in more texts does not tell which one is meant. */
const FEW = 2;

/** The texts that share most words with the topic, of words that few of them hold. */
function telling<T extends { readonly text: string }>(
  { topic, isOwn }: Named,
  texts: readonly T[],
): Meant<T> {
  const held = texts.map(({ text }) => heldOf(topic, text, isOwn));
  const isTelling = (term: string): boolean =>
    term.length > 2 && held.filter((terms) => terms.includes(term)).length <= FEW;
  const shared = held.map((terms) => terms.filter(isTelling));
  const most = Math.max(0, ...shared.map(({ length }) => length));
  if (most === 0) return { texts: [], topic };
  const meant = texts.filter((_, index) => shared[index]?.length === most);
  return { texts: meant, topic: shared.find(({ length }) => length === most)?.join(" ") ?? "" };
}

/** About the user or their people, and not about how a project is set up. */
function isPersonal(text: string): boolean {
  if (isRule(text)) return true;
  const verb = read(text).key?.verb;
  return verb !== "use" && verb !== "do" && (otherIn(text) !== undefined || MINE.test(text));
}

function isRule(text: string): boolean {
  return (
    LASTING.test(text) ||
    FORBIDS.test(text) ||
    PERMITS.test(text) ||
    rulesIn(text).length > 0 ||
    WISHES.test(text)
  );
}

const WISHES =
  /^(?:please |bitte )?(?:use|answer|reply|respond|write|keep|prefer|call|address|talk|speak|sign|put|format|name|end|start|begin)(?![\p{L}])|^(?:i|we) (?:want|like|prefer) /iu;
const MINE =
  /(?<![\p{L}])(?:my|i|ich|meine?|je|mon|ma|mes|yo|mis?|eu|meus?|minhas?|я|мо\p{L}{1,2}|меня)(?![\p{L}])|j['’]\p{L}|我|私|^(?:soy|tengo|vivo|trabajo|tomo|sou|tenho|moro|trabalho)(?![\p{L}])/iu;
