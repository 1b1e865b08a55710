import type { Finding, Span } from "./finding.ts";
import { HINT, isHintingName, SECRET_NAME } from "./secret-names.ts";
import { isBareSecret, isQuotedSecret, looksGenerated, type ValueContext } from "./secret-values.ts";

// Every repetition is bounded, so that one match costs a constant however hostile the text.
const JOINT = `(?:\\\\{0,7}["'\`])?\\]?\\*{0,2}([ \\t]{0,8})(=>|:=|\\?=|={1,3}|:(?![:/]))\\*{0,2}([ \\t]{0,8})`;
const NAMED = new RegExp(`(${SECRET_NAME})(?:[_-]?\\d{1,2})?${JOINT}`, "gi");
const FLAG = new RegExp(
  `(?<!-)--(?=[a-z])[a-z0-9-]{0,40}?(${SECRET_NAME})()()(["']?,?[ \\t]{1,8})(?=[^\\s=:-])`,
  "gi",
);
const HINTED = new RegExp(`(?:${HINT})[\\w.-]{0,40}${JOINT}`, "gi");
const NAME_BEFORE = /[\w.-]{0,60}$/;
const OPENING = /[fbru]?(\\{0,7}["'`])/y;
const SCHEME = /(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,8}/iy;
const BARE = /[^\s"'`,;<>&|\\]{1,512}/y;
const GENERATED = /[A-Za-z0-9_.+/=~-]{12,512}/y;
const LONGEST_QUOTED = 4096;
const JUDGED = 500;
const KIND = "named-value";

/** The values given to secret names: `name=value`, `name: value`, JSON at any depth of escaping, `--name value`. */
export function* findKeyValues(text: string): Generator<Finding> {
  yield* valuesOf(text, NAMED, secretAfter);
  if (text.includes("--")) yield* valuesOf(text, FLAG, secretAfter);
  yield* valuesOf(text, HINTED, generatedAfter);
}

type Judge = (text: string, match: RegExpExecArray) => Span | undefined;

function* valuesOf(text: string, pattern: RegExp, judge: Judge): Generator<Finding> {
  const names = new RegExp(pattern);
  for (let match = names.exec(text); match !== null; match = names.exec(text)) {
    const span = judge(text, match);
    if (span === undefined) continue;
    yield { ...span, kind: KIND };
    names.lastIndex = span.end;
  }
}

/** Beside a name that only hints, the value itself must look generated. */
function generatedAfter(text: string, match: RegExpExecArray): Span | undefined {
  const [whole] = match;
  const valueAt = match.index + whole.length;
  const start = valueAt + (matchAt(OPENING, text, valueAt)?.length ?? 0);
  const value = matchAt(GENERATED, text, start)?.replace(/[.]+$/, "");
  if (value === undefined || !looksGenerated(value) || isCode(text, start + value.length)) return undefined;
  const before = NAME_BEFORE.exec(text.slice(Math.max(0, match.index - 60), match.index))?.[0] ?? "";
  const name = before + whole.replace(/["'`\]* \t=:>?\\]+$/, "");
  return isHintingName(name) ? { start, end: endOfLong(text, start, start + value.length) } : undefined;
}

/** What was judged by its first 512 characters is taken as a whole. */
function endOfLong(text: string, start: number, end: number): number {
  if (end - start < JUDGED) return end;
  let reach = end;
  for (let more = matchAt(BARE, text, reach); more !== undefined; more = matchAt(BARE, text, reach))
    reach += more.length;
  return reach;
}

/** A call or an index goes on behind a name; so does a host. */
function isCode(text: string, end: number): boolean {
  return /^[([{:]/.test(text.slice(end, end + 1));
}

function secretAfter(text: string, match: RegExpExecArray): Span | undefined {
  const name = match[1] ?? "";
  const start = match.index + match[0].length;
  const opening = matchAt(OPENING, text, start);
  if (opening !== undefined) {
    const inner = start + opening.length;
    const end = closingQuote(text, inner, opening.replace(/^[fbru]/, ""));
    if (end !== undefined) return quotedSecret(text, name, { start: inner, end });
    return bareSecret(text, match, inner);
  }
  return bareSecret(text, match, start);
}

function quotedSecret(text: string, name: string, span: Span): Span | undefined {
  const start = span.start + (matchAt(SCHEME, text, span.start)?.length ?? 0);
  if (start >= span.end) return undefined;
  return isQuotedSecret(text.slice(start, span.end), name) ? { start, end: span.end } : undefined;
}

function bareSecret(text: string, match: RegExpExecArray, valueStart: number): Span | undefined {
  const scheme = matchAt(SCHEME, text, valueStart) ?? "";
  const start = valueStart + scheme.length;
  const value = (matchAt(BARE, text, start) ?? "").replace(/(?:[)\]}:*?]|(?<!\.)\.){1,8}$/, "");
  if (value === "") return undefined;
  const end = start + value.length;
  const context = contextOf(text, match, end);
  const inScheme = scheme === "" ? context : { ...context, joint: "scheme" as const };
  return isBareSecret(value, inScheme) ? { start, end: endOfLong(text, start, end) } : undefined;
}

function contextOf(text: string, match: RegExpExecArray, end: number): ValueContext {
  const [, name = "", before = "", sign = "", after = ""] = match;
  const spaced = before !== "" || after !== "";
  const joint = sign === "" ? "flag" : sign === ":" ? ":" : spaced ? "= " : "=";
  const lineStart = text.slice(Math.max(0, match.index - 80), match.index);
  const startsLine = /(?:^|\n)[\s-]*[\w.-]*$/.test(lineStart);
  const endsLine = /^[ \t]{0,8}(?:#|\r?\n|$)/.test(text.slice(end, end + 10));
  return { name, joint, ownLine: startsLine && endsLine, next: text.charAt(end) };
}

/** The end of a quoted value: the same quote with as many backslashes, on the same line. */
function closingQuote(text: string, start: number, quote: string): number | undefined {
  const limit = Math.min(text.length, start + LONGEST_QUOTED);
  const mark = quote.charAt(quote.length - 1);
  const depth = quote.length - 1;
  let backslashes = 0;
  for (let index = start; index < limit; index++) {
    const char = text.charAt(index);
    if (char === "\n") return undefined;
    if (char === mark && backslashes <= depth) return index - backslashes;
    if (char === mark && depth === 0 && backslashes % 2 === 0) return index;
    backslashes = char === "\\" ? backslashes + 1 : 0;
  }
  return undefined;
}

function matchAt(pattern: RegExp, text: string, index: number): string | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0];
}
