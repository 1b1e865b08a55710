import { LEAD, MISSED, PAST, STRONG_CHANGE, TELLS_CHANGE, WEAK_CHANGE } from "./language.ts";
import { type Read, read } from "./meaning.ts";
import {
  bare,
  heldBy,
  holds,
  isOrdinary,
  isValue,
  NONE,
  PLAIN,
  remembered,
  shareIn,
  toolsLike,
  topicTerms,
} from "./terms.ts";

/** Statements that stand beside an older one, however alike their words: of the past, or of another thing. */
export function isBeside(now: Read, then: Read): boolean {
  return [isOfThePast, losesAnother, areNamedApart, permitsAnother].some((apart) => apart(now, then));
}

/** The same for two texts. */
export function standsBeside(newer: string, older: string): boolean {
  return isBeside(read(newer), read(older));
}

/** One text is only about the past, and another about what is so instead. */
export function wasBefore(past: string, other: string): boolean {
  return !tellsPast(other) && isOfThePast(read(past), read(other));
}

/** It says how something was or what was missed, and nothing that is so now. */
export const tellsPast: (text: string) => boolean = remembered(2_000, (text) => {
  const rest = text.replace(LEAD, "").replace(WITH_THE_PAST, " ");
  return PAST.test(text) && ![PRESENT, STRONG_CHANGE, WEAK_CHANGE].some((now) => now.test(rest));
});

/** Words of a change that say nothing new in a statement about the past. */
const WITH_THE_PAST = /(?<![\p{L}])(?:used to|sorry|désolée?|perdón|desculpa)(?![\p{L}])/giu;
const PRESENT =
  /(?<![\p{L}])(?:is|are|am|['’](?:s|m|re)|but|ist|sind|bin|aber|est|sont|suis|mais|es|son|está|pero|é|são|mas|но)(?![\p{L}])|但|现|でも/iu;

/** A past state replaces only what has the same value: `We used to use Jenkins` says that it is gone. */
function isOfThePast(now: Read, then: Read): boolean {
  if (!tellsPast(now.text)) return false;
  const value = then.key?.value ?? then.content;
  return MISSED.test(now.text) || shareIn(value, now.content) < 1;
}

/** It only says that something is gone, or forbids it, and that is not in the older statement. */
function losesAnother(now: Read, then: Read): boolean {
  const gone = new Set(now.gone.flatMap((terms) => [...terms]));
  if (gone.size === 0 || ![...now.content].every((term) => holds(gone, term) || PLAIN.has(term)))
    return false;
  const isNew = (term: string): boolean => !holds(then.content, term);
  // A limit or a tool in the place of another.
  if (then.forbids && [...gone].some((term) => isNew(term) && (/\d/.test(term) || toolsLike(term))))
    return false;
  const value = then.key?.value ?? NONE;
  return (
    shareIn(value.size > 0 ? value : then.content, gone) < 1 &&
    now.gone.every((terms) => [...terms].some(isNew))
  );
}

/** A thing and the name that tells it apart: `flight to Oslo`, `20 mg of lisinopril`. */
const NAMED =
  /(?<![\p{L}])(\p{L}+) (to|for|of|from|in|with|nach|für|von|mit|à|pour|de|avec|para|con|com|в|на|из|для) (?:the |my |our |der |die |das |dem |la |le |el |o |a )?(\p{L}{3,})/giu;

/** Both name a thing of one kind and each has a name and a figure of its own: `… to Oslo … at 8`, `… to Rome … at 9`. */
function areNamedApart(now: Read, then: Read): boolean {
  const hasOwnFigure = ({ content }: Read, other: Read): boolean =>
    [...content].some((term) => /^\d/.test(term) && !holds(other.content, term));
  if (STRONG_CHANGE.test(now.text) || now.gone.length > 0) return false;
  if (!hasOwnFigure(now, then) || !hasOwnFigure(then, now)) return false;
  const old = [...then.text.matchAll(NAMED)];
  const isOwn = (name: string, { content }: Read): boolean => {
    const terms = [...topicTerms(name)];
    return (
      terms.length > 0 && terms.every((term) => !isValue(term) && !PLAIN.has(term) && !holds(content, term))
    );
  };
  return [...now.text.matchAll(NAMED)].some(([, thing = "", , name = ""]) =>
    old.some(
      ([, other = "", , called = ""]) =>
        heldBy(thing, other) === 1 && isOwn(name, then) && isOwn(called, now),
    ),
  );
}

/** A permission and a rule each name a thing that the other does not: the staging server, the production server. */
function permitsAnother(now: Read, then: Read): boolean {
  if (!now.permits || then.permits) return false;
  const [few, many] = [now.content, then.content].sort((one, other) => one.size - other.size);
  // The first word is the verb, which may be another of the same meaning.
  const hasOwn = ({ content, names }: Read, other: Read): boolean =>
    [...content].some(
      (term, index) =>
        (index > 0 || names.has(term)) &&
        !(isOrdinary(term) || TELLS_CHANGE.test(term) || holds(other.content, term)),
    );
  return shareIn(few ?? NONE, many ?? NONE) >= ALIKE && hasOwn(now, then) && hasOwn(then, now);
}

const ALIKE = 0.8;

/** Each of two subjects has a word that the other lacks: `the web team`, `the mobile team`. */
export function contrasts(now: Read, then: Read): boolean {
  if (areOfAKind(now.text, then.text)) return true;
  const isOwn = (term: string): boolean => !isValue(term) && !PLAIN.has(term);
  const newIn = (terms: Iterable<string>, { content }: Read): boolean =>
    [...terms].some((term) => isOwn(term) && !holds(content, term));
  if (now.key === undefined && then.key === undefined)
    return newIn([...now.content].slice(0, 1), then) && newIn([...then.content].slice(0, 1), now);
  const [own, other] = [now.key?.subject ?? NONE, then.key?.subject ?? NONE];
  // A word missing from a later mention counts only if the newer statement also has a word of its own.
  const told = newIn(bare(own), then) ? bare(other) : other;
  return own.size <= MOST_OF_A_SUBJECT && newIn(own, then) && newIn(told, now);
}

/** An adjective before a noun, in Russian; not one such as `new`. */
const DESCRIBED =
  /(?<![\p{L}])(?!(?:нов|стар|прежн|прошл|перв|последн|все|наш|мо|эт|сам)(?:[аеёоуыюяий]\p{L}{0,2})? )(\p{Script=Cyrillic}{2,}(?:[ыио]й|[ая]я|[ое]е|[ыи]е|[ое]го|[ое]м|[ыи]х|[ую]ю)) (\p{Script=Cyrillic}{3,})/giu;

/** Both describe a noun, and not alike: `основной сервис`, `тестовый сервис`. */
function areOfAKind(now: string, then: string): boolean {
  const old = [...then.matchAll(DESCRIBED)];
  return [...now.matchAll(DESCRIBED)].some(([, which = "", noun = ""]) =>
    old.some(([, other = "", thing = ""]) => heldBy(noun, thing) === 1 && heldBy(which, other) === 0),
  );
}

/** It narrows the topic of the older statement: `the wifi`, then `the guest wifi`. */
export function isNarrower({ text, names }: Read, { content, key, names: then }: Read): boolean {
  const subject = key?.subject ?? content;
  const named = text.matchAll(
    /(?<![\p{L}])(?:the|our|my|their|his|her)\s(?!other |same |old |previous |former |first |whole )(\p{L}+)(?:['’]s)?\s(?=(\p{L}+))/giu,
  );
  return [...named].some(({ index, 1: which = "", 2: thing = "" }) => {
    const [modifier, head] = [topicTerms(which), topicTerms(thing)];
    const isName = index > 0 && then.size > 0 && shareIn(modifier, names) === 1;
    if (isName || bare(modifier).size === 0 || head.size === 0) return false;
    return shareIn(head, subject) === 1 && shareIn(modifier, content) === 0;
  });
}

/** A longer subject is half a sentence. */
const MOST_OF_A_SUBJECT = 5;
