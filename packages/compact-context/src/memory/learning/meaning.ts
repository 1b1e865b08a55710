import { goneIn, lostIn } from "./gone.ts";
import {
  FORBIDS,
  LASTING,
  LEAD,
  NEGATED,
  PERMITS,
  STRONG_CHANGE,
  TELLS_CHANGE,
  WEAK_CHANGE,
} from "./language.ts";

/** Terms that carry what a text is about: no articles, pronouns, prepositions, verbs of being, words of change. */
export function topicTerms(text: string): ReadonlySet<string> {
  return new Set(tokensOf(text).filter((token) => !FUNCTION.has(token) && !FILLER.test(token)));
}

/** The share of `terms` that `others` holds, inflected forms included; 0 for none. */
export function shareIn(terms: ReadonlySet<string>, others: ReadonlySet<string>): number {
  if (terms.size === 0) return 0;
  const all = [...others];
  return (
    [...terms].filter((term) => others.has(term) || all.some((other) => inflected(term, other))).length /
    terms.size
  );
}

/** Share of a text's words that another one holds, 0 to 1. */
export function heldBy(text: string, other: string): number {
  return shareIn(topicTerms(text), topicTerms(other));
}

// ---- reading

type VerbClass = "be" | "name" | "use" | "live" | "prefer" | "do" | "owner";

/** A statement as subject, verb and value: `our CI` `runs on` `Jenkins`. */
export interface Key {
  readonly subject: ReadonlySet<string>;
  readonly verb: VerbClass;
  /** The verb as it is said, and what stands before the value; with "do" it tells attributes apart. */
  readonly link: string;
  readonly value: ReadonlySet<string>;
  /** What it is for: `for the ledger`. */
  readonly purpose: ReadonlySet<string>;
}

export interface Read {
  readonly text: string;
  readonly content: ReadonlySet<string>;
  readonly key: Key | undefined;
  /** Its clauses, each as one: `Paul is gone, our designer is Ingrid`. */
  readonly clauses: readonly Key[];
  readonly isChange: boolean;
  /** Words of a change that can mean nothing else. */
  readonly isStrong: boolean;
  /** Any word of a change or a mistake. */
  readonly tellsChange: boolean;
  /** What it says that it takes the place of, one set of terms for each phrase. */
  readonly gone: readonly ReadonlySet<string>[];
  /** Who or what it says is gone for good, or was given up. */
  readonly lost: readonly ReadonlySet<string>[];
  /** Terms that are written as names. */
  readonly names: ReadonlySet<string>;
  readonly permits: boolean;
  readonly forbids: boolean;
  readonly negated: boolean;
  readonly lasting: boolean;
}

const reads = new Map<string, Read>();

export function read(text: string): Read {
  const known = reads.get(text);
  if (known !== undefined) return known;
  const plain = plainly(text);
  const content = topicTerms(plain);
  const made: Read = {
    text,
    content,
    key: keyOf(text),
    clauses: clausesOf(text).flatMap((clause) => keyOf(clause) ?? []),
    isChange: STRONG_CHANGE.test(text) || WEAK_CHANGE.test(text),
    isStrong: STRONG_CHANGE.test(text),
    tellsChange: TELLS_CHANGE.test(text),
    gone: things(goneIn(text)),
    lost: things(lostIn(text)),
    names: namesIn(text),
    permits: PERMITS.test(text),
    forbids: FORBIDS.test(text),
    negated: NEGATED.test(text),
    lasting: LASTING.test(text),
  };
  if (reads.size > 2_000) reads.clear();
  reads.set(text, made);
  return made;
}

/** Where another clause begins. */
const CLAUSE =
  /[,;:!?–—]\s+|\s(?:so|and|since|but|because|porque|weil|denn|parce que|car|así que|donc|então)\s/u;

export function clausesOf(text: string): readonly string[] {
  const clauses = text.split(CLAUSE);
  const told =
    clauses.length > 1 ? clauses.filter((clause) => !/^(?:they|he|she|it)(?![\p{L}])/iu.test(clause)) : [];
  return [...told, ...clauses.flatMap(tailsOf)];
}

/** What is left of a clause from each of the things on that it names: `with the new hires | the team is at 8`. */
function tailsOf(clause: string): readonly string[] {
  return [...clause.matchAll(/(?<=\S\s)(?:the|our|my) /giu)].map(({ index }) => clause.slice(index));
}

const WORDS = /[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}'’_]|[.:/@#+-](?=[\p{L}\p{N}]))*/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu;
const segmenter = new Intl.Segmenter("ja", { granularity: "word" });

function tokensOf(text: string): string[] {
  const plain = text
    .normalize("NFKC")
    // The country, the union and the trade are no pronouns, and a child is no verb of Spanish.
    .replace(/(?<=(?<![\p{L}])(?:my|our|his|her|their)\s)sons?(?![\p{L}])/giu, "boy")
    .replace(/(?<![\p{L}])(US|EU|IT)(?![\p{L}])/gu, "$1_")
    .replace(/每(?=周[一二三四五六日天])/gu, "每 ")
    // One spelling of a number: 18,000 and 18k, the 3rd.
    .replace(/(?<=\d)[,'’](?=\d{3}(?!\d))/g, "")
    .replace(/(?<![\p{L}\d.])(\d{1,4})k(?![\p{L}\d])/giu, "$1000")
    .replace(/(?<=\d)(?:st|nd|rd|th)(?![\p{L}])/giu, "")
    .replace(SHORT_FORMS, (short) => LONG_FORMS.get(short.toLowerCase()) ?? short)
    .replace(/['’](?:s|m|re|ve|ll|d)(?![\p{L}])/gu, "")
    .replace(/(?<![\p{L}])(?:[nljdcstm]|qu)['’](?=\p{L})/giu, "")
    .toLowerCase();
  return [...plain.matchAll(WORDS)].flatMap(([run]) => {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(run)) return [run];
    return run
      .replace(
        UNSPACED,
        (piece) => ` ${[...segmenter.segment(piece)].map(({ segment }) => segment).join(" ")} `,
      )
      .trim()
      .split(/\s+/);
  });
}

const LONG_FORMS: ReadonlyMap<string, string> = new Map(
  "db database,bday birthday,b-day birthday,env environment,repo repository,prod production,dev development,docs documentation,app application,config configuration,k8s kubernetes,mongo mongodb,postgresql postgres"
    .split(",")
    .map((pair) => pair.split(" ") as [string, string]),
);
/** What people type for longer words. */
const SHORT_FORMS = new RegExp(
  `(?<![\\p{L}\\d._/@-])(?:${[...LONG_FORMS.keys()].join("|")})(?![\\p{L}\\d_/@-])`,
  "giu",
);

export const list = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const FUNCTION = list(`
  a an the this that these those it its i me my mine we us our ours you your he she they them their to of in on at by for
  from with as and or but so not no is are was were be been being am has have had do does did will would can could
  should please also just very too now longer any more anymore instead rather actually sorry correction from going
  forward always never ever every changed change moved switched dropped mind don didn doesn isn aren wasn won't don't
  all за unter über als zur zum ко всё from unter per behind larger smaller more less most least maximum minimum max min bei beim adelante finalement verdade нас нам 定 定在 うち can't must
  fine ok okay allowed need free remember note over than then here there let lets decided
  der die das den dem des ein eine einen einem einer und oder aber ist sind war bin nicht kein keine keinen mehr jetzt ab
  sofort immer nie niemals wir ich du uns mir mich unser unsere unseren unserem unserer mein meine meinen meinem meiner meines auf in im an am zu zum von vom
  für mit bei wurde worden sondern statt stattdessen korrektur doch darfst kannst künftig umgestiegen verschoben bitte dir merk
  le la les un une des du de et ou mais est sont suis pas plus ne jamais toujours nous vous je tu il elle on notre nos mon ma mes
  à au aux en dans sur pour avec par désormais maintenant c'est place lieu que qui a été sommes peux pouvez désolée désolé
  correction changé passés passé décalée j' n' l' d' qu'
  el los las una unos unas y o pero es son soy está no nunca siempre ya más nosotros yo tú nuestro nuestra nuestros
  nuestras mi mis al del en lugar vez sino ahora partir puedes hacer se para con por corrección cambió cambiamos movió
  um uma os as e ou mas é são sou não nunca sempre já mais nós eu nosso nossa nossos nossas meu minha ao aos do da das
  no na nos nas em vez agora partir pode foi para com por correção mudou mudamos adiado faça
  и или но не нет это мы я ты наш наша наше наши мой моя моё мои мою моей моего моих нашу нашей нашего мне мной в на с со к по от для из о об про больше теперь отныне
  никогда всегда а можно вместо исправление что перешли перенесли изменился меня у
  已经 我 我们 我們 的 了 是 在 用 使用 叫 不 不再 再 改 改成 改用 改为 改到 换 到 成 从 现在 以后 今后 可以 不要 要 也 都 和 就 做 代替 更正 请 记住 一律 把 对
  私 たち 僕 は が を に の で と も へ や です ます でし た て い いる いま ませ ん ない でき し する さ れ なり 今 もう 代わり 使っ 使い 使う 変更 変わり まし 切り替え 訂正 から
  これから 今後 必ず 絶対 いい よい よ ね では じゃ あり なく で は おい 覚え ください まし
`);
const FILLER = /^[^\p{L}\p{N}]*$/u;

/** Forms of one word: a long common beginning of two words in small letters. */
function inflected(one: string, other: string): boolean {
  if (/\d/.test(one) || /\d/.test(other)) return false;
  const short = Math.min(one.length, other.length);
  if (short < 3) return false;
  let common = 0;
  while (common < short && one[common] === other[common]) common += 1;
  if (common === short && SHORTENED.test(one.slice(common) + other.slice(common))) return true;
  // Cases of Russian nouns end in up to three letters.
  if (common >= 4 && common >= short - 3 && /^\p{Script=Cyrillic}+$/u.test(one + other))
    return Math.max(one.length, other.length) - common <= 3;
  if (common === short) return short >= 3 && ENDINGS.test(one.slice(common) + other.slice(common));
  return (
    common >= 3 && common >= short - 3 && ENDING_PAIR.test(`${one.slice(common)} ${other.slice(common)}`)
  );
}

/** What a short form leaves out: `prod`, `config`, `repo`, `app`, `env`, `admin`. */
const SHORTENED =
  /^(?:ificates?|ução|ucción|uct\w+|urat\w+|sitor\w+|istrat\w+|ironments?|lications?|umentations?)$/u;
const ENDINGS = /^(?:r|in|e?s|e?d|ing|n|en|es|er|ly|a|o|ы|и|у|а|ой|ем|ами|ить|ь)$/;
const ENDING_PAIR =
  /^(?:y ies|ies y|e ing|ing e|e ed|ed e|а у|у а|а ы|ы а|я ю|ю я|а ой|ой а|а е|е а|ь ить|ить ь|e en|en e|es y|y es|es ing|ing es|s ing|ing s|s ed|ed s|es ies|ation |ation s|o a|a o|en t|t en|er ez|ez er)$/;

export function same(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && one.size > 0 && [...one].every((term) => other.has(term));
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
      "live|living|moved to|sitze in|lebe jetzt|(?<=^(?:ich bin|wir sind) )nach(?= .{2,40}gezogen)|(?:ai|avons) déménagé(?: à)?|(?:me|nos) mud(?:é|amos) a|me mudei para|mudei para|переехали|wohne|lebe|habite|vis|vivo|moro|живу|живём|переехала?|work from",
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
/** A change said of a subject: what follows is the new value. */
const BECAME =
  /(?<![\p{L}])(?:(?:has been |was |is |got )?(?:moved|changed|switched|postponed|rescheduled|renamed|pushed|extended|relocated|brought forward|slipped|went (?:up|down)|(?:went|jumped|fell|climbed|dropped|improved|expanded|scaled|grown)|rose|grew|shrank|bumped|raised|lowered|increased|decreased|reduced|upgraded|downgraded|slid|shifted)(?: (?:from \S+(?: \S+)? )?to| back to)?|(?:is|are) (?:up|down) to|turned(?= \d)|became|started(?= \d)|wurde(?=.*(?:verschoben|verlegt))|ist nach(?=.*umgezogen)|hat sich geändert|a changé|a été (?:déplacée?|reportée?|décalée?|avancée?)(?: au| à)?|est (?:décalée?|reportée?|passée?)(?: au| à)?|se movió al?|(?:cambió|pasó) a(?: los)?|mudou para|foi (?:adiado |movido )?para|(?:ficou|passou) para|(?:перенесли|продлили|переехал\p{L}?) (?:на|до|в)|изменился на|改成了?|改为|改到|变成了?)(?![\p{L}])|改成了?|改为|改到|搬到了?|推迟到|提前到|挪到|迁移?到|移到|に(?:変更|変わり|延期|移|引っ越|繰り上げ)/iu;

/** `Standup's at 9`, and not `Ann's desk`. */
const IS =
  /(?<![\p{L}])(\p{L}+)['’]s (?=(?:on|in|at|under|been|now|called|hosted|gone|moved|a|the|\d\S*)\s|(?:\S+ ){1,2}now(?![\p{L}]))/gu;

const LEADS: readonly RegExp[] = [
  LEAD,
  /现在|如今|(?:上|这)(?:个?月|周)|去年|昨天|最近|先週|先月|昨日|去年|最近/gu,
  /[\s,]+(?:(?:since|starting|as of|effective) (?:the |this |last |next |early |late )?\S+|btw|by the way|fyi|hooray|please|this morning|yesterday|last (?:night|week|weekend|month|year|sprint))[.!]*$/iu,
];

/** Somebody's change of a thing: `We migrated the wiki to Notion`. */
const CHANGED =
  /^(?:we|i)(?:['’]ve| have)?(?:['’](?:re|m)| are| am)?(?: (?:since|just|now|recently|finally|also))? (?:moving|migrating|switching|moved|migrated|switched|changed|transferred|relocated|pushed|postponed|shifted|rescheduled|extended|renamed|upgraded|downgraded|bumped|raised|lowered|increased|decreased|reduced) (?!(?:from|to|over|back) )(?:the |our |my )?(.+?)(?: from .+?)? to (.+)$|^(?:hemos )?(?:migramos|movimos|mudamos|cambiamos|pasamos|migrado|movido)\s(?:el |la |los |las |o |a |os |as )?(.+?)\s(?:a|al|para)\s(.+)$/iu;

/** Where people have a thing: `We host the docs on Netlify`. */
const LOCATED =
  /^(?:we|i) (?:now |also )?(?:host|keep|store|track|write|build|run|manage|serve|publish|archive|document|eat|have|hold) (?:the |our |my |all )*((?:[\p{L}\d-]+ ){1,3}?)(?:in|on|at|with|via|under|by) ([^,;]+)$/iu;

/** Without words around what is stated. */
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
  const before = plain.slice(0, became.index);
  const topic = /^(.*?)(?:は|が)/u.exec(before)?.[1] ?? before;
  // The value stands before the verb in Japanese.
  const value = became[0].startsWith("に")
    ? before.slice(topic.length)
    : plain.slice(became.index + became[0].length);
  return topicTerms(value).size === 0 ? undefined : isKey(topic, value);
}

/** `Our CI runs on Jenkins`. */
function statedIn(plain: string): Key | undefined {
  const verbs = /[\p{Script=Han}\p{Script=Hiragana}]/u.test(plain) ? SCRIPT_VERBS : VERBS;
  for (const [verb, words] of verbs) {
    const found = words.exec(plain);
    if (found !== null) return keyAt(plain, verb, found);
  }
  return undefined;
}

export const NONE: ReadonlySet<string> = new Set();
/** Russian says no "is": `наш порт 5432`, `наш API на порту 3000`, `демо в пятницу`. */
const BARE_VALUE =
  /^(?:(?:наш|наша|наше|мой|моя|моё)\s(?=\S)|(?=\p{L}+(?:\s\p{L}+)?\s(?:теперь\s)?(?:(?:в|на|по)\s\S|\d)))(\S+?(?:\s(?!в\s|на\s|по\s|теперь\s)\p{L}+(?=\s(?:теперь\s)?(?:в|на|по|\d)))?)\s(?:теперь\s)?(?:не\s\S+,\sа\s)?((?:(?:на|в|по)\s)?\S.*)$/iu;

const PURPOSE =
  /(?<![\p{L}])(?:for|für|pour|para|для|as (?:the|our)|in (?:this|the) (?:project|repo\p{L}*))(?![\p{L}])\s*([^,;]*).*$|做\s*(.+)$/iu;
const LINK =
  /^\s*(?:(?:now|straight|directly|only|jetzt|maintenant|ahora|agora|теперь)\s+)?(at|on|in|with|by|from|to|via|auf|mit|über|sur|avec|con|en|em|com|на|в|freitags|montags)(?![\p{L}])/iu;

function keyAt(text: string, verb: VerbClass, found: RegExpExecArray): Key | undefined {
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  const purpose = topicTerms(PURPOSE.exec(after)?.slice(1).join(" ") ?? "");
  const rest = after.replace(PURPOSE, "");
  if (verb === "owner")
    return {
      subject: topicTerms(after.replace(/ (?:from|von|de) \S+$/iu, "")),
      verb,
      link: "",
      value: topicTerms(before),
      purpose: NONE,
    };
  // The value stands before the verb in Japanese.
  const isJapanese = verb === "use" ? /(?:は|が|を)/u.test(before) : found[0].startsWith("に");
  const value = isJapanese ? topicTerms(before.replace(/^.*?(?:は|が)/u, "")) : topicTerms(rest);
  const subject = topicTerms(isJapanese ? (/^(.*?)(?:は|が)/u.exec(before)?.[1] ?? "") : before);
  const link = LINK.exec(after)?.[1];
  return {
    subject,
    verb,
    link: link === undefined ? "" : `${found[0]} ${link}`.toLowerCase(),
    value,
    purpose,
  };
}

// ---- what held before, and names

/** In `not using Figma any more` Figma is what is gone. */
const USING = list("use uses used using run runs running go goes");

/** The terms of each phrase. */
function things(phrases: readonly string[]): ReadonlySet<string>[] {
  return phrases.flatMap((phrase) => {
    const terms = [...topicTerms(phrase)].filter((term) => !USING.has(term));
    return terms.length === 0 ? [] : [new Set(terms)];
  });
}

/** Words that begin with a capital, or are written like a name of a file, host, branch or number. */
function namesIn(text: string): ReadonlySet<string> {
  const found =
    text.match(
      /(?<=[\p{L}\d,;:)"'] ?)(?<![.!?] )\p{Lu}[\p{L}\d./_-]*|[#@]?[\p{L}\d]+[._/@:-][\p{L}\d._/@:-]+/gu,
    ) ?? [];
  return topicTerms(found.filter((name) => !/^\p{L}\p{Ll}*(?:-\p{Ll}+)+$/u.test(name)).join(" "));
}
