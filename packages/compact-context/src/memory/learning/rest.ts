import { clausesIn, openingOf, read } from "./meaning.ts";
import { ONCE, PARTS, relationOf, tellsAnotherValue } from "./relation.ts";
import { holds, isOrdinary, isValue, NONE, shareIn, topicTerms } from "./terms.ts";

// What of an older statement still holds beside a newer one.

/** A clause of the older statement is about something the newer ones do not mention: a port, a reason. */
export function statesMoreThan(older: string, newer: string): boolean {
  const told = topicTerms(newer);
  return clausesIn(older).some((clause) => {
    const { content } = read(clause);
    const said = [...content].filter((term) => isValue(term) || !isOrdinary(term));
    return said.length > 1 && shareIn(content, told) === 0;
  });
}

/** Begins with a pronoun that refers to another part. */
const DEPENDS =
  /^(?:(?:s?he|it|they|his|hers?|its|their|who|which|that)|seine?|ihre?|er|es|sie|son|sa|ses|il|elle|su|sus|seu|sua|его|её|их|он|она)(?![\p{L}])|^(?:他|她|它|其|彼|その)/iu;

const OWN_SUBJECT =
  /^(?:(?:our|my|the|we|i|unser\p{L}*|mein\p{L}*|wir|ich|der|die|das|notre|nos|mon|ma|mes|nous|je|on|les?|la|nuestr\p{L}+|mis?|el|los|las|noss\p{L}+|meus?|minhas?|[oa]s?|наш\p{L}*|мо[йяеи]\p{L}*|мы|я)\s|我|私|[\p{L}\d]{1,12}[はが])/iu;

/** `port 8090`. */
const OF_A_VALUE = /^\p{L}+ \d\S*$/u;

/** A name or a number: what stands before it in the first part holds for it too. */
const NO_VERB = /^[\p{Lu}\d]/u;

/** The parts of an older statement that a newer one does not mention; undefined if there are none. */
export function restOf(older: string, newer: string): string | undefined {
  const pieces = older.replace(/[.!。！]+$/u, "").split(PARTS);
  const [first = ""] = pieces;
  // Without a key it is no clause; one without a subject has it in its verb.
  const [opening, isOurs] = [openingOf(first), OWN_SUBJECT.test(first)];
  const whose = opening?.subject || (read(first).key === undefined ? undefined : "");
  const [told, now] = [topicTerms(newer), read(newer)];
  const isRelated = (piece: string, isOwn: boolean): boolean =>
    (isOwn && relationOf(newer, piece) !== "apart") ||
    (OF_A_VALUE.test(piece) && shareIn(read(piece).content, told) > 0 && tellsAnotherValue(now, read(piece)));
  const isUntold = (piece: string, isOwn: boolean): boolean => {
    const { content, key: its } = read(piece);
    const subject = isOwn ? (its?.subject ?? NONE) : NONE;
    if (subject.size > 0 && shareIn(subject, told) === 0) return true;
    const said = [...content].filter((term) => !(isOwn && holds(now.key?.subject ?? NONE, term)));
    return said.length > 0 && shareIn(new Set(said), told) === 0;
  };
  const parts = pieces.map((piece, index) => {
    const isOwn = index === 0 || OWN_SUBJECT.test(piece);
    const isWhole = isOwn || (openingOf(piece)?.subject ?? "") !== "";
    const { content } = read(piece);
    const isKept =
      !DEPENDS.test(piece) && (index === 0 || content.size > 1) && (isWhole || whose !== undefined);
    return {
      text: isWhole ? piece : `${isOurs && NO_VERB.test(piece) ? opening?.verb : whose}${piece}`,
      share: shareIn(content, told),
      isRelated: isRelated(piece, isOwn),
      isKept: isKept && isUntold(piece, isOwn),
    };
  });
  const related = parts.filter(({ isRelated }) => isRelated).sort((one, other) => other.share - one.share);
  const [replaced = parts.find(({ text }) => !ONCE.test(text))] = related;
  // A lifted rule leaves nothing.
  if (now.permits || (related.length === 0 && replaced?.share === 0)) return undefined;
  const kept = parts.filter((part) => part !== replaced && part.isKept);
  const rest = kept.map(({ text }) => text.replace(/(?<=\S)で$/u, "です")).join("; ");
  if (rest === "") return undefined;
  return `${rest.charAt(0).toUpperCase()}${rest.slice(1)}${/[\u3040-\u9fff]$/u.test(rest) ? "。" : "."}`;
}
