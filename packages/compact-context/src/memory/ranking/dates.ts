// Days, weeks, months and dates in words, in English, German, French, Spanish, Portuguese, Russian, Chinese
// and Japanese.

/** A time span in milliseconds since 1970, both ends included. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

export const DAY: number = 24 * 60 * 60 * 1000;

/** The words of a table. */
export const listed = (names: string): readonly string[] => names.trim().split(/\s+/);

/** January first; English also with short forms. */
const ENGLISH_MONTHS = listed(
  "january february march april may june july august september october november december",
);
const MONTHS: readonly (readonly string[])[] = [
  ENGLISH_MONTHS.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)}|\\.)?`.replace("sep(?:", "sept?(?:")),
  listed("januar februar märz april mai juni juli august september oktober november dezember"),
  listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
  listed("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
  listed("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
  listed(
    "январ[ьяе] феврал[ьяе] март[ае]? апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе] август[ае]? сентябр[ьяе] октябр[ьяе] ноябр[ьяе] декабр[ьяе]",
  ),
];

/** Sunday first. */
const WEEKDAYS: readonly (readonly string[])[] = [
  listed("sunday monday tuesday wednesday thursday friday saturday"),
  listed("sonntag montag dienstag mittwoch donnerstag freitag samstag|sonnabend"),
  listed("dimanche lundi mardi mercredi jeudi vendredi samedi"),
  listed("domingo lunes martes miércoles jueves viernes sábado"),
  listed(
    "domingo segunda(?:-feira)? terça(?:-feira)? quarta(?:-feira)? quinta(?:-feira)? sexta(?:-feira)? sábado",
  ),
  listed(
    "воскресень\\p{L}+ понедельник\\p{L}* вторник\\p{L}* сред(?:[аеуы]|ам) четверг\\p{L}* пятниц\\p{L}+ суббот\\p{L}+",
  ),
  [..."日一二三四五六"].map((day) => `(?:周|星期|礼拜)${day === "日" ? "[日天]" : day}`),
  [..."日月火水木金土"].map((day) => `${day}曜日?`),
];

/** All names of months and weekdays, for patterns, except "may", which is also a common English word. */
export const DAY_NAMES: string = [
  ENGLISH_MONTHS.filter((name) => name !== "may"),
  ...MONTHS.slice(1),
  ...WEEKDAYS.map((names) => names.map((name) => `(?:${name})s?`)),
]
  .flat()
  .join("|");

/** Whole words; in Chinese and Japanese they match anywhere. */
const words = (spaced: string, unspaced: string): RegExp =>
  new RegExp(`(?<![\\p{L}])(?:${spaced})(?![\\p{L}])|${unspaced}`, "iu");

const weekOf = (today: number): number => today - ((new Date(today).getUTCDay() + 6) % 7) * DAY;
const days = (start: number, count: number): TimeSpan => ({ start, end: start + count * DAY - 1 });

/** Numbers in words, from one. */
const COUNTS: readonly (readonly string[])[] = [
  listed("one|a|an two three four five six seven eight nine ten"),
  listed("eine[mr]? zwei drei vier fünf sechs sieben acht neun zehn"),
  listed("une? deux trois quatre cinq six sept huit neuf dix"),
  listed("una? dos tres cuatro cinco seis siete ocho nueve diez"),
  listed("uma? dois|duas três quatro cinco seis sete oito nove dez"),
  listed("один|одну два|две три четыре пять шесть семь восемь девять десять"),
  [..."一二三四五六七八九十"].map((count) => (count === "二" ? "[二两]" : count)),
];
/** Names of numbers from two, for patterns. */
export const NUMBER_NAMES: string = COUNTS.flatMap((names) => names.slice(1)).join("|");
const COUNT = `(\\d{1,3}|${COUNTS.flat().join("|")})`;

/** The number of a count in digits or words; one if none is given. */
function countOf(counts: readonly (string | undefined)[]): number {
  const count = counts.find((one) => one !== undefined) ?? "";
  return count === "" ? 1 : /^\d/.test(count) ? Number(count) : placeIn(COUNTS, count) + 1;
}

/** What the first day of a span is counted from; on a Saturday or a Sunday the weekend is the current one. */
const STARTS: Readonly<Record<string, (today: number) => number>> = {
  day: (today) => today,
  week: weekOf,
  weekend: (today) => weekOf(today + 2 * DAY) - 2 * DAY,
};

/** A line each: start, days after it (`n`: times the count for `#`), length; words; those of Chinese and Japanese. */
function spansOf(table: string): (typeof RELATIVE)[number][] {
  return table
    .trim()
    .split("\n")
    .map((line) => {
      const [when = "", spaced = "", unspaced = ""] = line.split(" ; ");
      const [start = "", first = "", length] = when.split(" ");
      return [
        words(spaced.replaceAll("#", `${COUNT}\\s`), unspaced.replaceAll("#", `${COUNT}\\s?`)),
        (today, counts) => {
          const times = first.endsWith("n") ? countOf(counts) : 1;
          return days(
            (STARTS[start]?.(today) ?? today) + Number.parseInt(first, 10) * times * DAY,
            Number(length),
          );
        },
      ];
    });
}

/** Spans relative to today. */
const RELATIVE: readonly (readonly [
  RegExp,
  (today: number, counts: readonly (string | undefined)[]) => TimeSpan,
])[] = [
  ...spansOf(`
day -1n 1 ; #days? ago|vor #tag(?:en)?|il y a #jours?|hace #días?|há #dias?(?: atrás)?|#dias? atrás|(?:#|)(?:день|дня|дней) (?:тому )?назад ; #天(?:之)?前|#日前
week -7n 7 ; #weeks? ago|vor #wochen?|il y a #semaines?|hace #semanas?|há #semanas?(?: atrás)?|#semanas? atrás|(?:#|)недел[юиь] (?:тому )?назад ; #个?(?:周|星期)(?:之)?前|#週間前
day 1n 1 ; in #days?|in #tag(?:en)?|dans #jours?|(?:dentro de|en) #días?|(?:daqui a|em) #dias?|через (?:#|)(?:день|дня|дней) ; #天(?:之)?后|#日後
week 7n 7 ; in #weeks?|in #wochen?|dans #semaines?|(?:dentro de|en|daqui a|em) #semanas?|через (?:#|)недел[юиь] ; #个?(?:周|星期)(?:之)?后|#週間後
week -9 2 ; the weekend before last|vorletzte[sn] wochenende|l['’]avant-dernier week-?end|(?:в|на) позапрошлы[ех] выходны[ех] ; 上上个?周末|(?:先々|先先)週末
week -2 2 ; last weekend|letzte[sn] wochenende|(?:le )?week-?end (?:dernier|passé)|(?:el )?fin de semana pasado|(?:no )?fim de semana passado|(?:в|на) прошлы[ех] выходны[ех] ; 上个?周末|先週末
weekend 0 2 ; (?:over the|on the|at the|this) weekend|(?:am |dieses )wochenende|(?:ce |le )week-?end|(?:el |este )fin de semana|(?:no |neste |nesse )fim de semana|(?:в|на) (?:эти |этих )?выходны[ех] ; (?:这个?|本)?周末|今?週末
day -2 1 ; the day before yesterday|a couple of days ago|vorgestern|avant-hier|anteayer|anteontem|позавчера ; 前天|一昨日|おととい
day -1 1 ; yesterday|gestern|hier|ayer|ontem|вчера ; 昨天|昨日
day 0 1 ; today|heute|aujourd['’]hui|hoy|hoje|сегодня ; 今天|今日
week -14 7 ; the week before last|a couple of weeks ago|vorletzten? woche|l['’]avant-dernière semaine|la semana antepasada|на позапрошлой неделе ; 上上个?(?:周|星期|礼拜)(?![一二三四五六日天])|(?:先々|先先)週(?!の?[日月火水木金土]曜)
week -7 7 ; last week|letzte woche|la semaine (?:dernière|passée)|la semana pasada|(?:na |a )?semana passada|на прошлой неделе ; 上(?:个)?(?:周|星期|礼拜)(?![一二三四五六日天])|先週(?!の?[日月火水木金土]曜)
week 0 7 ; this week|diese woche|cette semaine|esta semana|на этой неделе ; (?:这个?|本)(?:周|星期)(?![一二三四五六日天])|今週(?!の?[日月火水木金土]曜)
`),
  [
    words(
      "last month|letzten monat|le mois dernier|el mes pasado|(?:no )?mês passado|в прошлом месяце",
      "上个?月|先月",
    ),
    (today) => {
      const date = new Date(today);
      return span(date.getUTCFullYear(), date.getUTCMonth() - 1, undefined);
    },
  ],
];

const WEEKDAY = words(
  `(?:(?:last|this|letzten|diesen|le|el|na|no|во?|(?:в )?прошл\\p{L}+) )?(?:${WEEKDAYS.slice(0, 6).flat().join("|")})(?: dernier| pasado| passad[oa])?`,
  `(?:上个?|这个?|本|先週の?|今週の?)?(?:${WEEKDAYS.slice(6).flat().join("|")})`,
);

/** `9/11` or `9/11/2026`: the month first in English, else the day. */
const SLASHED = /(?<![\d/.])(\d{1,2})\/(\d{1,2})(?:\/((?:19|20)\d\d))?(?![\d/])/gu;
const ENGLISH = /\b(?:what|did|we|happened)\b/iu;

/** The first day, week or month that a text names, relative to now or as a date, and the rest of the text. */
function spanIn(asked: string, now: number): { readonly rest: string; readonly span: TimeSpan } | undefined {
  const text = asked.replace(SLASHED, (_, one: string, other: string, given?: string) => {
    const isMonthFirst = ENGLISH.test(asked) && Number(one) <= 12;
    return `${isMonthFirst ? `${other}.${one}` : `${one}.${other}`}.${given ?? ""}`;
  });
  const today = Math.floor(now / DAY) * DAY;
  for (const [name, spanOf] of RELATIVE) {
    const found = name.exec(text);
    if (found !== null) return { rest: text.replace(found[0], " "), span: spanOf(today, found.slice(1)) };
  }
  const year = new Date(now).getUTCFullYear();
  const dated = dateIn(text, year);
  // A date without a year that would be in the future belongs to last year; one with a year is unchanged.
  const date = dated !== undefined && dated.span.start > now ? dateIn(text, year - 1) : dated;
  const [weekday] = WEEKDAY.exec(text) ?? [];
  // A weekday next to a date only repeats it.
  if (date !== undefined)
    return { rest: text.replace(date.words, " ").replace(weekday ?? "", " "), span: date.span };
  if (weekday === undefined) return undefined;
  const since = new Date(today).getUTCDay() - placeIn(WEEKDAYS, weekday);
  return {
    rest: text.replace(weekday, " "),
    span: days(today - (since > 0 ? since : since + 7) * DAY, 1),
  };
}

/** Index, in its language's list, of the name that a text is or ends with; -1 if there is none. */
function placeIn(lists: readonly (readonly string[])[], text: string): number {
  const isNamed = (name: string): boolean =>
    new RegExp(`(?<![\\p{L}])(?:${name})(?![\\p{L}])|(?:${name})$`, "iu").test(text);
  return lists.map((names) => names.findIndex(isNamed)).find((place) => place >= 0) ?? -1;
}

// ---- dates

const MONTH = `(${[...new Set(MONTHS.flat())].join("|")})`;
const OTHER_MONTH = `(${[...new Set(MONTHS.slice(1).flat())].join("|")})`;
const YEAR = "((?:19|20)\\d\\d)";
const GAP = "(?:,|\\s|of|de|do)*";
const NAMED = `(?<![\\p{L}\\p{N}_])${MONTH}(?![\\p{L}])`;

/** Group numbers of year, month and day; 0 if absent. */
const DATES: readonly (readonly [RegExp, year: number, month: number, day: number])[] = [
  [new RegExp(`(?<!\\d)${YEAR}[-/.年](\\d{1,2})(?:[-/.月](\\d{1,2})[日号]?)?(?!\\d)`, "u"), 1, 2, 3],
  [/(?<!\d)(\d{1,2})月(\d{1,2})[日号]/u, 0, 1, 2],
  [new RegExp(`(?<!\\d)(\\d{1,2})(?:\\.|er|º)\\s${OTHER_MONTH}(?![\\p{L}])${GAP}${YEAR}?`, "iu"), 3, 2, 1],
  [new RegExp(`(?<!\\d)(\\d{1,2})(?:st|nd|rd|th)?${GAP}${NAMED}${GAP}${YEAR}?`, "iu"), 3, 2, 1],
  [new RegExp(`${NAMED}${GAP}(\\d{1,2})(?:st|nd|rd|th)?(?!\\d)${GAP}${YEAR}?`, "iu"), 3, 1, 2],
  [new RegExp(`${NAMED}${GAP}${YEAR}`, "iu"), 2, 1, 0],
  [
    new RegExp(`(?<![\\p{L}])(?:in|of|during|since|last|this|for|im|en|em|в) ${MONTH}(?![\\p{L}])`, "iu"),
    0,
    1,
    0,
  ],
  [new RegExp(`(?<![\\d.])(\\d{1,2})\\.(\\d{1,2})\\.${YEAR}?(?![\\d.])`, "u"), 3, 2, 1],
];

function dateIn(
  text: string,
  defaultYear: number | undefined,
): { readonly words: string; readonly span: TimeSpan } | undefined {
  for (const [pattern, year, month, day] of DATES) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const at = (place: number): string | undefined => (place === 0 ? undefined : found[place]);
    const name = at(month) ?? "";
    const number = /^\d/.test(name) ? Number(name) - 1 : placeIn(MONTHS, name);
    const of = Number(at(year) ?? defaultYear ?? Number.NaN);
    const isDate = number >= 0 && number < 12 && !Number.isNaN(of) && Number(at(day) ?? 1) <= 31;
    return isDate ? { words: found[0], span: span(of, number, at(day)) } : undefined;
  }
  return undefined;
}

/**
 * The first date that a text names, a day or a month (`7 May 2023`, `May 7th`, `2023-05-07`, `May 2023`); a
 * day without a year gets `defaultYear`. Undefined if there is none.
 */
export function findDate(text: string, defaultYear?: number): TimeSpan | undefined {
  return dateIn(text, defaultYear)?.span;
}

function span(year: number, month: number, day: string | undefined): TimeSpan {
  if (day === undefined) return { start: Date.UTC(year, month, 1), end: Date.UTC(year, month + 1, 1) - 1 };
  return days(Date.UTC(year, month, Number(day)), 1);
}

/** Milliseconds since 1970 from a number, a Date, ISO text or a date in words; undefined otherwise. */
export function readTimestamp(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (value instanceof Date) return readTimestamp(value.getTime());
  if (typeof value !== "string") return undefined;
  const exact = /^\d{4}-\d\d-\d\d/.test(value.trim()) ? Date.parse(value.trim()) : Number.NaN;
  if (!Number.isNaN(exact)) return exact;
  const named = findDate(value);
  if (named !== undefined) return named.start;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}

const TEMPORAL =
  /\b(?:yesterday|today|tonight|tomorrow|ago|last|next|recently|earlier|weekend|since|\d{1,2}(?:am|pm)|(?:this|past) (?:week|month|year|summer|winter|spring|fall|autumn|morning|evening)|(?:19|20)\d\d)\b/i;
const NAMED_DAY = new RegExp(`(?<![\\p{L}])(?:${DAY_NAMES}|in may)(?![\\p{L}])`, "iu");
const UNSPACED_TEMPORAL =
  /[昨今明去]天|[昨今明]日|[上下本]个?(?:周|月|星期)|去年|今年|明年|先週|来週|어제|오늘|내일|지난/;

/** Whether a text says when something was or will be. */
export function speaksOfTime(text: string): boolean {
  return TEMPORAL.test(text) || NAMED_DAY.test(text) || UNSPACED_TEMPORAL.test(text);
}

export function asksWhen(query: string): boolean {
  return /\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow long\b|什么时候|何时|几点|いつ|언제/i.test(
    query,
  );
}

// ---- questions about a day or the state of the work

interface DatedLine {
  readonly source: string;
  readonly title: string;
  readonly content: string;
  readonly sectionKind: string;
  readonly timestamp?: string;
}

/** Words of questions that only ask what happened. */
const ASKING = new Set(
  listed(`
  what whats which where when did do does done have has had we i you us our the a was were is are been on in at to of up so far off and
  happen happened work worked working discuss discussed achieve achieved talk talked about leave left stop stopped finish finished
  session sessions time day remind tell show give me can could please recap summary summarize summarise review overview again
  get got things everything doing comes come still
  was wo kommt steht sind die das müssen muss haben hatten habe wir ich gemacht getan geschah passiert ist war waren am dem den an stehen geblieben erinnere mich daran sag mir bitte noch mal nochmal
  qu est ce que quoi quelles sont t avons nous fait on a où en étions passé s il ce rappelle rappelez moi dis qué hicimos pasó hemos hecho dónde quedamos estábamos recuérdame dime lo cuáles son los nos nosotros viene
  der quelle la cuál es qual é какой le el em o que fizemos aconteceu nós onde estávamos paramos lembra lembre diga quais são os vem что какие нам мне мы делали сделали было произошло где остановились в напомни скажи мне пожалуйста`),
);
/** The same in Chinese and Japanese, which have no spaces between words. */
const UNSPACED_ASKING =
  /我们|咱们|提醒我|是|です|告诉我|请|一下|在|做了?|干了?|讨论了?|聊了?|什么|哪些|事情?|发生了?|有|都|教えて(?:ください)?|私たち|は|何|に|を|が|の|話|し|まし|た|あり|起き|か/gu;
const LAST =
  /(?<![\p{L}])(?:last (?:time|session)|letztes mal|la dernière fois|la última vez|da última vez|в прошлый раз)(?![\p{L}])|上次|前回/iu;

/**
 * The memory's lines for a question about a day or the state of the work: empty if the history has nothing of
 * that day, undefined for other questions.
 */
export function linesOfDay<Line extends DatedLine>(
  query: string,
  candidates: readonly Line[],
  now: number,
): readonly Line[] | undefined {
  const history = candidates.filter(({ source }) => source === "channel-history");
  const stateOf = (...kinds: readonly string[]): readonly Line[] =>
    kinds.flatMap((kind) =>
      candidates.filter(({ source, sectionKind }) => source === "channel-session" && sectionKind === kind),
    );
  const open = query.replace(NEXT, " ");
  const steps = stateOf("next-steps", "current-state");
  if (open !== query && steps.length > 0) {
    const about = spanIn(open, now)?.rest ?? open;
    if (asksOnly(about) || (!asksWhen(query) && isWorkOn(about, stateOf("current-state")))) return steps;
  }
  const rest = query.replace(LAST, " ");
  if (rest !== query)
    return asksOnly(rest) ? history.filter(({ title }) => title === history.at(-1)?.title) : undefined;
  const asked = spanIn(query, now);
  if (asked !== undefined) return asksOnly(asked.rest) ? history.filter(isWithin(asked.span)) : undefined;
  return STANDING.test(query) && asksOnly(query) ? stateOf("current-state", "next-steps") : undefined;
}

const STANDING =
  /^(?:so,? )?where (?:were|are|did) we(?! \p{L}+ing)|^wo (?:waren|sind) wir|^où en étions|^dónde (?:estábamos|quedamos)|^onde (?:estávamos|paramos)|^где мы/iu;
/** Asks for what comes next. */
const NEXT = new RegExp(
  words(
    `next(?: steps?)?(?!\\s(?:${DAY_NAMES}|week|month|year|time))|(?:(?:have|need|left|remains|remaining|still|is|are) )+to (?:be )?do(?:ne)?|should (?:i|we) do|nächste[nrs]?(?: schritte?)?|(?:noch )?(?:zu tun|offen)|(?:les )?prochaines? étapes?|ensuite|(?:reste(?:-t-il)?|avons|ai) (?:-nous )?à faire|(?:siguientes?|próximos?) pas(?:os?|sos?)|sigue|(?:queda|falta|hay que|tenemos que|tengo que|temos que|tenho que) (?:por |para )?(?:hacer|fazer)|a seguir|дальше|следующи[йе] шаги?|(?:осталось|нужно|надо) с?делать`,
    "接下来|下一步|还要做|还剩|次(?:は|に)|残って",
  ).source,
  "giu",
);

const SHORT_WORD = 3;

/** The work at hand is what the words name. */
function isWorkOn(about: string, state: readonly DatedLine[]): boolean {
  const named = (about.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter(
    (word) => word.length > SHORT_WORD && !ASKING.has(word),
  );
  const done = state.map(({ content }) => content.toLowerCase()).join("\n");
  return named.length > 0 && named.every((word) => done.includes(word));
}

function asksOnly(words: string): boolean {
  const asked = words.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const isUnspaced = /[\u3040-\u9fff]/u.test(words);
  return asked.every((word) => ASKING.has(word) || (isUnspaced && word.replace(UNSPACED_ASKING, "") === ""));
}

function isWithin({ start, end }: TimeSpan): (line: DatedLine) => boolean {
  return ({ timestamp }) => {
    const time = Date.parse(timestamp ?? "");
    return time >= start && time <= end;
  };
}
