import { THAT } from "./language.ts";
import { any, END, LEAD, type Order, type OrderKind, ordersIn } from "./orders.ts";

// How people ask to have something forgotten, in nine languages: an order or a wish to lose something, clause by clause, and
// the words that name it, behind the order, before it, or in a sentence before.

/** A request to forget, in words. */
export interface ForgetRequest {
  /** The words that name what is meant; of "that" the pronoun itself. */
  readonly topic: string;
  /** True where everything of a kind is meant. */
  readonly all: boolean;
  /** False for `delete my …`, which may be about anything: it counts only where the memory holds it. */
  readonly sure: boolean;
  /** Names of what a pronoun points to, the nearest first; none where the request names it itself. */
  readonly points: readonly string[];
  /** Something is surely meant, by more than its name or less: whatever shares a telling word is. */
  readonly isLoose: boolean;
  /** It is said to be the user's own. */
  readonly isOwn: boolean;
  /** Which items it can mean: a word like `rule` names rules, a mere name or `thing` what is the user's own. */
  readonly scope: "anything" | "rules" | "own";
  /** Where it begins in the sentence. */
  readonly at: number;
  /** Where the order itself ends: what stands behind may say what is so instead. */
  readonly end: number;
}

/** The memory itself, or what was told to it: what is asked for is not in a file. */
const MEMORY = new RegExp(
  any(
    `(?<![\\p{L}])(?:(?:from|out of|off|in|on|to|of|aus|von|de|da|dans|sur|en|em|na|из|в|di|dalla) )?(?:your|ur|deine[mnr]?|ta|tes|ton|votre|tus?|(?:d)?(?:tua|sua|teu|seu)s?|твое[йм]|своей|своих|твоих) (?:\\p{L}+[ -])?(?:memory|memories|notes?|records?|knowledge|files?|head|mind|brain|database|storage|system|context|gedächtnis|notizen|kopf|speicher|unterlagen|mémoire|tête|memoria|notas|cabeza|registros?|memória|cabeça|памят[иь]|замет(?:ок|ки|ках)|голов[ыеу]|appunti|mente)${END}`,
    `(?<![\\p{L}])(?:from|out of|off) (?:the )?(?:long-term )?(?:memory|memories)(?=$|[.,;!?)]| (?:please|pls|plz|now|again|for|because|since|as|and|about|any|that|it|i|we|thx|thanks|too|of|on)${END})`,
    `(?<![\\p{L}])(?:aus dem |im |de la |en la |dans la |da |na |из |в |dalla )(?:gedächtnis|mémoire|memoria|memória|памят[иь])${END}`,
    `(?<![\\p{L}])(?:(?:from|off) the record|on (?:file|record)|in mind)${END}`,
    `(?<![\\p{L}])(?:from )?(?:what(?:ever)?|everything|anything|all)(?: that)? (?:you|u)(?:['’]ve| have)? (?:got|know|knew|keep|kept|have|remember|stored?|saved?|noted|hold)${END}`,
    `(?<![\\p{L}])(?:you|u)(?:['’]ve| have)? (?:stored|saved|noted|remembered|kept|memori[sz]ed)(?: (?:about|on|for) me)?${END}`,
    `(?<![\\p{L}])(?:what|that|anything|everything|all)(?: that)? i(?:['’]ve| have)? (?:just )?(?:said|told(?: you)?|mentioned|shared)${END}(?! in (?:the|that|this|my|our) )`,
    `(?<![\\p{L}])i(?:['’]ve| have)? told you(?= (?:about )?(?:my|our)${END})`,
    "was (?:du|ich)(?: dir)? .*(?:weißt|gesagt|erzählt)(?: habe)?|ce que (?:je t['’]ai (?:dit|raconté)|tu sais)|lo que (?:te )?(?:dije|conté|he dicho|sabes)|o que (?:eu )?(?:te )?(?:falei|disse|contei)|o que (?:você|vc) sabe",
    "(?:то,? )?что (?:я|ты) (?:тебе )?(?:говорил[аи]?|сказал[аи]?|рассказал[аи]?|знаешь)|我(?:刚才)?(?:说|告诉|提)(?:过|你)?的?|(?:从|在)?(?:你的)?(?:记忆|笔记)(?:中|里)?|(?:記憶|メモ(?:リ)?)から|記憶",
  ),
  "giu",
);

/** A note, a rule, whatever was said: words for an item of the memory. */
const NOTED_WORD =
  "(?:notes?|entr(?:y|ies)|facts?|rules?|instructions?|preferences?|things?|bits?|info(?:rmation)?|stuff|details?|business|notiz(?:en)?|regeln?|sachen?|infos?|eintrag|anweisung|règle|consigne|truc|regla|instrucción|regra|instrução|cosas?|coisas?|datos?|dados?|nota|заметк[уи]|правило|информаци[юя]|regola)";
const DETERMINED =
  "(?:(?:the|that|this|any|every|all|my|your|these|those|any of the|die|das|den|diese[ns]?|le|la|les|l['’]|cette|ce|el|lo|los|las|es[ea]|a|o|as|os|ess[ea]|это|эту)\\s)?(?:(?:whole|entire|stupid|old|little|silly)\\s)?";
const OF =
  "(?:about|on|regarding|concerning|of|that|with|where|über|von|zu|mit|dass|sur|de|du|des|d['’]|concernant|sobre|del?|da|do|que|про|о|об|di|su(?:l|lla)?)";
const NOTED_OF = new RegExp(
  `^(?:${DETERMINED}${NOTED_WORD}\\s${OF}|(?:das|die sache) mit|lo de|lo que toca a|le truc de)\\s+(?:(?:den|der|dem)\\s)?`,
  "iu",
);
const NOTED_AS = new RegExp(
  `(?:^|\\s)${NOTED_WORD}$|的?(?:信息|事情?|资料|一切|所有)都?$|の?(?:情報|データ)$`,
  "iu",
);
const RULE =
  /(?<![\p{L}])(?:rules?|instructions?|preferences?|regeln?|anweisung|règle|consigne|regla|instrucción|regra|instrução|правило|regola)(?![\p{L}])/iu;

/** What stands for something that was named before. */
const PERSON = "(?:her|him|ihn|elle|lui|ella|él|ela|ele|её|ее|него|неё|нее|нём|нем|ней)";
const POINTS = new RegExp(
  `^(?:${PERSON}|it|them|его|их|sie|ihr|that|this|these|those|there|das|dies|es|damit|ça|cela|ceci|eso|esto|isso|isto|это|этом|(?:that|this|the|diese|cette|esa|essa|это|эту) (?:one|${NOTED_WORD}))$`,
  "iu",
);
const PERSONS = new RegExp(`(?<![\\p{L}])${PERSON}$`, "iu");

const POSSESSIVE =
  /^(?:my|mine|our|mein(?:e[nmrs]?)?|unser\p{L}*|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|(?:[oa]s? )?(?:meus?|minhas?)|мо(?:й|я|ё|и|ю|его|ей|их|ем)|(?:il mio|la mia|i miei|le mie))\s|^(?:我的|私の)/iu;

/** `…, that I live in Cologne`: what is so, and no thing. */
const IS_SO =
  /^(?:(?:bitte|please|s['’]il te plaît|por favor|пожалуйста)(?![\p{L}]))?,?\s*(?:that (?:i|we|my|our)|dass (?:ich|wir|mein\p{L}*)|que (?:je|j['’]|nous|mon|ma|yo|mi|soy|vivo|trabajo|tengo|eu|meu|minha|sou|moro|trabalho|tenho)|что (?:я|мы|мо[йяёи]|у меня|у нас)|che (?:io|sono|vivo|lavoro))(?![\p{L}])/iu;

/** `where I live`: what is so, in a question's words. */
const ASKED =
  /^(?:where|when|which|what|who|how)(?: \p{L}+){0,2} (?:i|we|my|our)(?![\p{L}])|^(?:was|wo|wie) (?:ich|wir)(?![\p{L}])/iu;

/** What is taken out of a project and not out of a memory. */
const OF_WORK =
  /(?<![\p{L}-])(?:files?|branch(?:es)?|functions?|class(?:es)?|methods?|tests?|commits?|changes?|code(?= |$)(?! you)|lines?|imports?|variables?|comments?|columns?|tables?|rows?|fields?|folders?|director(?:y|ies)|containers?|images?|icons?|logos?|cache|logs?|config|apps?|pages?|buttons?|forms?|headers?|footers?|components?|endpoints?|routes?|repo(?:sitory)?|packages?|dependenc(?:y|ies)|modules?|plugins?|scripts?|migrations?|builds?|fixtures?|schemas?|warnings?|errors?|bugs?|flags?|parameters?|arguments?|types?|interfaces?|versions?|tags?|tickets?|todos?|features?|accounts? page|messages?|emails|mails?|photos?|pictures?|posts?|paragraphs?|sections?|sentences?|headings?|drafts?|duplicates?|placeholders?|whitespaces?|characters?|slides?|sheets?|cells?|charts?|boards?|datei(?:en)?|funktion|zeilen?|spalten?|tabellen?|formular|zweig|fichiers?|fonction|lignes?|colonnes?|branche|archivos?|función|líneas?|columnas?|campos?|rama|fotos?|arquivos?|função|linhas?|colunas?|imagens|файл\p{L}*|функци\p{L}*|строк\p{L}*|столб\p{L}*|таблиц\p{L}*|ветк\p{L}*)(?![\p{L}])|文件|函数|代码|表里|列|行|ファイル|関数|ブランチ/iu;

const WORK_AT_THE_END = new RegExp(`(?:${OF_WORK.source})$`, "iu");

/** In a file, a list, a text: not in the memory. */
const ELSEWHERE =
  /\s(?:from|in(?:side|to)?|within|out of|off|on (?!my|our|me|it|him|her|them)|at|(?<!relat(?:ed|ing) |linked )to(?! do with)|aus|dans|auf|из|со?)\s/iu;
const ABOUT_ME =
  /(?<![\p{L}])(?:i|i['’]m|me|my|we|our|ich|mein\p{L}*|je|j['’]|mon|ma|mes|mis?|yo|eu|meu|minha|я|мо\p{L}{1,2}|мне|меня)(?![\p{L}])|我|私/iu;
/** Left aside for a while, and not for good. */
const LATER =
  /(?<![\p{L}])(?:for (?:now|today|tonight|once|a change|the moment|this \p{L}+|a (?:bit|moment|second|sec|minute|while))|this time|until|till|right now|first|vorerst|erstmal|erst mal|fürs erste|im moment|pour (?:l['’]instant|le moment)|por ahora|por enquanto|пока)(?![\p{L}])|先|とりあえず/iu;

const ALL = new RegExp(
  `(?<![\\p{L}])(?:everything|anything|all|alles|tout|todo|tudo|nada|rien|всё|все|tutto|what (?:i|you)|whatever|(?:every|any) (?:single )?(?:trace|mention|bit))${END}|所有|全部|一切`,
  "iu",
);

/** Words before and behind a topic that are none of it. */
const AROUND =
  /^(?:[\s,:;，、]+|(?:please|(?:every|any) (?:single )?(?:trace|mention|bit) of|to do with|relat(?:ed|ing) to|re|i['’]m|bitte|s['’]il te plaît|por favor|пожалуйста|everything|anything|all|alles|tout|todo|tudo|nada|rien|всё|все|tutto|what|whatever|that|where|who|how|which|i|you|u|know|keep|have|told|said|mentioned|shared|about|of|regarding|concerning|on|was|wo|où|dónde|onde|где|ich|dir|dass|über|von|ce que|ce qui|que|qu['’]|je|t['’]ai dit|j['’]ai dit|tu sais|sur|concerne|concernant|lo que|te|dije|conté|sabes|sobre|o que|eu|falei|disse|contei|sabe|о|об|про|что|я|ты|тебе|говорил[аи]?|сказал[аи]?|знаешь|di|che|su)(?![\p{L}])|关于|有关)+/iu;
const TAIL =
  /(?:[\s,]+(?:please|pls|plz|thanks|thank you|thx|any ?(?:more|longer|where)|ever|again|now|too|out|away|as well|for good|completely|bitte|wieder|mal|s['’]il te plaît|stp|por favor|porfa|пожалуйста|per favore|ok|okay|from (?:it|there|here))|(?:吧|了)(?=[\s.!。！]*$)|[\s.!?。！？]+)+$/iu;
/** What is said behind a request: a reason, what is so instead, or what is asked besides. */
const BESIDES =
  /(?:[,;]\s+(?!(?:that|dass|que|qu|что|che)(?![\p{L}]))|\s[–—-]\s|\s\(|\s(?:everywhere|wherever|because|since|as it|weil|da ich|parce que|porque|потому|perché)\s|\s(?:and|und|et|y|e|и)\s(?=(?:please|never|don['’]?t|do not|stop|forget|delete|nie|nicht|ne|no|não|nunca|больше|не|никогда|забудь|удали|сотри|remove|erase|lösch|efface|borra|apag\p{L}*)(?![\p{L}]))|(?<=^(?:it|that|this|them|her|him)) (?:and|then|or|so|but)\s|[，。]).*$/isu;

/** What a sentence asks to have forgotten, sentences of the same message `before` it; undefined where it asks for nothing. */
export function readForgetRequest(
  sentence: string,
  before: readonly string[] = [],
): ForgetRequest | undefined {
  for (const order of ordersIn(sentence)) {
    const request = requestOf(order, sentence, before);
    if (request !== undefined) return request;
  }
  return undefined;
}

/** A sentence in two where a request follows what else it says: `we use pnpm now, forget what I said about yarn`. */
export function splitAtRequest(sentence: string): readonly string[] {
  const { sure, at } = readForgetRequest(sentence) ?? { sure: false, at: 0 };
  return sure && at > 0 ? [sentence.slice(0, at).trim(), sentence.slice(at)] : [sentence];
}

function requestOf(order: Order, sentence: string, earlier: readonly string[]): ForgetRequest | undefined {
  const { kind, at, end, before, object } = order;
  const [bare, named] = [plainOf(object), nameOf(object)];
  const isPointing = bare === "" || POINTS.test(bare) || POINTS.test(named);
  const clauses = isPointing ? clausesBefore(before, earlier) : [];
  const [clause] = clauses;
  const phrase = clause === undefined ? bare : plainOf(clause);
  const meant = {
    phrase,
    bare,
    isPointing,
    isPerson: PERSONS.test(named),
    isNoted:
      [phrase, bare].some((one) => NOTED_OF.test(one) || NOTED_AS.test(one)) ||
      (isPointing && RULE.test(phrase)),
    isOwn: ABOUT_ME.test(phrase),
  };
  const strength = has(MEMORY, `${clause ?? ""} ${sentence.slice(at)}`)
    ? "memory"
    : strengthOf(order, meant, sentence.slice(at));
  if (strength === undefined) return undefined;
  return {
    topic: clause === undefined ? named : nameOf(clause),
    points: clauses.map(nameOf),
    all: ALL.test(object),
    sure: strength === "memory" || strength === "sure",
    isLoose: strength === "memory" || (clause !== undefined && isMoreThanNamed(kind, meant)),
    isOwn: meant.isOwn,
    scope: scopeOf(strength, meant),
    at: clause === before ? 0 : at,
    end,
  };
}

/** What a pronoun may point to, the nearest first. */
function clausesBefore(before: string, earlier: readonly string[]): string[] {
  return [before, ...earlier.slice(-2).toReversed()].filter((one) => nameOf(one).length > 1);
}

/** What an order is about. */
interface Meant {
  /** The words that name it, of the order itself or of what its pronoun points to. */
  readonly phrase: string;
  /** The order's own object. */
  readonly bare: string;
  readonly isPointing: boolean;
  readonly isPerson: boolean;
  /** It is called a note, a rule, a thing. */
  readonly isNoted: boolean;
  readonly isOwn: boolean;
}

/** How surely a memory is meant: it is named, nothing else can be meant, or it may be by what it holds. */
type Strength = "memory" | "sure" | "owned" | "named";

function strengthOf(order: Order, meant: Meant, asked: string): Strength | undefined {
  const { kind, object } = order;
  const { phrase, isNoted, isOwn } = meant;
  if (LATER.test(asked)) return undefined;
  if (IS_SO.test(object)) return "sure";
  if (kind === "forget") return isWorkAlone(meant) ? undefined : "sure";
  const isWork = !isNoted && OF_WORK.test(phrase);
  if (isWork || phrase === "" || ELSEWHERE.test(meant.isPointing ? meant.bare : phrase)) return undefined;
  if (isOwn && (kind === "keep" || NOTED_OF.test(phrase))) return "sure";
  return kind === "keep" || isTheirs(object, meant) ? "owned" : namedBy(order, meant);
}

/** `the tests`, `the login page`: nothing but a part of the work. */
function isWorkAlone({ phrase, isNoted, isOwn }: Meant): boolean {
  return !isNoted && !isOwn && isShort(phrase) && WORK_AT_THE_END.test(phrase);
}

function isTheirs(object: string, { phrase, isNoted, isPerson }: Meant): boolean {
  return isNoted || isPerson || POSSESSIVE.test(phrase) || ALL.test(object) || ASKED.test(object);
}

function namedBy({ verb }: Order, { phrase, isPointing }: Meant): Strength | undefined {
  return !isPointing && LOSES.test(verb) && isShort(phrase) && !ARTICLE.test(phrase) && !UNSPACED.test(phrase)
    ? "named"
    : undefined;
}

/** A sentence about a person or something of the user's tells more than the name of what is meant. */
function isMoreThanNamed(kind: OrderKind, { phrase, isPerson, isNoted }: Meant): boolean {
  return isPerson || isNoted || (kind === "forget" && POSSESSIVE.test(phrase));
}

function scopeOf(strength: Strength, { phrase, bare, isPerson, isNoted }: Meant): ForgetRequest["scope"] {
  if (strength === "memory" || strength === "sure" || isPerson) return "anything";
  if (isNoted && RULE.test(`${phrase} ${bare}`)) return "rules";
  return strength === "named" || !POSSESSIVE.test(phrase) ? "own" : "anything";
}

const has = (known: RegExp, text: string): boolean => text.search(known) >= 0;
const UNSPACED = /[\u3040-\u9fff]/u;
const isShort = (phrase: string): boolean => phrase.split(/\s+/).length <= 4;
/** A name has none. */
const ARTICLE = /^(?:the|an?|th(?:is|at|[eo]se)|all|d(?:er|ie|as|en)|l[ea]s?|el|los|[oa]s?|un[ea]?)\s/iu;
/** Verbs that lose a name more often than a part of a project. */
const LOSES =
  /^(?:get rid|erase|wipe|scrub|purge|let|lose|lösch|streich|efface|borra|b[oó]rra|apag|удали|сотри)/iu;

/** Without the memory's name, courtesy and what is said besides. */
function plainOf(words: string): string {
  const told = words.replace(LEAD, "");
  const place = [...told.matchAll(MEMORY)].at(-1)?.index ?? -1;
  // What stands between the request and the memory's name is meant as a whole.
  const named = told.replace(BESIDES, (rest, at: number) => (place > at ? rest : ""));
  const placed = named.replace(MEMORY, " ").replace(/\s+/g, " ").replace(TAIL, "").trim();
  return (placed === "" ? named.replace(TAIL, "").trim() : placed).replace(ABOUT, "");
}

const ABOUT =
  /^(?:(?:(?:what|how) )?about|as for|regarding|concerning|über|wegen|à propos de|sobre|про|насчёт)\s+(?=\S)/iu;

function nameOf(words: string): string {
  const plain = plainOf(words);
  if (THAT.test(plain)) return plain;
  const bare = plain.replace(AROUND, "").replace(NOTED_OF, "").replace(NOTED_AS, "");
  return bare.replace(AROUND, "").replace(TAIL, "").trim();
}
