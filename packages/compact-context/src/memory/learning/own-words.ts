import {
  DENIED,
  FORGET,
  FORGET_BEHIND,
  LABEL,
  LASTING,
  NOT_TO_KEEP,
  REMEMBER,
  REPORTED,
  SUPPOSED,
  TASK,
} from "./language.ts";

/** Ends of sentences, line breaks among them; none behind an initial or the day of a German date. */
const END =
  /(?<=[.!?…]["'”’»)]?)(?<!(?:^|[\s(])\p{Lu}\.)(?<!\d\.(?=\s+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)))\s+|(?<=[。！？])(?!["'”’」』])|\n+/u;
const MARKS = /^(?:(?:[-*+•]|#{1,6}|\d{1,3}[.)])\s+)+/;

/** The sentences of a text, marks of lists taken off. */
export function sentencesOf(text: string): string[] {
  return text
    .split(END)
    .map((sentence) =>
      (sentence ?? "")
        .replace(MARKS, "")
        .replace(/\*\*|__/g, "")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** The sentences of a text as they stand in it. */
export function rawSentencesOf(text: string): string[] {
  return text
    .split(END)
    .flatMap((sentence) => (sentence === undefined || sentence.trim() === "" ? [] : [sentence.trim()]));
}

/** What a message asks to have forgotten, sentence by sentence. */
export function forgetRequests(text: string): string[] {
  return sentencesOf(typedBefore(text)).filter(
    (sentence) => FORGET.test(sentence) || FORGET_BEHIND.test(sentence),
  );
}

/** True for words that ask not to be kept: nothing of their message is. */
export function asksNotToKeep(text: string): boolean {
  return NOT_TO_KEEP.test(typedBefore(text));
}

/**
 * The sentences that the user says in their own name. What is quoted, pasted, told of others, denied, supposed or asked
 * for as a text is nobody's statement; a message that asks not to be kept states nothing.
 */
export function ownStatements(text: string): string[] {
  if (asksNotToKeep(text)) return [];
  const own = typedBefore(text);
  if (isTalk(own)) return [];
  return sentencesOf(own).filter(isOwn);
}

function isOwn(sentence: string): boolean {
  if (/[?？¿]|[吗か]。?$/.test(sentence) || hasLongQuote(sentence) || isLabelled(sentence)) return false;
  if (FORGET.test(sentence) || FORGET_BEHIND.test(sentence)) return false;
  if (DENIED.test(sentence) || SUPPOSED.test(sentence)) return false;
  if (TASK.test(sentence) && GIVES_TEXT.test(sentence)) return false;
  return !REPORTED.test(sentence);
}

const GIVES_TEXT =
  /[:：]|(?<![\p{L}])(?:says?|saying|in which|where i|whose|titled|called|containing|with the (?:text|words)|dass|que|die sagt|что|который)(?![\p{L}])|写着|内容/iu;

const FENCED = /^\s{0,8}(```|~~~)[\s\S]*?(?:^\s{0,8}\1.*$|$(?![\s\S]))/gm;
const INDENTED_OR_QUOTED = /^(?:\s{0,3}>|\t| {4,}(?![-*+\d])).*$/gm;
const MAIL_HEADER =
  /^(?:from|to|cc|subject|date|sent|von|an|betreff|gesendet|de|à|objet|para|asunto|assunto|от|кому|тема|发件人|收件人|主题|差出人|宛先|件名)\s?[:：].{0,200}$/im;
const SALUTATION =
  /^(?:dear|hi|hello|hey|liebe[rs]?|hallo|sehr geehrte[rs]?|cher|chère|bonjour|querid[oa]|hola|estimad[oa]|prezad[oa]|car[oa]|olá|уважаем\p{L}+|здравствуйте)\b.{0,40},\s*$/imu;
const MATERIAL =
  /(?<![\p{L}])(?:this|these|those|following|below|diese[rsn]?|folgende[rsn]?|ce(?:tte|s)?|suivante?s?|est[eao]s?|siguientes?|isto|seguintes?|эт\p{L}+|следующ\p{L}+)(?![\p{L}])|这|以下|この|次の/iu;

/** What comes before anything that was pasted, forwarded or handed over to be worked on, code and quoted lines left out. */
function typedBefore(text: string): string {
  const plain = text.replace(FENCED, "\n").replace(INDENTED_OR_QUOTED, "");
  const cuts = [MAIL_HEADER.exec(plain)?.index, SALUTATION.exec(plain)?.index, materialAt(plain)];
  const first = Math.min(...cuts.map((at) => at ?? plain.length));
  return plain.slice(0, first);
}

/** Where a text begins that a sentence before it hands over. */
function materialAt(text: string): number | undefined {
  for (const match of text.matchAll(/[:：](?=\s*(?:\n|["'“„«「『‘])|\s)|[.?!？。！]\s*\n\s*\n/gu)) {
    const at = match.index + match[0].length;
    const before = sentencesOf(text.slice(0, match.index + 1)).at(-1) ?? "";
    const lead = before.replace(/[:：.?!？。！\s]+$/, "");
    const handsOver = /[:：]/.test(match[0])
      ? TASK.test(lead) ||
        SUPPOSED.test(lead) ||
        (/^\s*\n/.test(text.slice(at - 1)) && !isOwnLead(lead)) ||
        REPORTED.test(lead)
      : /(?:\?|？)/.test(match[0]) || TASK.test(lead)
        ? MATERIAL.test(lead)
        : false;
    if (handsOver) return at;
  }
  return undefined;
}

/** Words after which a list of one's own follows. */
function isOwnLead(lead: string): boolean {
  return (
    REMEMBER.test(lead) ||
    LABEL.test(lead) ||
    LASTING.test(lead) ||
    /(?<![\p{L}])(?:my|our|rules?|preferences?|unsere?|meine?|regeln|nos|mes|règles|nuestras|reglas|nossas|regras|наши|правила)(?![\p{L}])|规则|ルール/iu.test(
      lead,
    )
  );
}

const QUOTES =
  /"([^"\n]{1,2000})"|“([^”]{1,2000})”|„([^“”]{1,2000})[“”]|«([^»]{1,2000})»|「([^」]{1,2000})」|『([^』]{1,2000})』|(?<![\p{L}\p{N}])['‘]([^'’\n]{1,2000})['’](?![\p{L}\p{N}])/gu;

/** A name may stand in quotes; a statement in them is somebody's words. */
function hasLongQuote(sentence: string): boolean {
  return [...sentence.matchAll(QUOTES)].some((match) => {
    const inside = match.slice(1).find((group) => group !== undefined) ?? "";
    return (
      inside.trim().split(/\s+/).length > 3 || /[\u3040-\u9fff]{9}/u.test(inside) || LASTING.test(inside)
    );
  });
}

const SPEAKER =
  /^(?:\[[^\]\n]{1,30}\]\s*)?([\p{L}][\p{L}\p{N}_.' -]{0,40}?)\s?[:：](?!\/\/|(?<=\d:)\d)\s*\S/u;

function isLabelled(sentence: string): boolean {
  const name = SPEAKER.exec(sentence)?.[1];
  if (name === undefined || LABEL.test(name.trim()) || REMEMBER.test(`${name} `)) return false;
  return name.trim().split(/\s+/).length <= 3 && /^(?:\p{Lu}|\p{Lo})/u.test(name);
}

/** Lines of several speakers. */
function isTalk(text: string): boolean {
  return text.split("\n").filter((line) => isLabelled(line.trim())).length > 1;
}
