import type { Request } from "./conversation.ts";
import { clipEnd, oneLine, plainWords, sentences, withoutMarks } from "./text.ts";

/** A standing wish in the user's own words. */
export interface Directive {
  readonly text: string;
  /** Id of the message that says it. */
  readonly id: string;
}

const ENGLISH =
  "never|don['’]?t|do not|must|mustn['’]?t|shall not|always|only|instead of|rather than|make sure|ensure|avoid|without|prefer|no longer|should(?:n['’]t)?|required?|keep|forbidden|except";
const GERMAN = "nie|niemals|nicht|immer|muss|müssen|darf|dürfen|nur|keine?n?|statt|ohne|vermeide";
const FRENCH =
  "jamais|toujours|doit|doivent|seulement|uniquement|sans|plutôt|évite[zr]?|ne|n['’]utilise[zr]?";
const SPANISH = "nunca|siempre|debes?|deben|solo|sólo|solamente|evita|sin|en lugar de|no";
const PORTUGUESE = "sempre|deve|devem|somente|apenas|não|evite|em vez de";
const ITALIAN = "mai|sempre|deve|devono|soltanto|non|evita|invece di";
const RUSSIAN = "никогда|не|всегда|должен|должна|должно|должны|только|нельзя|вместо|без";
const SPACED = new RegExp(
  `(?<![\\p{L}\\p{N}_-])(?:${[ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN].join("|")})(?![\\p{L}\\p{N}_-])`,
  "iu",
);
const USE_NOT = /\buse\b.{1,80}\b(?:not|over|instead)\b/i;
const UNSPACED =
  /不要|必须|必須|绝不|永远|只能|禁止|务必|总是|不能|不得|请勿|仅|絶対|必ず|しない|のみ|だけ|常に|べき|いけない|절대|반드시|항상|하지 ?마|금지|마세요|만 사용/;
const RULE = new RegExp(
  `(?<![\\p{L}\\p{N}_-])(?:${[
    "never|don['’]?t|do not|must|mustn['’]?t|shall not|always|only|forbidden|under no circumstances",
    "nie|niemals|immer|muss|müssen|darf|dürfen|nur|auf keinen fall|keinesfalls",
    "jamais|toujours|doit|doivent|seulement|uniquement|n['’]utilise[zr]?|interdit",
    "nunca|siempre|debes?|deben|solo|sólo|solamente|prohibido",
    "sempre|deve|devem|somente|apenas|proibido",
    "mai|devono|soltanto|vietato",
    "никогда|всегда|должен|должна|должно|должны|только|нельзя",
  ].join("|")})(?![\\p{L}\\p{N}_-])`,
  "iu",
);
const FENCE = /^\s{0,8}(?:```|~~~)/;
const LONGEST = 300;
const NAME = /[A-Za-z].*[\d_./-]|[\d_./-].*[A-Za-z]/;

/**
 * Sentences that state a lasting wish or limit, newest first; a newer one that says nearly the same replaces the older,
 * unless each names something that the other does not.
 */
export function standingDirectives(requests: readonly Request[]): Directive[] {
  const found: Directive[] = [];
  const kept: Wish[] = [];
  for (const request of [...requests].reverse()) {
    for (const text of directivesIn(request.text)) {
      const wish = readWish(text);
      if (kept.some((other) => saysTheSame(wish, other))) continue;
      if (kept.length < 200) kept.push(wish);
      if (request.stays !== "whole") found.push({ text, id: request.id });
    }
  }
  return found;
}

function directivesIn(text: string): string[] {
  const prose: string[] = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) fenced = !fenced;
    else if (!fenced) prose.push(line);
  }
  return sentences(prose.join("\n"))
    .filter((sentence) => sentence.length >= 6 && !/[?？]$/.test(sentence) && isDirective(sentence))
    .map((sentence) => clipEnd(oneLine(withoutMarks(sentence)), LONGEST));
}

/** True for a sentence that forbids, demands or limits something in one of ten major languages. */
export function isDirective(sentence: string): boolean {
  const read = sentence.slice(0, 1000);
  return SPACED.test(read) || USE_NOT.test(read) || UNSPACED.test(read);
}

/** True for a directive that leaves no choice: never, must, only and their like, not a preference. */
export function isRule(sentence: string): boolean {
  const read = sentence.slice(0, 1000);
  return RULE.test(read) || UNSPACED.test(read);
}

interface Wish {
  /** Every word once. */
  readonly words: readonly string[];
  readonly known: ReadonlySet<string>;
  /** Files, identifiers and the like; a bare number is none, so that a newer limit replaces the older. */
  readonly names: readonly string[];
}

function readWish(text: string): Wish {
  const marked = text.match(/[\w./-]*[\d_./-][\w./-]*/g) ?? [];
  const names = marked.map((name) => name.replace(/[./-]+$/, "")).filter((name) => NAME.test(name));
  const known = new Set([...plainWords(text), ...marked]);
  return { words: [...known], known, names };
}

function saysTheSame(left: Wish, right: Wish): boolean {
  if (!sharesWords(left, right)) return false;
  const apart = left.names.some((name) => !right.names.includes(name));
  return !(apart && right.names.some((name) => !left.names.includes(name)));
}

// True when three fifths of the words of both are in both, in whole numbers; given up as soon as too many are missing.
function sharesWords(left: Wish, right: Wish): boolean {
  let spare = 8 * left.words.length - 3 * (left.words.length + right.words.length);
  for (const word of left.words) {
    if (spare < 0) return false;
    if (!right.known.has(word)) spare -= 8;
  }
  return spare >= 0;
}
