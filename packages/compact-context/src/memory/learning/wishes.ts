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

/** True for a text that the topic of a wish means. */
export function isMeant(topic: string, text: string): boolean {
  const [wanted, told] = [topicTerms(topic), topicTerms(text)];
  return heldIn(topic, text) >= MOST || (told.size > 1 && shareIn(told, wanted) >= MOST);
}

const MOST = 0.8;

/** A closing quote is no part of a word, `mine` none of a topic. */
function termsOf(text: string): ReadonlySet<string> {
  return topicTerms(text.replace(/['’](?![\p{L}])|我们?的|私の/gu, " "));
}

/** Share of a topic's words that a text holds, or tells in words of the same kind. */
function heldIn(topic: string, text: string): number {
  const wanted = termsOf(topic);
  const told = termsOf(text);
  const other = otherIn(text);
  const isOfOther = other !== undefined && shareIn(topicTerms(other), wanted) === 0;
  const kinds = isOfOther
    ? []
    : KINDS.filter(({ named, told: tells }) => topic.search(named) >= 0 && tells.test(text));
  const byKind = topicTerms(kinds.flatMap(({ named }) => topic.match(named) ?? []).join(" "));
  const held = [...wanted].filter((term) => byKind.has(term) || shareIn(new Set([term]), told) === 1);
  return wanted.size === 0 ? 0 : held.length / wanted.size;
}

/** What a wish means, and the words by which other texts tell it. */
export interface Meant<T> {
  readonly texts: readonly T[];
  readonly topic: string;
}

/**
 * The texts that a wish means: those that hold its words. Where none does and it is sure that something is to be
 * forgotten, those that hold most of them, at least half; of what a pronoun points to, those that share a telling word.
 */
export function meantBy<T extends { readonly text: string }>(
  wish: ForgetWish,
  texts: readonly T[],
): Meant<T> {
  const { sure, scope, isLoose, points } = wish;
  const possible = texts.filter(
    ({ text }) => scope === "anything" || (scope === "own" ? isPersonal(text) : isRule(text)),
  );
  for (const topic of points.length > 0 ? points : [wish.topic]) {
    const meant = possible.filter(({ text }) => isMeant(topic, text));
    if (meant.length > 0) return { texts: meant, topic };
    const most = sure && topicTerms(topic).size > 1 ? mostOf(topic, possible) : [];
    if (most.length > 0) return { texts: most, topic };
    const shared = isLoose ? telling(topic, possible) : undefined;
    if (shared !== undefined) return shared;
  }
  return { texts: [], topic: wish.topic };
}

function mostOf<T extends { readonly text: string }>(topic: string, texts: readonly T[]): readonly T[] {
  const shares = texts.map(({ text }) => heldIn(topic, text));
  const most = Math.max(0, ...shares);
  return most < 0.5 ? [] : texts.filter((_, index) => shares[index] === most);
}

/** A word in so many texts does not tell which one is meant. */
const FEW = 2;

/** The texts that share most words with the topic, of words that few of them hold. */
function telling<T extends { readonly text: string }>(
  topic: string,
  texts: readonly T[],
): Meant<T> | undefined {
  const isIn = (term: string, text: string): boolean => shareIn(new Set([term]), termsOf(text)) === 1;
  const known = [...topicTerms(topic)].filter((term) => {
    const holding = texts.filter(({ text }) => isIn(term, text)).length;
    return term.length > 2 && holding > 0 && holding <= FEW;
  });
  const counts = texts.map(({ text }) => known.filter((term) => isIn(term, text)).length);
  const most = Math.max(0, ...counts);
  if (most === 0) return undefined;
  const meant = texts.filter((_, index) => counts[index] === most);
  const shared = known.filter((term) => meant.every(({ text }) => isIn(term, text)));
  return { texts: meant, topic: shared.join(" ") };
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
  /^(?:my|i|ich|meine?|je|j['’]|mon|ma|mes|yo|mis?|eu|(?:[oa] )?(?:meu|minha)|я|мо[йяёи]|меня|у меня|我|私)(?![\p{L}])/iu;
