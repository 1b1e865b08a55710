import type { Finding, Span } from "./finding.ts";
import {
  HINT,
  hasSecretName,
  isBareSecret,
  isFilledIn,
  isGiven,
  isHintingName,
  isMixed,
  isQuotedSecret,
  looksGenerated,
  SECRET_NAME,
  type ValueContext,
} from "./values.ts";

// Every repetition is bounded, so that one match costs a constant however hostile the text.
/** How a terminal colours a name. */
const COLOUR = "(?:\\u001b\\[[\\d;]{0,8}m)?";
/** A tag of YAML that is no reference, or the head of a block whose first line is the value. */
const YAML =
  "(?:!!?(?!(?:Ref|Sub|GetAtt|ImportValue|vault)\\b)\\w{1,12}[ \\t]{1,4})?(?:[>|][+-]?[ \\t]{0,4}\\r?\\n[ \\t]{1,40})?";
const JOINT = `(?:\\\\{0,7}["'\`]|&quot;)?\\]?\\*{0,2}${COLOUR}([ \\t]{0,8}|\\r?\\n(?==> ))(=>|:=|\\?{1,2}=|\\|\\|=|={1,3}|<-|:(?![:/?]))\\*{0,2}${COLOUR}([ \\t]{0,8})(?:&quot;)?${YAML}`;
const NAMES = new RegExp(SECRET_NAME, "gi");
const SIGNED = new RegExp(`(?:[_\\x20-]?\\d{1,2})?${JOINT}`, "y");
const FLAG = new RegExp(
  `(?<![\\w-])--?(?=[a-z])[a-z0-9_-]{0,40}?(${SECRET_NAME}|(?:store|key|require)pass)(["']?,?[ \\t]{1,8})(?=[^\\s=:-])(?![a-z_]{1,24}=["'\\w])`,
  "gi",
);
/** A type between name and value, as in `token: string = "…"`, `var token string = "…"`, `Dim Token As String = "…"`. */
const TYPE =
  "(?::[ \\t]{0,4}[&*'\\w(\\[][\\w<>\\[\\]&|?.'* ]{0,60}?|[ \\t]{1,4}(?:As[ \\t])?(?:\\[\\])?\\w{3,20})";
/** Where a value that may be generated begins: found before its name, because names that hint are many. */
const LONG_VALUE = new RegExp(
  `(?:[=:{>]|<-)\\*{0,2}${COLOUR}[ \\t]{0,8}(?:&quot;)?(?:[fbruNL@$]?\\\\{0,7}["'\`])?(?=(?:\\d{1,9}\\|)?[A-Za-z0-9_.+/~-][A-Za-z0-9_.+/=~-]{11})`,
  "g",
);
/** A name that hints, and behind it a sign, a type and a sign, a brace as in C++, or the end of a tag. */
const HINTED = new RegExp(
  `(?:${HINT})[\\w.-]{0,40}(?:(?:${TYPE}(?=[ \\t]{0,4}=))?${JOINT}|\\{(?=["'])|>)(?:[fbruNL@$]?\\\\{0,7}["'\`])?$`,
  "i",
);
const LONGEST_NAME = 160;
/** `-storagekey value` */
const HINTED_FLAG = /(?<![\w-])--?[a-z][\w-]{0,30}key["']?[ \t]{1,4}/gi;
const DECLARED = new RegExp(
  `(?:(?:\\[\\d{0,4}\\])?[?!]?${TYPE}?\\s{0,24}(?:[.+]|\\|\\||\\?\\?|:)?=\\s{0,24}(?:(?:Some|new \\w{1,40})\\()?|\\s{1,24}(?:\\|\\||\\?\\?)\\s{1,24}|(?:\\s{1,8}by\\s{1,8}lazy)?\\s{0,4}\\{(?:\\s{0,4}get;(?:\\s{0,4}\\w{3,16};){0,2}\\s{0,4}\\}\\s{0,4}=)?\\s{0,24})(?=[fbruNL@$]?\\\\{0,3}["'\`])`,
  "iy",
);
/** Whatever stands between a name and the next quoted text of its line: a call, a default, a pair's comma. */
const UP_TO_QUOTED = /(?:[\w.-]{0,40}\\{0,3}["'`])?(?=([^"'`\n;{}\\]{0,60}))\1(?=\\{0,7}["'`])/y;
const ENCODED_SIGN = /(?:%22)?(?:%3D|%3A)(?:%20|\+)?(?:%22)?/iy;
/** Up to an encoded end of line, `&`, `,`, `"`, `;` or brace. */
const ENCODED_VALUE = /(?:[\w.~!*'()+-]|%(?!2[26C]|3B|7D|0A)[0-9A-F]{2}){1,1024}/iy;
const NAME_BEFORE = /[\w.-]{0,60}$/;
const OPENING = /[fbruNL@$]?(\\{0,7}["'`])/y;
const SCHEME = /(?:bearer|basic|token|digest|apikey|negotiate|ntlm)[ \t]{1,8}/iy;
const BARE = /(?:[^\s"'`,;<>&|\\]|\\[=:!#]){1,512}/y;
/** The rest of a value with a semicolon in it, which ends its line. */
const BEHIND_SEMICOLON = /;[^\s"'`,;<>&|\\=()]{3,64}(?=[ \t]{0,8}(?:\r?\n|$))/y;
const GENERATED = /(?:\d{1,9}\|)?[A-Za-z0-9_.+/=~-]{12,512}/y;
/** The name of a secret at AWS, which is none. */
const RESOURCE = /\barn:[\w-]{1,20}:[\w-]{1,30}:[\w-]{0,30}:\d{0,12}:$/;
const LONGEST_QUOTED = 4096;
const JUDGED = 500;
const KIND = "named-value";

/** The values given to secret names: `name=value`, `name: value`, JSON at any depth of escaping, `--name value`. */
export function* findKeyValues(text: string): Generator<Finding> {
  if (hasSecretName(text)) yield* valuesOf(text, NAMES, besideName);
  if (text.includes("-")) yield* valuesOf(text, FLAG, (_, match) => secretAfter(text, atFlag(match)));
  yield* valuesOf(text, LONG_VALUE, generatedAfter);
  if (text.includes("key ")) yield* valuesOf(text, HINTED_FLAG, generatedAfterFlag);
}

/** A name, what joins it to a value, and where the value begins. */
interface Named {
  readonly name: string;
  readonly start: number;
  readonly before: string;
  readonly sign: string;
  readonly after: string;
  readonly valueAt: number;
}

function atFlag({ 0: whole, 1: name = "", index }: RegExpExecArray): Named {
  return { name, start: index, before: "", sign: "", after: "", valueAt: index + whole.length };
}

/** Behind a name stands a sign, a type and a sign, or the value itself in quotes. */
function besideName(text: string, { 0: name, index: start }: RegExpExecArray): Span | undefined {
  if (text.charAt(start - 1) === ":" && RESOURCE.test(text.slice(Math.max(0, start - 90), start)))
    return undefined;
  const end = start + name.length;
  if (text.charAt(end) === "%") return inAddress(text, end);
  SIGNED.lastIndex = end;
  const signed = SIGNED.exec(text);
  if (signed !== null) {
    const [whole, before = "", sign = "", after = ""] = signed;
    const span = secretAfter(text, { name, start, before, sign, after, valueAt: end + whole.length });
    if (span !== undefined) return span;
  }
  const declared = matchAt(DECLARED, text, end);
  if (declared !== undefined) {
    const valueAt = end + declared.length;
    const span = secretAfter(text, { name, start, before: " ", sign: "=", after: " ", valueAt });
    if (span !== undefined) return span;
  }
  const gap = matchAt(UP_TO_QUOTED, text, end);
  return gap === undefined ? undefined : givenAfter(text, name, end + gap.length);
}

/** `password%3Dx%26…`: name and value with their signs encoded as in addresses and forms. */
function inAddress(text: string, end: number): Span | undefined {
  const sign = matchAt(ENCODED_SIGN, text, end);
  if (sign === undefined) return undefined;
  const start = end + sign.length;
  const value = matchAt(ENCODED_VALUE, text, start) ?? "";
  return value.length > 2 && isFilledIn(value) ? { start, end: start + value.length } : undefined;
}

/** A quoted value that no sign gives to its name: it must look like a secret itself. */
function givenAfter(text: string, name: string, valueAt: number): Span | undefined {
  const opening = matchAt(OPENING, text, valueAt) ?? "";
  const inner = valueAt + opening.length;
  const end = closingQuote(text, inner, opening.replace(/^[fbruNL@$]/, ""));
  if (end === undefined) return undefined;
  const start = inner + (matchAt(SCHEME, text, inner)?.length ?? 0);
  return isGiven(text.slice(start, end), name) ? { start, end } : undefined;
}

type Judge = (text: string, match: RegExpExecArray) => Span | undefined;

function* valuesOf(text: string, pattern: RegExp, judge: Judge): Generator<Finding> {
  // Most texts have none, and a copy of the pattern costs more than the search.
  if (text.search(pattern) < 0) return;
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
  const value = generatedAt(text, match.index + match[0].length);
  if (value === undefined) return undefined;
  const from = Math.max(0, match.index - LONGEST_NAME);
  const named = HINTED.exec(text.slice(from, value.start));
  return named !== null && isNamedByHint(text, from + named.index, named[0]) ? value : undefined;
}

function generatedAfterFlag(text: string, { 0: flag, index }: RegExpExecArray): Span | undefined {
  const valueAt = index + flag.length;
  const value = generatedAt(text, valueAt + (matchAt(OPENING, text, valueAt)?.length ?? 0));
  return value !== undefined && isNamedByHint(text, index, flag) ? value : undefined;
}

function generatedAt(text: string, start: number): Span | undefined {
  const value = matchAt(GENERATED, text, start)?.replace(/[.]+$/, "");
  if (value === undefined || !looksGenerated(value) || isCode(text, start + value.length)) return undefined;
  return { start, end: endOfLong(text, start, start + value.length) };
}

/** `hint` is what joins the hinting part of a name to its value. */
function isNamedByHint(text: string, at: number, hint: string): boolean {
  const words = text.slice(Math.max(0, at - 30), at);
  if (/\b(?:cache(?: \w+){0,3}|build|lock|object|row)[ \t]$/i.test(words)) return false;
  const before = NAME_BEFORE.exec(text.slice(Math.max(0, at - 60), at))?.[0] ?? "";
  return isHintingName(before + hint.replace(/["'`\]* \t=:>?{\\]+$/, ""));
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

function secretAfter(text: string, named: Named): Span | undefined {
  const { name, valueAt } = named;
  const opening = matchAt(OPENING, text, valueAt);
  if (opening === undefined) return bareSecret(text, named, valueAt);
  const inner = valueAt + opening.length;
  const end = closingQuote(text, inner, opening.replace(/^[fbruNL@$]/, ""));
  return end === undefined ? bareSecret(text, named, inner) : quotedSecret(text, name, { start: inner, end });
}

function quotedSecret(text: string, name: string, span: Span): Span | undefined {
  const start = span.start + (matchAt(SCHEME, text, span.start)?.length ?? 0);
  if (start >= span.end) return undefined;
  return isQuotedSecret(text.slice(start, span.end), name) ? { start, end: span.end } : undefined;
}

function bareSecret(text: string, named: Named, valueStart: number): Span | undefined {
  const scheme = matchAt(SCHEME, text, valueStart) ?? "";
  const start = valueStart + scheme.length;
  const first = (matchAt(BARE, text, start) ?? "").replace(/(?:[)\]}:*?]|(?<!\.)\.){1,8}$/, "");
  if (first === "") return undefined;
  const rest = matchAt(BEHIND_SEMICOLON, text, start + first.length) ?? "";
  const value = isMixed(rest) ? first + rest : first;
  const end = start + value.length;
  const context = contextOf(text, named, end);
  const inScheme = scheme === "" ? context : { ...context, joint: "scheme" as const };
  return isBareSecret(value, inScheme) ? { start, end: endOfLong(text, start, end) } : undefined;
}

function contextOf(text: string, { name, start, before, sign, after }: Named, end: number): ValueContext {
  const spaced = before !== "" || after !== "";
  // `--secret=mailer` names one that is kept elsewhere.
  const isFlag = sign === "" || (name === "secret" && text.startsWith("--", start - 2));
  const joint = isFlag ? "flag" : sign === ":" ? ":" : spaced ? "= " : "=";
  const lineStart = text.slice(Math.max(0, start - 80), start);
  // Alone on its line, or behind words: "  password: x", "the password: x".
  const startsLine = /(?:^|\n)[\s-]*(?:[A-Za-z'’]+ ){0,8}[\w.-]*$/.test(lineStart);
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

const MANIFEST_KIND = /^\s{0,20}kind:\s*["']?(\w+)/;
const BLOCK = /^(\s{0,20})(?:data|stringData):\s*$/;
const ENTRY = /^(\s{1,40}[\w.-]{1,128}:[ \t]{1,8}["']?)([^\s"'{}|>#<][^\s"']{3,8191})/;

/** The values of `data` and `stringData` in YAML manifests of kind Secret. */
export function* findKubernetesSecrets(text: string): Generator<Finding> {
  if (!/\bkind:[ \t]{0,4}["']?Secret\b/.test(text)) return;
  let offset = 0;
  let indent: number | undefined;
  for (const { line, isSecret } of linesOfManifests(text)) {
    if (endsBlock(line, indent)) indent = undefined;
    const entry = indent === undefined ? null : ENTRY.exec(line);
    if (entry !== null) {
      const start = offset + (entry[1]?.length ?? 0);
      yield { start, end: start + (entry[2]?.length ?? 0), kind: "kubernetes-secret" };
    }
    if (isSecret) indent ??= BLOCK.exec(line)?.[1]?.length;
    offset += line.length + 1;
  }
}

function endsBlock(line: string, indent: number | undefined): boolean {
  const depth = line.search(/\S/);
  return indent !== undefined && depth >= 0 && depth <= indent;
}

/** Every line and whether its manifest, from `---` to `---`, is a Secret. */
function linesOfManifests(text: string): { line: string; isSecret: boolean }[] {
  const lines = text.split("\n");
  const manifests: { line: string; manifest: { isSecret: boolean } }[] = [];
  let manifest = { isSecret: false };
  for (const line of lines) {
    if (/^---/.test(line)) manifest = { isSecret: false };
    if (MANIFEST_KIND.exec(line)?.[1] === "Secret") manifest.isSecret = true;
    manifests.push({ line, manifest });
  }
  return manifests.map(({ line, manifest: { isSecret } }) => ({ line, isSecret }));
}
