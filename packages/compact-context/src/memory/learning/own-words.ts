import type { Message } from "../../core/message.ts";
import { REDACTED } from "../../redaction/finding.ts";
import { IBAN, isCardNumber, isIban } from "../../redaction/personal.ts";
import { oneLine, TITLES } from "../../summarizers/extractive/text.ts";
import { readSaid, withoutHandedOver } from "../../summarizers/extractive/typed.ts";
import { ANNOUNCES, readForgetRequest, splitAtRequest } from "./forgetting.ts";
import {
  any,
  DENIED,
  FROM_NOW_ON,
  JOKE,
  KEEP_IN_MIND,
  LABEL,
  LASTING,
  LEAD,
  NO_MORE,
  NOT_TO_KEEP,
  REMEMBER,
  REPORTED,
  SUPPOSED,
  TASK,
} from "./language.ts";
import { read } from "./meaning.ts";
import { kindOf, remembered } from "./terms.ts";

/** Sentence ends, including line breaks; not after an initial, a title or the day of a German date. */
const END = new RegExp(
  `(?<=[.!?…]["'”’»)]?)(?<!(?:^|[\\s(])(?:\\p{Lu}|${TITLES}|${TITLES.toLowerCase()}|St|e\\.g|i\\.e|vs|approx)\\.)(?<!\\d\\.(?=\\s+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)))\\s+|(?<=[。！？])(?!["'”’」』])|\\n+`,
  "u",
);
const MARKS = /^(?:(?:[-*+•]|#{1,6}|\d{1,3}[.)])\s+)+/;

/** The new state given after what is to be forgotten: `Forget the 20 MB, the limit is 50 MB`. */
const INSTEAD =
  /[,;:–—]\s+(?=(?:it['’]s|we|from (?:now|today)|use|c['’]est|on|lo|es(?:tá)?|wir|é|fica|usa\p{L}*|теперь|это)(?![\p{L}])|(?!(?:wer|wann)\s)(?:[^\s,]+\s){1,6}(?:is|are|goes|was|est|sont|es|son|está|lo|ist|sind|é|são|fica)(?![\p{L}]))/iu;

/** Boundary between a request and something to remember or apply from now on. */
const ALSO = new RegExp(
  `,? (?:and|but|und|et|y|e|и)[, ]+(?=(?:please )?(?:${KEEP_IN_MIND}|${FROM_NOW_ON})(?![\\p{L}]))`,
  "iu",
);

/** Boundary between a statement and a question about something else, with or without a question mark. */
const ASKED =
  "(?:what|how|why|where|who|which|when|any|got|can you|could you|would you|(?:should|shall|do|does|is|are|am|may|can|could) (?:i|we|you|it|they|he|she|there|this|that)|does|was|wie|warum|wo|wer|welche[rsnm]?|kannst du|könntest du|tu peux|peux-tu|est-ce que|comment|pourquoi|quel(?:le)?s?|que puis-je|aide-moi|puedes|podrías|me ayudas?|qué|cuál\\p{L}*|(?:você )?pode|poderia|me ajuda|como|o que|que|qual|quais|что|как\\p{L}{0,3}|почему|можешь|где|is|are|does|do|can|will|would)(?![\\p{L}])[^.!。！]*[?？]|¿|(?<=^(?:i|we|my|our|i['’](?:m|ve)|we['’]re)\\s[^?]{0,160}, )(?:\\S+ ){0,2}\\S+\\?$";
const ASKED_UNMARKED =
  "(?:what|how|which|where|why|who|when)(?:['’]s)?\\s(?:\\S+\\s){0,3}?(?:is|are|do|does|did|can|could|should|would|will|to|much|many|works?|fits?|goes)(?![\\p{L}])|(?:can|could|would|will) (?:you|u)\\s|(?:got |have )?any (?:\\p{L}+ ){0,3}?(?:ideas?|tips?|advice|suggestions?|thoughts|recommendations?)(?![\\p{L}])|need (?:\\p{L}+ ){0,3}?(?:ideas?|tips?|advice|suggestions?)(?![\\p{L}])";
const QUESTION = new RegExp(
  `(?:,? (?:and|but|so|now|also|und|also|et|donc|alors|y|así que|e|então|и|так)[, ]+|, |; | [–—-]+ |，)(?=${ASKED}|${ASKED_UNMARKED})|[,，](?=\\s?(?:帮我|请|有什么|怎么|推荐))`,
  "iu",
);

/** A tag question such as `…, ok?`; the sentence is still a statement. */
const TAG =
  /,?\s(?:ok(?:ay)?|alright|right|yeah|yes|deal|got it|please|pls|ja|gut|okay|d['’]accord|vale|de acuerdo|sí|tá|certo|combinado|né|ладно|хорошо|да|va bene)\s?[?？]+$/iu;

/** A text longer than a user would type: only this much of its start and end can be the user's own words. */
const ENDS = { first: 12_000, last: 4_000 };

/** What marks pasted text that was left out. */
const LEFT_OUT = /(?:^| )…$/gm;

/** The part of a message that may be its user's own words. */
export function saidIn(message: Message): string {
  const text = readSaid(message).replace(LEFT_OUT, "");
  if (text.length <= ENDS.first + ENDS.last) return text;
  return `${text.slice(0, ENDS.first)}\n${text.slice(-ENDS.last)}`;
}

/** The sentences of a text without list marks. */
export function sentencesOf(text: string): string[] {
  return rawSentencesOf(text)
    .map((sentence) => oneLine(sentence.replace(MARKS, "").replace(/\*\*|__/g, "")))
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** Number of whole messages that are remembered. */
const RECENT = 16;

/** The sentences of a text, unchanged. A forget request ends where a new state is given. */
export const rawSentencesOf: (text: string) => readonly string[] = remembered(RECENT, (text) =>
  text
    .split(END)
    .flatMap((line) => line.split(ALSO))
    .flatMap((line) => partedFrom(line, QUESTION))
    .flatMap((part) => splitAtRequest(part.trim()))
    .flatMap((sentence) => {
      const request = readForgetRequest(sentence);
      const instead = request?.sure === true ? INSTEAD.exec(sentence.slice(request.end))?.index : undefined;
      if (request === undefined || instead === undefined) return sentence === "" ? [] : [sentence];
      const at = request.end + instead;
      const said = sentence.slice(at + 1).trim();
      return isReason(said) ? [sentence] : [sentence.slice(0, at), said];
    }),
);

/** Splits a sentence at the first match of the pattern. */
function partedFrom(sentence: string, between: RegExp): readonly string[] {
  const match = between.exec(sentence);
  if (match === null) return [sentence];
  return [sentence.slice(0, match.index), sentence.slice(match.index + match[0].length)];
}

/** A reason to forget: the thing no longer exists, and nothing else is said. */
function isReason(said: string): boolean {
  const told = read(said);
  const tellsValue = [...told.content].some((term) => term !== "one" && kindOf(term, told) !== undefined);
  return !tellsValue && (NO_MORE.test(said) || OF_IT.test(said));
}

/** `it's private`, and nothing else. */
const OF_IT: RegExp = new RegExp(
  `^${any(
    "(?:it|that|this|they)(?:['’](?:s|re)| is| are| was| were)(?: (?:all|just|been|not|so|now))* (?:gone|over|done|dead|history|private|personal|wrong|true|right|old|obsolete|outdated|out of date|irrelevant|relevant|cancel?led|decommissioned|retired|deleted|removed|sold|closed|shut down|needed|a (?:mistake|joke|typo)|(?:nobody|no one)['’]s business|none of (?:your|anybody['’]s) business)",
    "(?:das|es) (?:geht (?:niemanden|keinen|dich) (?:et)?was an|ist (?:privat|vertraulich))",
    "(?:ça|cela) ne (?:regarde|concerne) (?:personne|que moi)|c['’]est (?:privé|personnel|confidentiel)",
    "no (?:le )?importa a nadie|no es asunto de nadie|es (?:privado|personal|confidencial)",
    "(?:isso )?não (?:é da conta de|interessa a) ninguém|(?:isso )?é (?:particular|pessoal|confidencial)",
    "это (?:никого|тебя) не касается|это личное",
    "(?:这|那)是(?:我的)?(?:隐私|私事)|(?:これは|それは)?プライベートなことです",
  )}[.!。！]*$`,
  "iu",
);

/** Sentences of a message that surely ask to forget something, and reasons in the sentence after one. */
export function forgetRequests(text: string): string[] {
  return sentencesOf(typedBefore(text)).filter(
    (sentence, index, all) => asksToForget(sentence) || isReasonOf(all[index - 1], sentence),
  );
}

/** What a message states as the new state right after a forget request. */
export function insteadOfForgotten(text: string): string[] {
  return sentencesOf(typedBefore(text)).filter(
    (sentence, index, all) => asksToForget(all[index - 1]) && !isReason(sentence),
  );
}

function asksToForget(sentence = ""): boolean {
  return readForgetRequest(sentence)?.sure === true;
}

function isReasonOf(request: string | undefined, sentence: string): boolean {
  return asksToForget(request) && isReason(sentence);
}

/** True if a message asks not to be stored: nothing of it is kept. */
export function asksNotToKeep(text: string): boolean {
  return NOT_TO_KEEP.test(typedBefore(text));
}

/**
 * The statements the user makes in their own name. Text that is quoted, pasted, reported, denied,
 * hypothetical or requested is not a statement; a message that asks not to be stored has none.
 */
export function ownStatements(text: string): string[] {
  if (asksNotToKeep(text)) return [];
  const own = typedBefore(text);
  if (isTalk(own)) return [];
  return sentencesOf(own)
    .filter(
      (sentence, index, all) =>
        isOwn(sentence) && !isReasonOf(all[index - 1], sentence) && !isJokingWord(all[index + 1] ?? ""),
    )
    .map((sentence) => sentence.replace(TAG, ""));
}

/** `Just kidding.`: takes the sentence before back. */
function isJokingWord(sentence: string): boolean {
  return JOKE.test(sentence) && (sentence.length < 12 || sentence.split(/\s+/).length <= 4);
}

function isOwn(said: string): boolean {
  const sentence = said.replace(TAG, ".");
  if (/[?？¿]|[吗か]。?$/.test(sentence) || ASKS.test(sentence)) return false;
  return isInOwnName(sentence) && !givesText(sentence);
}

/** It asks for a text and gives its content. */
function givesText(sentence: string): boolean {
  return TASK.test(sentence) && GIVES_TEXT.test(sentence);
}

function isInOwnName(sentence: string): boolean {
  if (hasLongQuote(sentence) || isLabelled(sentence) || BY_PROGRAM.test(sentence)) return false;
  if (readForgetRequest(sentence)?.sure === true || ANNOUNCES.test(sentence)) return false;
  if (DENIED.test(sentence) || SUPPOSED.test(sentence)) return false;
  return !REPORTED.test(sentence.replace(LEAD, "").replace(OUR_RULES, ""));
}

const BY_PROGRAM = /(?<![\p{L}])(?:npm (?:ERR!|WARN)|(?:WARN|ERROR|FATAL)\s?[:\]!])/u;

/** What the speaker's own rules say is not hearsay. */
const OUR_RULES =
  /^our (?:\p{L}+ )?(?:style(?: ?guide)?|polic(?:y|ies)|rules?|conventions?|guidelines?|contract|standards?|lease) (?:says?|states?|demands?)(?![\p{L}])/iu;

/** A fact told inside a request or a question: the user's words, and the same as a sentence. */
export interface Aside {
  /** The text before it. */
  readonly before: string;
  readonly text: string;
  readonly reads: string;
}

/** What a message tells about the speaker or their people in addition to what it asks for. */
export function ownAsides(text: string): Aside[] {
  const own = typedBefore(text);
  if (asksNotToKeep(text) || isTalk(own) || FICTION.test(own)) return [];
  const asides = sentencesOf(own).flatMap((sentence, index, all) =>
    isInOwnName(sentence) ? [...clausesAside(sentence), ...toldOf(sentence, all[index + 1] ?? "")] : [],
  );
  return asides.filter(({ before, text: told }) => !givesText(before) && isOwn(told));
}

const FICTION =
  /(?<![\p{L}])(?:(?:stor(?:y|ies)|tale|novel|scene|fiction(?:al)?|character|dialogue|screenplay|geschichte|roman|histoire|cuento|historia|conto|história|рассказ)(?![\p{L}])(?! for (?:my|our) )|(?:role|text) game|role-?play\p{L}*|you are (?:an?|the|my)|act as|how (?:do|would) (?:you|i|we) say)(?![\p{L}])|小说|故事|小説|物語/iu;

/** A clause after a request: `…, i'm coeliac so nothing with wheat`, `… because my knee is bad`. */
const ASIDE =
  /(?:[,;(]\s?|\s[–—-]+\s|\s(?:because|since|cause|cuz)\s|,? and (?:note )?|,?\s(?=so ))(?=(?:so )?(?:i['’]?m|i['’]ve|i \p{L}[\p{L}'’]+|we['’]re|we \p{L}[\p{L}'’]+|(?:my|our) (?:[\p{L}-]+ ){1,3}?(?:is|are|has|have|hates?|loves?|likes?|speaks?|lives?|works?|can['’]t|doesn['’]t|don['’]t))\s)([^()]+)/iu;

function clausesAside(sentence: string): Aside[] {
  const found = ASIDE.exec(sentence);
  const told = found?.[1]?.replace(/[,:;\s]+$/, "");
  if (found === null || told === undefined) return [];
  const before = sentence.slice(0, found.index);
  const text = FRAME.test(before) ? `${before}, ${told}` : told;
  return [{ before, text, reads: told.replace(/^so /iu, "") }];
}

/** Says when or as what a statement holds: it does not hold without that. */
const FRAME =
  /^(?:(?:when|while|until|before|after|whenever) (?:i|we|my|our)|(?:back )?in \d{4}|back (?:in|when)|as an? \p{L}+|growing up|at (?:school|university|college)|during)(?![\p{L}])[^,]*$/iu;

/** A person of the speaker's and a fact: `my wife Sofia? she collects maps`, `the vet, Dr. Cole, who …`. */
const OF_SOMEBODY =
  /(?<![\p{L}])((?:my|our) (?:[\p{L}-]+ ){0,3}?[\p{L}-]+(?:, (?:\p{L}{2,3}\.? )?\p{Lu}[\p{L}-]+)?|the [\p{L}-]+, (?:\p{L}{2,3}\.? )?\p{Lu}[\p{L}-]+)(?:[?!.,;:]*\s[–—-]?\s?)(who|(?:he|she|they)(?:['’](?:s|re))?)\s([^.?!:;]+)/u;

function toldOf(sentence: string, next: string): Aside[] {
  const isPerson = /^(?:he|she|they)(?![\p{L}])/iu.test(next);
  const whole = isPerson ? `${sentence} ${next.charAt(0).toLowerCase()}${next.slice(1)}` : sentence;
  const found = OF_SOMEBODY.exec(whole);
  const [, somebody = "", pronoun = "", rest = ""] = found ?? [];
  if (found === null) return [];
  const verb = /['’]s$/.test(pronoun) ? "is " : /['’]re$/.test(pronoun) ? "are " : "";
  const reads = `${somebody.replace(/^the(?= )/iu, "my")} ${verb}${rest}`;
  return [{ before: whole.slice(0, found.index), text: `${somebody}, ${pronoun} ${rest}`.trim(), reads }];
}

/** A question without a question mark. */
const ASKS =
  /^(?:is|are|was|were|do|does|did|has|can|could|should|would|will) (?:it|i|we|you|he|she|they|there|my|our)(?![\p{L}])|^why\s|^(?:what|how|which|where|who)(?:['’]s| is| are| do| does| did| can| should| would| much| many) /iu;

const GIVES_TEXT =
  /[:：]|(?<![\p{L}])(?:says?|saying|in which|where i|whose|titled|called|containing|with the (?:text|words)|dass|que|die sagt|что|который)(?![\p{L}])|写着|内容/iu;

const INDENTED_OR_QUOTED = /^(?:\s{0,3}>|\t| {4,}(?![-*+\d])).*$/gm;
const MATERIAL =
  /(?<![\p{L}])(?:this|these|those|following|below|diese[rsn]?|folgende[rsn]?|ce(?:tte|s)?|suivante?s?|est[eao]s?|siguientes?|isto|seguintes?|эт\p{L}+|следующ\p{L}+)(?![\p{L}])|这|以下|この|次の/iu;

/** A line of program output: it begins with a time or a log level. */
const LOGGED =
  /^[ \t]{0,8}(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL)\]?[ :]).*$/gm;

/** The text before anything pasted, forwarded or handed over, without code, logs and quoted lines. */
export const typedBefore: (text: string) => string = remembered(RECENT, (text) => {
  const plain = withoutHandedOver(text).replace(INDENTED_OR_QUOTED, "").replace(LOGGED, "");
  return plain.slice(0, materialAt(plain));
});

/** Maximum number of marks that may introduce handed-over text; a text with more is data. */
const MOST_LEADS = 200;
/** Maximum characters before such a mark that can introduce handed-over text. */
const LONGEST_LEAD = 500;

/** Index where handed-over text begins, judged by the sentence before it; undefined if there is none. */
function materialAt(text: string): number | undefined {
  const marks = text.matchAll(/[:：](?=\s)|[:：](?=["'“„«「『‘])|[.?!？。！]\s*\n\s*\n/gu);
  let leads = 0;
  for (const match of marks) {
    const at = match.index + match[0].length;
    leads += 1;
    if (leads > MOST_LEADS) return at;
    const before =
      sentencesOf(text.slice(Math.max(0, match.index - LONGEST_LEAD), match.index + 1)).at(-1) ?? "";
    const lead = before.replace(/[:：.?!？。！\s]+$/, "");
    const isHandedOver = /[:：]/.test(match[0])
      ? [TASK, SUPPOSED, REPORTED].some((asks) => asks.test(lead)) ||
        (/^\s*\n/.test(text.slice(at)) && !isOwnLead(lead))
      : (/[?？]/.test(match[0]) || TASK.test(lead)) && MATERIAL.test(lead);
    if (isHandedOver) return at;
  }
  return undefined;
}

/** Words that introduce a list of the user's own. */
const OWN_LEAD =
  /(?<![\p{L}])(?:my|our|us|me|rules?|preferences?|facts?|info(?:rmation)?|context|notes?|know|team|setup|unsere?|meine?|regeln|nos|mes|règles|nuestras|reglas|nossas|regras|наши|правила)(?![\p{L}])|规则|ルール/iu;

function isOwnLead(lead: string): boolean {
  return [REMEMBER, LABEL, LASTING, OWN_LEAD].some((own) => own.test(lead));
}

const QUOTES =
  /"([^"\n]{1,2000})"|“([^”]{1,2000})”|„([^“”]{1,2000})[“”]|«([^»]{1,2000})»|「([^」]{1,2000})」|『([^』]{1,2000})』|(?<![\p{L}\p{N}])['‘]([^'’\n]{1,2000})['’](?![\p{L}\p{N}])/gu;

/** A name may be in quotes; a quoted statement is someone else's words. */
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

const SECRET_WORD =
  "(?:pass(?:word|code|phrase|wd)|pwd?|(?:safe|lock) combination|combination (?=(?:to|of|for) (?:the|my|our) (?:safe|lock|door))|pin(?: code| number)?|cvv|cvc|(?:wi-?fi|wlan|api|access|secret|private|recovery|license) ?-?key|(?:alarm|door|access|security|unlock|lock|safe|gate) code|secret(?: word| answer)?|credentials?|token|passwort|kennwort|geheimzahl|wlan-schlüssel|türcode|mot de passe|code (?:pin|secret|d['’]accès)|clé (?:wi-?fi|secrète)|contraseña|clave|código secreto|senha|código de acesso|пароль|пин(?:-код)?|код доступа)";
/** A word for a secret, a few words about its use, and its value. */
const TOLD = new RegExp(
  `((?<![\\p{L}])[\\p{L}-]{0,20}${SECRET_WORD}(?:[\\p{L}]{0,2})(?![\\p{L}])(?:\\s+(?!rotation|policy|manager|reset|field|form|length|expiry|column|hint|is|are|=|ist|est|es|é|lautet)[\\p{L}\\p{N}'’-]+){0,5}?\\s*(?:\\s(?:is|are|was|ist|lautet|est|es|é|foi)(?:\\s+(?:now|jetzt))?\\s|['’]s\\s|[:：=]|\\s[—–-]\\s))\\s*(?!(?:rotat|stored|kept|never|not|in|on|at|too|wrong|required|optional|expired|missing|policy|manager|hash)[\\p{L}]*(?![\\p{L}]))([^\\n]+?)(?=[.!?。]?\\s*$|[.!?。]\\s|[,;]\\s)`,
  "giu",
);
/** The same without a verb in between: `пароль от базы zima2024`, `my PIN 4821`. */
const BARE = new RegExp(
  `((?<![\\p{L}])${SECRET_WORD}(?![\\p{L}])(?:\\s+[\\p{L}]+){0,3}?\\s)((?=\\S*\\d)[\\p{L}\\p{N}!@#$%^&*_.-]{4,})`,
  "giu",
);
const UNSPACED =
  /((?:密码|口令|密钥|暗証番号|パスワード|パスコード|合言葉)(?:是|为|は|：|:|\s){1,3})([^\s。，、,]+?)(?=です|だ。|。|，|、|,|\s|$)/gu;
/** `Log in with admin / hunter2`. */
const LOGIN =
  /((?:log ?in|sign ?in)\s(?:with|as|using)\s\S+\s?(?:\/|and|with)\s?)(?!the |your |my )(\S*\d\S*)/giu;
const CARD = /(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d|\.\d)/g;

/** A text with secrets told in words, payment card and bank account numbers redacted. */
export function withoutToldSecrets(text: string): string {
  return text
    .replace(TOLD, `$1 ${REDACTED}`)
    .replace(LOGIN, `$1${REDACTED}`)
    .replace(UNSPACED, `$1${REDACTED}`)
    .replace(BARE, (whole, lead: string, value: string) =>
      value === REDACTED ? whole : `${lead}${REDACTED}`,
    )
    .replace(IBAN, (account) => (isIban(account) ? REDACTED : account))
    .replace(CARD, (digits) => (isCardNumber(digits.replace(/\D/g, "")) ? REDACTED : digits));
}
