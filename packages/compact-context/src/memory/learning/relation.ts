import { contrasts, isBeside, isNarrower } from "./apart.ts";
import { LEAD, NO_MORE, OTHERS, STRONG_CHANGE, TELLS_CHANGE, WEAK_CHANGE } from "./language.ts";
import {
  clausesIn,
  clausesOf,
  isParallelOf,
  type Key,
  permitsOnce,
  type Read,
  read,
  subjectIn,
} from "./meaning.ts";
import { tellsSwapOf } from "./passives.ts";
import {
  bare,
  GENERIC,
  holds,
  isOrdinary,
  isReplaceable,
  isValue,
  kindOf,
  NONE,
  PLAIN,
  permitsInJapanese,
  same,
  sameTerms,
  shareIn,
  shareKind,
  topicTerms,
} from "./terms.ts";

/** Relation of a newer statement to an older one. */
export type Relation =
  /** The newer statement says that it replaces this one. */
  | "replaces"
  /** It reports a change in words about this one: it replaces it unless another statement matches as well. */
  | "likely"
  /** It gives another value of the same thing without saying that the older one is out of date. */
  | "conflicts"
  | "apart";

/** Relation of a newer statement of a person to an older one, by words alone. Pure; `apart` if in doubt. */
export function relationOf(newer: string, older: string): Relation {
  const [now, then] = [read(newer), read(older)];
  if (
    newer === older ||
    [isOfOthers, staysAfterMove, permitsOnce, isBeside].some((isApart) => isApart(now, then))
  )
    return "apart";
  if (tellsSwapOf(newer, older)) return "likely";
  if ([isParallelOf, namesOld, reverses, denies, hasMovedFrom].some((replaces) => replaces(now, then)))
    return "replaces";
  if (same(now.content, then.content))
    return now.tellsChange && now.negated !== then.negated ? "replaces" : "apart";
  if (!sharesKey(now, then) && !partsOf(now).some((part) => sameButForValues(part, then)))
    return closeness(now, then) >= CLOSE || lifts(now, then) ? "likely" : "apart";
  return now.tellsChange || tellsOldValue(now, then) ? "replaces" : "conflicts";
}

/** The newer statement corrects the older one, surely or likely. */
export function means(newer: string, older: string): boolean {
  return ["replaces", "likely"].includes(relationOf(newer, older));
}

/** The speaker moved away from a place. */
const MOVED =
  /(?<![\p{L}])(?:(?:mudei(?:-me)?|(?:me )?mudé|(?:me he|nos hemos) mudado|(?:ai|avons) déménagé) d[eo] (.+?) (?:a|à|para)|(?:я|мы) переехал\p{L}? из (.+?) (?:на|в)|(?:bin|sind) (?:\p{L}+ )?von ([^,.]{1,40}?) nach [^,.]{1,40}gezogen)(?![\p{L}])|(?:^|[，。、])(?:我们?)?(?:现在|已经|刚|昨天|最近|[去今]年|上个?[月周])*从([^，。、]{1,20}?)搬到/iu;

/** The older statement says that the speaker lives there. */
function hasMovedFrom({ text }: Read, { key }: Read): boolean {
  if (key?.verb !== "live" || key.subject.size > 0) return false;
  const [, ...from] = MOVED.exec(text) ?? [];
  return shareIn(topicTerms(from.join(" ")), key.value) === 1;
}

/** What somebody went through in a place stays true when they move. */
const PAST =
  /(?<![\p{L}])(?:born|grew up|raised in|graduated|(?:met|married) (?:my|our|him|her)|geboren|aufgewachsen|studiert|née?s?|grandi|étudié|nac(?:í|imos)|crec(?:í|imos)|nasc(?:i|emos)|cresc(?:i|emos)|(?:родил|вырос)\p{L}*)(?![\p{L}])|出生|长大|毕业|生まれ|育[ちっ]|卒業/iu;
const HOME =
  /(?<![\p{L}])(?:mov(?:e|ed|ing)|relocat\p{L}+|liv(?:e|ing)|(?:um)?gezogen|ziehen?|wohnen?|leben?|déménag\p{L}+|habit\p{L}+|vis|mud\p{L}{1,5}|viv(?:o|imos)|mor(?:o|amos)|переехал\p{L}?|живу|живём)(?![\p{L}])|搬|住|引っ越/iu;

const PERSON =
  /^(?:(?:i|we|ich|wir|je|nous|yo|me|nos|eu|я|мы|vivo|moro|moramos|vivimos)(?![\p{L}])|j['’]|我|私|[^はが]*引っ越)/iu;

function staysAfterMove(now: Read, then: Read): boolean {
  const isMove = PERSON.test(now.text.replace(LEAD, "")) && HOME.test(now.text) && !PAST.test(now.text);
  return isMove && PAST.test(then.text) && !HOME.test(then.text);
}

/** One is about somebody else's things, and the other one does not mention them. */
function isOfOthers(now: Read, then: Read): boolean {
  return isWithout(now, then) || (SPEAKERS.test(now.text.replace(LEAD, "")) && isWithout(then, now));
}

function isWithout({ text, key }: Read, { content }: Read): boolean {
  const plain = text.replace(LEAD, "");
  const found = OTHERS.exec(plain);
  if (found === null || (key?.verb === "owner" && COLLEAGUE.test(found[0]))) return false;
  const [name = ""] = /^,? \p{Lu}\p{L}+/u.exec(plain.slice(found.index + found[0].length)) ?? [];
  return shareIn(topicTerms(found[0] + name), content) === 0;
}

/** One who takes something over, does so where the speaker works. */
const COLLEAGUE = /colleague|kolleg|collègue|colega|compañer|коллег|同事|同僚/iu;

/** The speaker, or a thing of theirs, is the subject. */
const SPEAKERS =
  /^(?:(?:ya|já) )?(?:(?:no|não) )?(?:i|we|my|our|ich|wir|meine?|unsere?|je|nous|mon|ma|notre|yo|mi|eu|(?:[oa] )?(?:meu|minha)|я|мы|мо[йяё]|vivo|trabajo|moro|trabalho)(?![\p{L}])|^(?:j['’]|[我私])/iu;

/** A statement whose subject is in another sentence. */
const OF_WHAT_CAME_BEFORE = /^(?:that|this|it)(?:['’]s| is| was)(?: now)? (?:our|my|the|a)\s/i;

/**
 * The statements that a newer one replaces: those it names, else the only one it can mean. One that `corrects`
 * stands in the place of what was just taken back.
 */
export function replacedBy<Item extends { readonly text: string }>(
  newer: string,
  items: readonly Item[],
  corrects: boolean,
): readonly Item[] {
  const by = (relation: Relation): Item[] => items.filter(({ text }) => relationOf(newer, text) === relation);
  const named = [...by("replaces"), ...(corrects ? by("conflicts") : [])];
  if (named.length > 0) return named;
  const now = read(newer);
  const likely = by("likely")
    .map((item) => ({ item, close: closeness(now, read(item.text)) }))
    .sort((one, other) => other.close - one.close);
  const [first, second] = likely;
  return first !== undefined && first.close - (second?.close ?? -1) >= CLOSER ? [first.item] : [];
}

/** Minimum share of an older statement's topic that a newer one must mention to mean it. */
const CLOSE = 0.6;
/** The minimum if the newer one gives another value of the same kind: a number, day, person, host or tool. */
const NEAR = 0.34;
/** Minimum lead over the next closest statement. */
const CLOSER = 0.15;

/** Closeness of a newer statement, or of its best clause, to an older one. */
function closeness(now: Read, then: Read): number {
  if (OF_WHAT_CAME_BEFORE.test(now.text)) return 0;
  if (tellsSwapOf(now.text, then.text)) return 1;
  return Math.max(...partsOf(now).map((part) => closenessOf(part, then)));
}

const parts = new WeakMap<Read, readonly Read[]>();

/** A statement, plus each of its clauses if it reports a change. */
function partsOf(now: Read): readonly Read[] {
  const known = parts.get(now);
  if (known !== undefined) return known;
  const { tellsChange } = now;
  const clauses = tellsChange ? clausesOf(now.text) : [];
  const made = [now, ...clauses.map((clause) => ({ ...read(clause), tellsChange }))];
  parts.set(now, made);
  return made;
}

/**
 * Closeness of a newer statement that reports a change to an older one, 0 to 1: the share of the older one's
 * words that it mentions. Values, names that are gone and generic verbs do not count. 0 if it drops nothing
 * of the older one or is about a sibling.
 */
function closenessOf(now: Read, then: Read): number {
  const namesOld = namesOldValue(now, then);
  const another = namesOld || tellsAnotherValue(now, then);
  if (!tellsChangeOf(now, then, { another, namesOld })) return 0;
  const left = [...then.content].filter((term) => !holds(now.content, term));
  const [subject, value] = [then.key?.subject ?? NONE, then.key?.value ?? NONE];
  const topic = [...then.content].filter((term) => subject.has(term) || !isReplaceable(term));
  const shared = topic.filter((term) => !left.includes(term)).length;
  const isValueOf = (term: string): boolean => then.names.has(term) || (subject.size > 0 && value.has(term));
  const gone = topic.filter((term) => left.includes(term) && isValueOf(term)).length;
  const share = shared / Math.max(1, topic.length - gone);
  const isOfIt = share >= NEAR && shared > (namesOld ? 0 : 1);
  if (another && (isOfIt || saysNothingElse(now, then))) return Math.max(share, CLOSE);
  if (shared > 1) return share;
  return share === 1 && shareKind(left, now.content) ? 1 : 0;
}

/** Everything it mentions, except values and filler words, the older statement mentions too. */
function saysNothingElse(now: Read, then: Read): boolean {
  const subject = now.key?.subject ?? NONE;
  const said = [...now.content].filter(
    (term) =>
      !GENERIC.has(term) &&
      (subject.has(term) || !(isReplaceable(term) || (then.names.size > 0 && now.names.has(term)))),
  );
  const spoken = said.length > 0 ? said : [...subject];
  return spoken.length > 0 && spoken.every((term) => holds(then.content, term));
}

/** It reports a change, not another thing, and drops something of the older statement. */
function tellsChangeOf(now: Read, then: Read, told: { another: boolean; namesOld: boolean }): boolean {
  if (!now.tellsChange && (now.isUnchanged || !told.another || !UNDOES.test(now.text))) return false;
  if (isNarrower(now, then) || (!told.namesOld && contrasts(now, then))) return false;
  if (bothForbid(now, then)) return false;
  if (told.another || now.gone.length > 0) return true;
  // A figure whose kind the older one lacks belongs to something else.
  if ([...now.content].some((term) => /^\d/.test(term) && !holds(then.content, term))) return false;
  const firm = now.text.replace(ALSO_OF_TIME, " ");
  return (TELLS_CHANGE.test(firm) || UNDOES.test(firm)) && shareIn(then.content, now.content) < 1;
}

/** Two bans both hold, unless the newer one corrects the older, or has another number or tool in its place. */
function bothForbid(now: Read, then: Read): boolean {
  const isNamed = now.gone.some((old) => shareIn(old, then.content) === 1);
  if (!(now.forbids && then.forbids) || isNamed || namesOldValue(now, then)) return false;
  const [lead = ""] = LEAD.exec(now.text) ?? [];
  if (STRONG_CHANGE.test(lead) || (WEAK_CHANGE.test(now.text) && tellsAnotherValue(now, then))) return false;
  const wordsOf = ({ content }: Read): ReadonlySet<string> =>
    new Set([...content].filter((term) => !/\d/.test(term)));
  return !sameTerms(wordsOf(now), wordsOf(then));
}

/** Two bans that both hold. */
export function areTwoBans(newer: string, older: string): boolean {
  return relationOf(newer, older) === "apart" && bothForbid(read(newer), read(older));
}

/** Words that report a change or only a time: `I'm starting the article now`. */
const ALSO_OF_TIME =
  /(?<![\p{L}])(?:now|new|starting|since|finally|jetzt|nun|seit|maintenant|ahora|desde|agora|теперь)(?![\p{L}])|现在|今は/giu;

/** It has a value of the same kind as a value of the older one that it does not repeat. */
export function tellsAnotherValue(now: Read, then: Read): boolean {
  const left = [...then.content].filter((term) => !holds(now.content, term));
  const old = new Set(left.map((term) => kindOf(term, then)));
  return [...now.content].some((term) => {
    const kind = kindOf(term, now);
    return kind !== undefined && old.has(kind) && !holds(then.content, term);
  });
}

/** It repeats a value of the older one and gives another of the same kind. */
function namesOldValue(now: Read, then: Read): boolean {
  const subject = then.key?.subject ?? NONE;
  if (subject.size > 0 && shareIn(subject, now.content) === 0) return false;
  return [...now.content].some((term) => {
    const kind = kindOf(term, now);
    if (kind === undefined || kind === "day" || kind === "name" || holds(then.content, term)) return false;
    return [...then.content].some((old) => kindOf(old, then) === kind && holds(now.content, old));
  });
}

/** Takes something back without a word of change. */
const UNDOES =
  /(?<![\p{L}])(?:forget|ignore|not|isn['’]t|was|were|old|should be|let['’]s|i meant|rolled back|i['’]d rather|left|last day|olvida|oublie|esquece|забудь|vergiss|partie?|saiu|salió|se fue|dejamos)(?![\p{L}])|忘|说错|不是/iu;

/** The values in the subject that tell instances apart: `release 4.2`. */
function numberOf({ key }: Read): ReadonlySet<string> {
  return new Set([...(key?.subject ?? NONE)].filter(isValue));
}

/** A permission that names a rule's topic: a file, a branch, a tool, or a phrase of two or more words. */
function lifts(now: Read, then: Read): boolean {
  if (!(then.forbids || then.lasting || DEMANDS.test(then.text))) return false;
  if ((!now.permits && !LIFTED.test(now.text)) || isNarrower(now, then)) return false;
  const names = [...then.content].filter((term) => /[\p{L}\d][./_-]\p{L}|\d/u.test(term));
  if (names.length > 0 && names.every((term) => now.content.has(term)))
    return (
      shareIn(new Set([...then.content].filter((term) => !names.includes(term))), now.content) > 0 ||
      CHANGES.test(now.text)
    );
  if (permitsInJapanese(now.text, then.text)) return true;
  const words = topicTerms(then.text.replace(REASON, ""));
  const topic = new Set([...words].filter((term) => !then.names.has(term) && !isReplaceable(term)));
  return topic.size > 1 && shareIn(topic, now.content) >= 0.75;
}

const DEMANDS =
  /(?<![\p{L}])(?:must|can(?:no|['’])t|ha(?:s|ve) to|required|forbidden|mandatory|muss|darf|verboten|doit|interdit\p{L}*|debe|deve|обязательно|запрещ\p{L}+)(?![\p{L}])|必须|禁止/iu;
const REASON =
  /(?:,? (?:because|since|as long as|weil|da|parce que|car|porque|pois|потому что)(?![\p{L}])).*$/iu;
const LIFTED =
  /(?<![\p{L}])(?:again|lifted|no more|stop(?= \p{L}+ing)|drop|allowed|fine|wieder|aufgehoben|de nouveau|(?:volver|voltar) a|puedes?|pode|снят\p{L}?|снова|можно)(?![\p{L}])|又可以|可以|取消|また.{0,12}(?:いい|よい)|解除/iu;
/** Verbs of changing a thing count as one. */
const CHANGES =
  /(?<![\p{L}])(?:edit|touch|change|modify|write|update|ändern|bearbeiten|anfassen|modifier|toucher|editar|modificar|tocar|cambiar|mexer|alterar|менять|править|трогать)\p{L}{0,3}(?![\p{L}])|修改|改|編集|変更/iu;

function sharesKey(newer: Read, older: Read): boolean {
  const then = older.key;
  if (then === undefined) return false;
  const told = newer.tellsChange || tellsOldValue(newer, older) ? newer.clauses : [];
  return [newer.key ?? [], told]
    .flat()
    .some(
      (now) =>
        sameSubject(now, then, newer.tellsChange) &&
        !same(now.value, then.value) &&
        !differ(now.purpose, then.purpose) &&
        isOneAttribute(now, then),
    );
}

/** It also mentions the value of the older statement. */
function tellsOldValue({ content }: Read, { key }: Read): boolean {
  return key !== undefined && shareIn(key.value, content) === 1;
}

/** The subjects are the same; if a change is reported, generic words may be missing. */
function sameSubject({ subject: now }: Key, { subject: then }: Key, isChange: boolean): boolean {
  if (sameTerms(now, then)) return true;
  return isChange && bare(now).size > 0 && sameTerms(bare(now), bare(then));
}

/** The statements have the same words except for values and plain words, and the newer one has a value. */
function sameButForValues(now: Read, then: Read): boolean {
  if (differ(numberOf(now), numberOf(then))) return false;
  const wordsOf = ({ content }: Read): ReadonlySet<string> =>
    new Set([...content].filter((term) => !isValue(term) && !PLAIN.has(term)));
  const words = wordsOf(now);
  return words.size > 0 && sameTerms(words, wordsOf(then)) && [...now.content].some(isValue);
}

/** Whether equal subjects can have only one such value. */
function isOneAttribute(now: Key, then: Key): boolean {
  const named = now.subject.size > 0;
  if (now.verb === "be" || (now.verb === "owner" && then.verb === "be"))
    return named && ["be", "do", "live", "owner"].includes(then.verb);
  if (now.verb === "live" && then.verb === "be") return named;
  if (now.verb !== then.verb) return false;
  if (now.verb === "use")
    return (now.purpose.size > 0 && then.purpose.size > 0) || shareKind(now.value, then.value);
  if (now.verb === "prefer") return shareIn(now.value, then.value) > 0 || shareKind(now.value, then.value);
  if (now.verb === "do") return !named && now.link !== "" && now.link === then.link;
  return true;
}

/** Both are given and they are not the same. */
function differ(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size > 0 && other.size > 0 && !sameTerms(one, other);
}

/** It names what it replaces, and that is this statement. */
function namesOld(newer: Read, then: Read): boolean {
  const { key, content, isChange, gone } = newer;
  const [own, other] = [key?.purpose ?? NONE, then.key?.purpose ?? NONE];
  // Each has a purpose that the other lacks.
  if (own.size > 0 && other.size > 0 && shareIn(own, other) < 1 && shareIn(other, own) < 1) return false;
  if (gone.some((old) => isValueOf(then, old, newer)) || tellsLossOf(newer, then)) return true;
  // Two of a kind: `unit tests`, `end-to-end tests`.
  if (contrasts(newer, then) && shareIn(key?.subject ?? NONE, then.key?.subject ?? NONE) > 0) return false;
  const without = (terms: ReadonlySet<string>, old: ReadonlySet<string>): ReadonlySet<string> =>
    new Set([...terms].filter((term) => !holds(old, term)));
  return gone.some((old) => {
    if (shareIn(old, then.content) < 1 || isNumberOfAnother(old, content, then)) return false;
    // The older statement may itself say that the value is gone.
    if (then.gone.some((terms) => sameTerms(terms, old))) return false;
    // The rest of the older statement is mentioned too, or there is no rest.
    const others = without(then.content, old);
    return others.size === 0 || shareIn(others, without(content, old)) > 0 || isChange;
  });
}

/** The older statement is only about what is gone for good, apart from words for having it. */
function tellsLossOf({ lost, gone }: Read, { key, content, text }: Read): boolean {
  const value = key?.value ?? (HAS.test(text) ? content : NONE);
  return (
    lost.some((old) => shareIn(old, value) === 1) ||
    (key?.link !== undefined && gone.some((old) => sameTerms(old, value) && key.verb === "do"))
  );
}

const HAS = /^(?:i|we) (?:drive|own|have|ride|use|work|keep|play)(?![\p{L}])/iu;

/** What is gone is the older statement's whole value; its subject is mentioned, and no other subject is. */
function isValueOf(then: Read, old: ReadonlySet<string>, { key, content }: Read): boolean {
  const subject = bare(then.key?.subject ?? NONE);
  const value = then.key?.value ?? NONE;
  if (value.size === 0 || shareIn(value, old) < 1 || shareIn(subject, content) <= 0.5) return false;
  return [...(key?.subject ?? NONE)].every((term) => holds(old, term) || holds(then.content, term));
}

/** A number alone does not say what it belongs to. */
function isNumberOfAnother(old: ReadonlySet<string>, content: ReadonlySet<string>, { key }: Read): boolean {
  const subject = bare(key?.subject ?? NONE);
  return [...old].every(isValue) && subject.size > 0 && shareIn(subject, content) <= 0.5;
}

/** A permission that follows a rule on the same topic, or a rule that follows its opposite. */
function reverses(now: Read, then: Read): boolean {
  if (then.permits) return false;
  const isReversed = now.permits
    ? then.lasting || then.forbids
    : now.lasting && then.lasting && now.forbids !== then.forbids;
  const [few, many] =
    now.content.size < then.content.size ? [now.content, then.content] : [then.content, now.content];
  return isReversed && shareIn(few, many) >= 0.8;
}

/** The newer statement says that the older one is no longer true. */
function denies(now: Read, then: Read): boolean {
  return NO_MORE.test(now.text) && shareIn(then.content, now.content) >= 0.99;
}

/** A clause of the older statement is about something the newer ones do not mention: a port, a reason. */
export function statesMoreThan(older: string, newer: string): boolean {
  const told = topicTerms(newer);
  return clausesIn(older).some((clause) => {
    const { content } = read(clause);
    const said = [...content].filter((term) => isValue(term) || !isOrdinary(term));
    return said.length > 1 && shareIn(content, told) === 0;
  });
}

const PARTS = /[,;，、]\s*(?:and|but|und|aber|et|mais|y|pero|e|mas|и|но)?\s*|\s(?:and|und|et|y|e|и)\s/iu;
/** Begins with a pronoun that refers to another part. */
const DEPENDS =
  /^(?:(?:s?he|it|they|his|hers?|its|their|who|which|that)|seine?|ihre?|er|es|sie|son|sa|ses|il|elle|su|sus|seu|sua|его|её|их|он|она)(?![\p{L}])|^(?:他|她|它|其|彼|その)/iu;

const OWN_SUBJECT =
  /^(?:(?:our|my|the|we|i|unser\p{L}*|mein\p{L}*|wir|ich|der|die|das|notre|nos|mon|ma|mes|nous|je|on|les?|la|nuestr\p{L}+|mis?|el|los|las|noss\p{L}+|meus?|minhas?|[oa]s?|наш\p{L}*|мо[йяеи]\p{L}*|мы|я)\s|我|私)/iu;

/** The parts of an older statement that a newer one does not mention; undefined if there are none. */
export function restOf(older: string, newer: string): string | undefined {
  const pieces = older.replace(/[.!。！]+$/u, "").split(PARTS);
  const [first = ""] = pieces;
  // Without a key it is no clause; one without a subject has it in its verb.
  const whose = subjectIn(first) ?? (read(first).key === undefined ? undefined : "");
  const [told, { key, permits }] = [topicTerms(newer), read(newer)];
  const parts = pieces.map((piece, index) => {
    const isOwn = index === 0 || OWN_SUBJECT.test(piece);
    const isWhole = isOwn || subjectIn(piece) !== undefined;
    const { content, key: its } = read(piece);
    const subject = isOwn ? (its?.subject ?? NONE) : NONE;
    const isOfAnother = subject.size > 0 && shareIn(subject, told) === 0;
    const said = [...content].filter((term) => !(isOwn && holds(key?.subject ?? NONE, term)));
    const isUntold = isOfAnother || (said.length > 0 && shareIn(new Set(said), told) === 0);
    return {
      text: isWhole ? piece : `${whose}${piece}`,
      share: shareIn(content, told),
      isRelated: isOwn && relationOf(newer, piece) !== "apart",
      isKept:
        isUntold &&
        !DEPENDS.test(piece) &&
        (index === 0 || content.size > 1) &&
        (isWhole || whose !== undefined),
    };
  });
  const related = parts.filter(({ isRelated }) => isRelated).sort((one, other) => other.share - one.share);
  const replaced = related[0] ?? parts[0];
  // A lifted rule leaves nothing.
  if (permits || (related.length === 0 && replaced?.share === 0)) return undefined;
  const kept = parts.filter((part) => part !== replaced && part.isKept);
  const rest = kept.map(({ text }) => text).join("; ");
  return rest === "" ? undefined : `${rest.charAt(0).toUpperCase()}${rest.slice(1)}.`;
}

/** The statements have the same words, in any form and order, and the same negation. */
export function sayTheSame(one: string, other: string): boolean {
  const [left, right] = [read(one), read(other)];
  return left.negated === right.negated && sameTerms(left.content, right.content);
}
