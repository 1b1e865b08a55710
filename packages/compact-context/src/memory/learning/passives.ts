import { any, KIN, LEAD, OTHERS } from "./language.ts";

/**
 * A passive such as `Redis was replaced by Valkey`, in eight languages. It is read only as a whole sentence: a
 * place, an agent, a doubt or a plan in it makes it say something else.
 */

const WORD = "[\\p{L}\\d][\\p{L}\\d.+#_-]*";
/** Further words of a name begin with a capital or a digit. */
const NAME = `${WORD}(?: (?=[\\p{Lu}\\d])${WORD}){0,2}`;
const UNSPACED_NAME = "[A-Za-z\\d][A-Za-z\\d .+#_-]*";

const wholly = (sentence: string): RegExp => new RegExp(`^${sentence}[\\s.!。！]*$`, "u");
/** What replaced a thing may be written in small letters. */
const IN_ANY_LETTERS: readonly RegExp[] = [
  `(?:(?:The|the|Our|our) )?(${NAME}) (?:was|were|has been|have been|got|is now) (?:now |just |finally |recently )?(?:(?:replaced|superseded) (?:by|with)|swapped(?: out)? for) (?:the )?(${NAME})(?: now| today| yesterday| recently| last (?:week|month|year)| this (?:week|month)| in (?:January|February|March|April|May|June|July|August|September|October|November|December))?(?: for (?:the )?(?<purpose>${WORD}))?(?:, (?:hooray|finally|btw|fyi))?`,
  `(${UNSPACED_NAME})(?:已经?|昨天|上周|最近)*被\\s?(${UNSPACED_NAME})\\s?(?:取代|替代|代替)了?`,
  `(${UNSPACED_NAME})(?:已经?|昨天|上周|最近)*被(?:替换|换)(?:成|为)了?\\s?(${UNSPACED_NAME})\\s?了?`,
  `(${UNSPACED_NAME})は(?:昨日|先日|[先今](?:週|月)|去年|今年|最近)?\\s?(${UNSPACED_NAME})\\s?に(?:置き換え|差し替え)られ(?:まし)?た`,
].map(wholly);
const FORMS: readonly RegExp[] = [
  ...IN_ANY_LETTERS,
  ...[
    `(?:(?:Der|Die|Das|Unser|Unsere) )?(${NAME}) (?:wurden?|ist|sind) (?:jetzt |gestern |inzwischen |endlich |letzte Woche |letzten Monat )?(?:durch|gegen(?= .*tauscht)) (?:(?:den|die|das) )?(${NAME}) (?:ersetzt|abgelöst|(?:aus|ein)?getauscht)(?: worden)?`,
    `(?:L[ea]s? |Notre )?(${NAME}) (?:a été|ont été|est maintenant|est) (?:remplacée?s? par|échangée?s? contre) (?:l[ea] )?(${NAME})(?: hier| la semaine dernière| le mois dernier)?`,
    `(?:El |La |Nuestr[oa] )?(${NAME}) (?:fue|fueron|ha sido|han sido) (?:reemplazad|sustituid)[oa]s? por (?:el |la )?(${NAME})(?: ayer| la semana pasada| el mes pasado)?`,
    `(?:[OA] |Noss[oa] )?(${NAME}) (?:foi|foram) (?:(?:substituíd|trocad)[oa]s? (?:por|pel[oa]))(?: [oa])? (${NAME})(?: ontem| na semana passada| no mês passado)?`,
    `(${NAME}) (?:(?:(?:был[аои]?|уже) )?замен[её]н[аоы]?|(?:уже |вчера |недавно )?заменили) на (${NAME})`,
  ].map(wholly),
];

/** Words of a passive: what they say of a change is read here alone. */
export const PASSIVE: RegExp = new RegExp(
  any(
    "(?<![\\p{L}])(?:replaced|superseded)(?= (?:\\S+ ){0,6}?(?:by|with)(?![\\p{L}]))(?<=(?:was|were|been|be|being|is|are|got|gets?) (?:\\S+ ){0,2}\\S+)",
    "(?:置き換え|差し替え)られ",
  ),
  "giu",
);

/** Before a thing that is used, in a statement of it. */
const USED = any(
  "(?:use|using|on|in|with|via|through|nutzen|verwenden|benutzen|auf|über|mit|utilisons|utilise|sur|dans|avec|usamos|uso|en|con|em|n[oa]|com|используем|использую|на|в|через)",
  "(?<=^(?:our|the|unsere?|die|der|das|notre|nuestr[oa]|noss[oa]|наш[аеи]?) .*)(?:is|ist|est|es|está|é|fica|—)",
);
const PURPOSE =
  "(?=[\\s.!,;]*$|[,;]? (?:for|as|als|für|pour|comme|para|como|для|как|instead of|since|because|weil|denn)\\s)";
const OURS =
  /^(?:we|i|our|the|my|wir|ich|unsere?|mein|die|der|das|nous|notre|on|usamos|uso|nuestr[oa]|noss[oa]|мы|я|наш[аеи]?)(?![\p{L}])|[\u3040-\u9fff]/iu;
const LEADS =
  "(?:leads|owns|manages|maintains|heads|handles|leitet|verantwortet|betreut|dirige|gère|gestiona|lidera|gerencia|руководит|отвечает)";

/** The thing is not in use, or is somebody else's. */
const NOT_OURS =
  /(?<![\p{L}])(?:not|never|nicht|kein\p{L}*|pas|plus|nunca|não|не|no (?:usamos|est[aá]|es)|no longer)(?![\p{L}])|n['’]t|[不没]|ません|ない|他|她|客户|朋友|彼|友/iu;

/** Who, when or how, in English words that are not written as a name. */
const BY_WHOM =
  /^(?:hand|accident|mistake|error|default|force|chance|design|law|now|then|noon|midnight|night|week|month|\p{L}+ing|us|me|you|him|her|it|them|an?|the|my|our|his|their|some\p{L}*|any\p{L}*|every\p{L}*|no(?:body|ne|thing)|others?|people|users?|admins?|\p{Lu}.*)$/u;

/** Nouns of German that say when or how; days and months. */
const NO_NAME =
  /^(?:Mitternacht|Mittag|Morgen|Abend|Nacht|Ende|Anfang|Mitte|Zufall|Versehen|Fehler|Irrtum|Hand|Nichts|Niemand|Jemand\p{L}*|\p{Lu}\p{Ll}+(?:tag|day)|Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|January|February|March|May|June|July|October|December)$/u;
const isName = (text: string): boolean => /[\p{Lu}\d]/u.test(text);

/** A statement tells that a thing which the older one says is in use, or who does something, was replaced. */
export function tellsSwapOf(newer: string, older: string): boolean {
  const plain = newer.replace(LEAD, "");
  const form = FORMS.find((one) => one.test(plain));
  const found = form?.exec(plain);
  if (form === undefined || !found) return false;
  const [, old = "", successor = ""] = found;
  const name = successor.replace(/[.]+$/, "");
  const isNew = isName(name) ? !NO_NAME.test(name) : IN_ANY_LETTERS.includes(form) && !BY_WHOM.test(name);
  const isOld = isName(old) || (plain.startsWith(old) && !BY_WHOM.test(name));
  if (!isNew || !isOld || older.includes(name)) return false;
  // For one purpose only.
  if (!older.includes(found.groups?.purpose ?? "")) return false;
  if ([NOT_OURS, OTHERS, KIN].some((other) => other.test(older))) return false;
  const thing = old.trim().replace(/[.+]/g, "\\$&");
  return leads(thing).test(older) || (OURS.test(older) && uses(thing).test(older));
}

const leads = (who: string): RegExp => new RegExp(`^${who} ${LEADS}(?![\\p{L}])`, "u");
const uses = (thing: string): RegExp =>
  new RegExp(
    any(
      `(?<![\\p{L}])${USED} (?:the |[oa] |l[ea] |el |den |die |das )?${thing}${PURPOSE}`,
      `(?:用|在|是)\\s?${thing}\\s?(?=做|管理|来|上|当|[。，]|$)`,
      `${thing}\\s?(?:を使|です|に(?:あり|置いて))`,
    ),
    "iu",
  );
