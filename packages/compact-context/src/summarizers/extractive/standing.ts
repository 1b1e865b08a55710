import { flatMapInSteps, type Steps } from "../../errors.ts";
import type { Sentence } from "./statements.ts";
import { MOST_UNWRAPPED as MOST, oneLine } from "./text.ts";

// Which rules still stand: a newer one replaces those that it restates or changes, and a person may lift one.

/** Words that say nothing about what a rule is about: its force, and values that a newer rule changes. */
const NO_TOPIC = new Set(
  (
    "never always don't dont do not must should shall please only now from on instead again anymore longer any all every each the and a an to of in for with " +
    "is are be it its this that you your me my we our i use keep make sure no yes can may have has will would when whenever if then than rather also just still back go going forward " +
    "english german french spanish portuguese russian chinese japanese korean italian tabs spaces metric imperial celsius fahrenheit short long brief detailed " +
    "nie niemals immer nicht bitte nur ab jetzt sofort mehr wieder auf der die das und ein eine deutsch englisch künftig " +
    "jamais toujours pas ne le la les en de du des un une français anglais désormais nunca siempre no el los las español inglés ya ahora " +
    "sempre não o os as em um uma português inglês agora никогда всегда не на в и только теперь русском английском больше"
  ).split(" "),
);
const NAME = /[a-z].{0,80}[\d_./-]|[\d_./-].{0,80}[a-z]|[a-z][A-Z]/;

const VALUE = /[中英日德法俄]文|[英日德法俄]语|日本語|英語/g;

interface Topic {
  readonly whole: string;
  readonly words: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  readonly forbids: boolean;
  /** True for an older rule that it lifts, or takes something else instead of. */
  ends(older: Topic): boolean;
}

/** A rule, or words that lift one. */
export interface Standing {
  readonly text: string;
  readonly lifts?: boolean;
}

const FORBIDS = /\b(?:never|not|no|avoid|stop|refrain|without)\b|n['’]t\b/i;
const INSTEAD = /\b(?:instead of|rather than)\s([^,.;:]{1,60})/i;
const CLAUSES = /[:;,]\s+|\s[–—]\s|(?<=[.!])\s+/;
/** Allows something from now on; what is tied to a condition lifts nothing. */
const PERMITS =
  /^(?:(?:and|but|so|ok|okay|yes|now|from now on|i take that back)[, ]{1,2}){0,2}(?:you|we) (?:can|may|are allowed to|are free to) (?!(?:now )?(?:be|have|not|only|see|find|look|check)\b)(?:now .{3,200}|.{3,200}?\b(?:again|now|from now on|any ?time|whenever you like|after all|freely)\b[.! ]{0,3})$/i;
const TIED = /\b(?:if|when|unless|only|once|after (?!all\b)|until|as long as|except|but)\b/i;
const LONGEST_LIFT = 240;
/** Takes a rule back by name: "forget the npm rule", "ignore what I said about tabs". */
const TAKES_BACK =
  /^(?:(?:ok|okay|please|now|and|so)[, ]{1,2}){0,2}(?:forget|ignore|drop|scrap|lift|disregard) (?:(?:the|my|that|this) ([\w ./-]{2,40}?) (?:rule|restriction|ban|constraint|limit|requirement)|(?:(?:the|my|that) (?:rule|restriction|ban|constraint) (?:about|on|of|against)|what i said about) ([^,.;:]{2,60}))[.! ]{0,3}$/i;
/** Goes back to a language: "please answer in English again". */
const SPEAKS_AGAIN = /^(?:please )?(?:answer|reply|respond|write|speak|talk)\b.{1,40}\bagain[.! ]{0,3}$/i;

/** The clauses that lift rules. */
export function liftsIn(all: readonly Sentence[]): string[] {
  return all
    .filter(({ pasted }) => !pasted)
    .flatMap(({ text }) => text.split(CLAUSES))
    .filter((clause) => clause.length <= LONGEST_LIFT && isLift(clause));
}

function isLift(clause: string): boolean {
  return TAKES_BACK.test(clause) || SPEAKS_AGAIN.test(clause) || (PERMITS.test(clause) && !TIED.test(clause));
}

/** What a clause lifts: the rules of that name, those that forbid what it allows, or those of the same subject. */
function liftOf(text: string): Topic {
  const [, named, about] = TAKES_BACK.exec(text) ?? [];
  const topic = topicOf(named ?? about ?? text);
  if (named !== undefined || about !== undefined)
    return { ...topic, ends: ({ words }) => isWithin(topic.words, words) };
  const permits = PERMITS.test(text);
  return {
    ...topic,
    ends: ({ words, names, forbids }) =>
      forbids === permits && isWithin(words, topic.words) && isWithin(names, topic.names),
  };
}

function isWithin(part: ReadonlySet<string>, whole: ReadonlySet<string>): boolean {
  return part.size <= whole.size && sharedBy(part, whole) === part.size;
}

/** Maximum number of rules compared per shared word. */
const MOST_ALIKE = 64;

/** The rules, newest first, without those that a newer one supersedes. */
export function* standing<Rule extends Standing>(rules: readonly Rule[]): Steps<Rule[]> {
  const byWord = new Map<string, Topic[]>();
  return yield* flatMapInSteps(rules, (rule) => {
    const topic = rule.lifts === true ? liftOf(rule.text) : topicOf(rule.text);
    const keys = topic.words.size === 0 ? [topic.whole] : [...topic.words];
    if (keys.some((key) => byWord.get(key)?.some((newer) => covers(newer, topic)) === true)) return [];
    for (const key of keys) {
      const alike = byWord.get(key) ?? [];
      if (alike.push(topic) > MOST_ALIKE) alike.shift();
      byWord.set(key, alike);
    }
    return [rule];
  });
}

/** True if two rules have the same subject, so that the newer supersedes the older. */
function covers(newer: Topic, older: Topic): boolean {
  if (older.words.size > 0 && newer.words.size > 0 && newer.ends(older)) return true;
  if (newer.words.size === 0 || older.words.size === 0) return newer.whole === older.whole;
  const fewest = Math.min(newer.names.size, older.names.size);
  const agree =
    fewest === 0
      ? newer.names.size === older.names.size || newer.words.size <= 2
      : sharedBy(newer.names, older.names) === fewest;
  const shared = sharedBy(newer.words, older.words);
  // Where each has a word of its own, that may be what the rule is about.
  const isPart = shared === Math.min(newer.words.size, older.words.size);
  return agree && isPart && 3 * (newer.words.size + older.words.size) <= 8 * shared;
}

function sharedBy(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let count = 0;
  for (const word of one) if (other.has(word)) count += 1;
  return count;
}

function topicOf(rule: string): Topic {
  const text = rule.slice(0, MOST);
  const [, instead = ""] = INSTEAD.exec(text) ?? [];
  const left = wordsOf(instead).words;
  return {
    ...wordsOf(text),
    whole: oneLine(rule).toLowerCase(),
    forbids: FORBIDS.test(text),
    ends: ({ words, forbids }) => !forbids && isWithin(words, left),
  };
}

/** The words and names that identify a rule's subject, words stemmed. */
function wordsOf(text: string): Pick<Topic, "words" | "names"> {
  const words = new Set<string>();
  const names = new Set<string>();
  for (const raw of text.replace(VALUE, "").match(/[\p{L}\p{N}_][\p{L}\p{N}_./'’-]*/gu) ?? []) {
    const word = raw.replace(/[./'’-]+$/, "").replace(/’/g, "'");
    if (NAME.test(word)) names.add(word.toLowerCase());
    const lower = word.toLowerCase();
    if (NO_TOPIC.has(lower) || /^\p{N}/u.test(lower)) continue;
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(lower))
      for (let at = 0; at + 1 < lower.length; at += 1) words.add(lower.slice(at, at + 2));
    else if (lower.length > 1) words.add(lower.slice(0, 6));
  }
  return { words, names };
}
