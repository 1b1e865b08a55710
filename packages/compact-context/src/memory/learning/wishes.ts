import type { Message } from "../../core/message.ts";
import { rulesIn } from "../../summarizers/extractive/statements.ts";
import { type ForgetRequest, goesOnWith, readForgetRequest, readForgetRequests } from "./forgetting.ts";
import { KINDS, otherIn } from "./kinds.ts";
import { FORBIDS, LASTING, PERMITS, THAT } from "./language.ts";
import { read } from "./meaning.ts";
import { saidIn, sentencesOf, typedBefore } from "./own-words.ts";
import { relationOf } from "./relation.ts";
import { tellsFact } from "./statements.ts";
import { bare, shareIn, topicTerms } from "./terms.ts";

// Forget requests of the user, and which texts they match.

/** A user's request to forget something, in words. */
export interface ForgetWish extends ForgetRequest {
  /** Id of the message with the request. For "that", the topic is the statement before it. */
  readonly from: string;
  /** The sentence with the request, and the preceding sentences it may refer to. */
  readonly said: readonly string[];
}

/** The forget requests of a conversation, in order. */
export function forgetWishes(messages: readonly Message[]): ForgetWish[] {
  let [last, asked] = ["", ""];
  return messages.flatMap((message) => {
    const typed = saidIn(message);
    if (typed === "") return [];
    const sentences = sentencesOf(typedBefore(typed));
    const wishes = sentences.flatMap((sentence, index): ForgetWish[] => {
      const before = sentences.slice(Math.max(0, index - 2), index);
      const order = goesOnWith(sentence, sentences[index - 1] ?? asked) ?? sentence;
      return readForgetRequests(order, before).map((request): ForgetWish => {
        const { isLoose, at } = request;
        const said = [order === sentence ? sentence.slice(at) : sentence, ...(isLoose ? before : [])];
        return { ...ofWhatWasSaid(request, last), from: message.id, said };
      });
    });
    asked = sentences.at(-1) ?? "";
    last = sentencesOf(typed).findLast((sentence) => readForgetRequest(sentence) === undefined) ?? last;
    return wishes.filter(({ topic }) => topicTerms(topic).size > 0);
  });
}

/** The request; one that names nothing is about the statement before it. */
function ofWhatWasSaid(request: ForgetRequest, last: string): ForgetRequest {
  const { topic, points, sure } = request;
  if (points.length > 0 || !(topic === "" || THAT.test(topic))) return request;
  // Where it is not sure, that has to be a fact: a request for work can be taken back, too.
  const isMeant = sure || tellsFact(last);
  return { ...request, topic: isMeant ? last : "", all: false, sure: isMeant };
}

/** True if a topic matches a text. With `isOwn`, facts about other people do not match. */
export function isMeant(topic: string, text: string, isOwn = false): boolean {
  const [wanted, told] = [termsOf(topic), termsOf(text)];
  const held = wanted.size === 0 ? 0 : heldOf(topic, text, isOwn).length / wanted.size;
  return held >= MOST || (told.size > 1 && shareIn(told, wanted) >= MOST);
}

/** Share of one text's words in the other from which they mean the same. */
const MOST = 0.8;

/** The topic's words that a text contains or states in words of the same kind. */
function heldOf(topic: string, text: string, isOwn: boolean): readonly string[] {
  const [wanted, told, other] = [termsOf(topic), termsOf(text), otherIn(text)];
  const isOfOther = isOwn && other !== undefined && shareIn(termsOf(other), wanted) === 0;
  const kinds = isOfOther
    ? []
    : KINDS.filter(({ named, told: tells }) => topic.search(named) >= 0 && tells.test(text));
  const byKind = termsOf(kinds.flatMap(({ named }) => topic.match(named) ?? []).join(" "));
  return [...wanted].filter((term) => byKind.has(term) || shareIn(new Set([term]), told) === 1);
}

/** Closing quotes are not part of a word, parts of a compound are words, and `mine` has no meaning here. */
function termsOf(text: string): ReadonlySet<string> {
  return topicTerms(text.replace(/['’](?![\p{L}])|(?<=\p{L})-(?=\p{L})|我们?的|私の/gu, " "));
}

/** The texts that a wish matches, and the topic that other texts are matched with. */
export interface Meant<T> {
  readonly texts: readonly T[];
  readonly topic: string;
}

/**
 * The texts that a wish matches: those that contain its words. If there are none, for a pronoun's target those
 * that share a telling word.
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
  { points, isLoose, isOwn }: ForgetWish,
  texts: readonly T[],
): Meant<T> {
  const meant = texts.filter(({ text }) => isMeant(topic, text, isOwn));
  // A part of the name is another thing: `my car` is not `my car insurance`.
  return meant.length > 0 || points.length === 0 || !isLoose
    ? { texts: meant, topic }
    : telling({ topic, isOwn }, texts);
}

/**
 * Adds newer texts to the matches of a wish: a text that replaces one in `told` that the wish matches. It may
 * omit generic words, as `staging` for `our staging server`.
 */
export function withNewer<T extends { readonly text: string }>(
  wish: ForgetWish,
  texts: readonly T[],
  { told, meant }: { readonly told: readonly string[]; readonly meant: Meant<T> },
): Meant<T> {
  const { topic, isOwn } = wish;
  const thing = bare(termsOf(topic));
  const older = thing.size === 0 ? [] : told.filter((text) => isMeant(topic, text, isOwn));
  const newer = texts.filter(
    (one) =>
      !meant.texts.includes(one) &&
      shareIn(thing, termsOf(one.text)) === 1 &&
      older.some((text) => ["replaces", "likely"].includes(relationOf(one.text, text))),
  );
  return newer.length === 0 ? meant : { texts: [...meant.texts, ...newer], topic: meant.topic };
}

type Named = Pick<ForgetWish, "topic" | "isOwn">;

/** A word in more texts than this does not tell them apart. */
const FEW = 2;

/** The texts that share most words with the topic, counting only words that few texts contain. */
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

/** About the user or their people, not about a project's setup. */
function isPersonal(text: string): boolean {
  if (isRule(text)) return true;
  const verb = read(text).key?.verb;
  return verb !== "use" && verb !== "do" && (otherIn(text) !== undefined || MINE.test(text));
}

function isRule(text: string): boolean {
  return LASTING.test(text) || FORBIDS.test(text) || PERMITS.test(text) || rulesIn(text).length > 0;
}

const MINE =
  /(?<![\p{L}])(?:my|i|ich|meine?|je|mon|ma|mes|yo|mis?|eu|meus?|minhas?|я|мо\p{L}{1,2}|меня)(?![\p{L}])|j['’]\p{L}|我|私|^(?:soy|tengo|vivo|trabajo|tomo|sou|tenho|moro|trabalho)(?![\p{L}])/iu;
