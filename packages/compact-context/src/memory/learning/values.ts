import { list, NONE, type Read, shareIn } from "./meaning.ts";

// What a statement may say otherwise of the same thing: numbers, days, names, tools, and words that stand around them.

type ValueKind = "number" | "day" | "address" | "name" | ReadonlySet<string>;

/** What kind of value a term is; undefined for a plain word. */
export function kindOf(term: string, { names }: Read): ValueKind | undefined {
  const kind = kindAlone(term);
  return kind ?? (names.has(term) ? "name" : undefined);
}

function kindAlone(term: string): ValueKind | undefined {
  if (DAYS.has(term)) return "day";
  if (isValue(term)) return "number";
  const kind = toolsLike(term);
  if (kind !== undefined) return kind;
  return /[\d@:/.]/.test(term) && /\p{L}.*[\d@:/.]|\d.*[.\p{L}]/u.test(term) ? "address" : undefined;
}

const DAYS = list(`
  monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
  october november december montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags samstags
  sonntags lundis mardis mercredis jeudis vendredis noon midnight week weeks day days month months fridays saturdays lundi mardi mercredi jeudi
  vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo segunda terça quarta quinta sexta
  понедельник вторник среда среду четверг пятница пятницу субботу понедельникам вторникам средам четвергам пятницам
  周一 周二 周三 周四 周五 月曜日 火曜日 水曜日 木曜日 金曜日 mondays tuesdays wednesdays thursdays fridays saturdays sundays`);

const NUMBERS = list(`
  one two three four five six seven eight nine ten eleven twelve fifteen twenty zwei drei vier fünf sechs sieben acht neun zehn
  deux trois quatre cinq sept huit neuf dix dos tres cuatro cinco seis siete ocho nueve diez dois duas três quatro sete oito nove dez
  два две три четыре пять шесть семь восемь девять десять первый второй third second first fourth fifth troisième quatrième
  deuxième premier 一 二 两 兩 三 四 五 六 七 八 九 十 两个 三个 四个 五个 二人 三人 四人 一人 五人`);

/** Days, numbers and times: what a statement may say otherwise of the same thing. */
export function isValue(term: string): boolean {
  return DAYS.has(term) || NUMBERS.has(term) || /^\d[\d.,:%/-]*\p{L}{0,3}$/u.test(term);
}

const UNITS = list(
  "kg g mg km m cm mm l ml kb mb gb tb ms s min minutes seconds hours euro euros dollar dollars usd eur pounds percent requests",
);

/** Verbs that a statement of a value and one of its change do not share. */
export const PLAIN: ReadonlySet<string> = list(`
  run runs running use uses using set limited planned scheduled capped went up down upgraded downgraded bumped raised
  lowered increased decreased reduced slipped rose grew shrank expanded scaled grown doubled tripled jumped fell turned slid shifted put stretch started total altogether overall climbed improved limit percent since new latest used only pushed back upped got gave`);

/** Verbs and particles around a value that another statement of it says otherwise. */
const HAVING = list(`
  weigh weighs doing drive drives begin begins work works working review reviews отвечает allow allows accept accepts reject rejects keep keeps kept write writes written prefer prefers want wants like likes start
  starts starting ship ships kick kicks sit sits live lives go goes going call called base based manage managed rebuilt released
  say says speak speaks build builds built deploy deploys host hosted off out over under
  support supports decided verwenden utilizamos используем используете 使っ 使う います いる ません
  bauen nutzen wohnen liegt läuft steht est écoute fait rédige écris utilisons escribe usamos escreva hospedamos называется составляет`);

/** Things of which a project has one of a kind. */
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

/** Each names a tool, and these are of one kind. */
export function shareKind(one: Iterable<string>, other: Iterable<string>): boolean {
  const kinds = new Set([...other].flatMap((term) => toolsLike(term) ?? []));
  return [...one].some((term) => kinds.has(toolsLike(term) ?? NONE));
}

/** Words that a second mention of a thing leaves out: `our staging server`, then `staging`. */
export const GENERIC: ReadonlySet<string> = list(`
  server serveur servidor сервер service system network project projekt projet proyecto projeto проект environment host machine instance tool team customer client kunde kunden cliente
  version name number address current new latest time date day month year these days week バージョン 版本 версия versión versão`);

export const bare = (terms: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...terms].filter((term) => !GENERIC.has(term)));

/** A value, or a verb of having it. */
export function isReplaceable(term: string): boolean {
  return (
    isValue(term) || UNITS.has(term) || PLAIN.has(term) || HAVING.has(term) || toolsLike(term) !== undefined
  );
}

/** A value, or a word that stands around values. */
export function isOrdinary(term: string): boolean {
  return isReplaceable(term) || GENERIC.has(term);
}

export function holds(terms: ReadonlySet<string>, term: string): boolean {
  return shareIn(new Set([term]), terms) === 1;
}
