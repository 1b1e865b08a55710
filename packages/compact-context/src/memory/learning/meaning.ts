import {
  AGAIN,
  FORBIDS,
  LASTING,
  LEAD,
  NEGATED,
  ONCE,
  PERMITS,
  STRONG_CHANGE,
  TELLS_CHANGE,
  UNCHANGED,
  WEAK_CHANGE,
} from "./language.ts";
import { PASSIVE } from "./passives.ts";
import { isValue, list, NONE, remembered, sameTerms, topicTerms } from "./terms.ts";

type VerbClass = "be" | "name" | "use" | "live" | "prefer" | "do" | "owner";

/** A statement as subject, verb and value: `our CI` `runs on` `Jenkins`. */
export interface Key {
  readonly subject: ReadonlySet<string>;
  readonly verb: VerbClass;
  /** The verb as written plus the preposition before the value; with "do" it distinguishes attributes. */
  readonly link: string;
  readonly value: ReadonlySet<string>;
  /** Its purpose: `for the ledger`. */
  readonly purpose: ReadonlySet<string>;
}

export interface Read {
  readonly text: string;
  readonly content: ReadonlySet<string>;
  readonly key: Key | undefined;
  /** Its clauses, each as a key: `Paul is gone, our designer is Ingrid`. */
  readonly clauses: readonly Key[];
  readonly isChange: boolean;
  /** It has any word of a change or a mistake. */
  readonly tellsChange: boolean;
  /** It says that something did not change. */
  readonly isUnchanged: boolean;
  /** What it says is replaced or gone, one set of terms per phrase. */
  readonly gone: readonly ReadonlySet<string>[];
  /** What it says is gone for good or was given up. */
  readonly lost: readonly ReadonlySet<string>[];
  /** Terms written as names. */
  readonly names: ReadonlySet<string>;
  readonly permits: boolean;
  readonly forbids: boolean;
  readonly negated: boolean;
  readonly lasting: boolean;
}

export const read: (text: string) => Read = remembered(2_000, (text) => {
  const plain = plainly(text);
  const content = topicTerms(plain);
  const unchanged = text.replace(UNCHANGED, " ");
  const changed = unchanged.replace(PASSIVE, " ");
  return {
    text,
    content,
    key: keyOf(text),
    clauses: clausesOf(text).flatMap((clause) => keyOf(clause) ?? []),
    isChange: STRONG_CHANGE.test(changed) || WEAK_CHANGE.test(changed),
    tellsChange: TELLS_CHANGE.test(changed),
    isUnchanged: unchanged !== text,
    gone: things(phrasesOf(changed, GONE)),
    lost: things(phrasesOf(changed, [LOST, GIVEN_UP])),
    names: namesIn(text),
    permits: PERMITS.test(text),
    forbids: FORBIDS.test(text),
    negated: NEGATED.test(text),
    lasting: LASTING.test(text),
  };
});

/** Start of another clause. */
const CLAUSE =
  /[,;:!?–—]\s+|\s(?:so|and|since|but|because|porque|weil|denn|parce que|car|así que|donc|então)\s/u;

export function clausesIn(text: string): readonly string[] {
  return text.split(CLAUSE);
}

/** Its clauses, and the rest of each clause from every thing it names. */
export function clausesOf(text: string): readonly string[] {
  const clauses = clausesIn(text);
  const told =
    clauses.length > 1 ? clauses.filter((clause) => !/^(?:they|he|she|it)(?![\p{L}])/iu.test(clause)) : [];
  return [...told, ...clauses.flatMap(tailsOf)];
}

/** The rest of a clause from each thing it names: `with the new hires | the team is at 8`. */
function tailsOf(clause: string): readonly string[] {
  return [...clause.matchAll(/(?<=\S\s)(?:the|our|my) /giu)].map(({ index }) => clause.slice(index));
}

const OURS =
  "(?<=(?:^|[\\s,])(?:we|i|they|let['’]s|to)(?: (?:now|no longer|also|only|will|don['’]t|do not|decided to))? )";
const VERBS: readonly (readonly [VerbClass, RegExp])[] = (
  [
    [
      "owner",
      "owns|leads|approves|reviews|maintains|manages|handles|heads|takes care of|has taken over|took over|(?:is|are) (?:now )?(?:responsible for|in charge of|the|our|my)|(?:ist|sind) (?:jetzt )?(?:unsere?|meine?)|est (?:maintenant |désormais )?(?:notre|mon|ma)|es (?:ahora )?(?:nuestr[oa]|mi)|é (?:agora )?(?:noss[oa]|meu|minha)|leitet|verantwortet|betreut|übernimmt|kümmert sich um|gère|dirige|s['’]occupe de|gestiona|lidera|lleva|se encarga de|cuida de|gerencia|отвечает за|ведёт|руководит|занимается",
    ],
    ["name", "зовут|heiße|m['’]appelle|me llamo|chamo-me|call me"],
    [
      "live",
      "live|living|moved to|sitze in|lebe jetzt|(?<=^(?:ich bin|wir sind) )nach(?= .{2,40}gezogen)|(?:ai|avons) déménagé(?: à)?|(?:me|nos) (?:he |hemos )?mud(?:é|amos|ado) a|me mudei para|mudei para|переехали|wohne|lebe|habite|vis|vivo|moro|живу|живём|переехала?|work from",
    ],
    [
      "use",
      `${OURS}(?:use|using|used|switched to|migrated to|support)|nos pasamos a|verwenden|nutzen|benutzen|utilisons|utilise|usamos|используем`,
    ],
    ["prefer", "prefer|prefers|préfère|prefiero|prefiro|предпочитаю|bevorzuge"],
    [
      "do",
      `${OURS}(?:deploy|host|run|ship|release|build|test|meet|store|work)|deployen|déployons|desplegamos|деплоим`,
    ],
    [
      "be",
      "is|are|was|am|go(?:es)? out|comes? out|weighs|allows|accepts|rejects|requires|['’]m|runs|run|lives|lasts|takes place|takes|starts|begins|ends|listens|happens?|meets|costs|sits?|stands?|has been|ist|sind|bin|dauert|läuft|liegt|steht|beträgt|heißt|findet|beginnt|endet|kostet|s['’]appelle|se trouve|a lieu|commence|finit|coûte|est|suis|écoute|dure|se llama|empieza|termina|cuesta|es|soy|está|se chama|começa|custa|é|sou|fica|находится|стоит|начинается|длится|проходит|называется",
    ],
  ] as const
).map(([verb, words]) => [verb, new RegExp(`(?<![\\p{L}])(?:${words})(?![\\p{L}])`, "iu")]);
/** The same in Chinese and Japanese. */
const SCRIPT_VERBS: readonly (readonly [VerbClass, RegExp])[] = [
  ["owner", /负责|が(?=.{1,20}担当)/u],
  ["live", /住在|搬到了?|搬去了?|に(?:住んで|引っ越し)/u],
  ["use", /改用|使用|用|使って|使い/u],
  ["be", /是|在|为|叫|は/u],
];
/** A change of a subject: the new value follows. */
const BECAME =
  /(?<![\p{L}])(?:(?:has been |was |is |got )?(?:moved|changed|switched|postponed|rescheduled|renamed|pushed|extended|relocated|brought forward|slipped|went (?:up|down)|(?:went|jumped|fell|climbed|dropped|improved|expanded|scaled|grown)|rose|grew|shrank|bumped|raised|lowered|increased|decreased|reduced|upgraded|downgraded|slid|shifted)(?: (?:from \S+(?: \S+)? )?to| back to)?|(?:is|are) (?:up|down) to|turned(?= \d)|became|started(?= \d)|wurde(?=.*(?:verschoben|verlegt))|ist nach(?=.*umgezogen)|hat sich geändert|a changé|a été (?:déplacée?|reportée?|décalée?|avancée?)(?: au| à)?|est (?:décalée?|reportée?|passée?)(?: au| à)?|se (?:ha )?(?:movi(?:ó|do)|aplaz(?:ó|ado)|posp(?:uso|uesto)|retras(?:ó|ado)|adelant(?:ó|ado)|traslad(?:ó|ado)) al?|(?:cambió|pasó) a(?: los)?|mudou para|foi (?:\p{L}+[oa] )?para|(?:ficou|passou) para|(?:перенес\p{L}+|сдвинул\p{L}?|продлили|переехал\p{L}?) (?:на|до|в)|изменился на|改成了?|改为|改到|变成了?)(?![\p{L}])|改成了?|改为|改到|搬到了?|推迟到|提前到|挪到|迁移?到|移到|に(?:変更|変わり|延期|移|引っ越|繰り上げ)/iu;

/** `Standup's at 9`, but not `Ann's desk`. */
const IS =
  /(?<![\p{L}])(\p{L}+)['’]s (?=(?:on|in|at|under|been|now|called|hosted|gone|moved|a|the|\d\S*)\s|(?:\S+ ){1,2}now(?![\p{L}]))/gu;

const LEADS: readonly RegExp[] = [
  LEAD,
  /现在|如今|(?:上|这)(?:个?月|周)|去年|昨天|最近|先週|先月|昨日|去年|最近/gu,
  /[\s,]+(?:(?:since|starting|as of|effective) (?:the |this |last |next |early |late )?\S+|btw|by the way|fyi|hooray|please|this morning|yesterday|last (?:night|week|weekend|month|year|sprint))[.!]*$/iu,
];

/** A change made to a thing: `We migrated the wiki to Notion`. */
const CHANGED =
  /^(?:we|i)(?:['’]ve| have)?(?:['’](?:re|m)| are| am)?(?: (?:since|just|now|recently|finally|also))? (?:moving|migrating|switching|moved|migrated|switched|changed|transferred|relocated|pushed|postponed|shifted|rescheduled|extended|renamed|upgraded|downgraded|bumped|raised|lowered|increased|decreased|reduced) (?!(?:from|to|over|back) )(?:the |our |my )?(.+?)(?: from .+?)? to (.+)$|^(?:hemos )?(?:migramos|movimos|mudamos|cambiamos|pasamos|migrado|movido)\s(?:el |la |los |las |o |a |os |as )?(.+?)\s(?:a|al|para)\s(.+)$/iu;

/** The place or tool of a thing: `We host the docs on Netlify`. */
const LOCATED =
  /^(?:we|i) (?:now |also )?(?:host|keep|store|track|write|build|run|manage|serve|publish|archive|document|eat|have|hold) (?:the |our |my |all )*((?:[\p{L}\d-]+ ){1,3}?)(?:in|on|at|with|via|under|by) ([^,;]+)$/iu;

/** Strips the words around a statement. */
function plainly(text: string): string {
  return LEADS.reduce((rest, lead) => rest.replace(lead, ""), text.normalize("NFKC")).replace(IS, "$1 is ");
}

function keyOf(text: string): Key | undefined {
  const plain = plainly(text);
  const [, changed = "", to = "", ...others] = CHANGED.exec(plain) ?? [];
  const [, bare = "", told = ""] = BARE_VALUE.exec(plain) ?? [];
  const [, thing = "", place = ""] = LOCATED.exec(plain) ?? [];
  return (
    isKey(changed || (others[0] ?? ""), to || (others[1] ?? "")) ??
    becameIn(plain) ??
    isKey(thing, place) ??
    statedIn(plain) ??
    isKey(bare, told)
  );
}

/** One thing is another. */
function isKey(thing: string, other: string): Key | undefined {
  const [subject, value] = [topicTerms(thing), topicTerms(other)];
  return subject.size === 0 ? undefined : { subject, verb: "be", link: "", value, purpose: NONE };
}

/** `The release was moved to May 10`. */
function becameIn(plain: string): Key | undefined {
  const became = BECAME.exec(plain);
  if (became === null) return undefined;
  const [before, after] = [plain.slice(0, became.index), plain.slice(became.index + became[0].length)];
  const topic = TOPIC.exec(before)?.[1] ?? before;
  // In Japanese the value comes before the verb.
  const value = became[0].startsWith("に") ? before.slice(topic.length) : after;
  return topicTerms(value).size === 0 ? undefined : isKey(topic, value);
}

/** What a Japanese statement is about. */
const TOPIC = /^(.*?)(?:は|が)/u;

/** `Our CI runs on Jenkins`. */
function statedIn(plain: string): Key | undefined {
  const verbs = /[\p{Script=Han}\p{Script=Hiragana}]/u.test(plain) ? SCRIPT_VERBS : VERBS;
  for (const [verb, words] of verbs) {
    const found = words.exec(plain);
    if (found !== null) return keyAt(plain, verb, found);
  }
  return undefined;
}

/** The words before the verb of a statement. */
export function subjectIn(text: string): string | undefined {
  const starts = [...VERBS, ...SCRIPT_VERBS].flatMap(([, words]) => words.exec(text)?.index ?? []);
  const before = text.slice(0, Math.min(...starts));
  return starts.length === 0 || before === "" ? undefined : before;
}

/** Russian omits "is": `наш порт 5432`, `наш API на порту 3000`, `демо в пятницу`. */
const BARE_VALUE =
  /^(?:(?:наш|наша|наше|мой|моя|моё)\s(?=\S)|(?=\p{L}+(?:\s\p{L}+)?\s(?:теперь\s)?(?:(?:в|на|по)\s\S|\d)))(\S+?(?:\s(?!в\s|на\s|по\s|теперь\s)\p{L}+(?=\s(?:теперь\s)?(?:в|на|по|\d)))?)\s(?:теперь\s)?(?:не\s\S+,\sа\s)?((?:(?:на|в|по)\s)?\S.*)$/iu;

const PURPOSE =
  /(?<![\p{L}])(?:for|für|pour|para|для|as (?:the|our)|in (?:this|the) (?:project|repo\p{L}*))(?![\p{L}])\s*([^,;]*).*$|做\s*(.+)$/iu;
const LINK =
  /^\s*(?:(?:now|straight|directly|only|jetzt|maintenant|ahora|agora|теперь)\s+)?(at|on|in|with|by|from|to|via|auf|mit|über|sur|avec|con|en|em|com|на|в|freitags|montags)(?![\p{L}])/iu;

function keyAt(text: string, verb: VerbClass, found: RegExpExecArray): Key | undefined {
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  if (verb === "owner") {
    const subject = topicTerms(after.replace(/ (?:from|von|de) \S+$/iu, ""));
    return { subject, verb, link: "", value: topicTerms(before), purpose: NONE };
  }
  // In Japanese the value comes before the verb.
  const isJapanese = verb === "use" ? /(?:は|が|を)/u.test(before) : found[0].startsWith("に");
  const link = LINK.exec(after)?.[1];
  return {
    subject: topicTerms(isJapanese ? (TOPIC.exec(before)?.[1] ?? "") : before),
    verb,
    link: link === undefined ? "" : `${found[0]} ${link}`.toLowerCase(),
    value: topicTerms(isJapanese ? before.replace(TOPIC, "") : after.replace(PURPOSE, "")),
    purpose: topicTerms(PURPOSE.exec(after)?.slice(1).join(" ") ?? ""),
  };
}

// ---- names and terms of phrases

/** Ignored in a phrase: in `not using Figma any more` only Figma is gone. */
const USING = list("use uses used using run runs running go goes");

/** The terms of each phrase. */
function things(phrases: readonly string[]): ReadonlySet<string>[] {
  return phrases.flatMap((phrase) => {
    const terms = [...topicTerms(phrase)].filter((term) => !USING.has(term));
    return terms.length === 0 ? [] : [new Set(terms)];
  });
}

/** Words that begin with a capital or are written like the name of a file, host, branch or number. */
function namesIn(text: string): ReadonlySet<string> {
  const found =
    text.match(
      /(?<=[\p{L}\d,;:)"'] ?)(?<![.!?] )\p{Lu}[\p{L}\d./_-]*|[#@]?[\p{L}\d]+[._/@:-][\p{L}\d._/@:-]+/gu,
    ) ?? [];
  return topicTerms(found.filter((name) => !/^\p{L}\p{Ll}*(?:-\p{Ll}+)+$/u.test(name)).join(" "));
}

// ---- what is replaced or gone

/** Verbs before what was left behind. */
const LEAVES =
  "(?:cancell?ed|dumped|vetoed|gave up|given up(?: on)?|gone off|unsubscribed from|closed)|ripped out|(?<=^|(?:^|[\\s,])(?:i|we) )left(?! for| so| and| at)|not going back to|stopped(?: using)?|dropped(?! (?:\\S+ ){0,4}?(?:to|from|by)(?![\\p{L}]))|ditched|replaced(?! by| with)|retiring|retired|abandoned|gave up on|(?:got|getting) rid of|swapped(?: out)?|(?:exchanged|traded(?: in)?)(?= [^,;.]+ for )|killed|phased out|sold(?! on| out)|scrapped|axed|archived|walked away from|pulled the plug on|(?:moved|moving|switched|migrated|got|are|['’]re) off(?: of)?|quit|(?:ai|a|avons|ont) (?:abandonné|arrêté|quitté|vendu|laissé tomber)|(?:dejé|dejamos|abandonamos|vendí|vendimos)(?: de (?:usar|trabajar en))?|(?:salí|salimos) de|(?:saí|saímos) d[aeo]s?|(?:parei|paramos) (?:com|de usar)|largamos|vendi|(?:бросил|продал|закрыл)\\p{L}*|(?:ушёл|ушла|ушли) из";
const LEFT =
  "dead|gone(?! home| to| out| on)|history|retired|deprecated|discontinued|renamed|replaced|shut down|swapped out|dropped|phased out|decommissioned|sunset|off the table|no more|out";
const GIVEN_UP = new RegExp(
  `(?<![\\p{L}])(?:${LEAVES}) (?:the |our |my |le |la |les |l['’]|el |los |o |a |os |as )?([^,;]+?)(?=[.,;]|$| (?:with|for|pour|para|por|yesterday|already|a (?:week|month|year) ago|in favou?r of|last|over|in|on|for|so|yesterday|this|today|and|entirely|completely)(?![\\p{L}]))`,
  "giu",
);
/** A person or thing is gone for good. */
const LOST =
  /(?:^|[,;:.!] |\s(?:and|but|because|since) )(?:so |the |our |my |old )*([^,;:.!]{2,30}?) (?:died|broke down|(?:was|got) (?:stolen|scrapped|sold)|(?:has |have )?(?:closed|shut) down|folded|quit|resigned|retired|left(?! the | my | our | a )|moved (?:out|away)|passed away|went (?:bankrupt|under|out of business)|got fired|is on (?:sabbatical|parental leave|maternity leave)|expired|se (?:jubiló|fue)|gibt es nicht mehr|est parti\p{L}?(?= à la retraite)|hat (?:aufgehört|gekündigt)|ist (?:komplett )?raus)(?=[\s,;.!]|$)|(?:^|[，。、])([^，。、]{1,10}?)(?:さん)?(?:が(?:異動|退職|辞め)|卖了|坏了|离职了)/giu;
/** Phrases that name what held before: not X, instead of X, no longer X, from X to Y. */
const GONE: readonly RegExp[] = [
  /(?:^|[,;]\s*|\s)(?:and )?not ([^,.;(]+?)(?=[.,;!(]|$| any ?more| but | like )/giu,
  /(?:no longer|(?:don['’]t|do not|doesn['’]t|isn['’]t)) ([^,;]+?)(?= any ?(?:more|longer)|[.,;]|$| with )/giu,
  GIVEN_UP,
  /(?<!(?:thinking|consider|explor|evaluat|want|would|like|wish|hop|plan|might|may|whether|tr[iy]|tempted|should|could)[^.,;]{0,30})(?:mov|switch|migrat|chang|pivot|transition)(?:e|ed|ing)?(?: \w+){0,4} from ([^,;]+?) to /giu,
  new RegExp(
    `(?:^|[,;:] |\\s(?:and|but|so|since) )(?:the |our |so )*([^,;:]{2,40}?)(?: (?:is|are|has|have|was|were|got|get)|['’]s)(?: (?:been|being|finally|all|now))* (?:${LEFT})(?![\\p{L}])`,
    "giu",
  ),
  /(?:^|\s)(\p{Lu}[\p{L}'’-]+)(?:['’]s last day| is no longer| was too (?!\p{L}+ to ))/gu,
  /(?:^|[,;] )(\p{Lu}[\p{L}'’-]+) (?:left|quit|resigned|retired|moved on)(?= (?:so|and|us|the|last|this|in)|[,;.]|$)/gu,
  LOST,
  /(?:hat|habe|haben) (?:die|den|das|mit (?:der|dem)) (\p{L}+) (?:aufgegeben|abgeschafft|gekündigt|aufgehört|verkauft)/giu,
  /(?:isn['’]t|is not|['’]s not) (\p{Lu}[\p{L}'’-]+) (?:who|that)(?![\p{L}])/gu,
  /^(?:(?:o|a|der|die|el|la|le) )?(\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?) (?:saiu|se fue|dejó|est parti\p{L}?|a quitté|ist (?:weg|gegangen|raus)|hat gekündigt|уволил(?:ся|ась)|уш(?:ёл|ла))(?![\p{L}])/giu,
  /(?<![\p{L}])(?:instead of|rather than|in place of|statt|anstelle von|nicht(?: mehr)?(?: auf| in)?|au lieu de|à la place de|(?<=,\s?)(?:et |y |e )?(?:pas|non|no|não)|en (?:lugar|vez) del?|ya no|(?:em vez|no lugar) d[eoa]s?|não (?:é|está|são)|вместо) ([^,;.(]+)/giu,
  /(?:von|(?:passés?|passée|changé|migré|cambiamos|pasamos|migramos|mudamos|trocamos) de|(?:перешли|перенесли) со?) (.+?) (?:auf|zu|à|vers|a|para|por|на) /giu,
  /(?:sustitu|reemplaz|substitu|relev|remplac)\p{L}* (?:a |o |à )?(\p{Lu}[\p{L}'’-]+)|von (\p{Lu}[\p{L}'’-]+) übernommen/gu,
  /(?:took|takes|taken|taking) over from ([^,;.]+?)(?= as(?![\p{L}])|[,;.]|$)/giu,
  /(?:(?:hemos |he )?(?:cambi(?:amos|ado|é)|sustitui(?:mos|do)|reemplaza(?:mos|do)|troc(?:amos|ado)|troquei|substitu(?:ímos|ído|í)) (?:el |la |los |las |o |a |os |as )?([^,;]+?) (?:por(?! (?:seguridad|raz|motivo|culpa|error|falta|precio|segurança|erro))|pel[oa]s?)|(?:remplacé|échangé|troqué) (?:le |la |les |l['’])?([^,;]+?) (?:par|contre|pour))(?![\p{L}])/giu,
  // By oneself, or by nobody in particular
  /(?<!(?:von|vom|des|für|in|im|an|am|auf|bei|der)(?: de[nmr]| die)? )(?:den |die |das )?(\S+) (?:durch|gegen) [^,;]+? (?:ersetzt|(?:aus|ein)?getauscht)(?![\p{L}])(?<=(?:^|\s)(?:wir|ich|wurden?)\s.*)/giu,
  /(?:^|[,;:.] |(?:мы|я|уже|теперь|вчера|недавно|наконец) )(?:замени|поменя|смени)(?:л|ла|ли) ([^,;]+?) на(?![\p{L}])/giu,
  /(?:^|\s)(?:не ([^,;.]+?), а |от (\S+) отказались)/giu,
  /不(?:再)?(?:是|用|使用|在)\s?([^，,。]+)|(?:从|(?:^|[，。：、\s]|我们?|咱们?|(?:^|[，。]|我们?的?)(?:团队|公司)|已经?|刚|最近|[天周月年])把)\s?(.+?)\s?(?:换|改|迁移|切换|替换)(?:到|成|为)|代替\s?([\p{L}\p{N} ]+?)(?=做|[，,。]|$)/gu,
  /(.+?)の代わりに|([\p{L}\p{N}.]+)\s?から\s?[\p{L}\p{N}.]+\s?に(?:切り替え|変更|移行|乗り換え)|([\p{L}\p{N}.]+)\s?を[^、。]+に(?:置き換え|切り替え|乗り換え|変え)/gu,
];

function phrasesOf(text: string, patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, ...said]) => said.join(" ")));
}

const THING = "[\\p{L}\\d-]+(?: de \\p{L}+)?";
const NOW = "(?:now|jetzt|nun|maintenant|désormais|ahora|agora)";
const THE =
  "(?:[Tt]he|[Oo]ur|[Dd](?:ie|er|as)|[Uu]nsere?|[Ll][ae]s?|[Nn]otre|[Ee]l|[Nn]uestr[oa]|[OoAa]|[Nn]oss[oa])";
const NAMED = "(?:(?:at|on|um|am) )?[\\p{Lu}\\d][^\\s,'’]*";
/** Two things with one verb: `the db is now Postgres and the cache Valkey`. */
const PARALLELS: readonly RegExp[] = [
  `^${THE} (?<first>${THING}(?: ${THING})??) (?:${NOW} )?(?<verb>is|ist|est|es|é)(?: ${NOW})? (?<=${NOW}.*)${NAMED},? (?:and|und|et|y|e) ${THE} (?<thing>${THING}(?: ${THING})?) (?<value>${NAMED})[.!]*$`,
  "^(?<first>(?!的)\\p{Script=Han}{1,4})现在(?<verb>是)[A-Za-z\\d.]+[，,](?<thing>\\p{Script=Han}{1,4})是(?<value>[A-Za-z\\d.]+)[。]?$",
].map((form) => new RegExp(form, "u"));

/** The second of two things is the older statement's, and its value is of the same kind. */
export function isParallelOf({ text }: Read, then: Read): boolean {
  const found = PARALLELS.map((form) => form.exec(text)?.groups).find((groups) => groups);
  const { first = "", verb = "", thing = "", value = "" } = found ?? {};
  const headOf = (name: string): string => name.replace(/^.* /u, "");
  // Of `the staging db`, the cache may be the one in staging.
  const isPlain = !first.replace(/ de .*/u, "").includes(" ");
  if (found === undefined || !(isPlain || headOf(first) === headOf(thing))) return false;
  const [now, old] = [read(`${thing} ${verb} ${value}`).key, then.key];
  if (now?.verb !== "be" || old?.verb !== "be" || now.link !== old.link || then.negated) return false;
  const areValues = ({ value: terms }: Key): boolean => [...terms].some(isValue);
  const isOfOneKind = old.value.size === 1 && areValues(now) === areValues(old);
  return isOfOneKind && sameTerms(now.subject, old.subject) && !sameTerms(now.value, old.value);
}

/** A permission for one time lifts no rule. */
export function permitsOnce({ text, permits }: Read): boolean {
  const once = ONCE.exec(text);
  return permits && once !== null && !NEGATED.test(text.slice(0, once.index)) && !AGAIN.test(text);
}
