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
