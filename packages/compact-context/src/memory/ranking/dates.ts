/** Months of English. */
const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);

/** A span of time in milliseconds since 1970, both ends included. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

/** A day in milliseconds. */
export const DAY: number = 24 * 60 * 60 * 1000;

const MONTH = `(${MONTHS.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)}|\\.)?`).join("|")}|sept\\.?)`;
const DAY_OF_MONTH = "(\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "((?:19|20)\\d\\d)";
const GAP = "(?:,|\\s|of)*";

const ISO_DATE = new RegExp(`(?<!\\d)${YEAR}[-/.年](\\d{1,2})(?:[-/.月](\\d{1,2})日?)?(?!\\d)`);
const DAY_FIRST = new RegExp(`(?<!\\d)${DAY_OF_MONTH}${GAP}\\b${MONTH}\\b${GAP}${YEAR}?`, "i");
const MONTH_FIRST = new RegExp(`\\b${MONTH}\\b${GAP}${DAY_OF_MONTH}(?!\\d)${GAP}${YEAR}?`, "i");
const MONTH_ALONE = new RegExp(`\\b(?:in|of|during|since|last|this|for) ${MONTH}\\b`, "i");
const MONTH_AND_YEAR = new RegExp(`\\b${MONTH}\\b${GAP}${YEAR}`, "i");

/**
 * The first date that a text names, a day or a month (`7 May 2023`, `May 7th`, `2023-05-07`, `May 2023`); a day
 * without a year takes `defaultYear`. Undefined where there is none; no other language than English and numbers.
 */
export function findDate(text: string, defaultYear?: number): TimeSpan | undefined {
  const iso = ISO_DATE.exec(text);
  if (iso !== null) return span(Number(iso[1]), Number(iso[2]) - 1, iso[3]);
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst !== null) return span(yearOf(dayFirst[3], defaultYear), monthOf(dayFirst[2]), dayFirst[1]);
  const monthFirst = MONTH_FIRST.exec(text);
  if (monthFirst !== null)
    return span(yearOf(monthFirst[3], defaultYear), monthOf(monthFirst[1]), monthFirst[2]);
  const month = MONTH_AND_YEAR.exec(text);
  if (month !== null) return span(Number(month[2]), monthOf(month[1]), undefined);
  const alone = MONTH_ALONE.exec(text);
  return alone === null ? undefined : span(yearOf(undefined, defaultYear), monthOf(alone[1]), undefined);
}

function yearOf(text: string | undefined, defaultYear: number | undefined): number {
  return text === undefined ? (defaultYear ?? Number.NaN) : Number(text);
}

function monthOf(name: string | undefined): number {
  return MONTHS.findIndex((month) => month.startsWith((name ?? "").slice(0, 3).toLowerCase()));
}

function span(year: number, month: number, day: string | undefined): TimeSpan | undefined {
  if (month < 0 || month > 11 || Number.isNaN(year) || Number(day ?? 1) > 31) return undefined;
  if (day === undefined) return { start: Date.UTC(year, month, 1), end: Date.UTC(year, month + 1, 1) - 1 };
  const start = Date.UTC(year, month, Number(day));
  return { start, end: start + DAY - 1 };
}

/** When a unit was written, in milliseconds since 1970: from a number, ISO text, or a date in words; undefined otherwise. */
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

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const WEEKDAY = `(${WEEKDAYS.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join("|")})`;
const COUNTS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  "a couple of": 2,
  three: 3,
  "a few": 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};
const COUNT = `(\\d{1,3}|${Object.keys(COUNTS).join("|")})`;
const UNIT_DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30.4, year: 365.25 };

const AGO = new RegExp(`\\b${COUNT} (day|week|month|year)s? (ago|from now|earlier|before)\\b`, "gi");
const NEAR_DAY =
  /\b(yesterday|last night|today|tonight|this morning|tomorrow)\b|(?<![\p{L}])(gestern|heute|morgen|hier|aujourd['’]hui|demain|ayer|hoy|mañana|ontem|hoje|amanhã|вчера|сегодня|завтра)(?![\p{L}])|(昨天|昨日|今天|今日|明天|明日)/giu;
const NEAR_SPAN = /\b(last|past|this|next|coming) (week(?:end)?|month|year)\b/gi;
const NEAR_WEEKDAY = new RegExp(`\\b(?:(last|past|this|next|coming|on) )${WEEKDAY}\\b`, "gi");
const NEAR_MONTH = new RegExp(`\\b(?:in|since|last|this|next|during) ${MONTH}\\b(?!\\s+\\d)`, "gi");

/** The times that a text speaks of as seen from when it was written: \`last Friday\`, \`two weeks ago\`, \`in September\`. */
export function resolveDates(text: string, written: number): TimeSpan[] {
  const midnight = Math.floor(written / DAY) * DAY;
  const days = (from: number, count = 1): TimeSpan => {
    const start = midnight + from * DAY;
    return { start, end: start + count * DAY - 1 };
  };
  const spans: TimeSpan[] = [];
  for (const [, count = "", unit = "", which] of text.matchAll(AGO)) {
    const size = UNIT_DAYS[unit.toLowerCase()] ?? 1;
    const number = COUNTS[count.toLowerCase()] ?? Number(count);
    const away = Math.round(number * size) * (which?.toLowerCase() === "from now" ? 1 : -1);
    const blur = Math.floor(size / 2);
    spans.push(days(away - blur, 2 * blur + 1));
  }
  for (const [said] of text.matchAll(NEAR_DAY)) spans.push(days(dayAway(said.toLowerCase())));
  for (const [, which = "", unit = ""] of text.matchAll(NEAR_SPAN))
    spans.push(nearSpan(which.toLowerCase(), unit.toLowerCase(), written, days));
  for (const [, which = "", name = ""] of text.matchAll(NEAR_WEEKDAY)) {
    const wanted = WEEKDAYS.findIndex((day) => day.startsWith(name.slice(0, 3).toLowerCase()));
    const back = (new Date(midnight).getUTCDay() - wanted + 7) % 7 || 7;
    spans.push(days(/next|coming|this/i.test(which) ? 7 - (back % 7) : -back));
  }
  for (const [, name] of text.matchAll(NEAR_MONTH)) {
    const month = monthOf(name);
    const now = new Date(written);
    const year = now.getUTCFullYear() - (month > now.getUTCMonth() ? 1 : 0);
    spans.push({ start: Date.UTC(year, month, 1), end: Date.UTC(year, month + 1, 1) - 1 });
  }
  return spans;
}

function dayAway(said: string): number {
  if (/^(?:yesterday|last night|gestern|hier|ayer|ontem|вчера|昨天|昨日)$/u.test(said)) return -1;
  return /^(?:tomorrow|morgen|demain|mañana|amanhã|завтра|明天|明日)$/u.test(said) ? 1 : 0;
}

function nearSpan(
  which: string,
  unit: string,
  written: number,
  days: (from: number, count?: number) => TimeSpan,
): TimeSpan {
  const step = /last|past/.test(which) ? -1 : /next|coming/.test(which) ? 1 : 0;
  const now = new Date(written);
  const [year, month, weekday] = [now.getUTCFullYear(), now.getUTCMonth(), (now.getUTCDay() + 6) % 7];
  if (unit === "year")
    return { start: Date.UTC(year + step, 0, 1), end: Date.UTC(year + step + 1, 0, 1) - 1 };
  if (unit === "month")
    return { start: Date.UTC(year, month + step, 1), end: Date.UTC(year, month + step + 1, 1) - 1 };
  if (unit === "week") return days(7 * step - weekday, 7);
  return days(7 * step - weekday + 5, 2);
}

const TEMPORAL =
  /\b(?:yesterday|today|tonight|tomorrow|ago|last|next|recently|earlier|weekend|since|\d{1,2}(?:am|pm)|(?:this|past) (?:week|month|year|summer|winter|spring|fall|autumn|morning|evening)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:19|20)\d\d)\b/i;
const MONTH_NAME = new RegExp(`\\b(?:${MONTHS.filter((name) => name !== "may").join("|")}|in may)\\b`, "i");
const UNSPACED_TEMPORAL =
  /[昨今明去]天|[昨今明]日|[上下本]个?(?:周|月|星期)|去年|今年|明年|先週|来週|어제|오늘|내일|지난/;

/** Whether a text says when something was or will be. */
export function speaksOfTime(text: string): boolean {
  return TEMPORAL.test(text) || MONTH_NAME.test(text) || UNSPACED_TEMPORAL.test(text);
}

/** Whether a query asks for a time. */
export function asksWhen(query: string): boolean {
  return /\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow long\b|什么时候|何时|几点|いつ|언제/i.test(
    query,
  );
}
