import type { MemoryCandidate } from "./candidates.ts";
import { list } from "./learning/terms.ts";
import { DAY, findDate, type TimeSpan } from "./ranking/units.ts";

/** Words of questions that ask what happened, and name nothing else. */
const ASKING = list(`
  what whats which where when did do does done have has had we i you us our the a was were is are been on in at to of up so far off and
  happen happened work worked working discuss discussed achieve achieved talk talked about leave left stop stopped finish finished
  session sessions time day
  was wo haben hatten habe wir ich gemacht getan geschah passiert ist waren am an stehen geblieben
  qu est ce que avons nous fait on a où en étions passé s il qué hicimos pasó hemos hecho dónde quedamos estábamos
  o que fizemos aconteceu nós onde estávamos paramos что мы делали сделали было произошло где остановились в`);

const DAYS: readonly (readonly [RegExp, number])[] = [
  [
    /(?<![\p{L}])(?:the day before yesterday|vorgestern|avant-hier|anteayer|anteontem|позавчера)(?![\p{L}])/iu,
    2,
  ],
  [/(?<![\p{L}])(?:yesterday|gestern|hier|ayer|ontem|вчера)(?![\p{L}])/iu, 1],
  [/(?<![\p{L}])(?:today|heute|aujourd['’]hui|hoy|hoje|сегодня)(?![\p{L}])/iu, 0],
];
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const WEEKDAY = new RegExp(`\\b(?:last |this )?(${WEEKDAYS.join("|")})\\b`, "i");
const DATE =
  /\d{4}-\d\d-\d\d|\b\p{L}{3,9} \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?\b|\b\d{1,2}(?:\.|st|nd|rd|th)? \p{L}{3,9}(?: \d{4})?\b/u;
const LAST =
  /(?<![\p{L}])(?:last (?:time|session)|letztes mal|la dernière fois|la última vez|da última vez)(?![\p{L}])/iu;

/** Lines of the memory that answer a question about a day, or about where the work stands; none for another question. */
export function linesOfDay(
  query: string,
  candidates: readonly MemoryCandidate[],
  now: number,
): readonly MemoryCandidate[] {
  const history = candidates.filter(({ source }) => source === "channel-history");
  const day = dayIn(query, now);
  if (day !== undefined)
    return asksOnly(query.replace(day.words, " ")) ? history.filter(isWithin(day.span)) : [];
  const rest = query.replace(LAST, " ");
  if (!asksOnly(rest)) return [];
  if (rest !== query) return history.filter(({ title }) => title === history.at(-1)?.title);
  const state = ["current-state", "next-steps"];
  return STANDING.test(query)
    ? candidates.filter(
        ({ source, sectionKind }) => source === "channel-session" && state.includes(sectionKind),
      )
    : [];
}

const STANDING =
  /^(?:so,? )?where (?:were|are|did) we(?! \p{L}+ing)|^wo (?:waren|sind) wir|^où en étions|^dónde (?:estábamos|quedamos)|^onde (?:estávamos|paramos)|^где мы/iu;

function asksOnly(words: string): boolean {
  const asked = words.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return asked.length > 1 && asked.every((word) => ASKING.has(word));
}

function isWithin({ start, end }: TimeSpan): (candidate: MemoryCandidate) => boolean {
  return ({ timestamp }) => {
    const time = Date.parse(timestamp ?? "");
    return time >= start && time <= end;
  };
}

/** The day that a question names, and its words for it. */
function dayIn(query: string, now: number): { readonly words: string; readonly span: TimeSpan } | undefined {
  const today = Math.floor(now / DAY) * DAY;
  const ago = (days: number): TimeSpan => ({ start: today - days * DAY, end: today - days * DAY + DAY - 1 });
  for (const [name, days] of DAYS) {
    const [words] = name.exec(query) ?? [];
    if (words !== undefined) return { words, span: ago(days) };
  }
  const [words, weekday] = WEEKDAY.exec(query) ?? [];
  if (words !== undefined && weekday !== undefined) {
    const since = new Date(today).getUTCDay() - WEEKDAYS.indexOf(weekday.toLowerCase());
    return { words, span: ago(since > 0 ? since : since + 7) };
  }
  const [date] = DATE.exec(query) ?? [];
  const span = date === undefined ? undefined : findDate(date, new Date(now).getUTCFullYear());
  return date === undefined || span === undefined ? undefined : { words: date, span };
}
