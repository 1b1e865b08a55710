import { LEAD } from "./language.ts";
import { clausesIn, type Head, headIn, partsIn, read } from "./meaning.ts";
import { relationOf } from "./relation.ts";
import { holds, isOrdinary, isValue, NONE, shareIn, topicTerms } from "./terms.ts";

// What an older statement says besides what a newer one replaces.

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
  /^(?:(?:our|my|the|we|i|unser\p{L}*|mein\p{L}*|wir|ich|der|die|das|notre|nos|mon|ma|mes|nous|je|on|les?|la|nuestr\p{L}+|mis?|el|los|las|noss\p{L}+|meus?|minhas?|[oa]s?|наш\p{L}*|мо[йяеи]\p{L}*|мы|я)\s|我|私)/iu;

/** The parts of an older statement that a newer one does not mention; undefined if there are none. */
export function restOf(older: string, newer: string): string | undefined {
  const pieces = partsIn(older.replace(LEAD, "").replace(/[.!。！]+$/u, ""));
  const [first = ""] = pieces;
  // Without a key it is no clause; one without a subject has it in its verb.
  const head = headIn(first) ?? (read(first).key === undefined ? undefined : { subject: "", predicate: "" });
  const [told, { key, permits }] = [topicTerms(newer), read(newer)];
  const parts = pieces.map((piece, index) => {
    const isOwn = index === 0 || OWN_SUBJECT.test(piece);
    const isWhole = isOwn || headIn(piece) !== undefined;
    const { content, key: its } = read(piece);
    const subject = isOwn ? (its?.subject ?? NONE) : NONE;
    const isOfAnother = subject.size > 0 && shareIn(subject, told) === 0;
    const said = [...content].filter((term) => !(isOwn && holds(key?.subject ?? NONE, term)));
    const isUntold = isOfAnother || (said.length > 0 && shareIn(new Set(said), told) === 0);
    return {
      text: isWhole || head === undefined ? piece : continued(head, piece),
      share: shareIn(content, told),
      isOwn,
      isRelated: relationOf(newer, piece) !== "apart",
      isKept:
        isUntold &&
        !DEPENDS.test(piece) &&
        (index === 0 || content.size > 1) &&
        (isWhole || head !== undefined),
    };
  });
  const replaced = replacedIn(parts);
  // A lifted rule leaves nothing.
  if (permits || replaced === undefined) return undefined;
  const kept = parts.filter((part) => part !== replaced && part.isKept);
  const rest = kept.map(({ text }) => text).join("; ");
  return rest === "" ? undefined : ended(rest);
}

function ended(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[\u3040-\u9fff]$/u.test(text) ? "。" : "."}`;
}

/** A part without a subject; a thing needs the verb too: `We use Redis and Kafka`. */
function continued({ subject, predicate }: Head, piece: string): string {
  return `${/^[\p{Lu}\d]/u.test(piece) ? predicate : subject}${piece}`;
}

interface Part {
  readonly share: number;
  readonly isOwn: boolean;
  readonly isRelated: boolean;
}

/** The part that a newer statement replaces: one that it is related to, else one that it mentions. */
function replacedIn<One extends Part>(parts: readonly One[]): One | undefined {
  const closest = parts.toSorted((one, other) => other.share - one.share);
  const related = closest.filter(({ isRelated }) => isRelated);
  const own = related.find(({ isOwn }) => isOwn);
  const mentioned = [...parts.slice(0, 1), ...closest].find(({ share }) => share > 0);
  return own ?? (mentioned === parts[0] ? mentioned : undefined) ?? related[0] ?? mentioned;
}
