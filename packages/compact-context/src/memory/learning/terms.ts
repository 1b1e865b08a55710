import { createLruMap } from "../../errors.ts";
import { DAY_NAMES, NUMBER_NAMES } from "../ranking/dates.ts";

/** The topic words of a text, and which of them are values: numbers, days, names, tools. */

/** Keeps what was made of recent texts: each text is read several times. */
export function remembered<Made extends {}>(most: number, make: (text: string) => Made): typeof make {
  const known = createLruMap<Made>(most);
  return (text) => {
    const last = known.get(text);
    if (last !== undefined) return last;
    const made = make(text);
    known.set(text, made);
    return made;
  };
}

/** Terms that carry the topic: no articles, pronouns, prepositions, forms of "be", or words of change. */
export function topicTerms(text: string): ReadonlySet<string> {
  return new Set(tokensOf(text).filter((token) => !FUNCTION.has(token) && !FILLER.test(token)));
}

/** The topic words of a Japanese text without endings and particles: `書く` and `書いて` are one verb. */
function stemsIn(text: string): ReadonlySet<string> {
  return /\p{Script=Hiragana}/u.test(text) ? topicTerms(text.replace(/\p{Script=Hiragana}+/gu, " ")) : NONE;
}

/** A permission of just what the older rule forbids, at the end of its sentence and without a condition. */
export function permitsInJapanese(newer: string, older: string): boolean {
  const stems = stemsIn(older);
  if (!PERMISSION.test(newer) || stems.size < 2 || BOUNDED.test(newer) || BOUNDED.test(older)) return false;
  const permitted = stemsIn(newer.replace(PERMISSION, ""));
  return permitted.size === stems.size && shareIn(stems, permitted) === 1;
}

const PERMISSION =
  /ても?(?:いい|よい|大丈夫|構(?:わない|いません)|かまわない|かまいません)(?:です)?[よね]{0,2}[。.!！]*$/u;
const BOUNDED = /以外|だけ|のみ|なら|れば|たら|なし|ずに|場合|とき|今回|今日/u;

/** Share of `terms` in `others`, inflected forms included; 0 for an empty set. */
export function shareIn(terms: ReadonlySet<string>, others: ReadonlySet<string>): number {
  if (terms.size === 0) return 0;
  const all = [...others];
  return (
    [...terms].filter((term) => others.has(term) || all.some((other) => inflected(term, other))).length /
    terms.size
  );
}

/** Share of a text's words that another text contains, 0 to 1. */
export function heldBy(text: string, other: string): number {
  return shareIn(topicTerms(text), topicTerms(other));
}

export const NONE: ReadonlySet<string> = new Set();

const WORDS = /[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}'’_]|[.:/@#+-](?=[\p{L}\p{N}]))*/gu;
/** At most 200 characters at once: the segmenter's time grows quadratically. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]{1,200}/gu;
const segmenter = new Intl.Segmenter("ja", { granularity: "word" });

function tokensOf(text: string): string[] {
  const plain = text
    .normalize("NFKC")
    // US, EU and IT are not pronouns, and "son" is not a Spanish verb.
    .replace(/(?<=(?<![\p{L}])(?:my|our|his|her|their)\s)sons?(?![\p{L}])/giu, "boy")
    .replace(/(?<![\p{L}])(US|EU|IT)(?![\p{L}])/gu, "$1_")
    .replace(/每(?=周[一二三四五六日天])/gu, "每 ")
    // One spelling per number: 18,000 and 18k, the 3rd.
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
/** Common abbreviations. */
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

/** Forms of one word: two lower-case words with a long common prefix. */
function inflected(one: string, other: string): boolean {
  if (/\d/.test(one) || /\d/.test(other)) return false;
  const short = Math.min(one.length, other.length);
  if (short < 3) return false;
  let common = 0;
  while (common < short && one[common] === other[common]) common += 1;
  if (common === short && SHORTENED.test(one.slice(common) + other.slice(common))) return true;
  // Case endings of Russian nouns have up to three letters.
  if (common >= 4 && common >= short - 3 && /^\p{Script=Cyrillic}+$/u.test(one + other))
    return Math.max(one.length, other.length) - common <= 3;
  if (common === short && short > 3 && DOUBLED.test(`${one.slice(common - 1)} ${other.slice(common - 1)}`))
    return true;
  if (common === short) return ENDINGS.test(one.slice(common) + other.slice(common));
  return (
    common >= 3 && common >= short - 3 && ENDING_PAIR.test(`${one.slice(common)} ${other.slice(common)}`)
  );
}

/** `quit` and `quitting`; a shorter stem is found in other words too. */
const DOUBLED = /^(?:([bdgmnprt]) \1\1(?:ed|ing)|([bdgmnprt])\2(?:ed|ing) \2)$/;
/** What an abbreviation omits: `prod`, `config`, `repo`, `app`, `env`, `admin`. */
const SHORTENED =
  /^(?:ificates?|ução|ucción|uct\w+|urat\w+|sitor\w+|istrat\w+|ironments?|lications?|umentations?)$/u;
const ENDINGS = /^(?:r|in|e?s|e?d|ing|n|en|es|er|ly|a|o|ы|и|у|а|ой|ем|ами|ить|ь)$/;
const ENDING_PAIR =
  /^(?:y ies|ies y|e ing|ing e|e ed|ed e|а у|у а|а ы|ы а|я ю|ю я|а ой|ой а|а е|е а|ь ить|ить ь|e en|en e|es y|y es|es ing|ing es|s ing|ing s|s ed|ed s|es ies|ation |ation s|o a|a o|a e|e a|en t|t en|er ez|ez er)$/;

export function same(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && one.size > 0 && [...one].every((term) => other.has(term));
}

/** The same words, in any form. */
export function sameTerms(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  if (one.size === 0 || other.size === 0) return one.size === other.size;
  return shareIn(one, other) === 1 && shareIn(other, one) === 1;
}

// Values that two statements of the same thing may differ in: numbers, days, names, tools, and words around
// them.

type ValueKind = "number" | "day" | "address" | "name" | ReadonlySet<string>;

/** The kind of value of a term; undefined for a plain word. */
export function kindOf(
  term: string,
  { names }: { readonly names: ReadonlySet<string> },
): ValueKind | undefined {
  if (DAYS.test(term)) return "day";
  if (isValue(term)) return "number";
  const kind = toolsLike(term);
  if (kind !== undefined) return kind;
  if (/[\d@:/.]/.test(term) && /\p{L}.*[\d@:/.]|\d.*[.\p{L}]/u.test(term)) return "address";
  return names.has(term) ? "name" : undefined;
}

const DAYS = new RegExp(`^(?:${DAY_NAMES}|may|noon|midnight|weeks?|days?|months?)$`, "iu");

const NUMBERS = new RegExp(
  `^(?:one|${NUMBER_NAMES}|eleven|twelve|fifteen|twenty|first|second|third|fourth|fifth|sixth|seventh|(?:erst|zweit|dritt|viert|fünft|sechst)e[nrsm]?|premi(?:er|ère)|(?:deux|trois|quatr|cinqu|six)ième|(?:primer|tercer|cuart|sext|terceir|primeir)[oa]?|(?:segund|quart|quint)[oa]|(?:перв|втор|четв[её]рт|пят|шест)(?:ый|ой|ая|ом|ого|ую)|трет(?:ий|ья|ьем|ьего|ью)|一|兩|[两二三四五]个|[一二三四五]人)$`,
  "u",
);

/** Days, numbers and times: values that another statement of the same thing may change. */
export function isValue(term: string): boolean {
  return DAYS.test(term) || NUMBERS.test(term) || /^\d[\d.,:%/-]*\p{L}{0,3}$/u.test(term);
}

/** Verbs that differ between a statement of a value and one of its change. */
export const PLAIN: ReadonlySet<string> = list(`
  run runs running use uses using set limited planned scheduled capped went up down upgraded downgraded bumped raised
  lowered increased decreased reduced slipped rose grew shrank expanded scaled grown doubled tripled jumped fell turned slid shifted put stretch started total altogether overall climbed improved limit percent since new latest used only pushed back upped got gave`);

/** Units, verbs and particles around a value that differ between statements of it. */
const HAVING = list(`
  kg g mg km m cm mm l ml kb mb gb tb ms s min minutes seconds hours euro euros dollar dollars usd eur pounds percent requests
  weigh weighs doing drive drives begin begins work works working review reviews отвечает allow allows accept accepts reject rejects keep keeps kept write writes written prefer prefers want wants like likes start
  starts starting ship ships kick kicks sit sits live lives go goes going call called base based manage managed rebuilt released
  say says speak speaks build builds built deploy deploys host hosted off out over under
  support supports decided verwenden utilizamos используем используете 使っ 使う います いる ません
  bauen nutzen wohnen liegt läuft steht est écoute fait rédige écris utilisons escribe usamos escreva hospedamos называется составляет`);

/** Tools and languages of which a project typically uses one per kind. */
const KINDS: readonly ReadonlySet<string>[] = [
  "npm pnpm yarn bun",
  "english german french spanish portuguese russian chinese japanese italian dutch polish british american",
  "deutsch englisch französisch spanisch anglais allemand français espagnol portugais inglés alemán francés español",
  "heroku fly vercel netlify render railway",
  "maven gradle bazel",
  "react vue angular svelte",
  "django flask fastapi rails laravel",
  "postgres mysql mariadb mongodb sqlite oracle",
].map(list);

export function toolsLike(term: string): ReadonlySet<string> | undefined {
  return KINDS.find((kind) => kind.has(term));
}

/** Both contain a tool of the same kind. */
export function shareKind(one: Iterable<string>, other: Iterable<string>): boolean {
  const kinds = new Set([...other].flatMap((term) => toolsLike(term) ?? []));
  return [...one].some((term) => kinds.has(toolsLike(term) ?? NONE));
}

/** Words that a second mention omits: `our staging server`, then `staging`. */
export const GENERIC: ReadonlySet<string> = list(`
  server serveur servidor сервер service system network project projekt projet proyecto projeto проект environment host machine instance tool team customer client kunde kunden cliente
  version name number address current new latest time date day month year these days week バージョン 版本 версия versión versão`);

export const bare = (terms: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...terms].filter((term) => !GENERIC.has(term)));

/** A value, or a verb of having it. */
export function isReplaceable(term: string): boolean {
  return isValue(term) || PLAIN.has(term) || HAVING.has(term) || toolsLike(term) !== undefined;
}

/** A value, or a word around values. */
export function isOrdinary(term: string): boolean {
  return isReplaceable(term) || GENERIC.has(term);
}

export function holds(terms: ReadonlySet<string>, term: string): boolean {
  return shareIn(new Set([term]), terms) === 1;
}
