import type { Finding, Span } from "./finding.ts";
import { isPasswordName, isPasswordWord, matchNames, NAME } from "./names.ts";
import {
  isBareSecret,
  isExpression,
  isFilledIn,
  isGiven,
  isMixed,
  isPhrase,
  isQuotedSecret,
  isSpoken,
  isStandIn,
  isToldApart,
  plainName,
  type ValueContext,
} from "./values.ts";

// Values that are secrets because of their names. A name is found first; relations then locate its value,
// tried in order. Every repetition is bounded, so that a match takes constant time even on hostile text.

const { raw } = String;
const NAMES = new RegExp(NAME, "iy");
/** An ANSI colour code before or after a name. */
const COLOUR = raw`(?:\u001b\[[\d;]{0,8}m)?`;
/** A YAML tag that is not a reference, or the header of a block scalar whose first line is the value. */
const YAML = raw`(?:!!?(?!(?:Ref|Sub|GetAtt|ImportValue|vault)\b)\w{1,12}[ \t]{1,4})?(?:[>|][+-]?[ \t]{0,4}\r?\n[ \t]{1,40})?`;
/** Assignment operators between name and value, with the punctuation that can surround them. */
export const SIGN: string = raw`(?:\\{0,7}["'\x60]|&quot;)?\]?(?: \(\w[\w ,-]{0,24}\))?\*{0,2}${COLOUR}([ \t]{0,40}|\r?\n(?==> ))(=>|:=|:-|\?{1,2}=|\|\|=|={1,3}|<-|:(?![:/?]))\*{0,2}${COLOUR}([ \t]{0,40})(?:&quot;)?${YAML}`;
/** A type between name and value, as in `token: string = "…"`, `var token string = "…"`. */
export const TYPE: string = raw`(?::[ \t]{0,4}[&*'\w(\[][\w<>\[\]&|?.'* ]{0,60}?|[ \t]{1,4}(?:As[ \t])?(?:\[\])?(?!Type=)\w{3,20})`;
export const GIVES =
  "[:：→]|\\?(?= )|->|=>|—|–|(?<= )(?:(?:is|was)(?! (?:generated|created|set|reset))|be|to|as|auf(?= \\S+ (?:ge|um))|ist|war|lautet|jetzt|теперь|est|c['’]est|es|era|é|è|är|er|naar|это|هي|هو)(?=[\\s:])|['’]s(?=\\s)|是|为|為|成|は|が|を|는|은|를|을|改[成为]了?";
export const OPENED: string = raw`["'\x60*«»“„「『]{0,3}[ \t]?`;
/** Letters and printable ASCII except quotes and angle brackets; excludes scripts without spaces. */
export const SPOKEN: string = raw`[!#-&(-;=?-_a-~\u00c0-\u024f\u0400-\u04ff]`;
const VALUE_FIELD = raw`["']?\w{0,12}(?:value|content|default)\\{0,3}["']?[ \t]{0,4}[=:][ \t]{0,4}\\{0,3}["']?`;

/** A name in a text, and its connection to the value. */
interface Named {
  readonly name: string;
  readonly start: number;
  /** Start of the value. */
  readonly valueAt: number;
  /** The text between, and its capture groups. */
  readonly groups: readonly (string | undefined)[];
}

/** Where the value is relative to its name. */
interface Relation {
  /** The text between a name and its value. */
  readonly between: RegExp;
  /** The text required before the name. */
  readonly before?: RegExp;
  readonly read: (text: string, named: Named) => Span | undefined;
  /** True: applies only to words that people use for a password in prose. */
  readonly isSaid?: true;
}

/** Reads a value by a pattern, without its quotes and sentence-ending punctuation. */
function reads(source: string, isSecret: (value: string, name: string) => boolean): Relation["read"] {
  const pattern = new RegExp(source, "iuy");
  return (text, { name, valueAt }) => {
    const value = (matchAt(pattern, text, valueAt) ?? "").replace(END_OF_SENTENCE, "");
    return value !== "" && isSecret(value, name)
      ? { start: valueAt, end: valueAt + value.length }
      : undefined;
  };
}

const RELATIONS: readonly Relation[] = [
  // password%3Dx%26…: percent-encoded operators in URLs and forms
  {
    between: /(?:%22)?(?:%3D|%3A)(?:%20|\+)?(?:%22)?/iy,
    read: reads(raw`(?:[\w.~!*'()+-]|%(?!2[26C]|3B|7D|0A)[0-9A-F]{2}){3,1024}`, isFilledIn),
  },
  // password = x, also with a number after the name
  { between: new RegExp(raw`(?:[_\x20-]?(?:\d{1,2}|[Cc]onfirm(?:ation)?))?${SIGN}`, "y"), read: assigned },
  // --password x
  {
    between: /["']?,?[ \t]{1,8}(?=[^\s=:-])(?![a-z_]{1,24}=["'\w])/iy,
    before: /(?<![\w-])--?(?:[a-z][a-z0-9_-]{0,40})?$/i,
    read: assigned,
  },
  // <password>x</password>, <td>Password</td><td>x</td>, <item name="password">x</item>
  {
    between:
      /(?:(?:["'][^<>{}()\n]{0,60}|\s[^<>\n]{0,160})?>|[ \t]{0,4}:?<\/[\w:]{1,24}>\s{0,40}<(?!artifactId|version)[\w:]{1,24}(?:\s[^<>\n]{0,80})?>)\s{0,40}(?:<(?:value|string)>\s{0,40})?(?:<!\[CDATA\[)?/iy,
    // The text of a label is no value.
    before: /^(?![\s\S]*<(?:label|legend|button)\s[^<>]*$)/i,
    // Jenkins puts encrypted values in braces.
    read: reads(raw`[^<>\s\]]{3,4096}(?=\s{0,40}(?:\]\]>)?\s{0,40}</)`, (value) =>
      isFilledIn(value.replace(/^\{(?=.{20})/, "")),
    ),
  },
  // String password = "x", password || "x", password { get; } = "x"
  {
    between: new RegExp(
      raw`(?:(?:\[\d{0,4}\])?[?!]?${TYPE}?\s{0,24}(?:[.+]|\|\||\?\?|:)?=\s{0,24}(?:(?:Some|new \w{1,40}|\[\]byte)\()?|\s{1,24}(?:\|\||\?\?)\s{1,24}|(?:\s{1,8}by\s{1,8}lazy|\))?\s{0,4}\{(?:\s{0,4}get;(?:\s{0,4}\w{3,16};){0,2}\s{0,4}\}\s{0,4}=)?\s{0,24})(?=[fbruNL@$]?\\{0,3}["'\x60])`,
      "iy",
    ),
    read: assigned,
  },
  // name: password, value: x
  {
    between: new RegExp(raw`\\{0,3}["']?[ \t]{0,4}[,;]?\s{0,24}\\{0,3}${VALUE_FIELD}`, "iy"),
    before: /(?:name|key|id|variable|type)\\{0,3}["']?[ \t]{0,4}[=:][ \t]{0,4}\\{0,3}["']?[\w.-]{0,40}$/i,
    read: reads(
      raw`[^\s"'<>\\,}]{3,4096}`,
      (value, name) =>
        isFilledIn(value) && !isStandIn(value, name) && (!isExpression(value) || /\([^)]*$/.test(value)),
    ),
  },
  // The value is nested one level deeper: password:\n value: x, variable "password" { default = "x" }
  {
    between: new RegExp(
      raw`["']?(?::[ \t]{0,4}\r?\n[ \t]{1,40}|\s{0,4}:?\s{0,4}\{[^{}]{0,400}?(?<!\w))${VALUE_FIELD}`,
      "iy",
    ),
    read: reads(raw`[^\s"']{4,512}`, isGiven),
  },
  // A part of a multipart form
  {
    between: /\]?"(?:\r?\n[\w-]{1,40}: [^\n]{1,120}){0,3}\s{2,6}/y,
    before: /form-data;[ \t]name="[\w.[-]{0,40}$/i,
    read: reads(raw`[^\s][^\r\n]{2,512}`, isFilledIn),
  },
  // A table row or a settings line: | password | x |, requirepass x
  {
    between:
      /[*\x60]{0,3}(?:[ \t]{0,40}[|│][ \t]{0,8}|[ \t]?[.·…]{3,60}:?[ \t]|:[ \t][.·…]{3,60}[ \t]|[ \t]{1,40})[*\x60"']{0,3}/y,
    before:
      /(?:^|[\n|│])[ \t]{0,40}(?:[$>] )?(?:[\w.-]{1,40} ){0,5}?[*\x60]{0,3}[\w.:/@-]{0,60}(?<!\/etc\/)$/,
    read: reads(raw`[^\s|│*\x60"']{4,512}(?=[*\x60"';]{0,3}[ \t]{0,40}(?:[|│]|\r?\n|$))`, isGiven),
  },
  // The next quoted text: after a call, a default value or a pair's comma
  {
    between:
      /(?=[^"'\x60\n]{0,115}["'\x60])(?![_-]?(?:credential|hash|sha\d|md5|digest|name|id|count|type|length|limit|ur[li]|path|file|policy|hint|label|error|ttl)(?![a-z]))(?:[\w.-]{0,40}\\{0,3}["'\x60\]]{1,3})?(?!(?:[^"'\x60\n]{0,60})(?:\w(?<!default|value|fallback)(?:[ \t]?=|:)|such as|like)[ \t]?["'\x60]|[^"'\x60\n]{0,60}<REDACTED>)(?=([^"'\x60\n;{}\\]{0,60}))\1(?=\\{0,7}["'\x60])/iy,
    read: given,
  },
  // The password for the server is x: up to twelve words, then a verb or operator
  {
    between: new RegExp(
      raw`(?:[ \t]{1,3}(?:[\p{L}\d'’.@/_~-]|:(?=\/\/)){1,40},?){0,12}?[ \t]{0,3}(?:${GIVES})[:：]?(?:[ \t](?:now|still|just|jetzt|maintenant|ahora|adesso|->|=>))?[ \t]{0,4}${OPENED}`,
      "iuy",
    ),
    read: reads(`${SPOKEN}{4,256}`, isSpoken),
    isSaid: true,
  },
  // with the password x; the password, type x
  {
    between: /(?:[ \t]{1,3}|,?[ \t](?:type|enter|try)[ \t])["'\x60]?/iy,
    before: /\b(?:with|using|and|by|a)(?: the)? $/i,
    read: reads(raw`[^\s"'\x60,;]{5,128}(?=["'\x60]?(?:[\s,;]|$))`, isSpoken),
    isSaid: true,
  },
  {
    between: new RegExp(raw`,?[ \t]{1,3}${OPENED}`, "y"),
    read: reads(raw`${SPOKEN}{6,128}(?=["'\x60]?(?:[\s,;]|\.?$))`, isToldApart),
    isSaid: true,
  },
];

const OPENING = /[fbruNL@$]?(\\{0,7}["'`])/y;
const SCHEME =
  /(?:bearer|basic|token(?=[ \t]{1,8}(?:\S*\d|[^\s"']{8,}(?:["'\r\n]|$)))|digest|[\w-]{0,20}key|ssws|negotiate|ntlm)[ \t]{1,8}|base64:/iy;
/** `&` can be part of a value, but not if it separates form fields. */
const BARE = /(?:[^\s"'`,;<>&|\\]|\\[=:!#]|(?<=\S)&(?=\w)(?![\w.-]{1,40}=)){1,512}/y;
/** A settings line contains only a name and its value, which can contain any character. */
const REST_OF_LINE = /(?:(?!&[\w.-]{1,40}=)[^\s"'`]){1,512}(?=[ \t]{0,8}(?:\r?\n|$))/y;
/** Several words to the end of the line. */
const PHRASE =
  /[\p{L}\d][\p{L}\d'!?.-]{0,40}(?: [\p{L}\d][\p{L}\d'!?.-]{0,40}){1,7}(?=[ \t]{0,8}(?:\r?\n|$))/uy;
const END_OF_SENTENCE = /(?:\*\*|&(?:[lr]d)?quot?;|[.,;:)\]])+$/;
const END_OF_BARE = /(?:[)\]}:?;,]|(?<!\*)\*{1,2}|(?<!\.)\.){1,8}$/;
const SETTING = /(?:^|\n)(?:export )?[\w.]*$/;
/** `this.password=e,` in code that was made short: what stands before the name, and behind the sign. */
const MADE_SHORT =
  /(?:^|\n)(?:this|self|[a-z])\.\w*~[a-z_$](?:\.\w+)*(?:[,;](?:this|self|[a-z_$])\b(?!\d)|\|\||\?\?)/;
/** The name of an AWS secret, or of a checksum of one; the address of a badge, which all may see. */
const RESOURCE =
  /badge[.]svg[?]$|\bcodecov\/c\/[\w/.-]{1,80}[?]$|(?:sum|hash(?:ed)?|digest)[/_.-]$|\barn:[\w-]{1,20}:[\w-]{1,30}:[\w-]{0,30}:\d{0,12}:$/;
const LONGEST_QUOTED = 4096;
const JUDGED = 500;
const BEFORE = 120;

/** The values of named secrets. */
export function* findKeyValues(text: string): Generator<Finding> {
  for (const { 0: name, index } of matchNames(text, NAMES)) {
    const span = valueBeside(text, name, index);
    if (span === undefined || isUnderHashes(text, span) || isUsersName(text, span) || isCounted(text, span))
      continue;
    yield { ...span, kind: "named-value" };
    NAMES.lastIndex = span.end;
  }
}

const HASHES =
  /(?:checksum|commit|fingerprint|digest|hash|revision|sha\d*(?:sum)?)(?:e?s)?["']?:?\s*[{[]?\s*$/i;

/** True for a hash under a heading that announces hashes, such as `SPEC CHECKSUMS:`. */
export function isUnderHashes(text: string, { start, end }: Span): boolean {
  if (!/^[\da-f]{32,128}$/i.test(text.slice(start, end))) return false;
  const above = text.slice(Math.max(0, start - 4000), start).split("\n");
  const depth = (above.pop() ?? "").search(/\S/);
  return HASHES.test(above.findLast((line) => line.trim() !== "" && line.search(/\S/) < depth) ?? "");
}

const USER = /user(?:_?name)?["'\])]{0,3}[ \t]{0,4}(?:[=:,(]|=>)[ \t]{0,4}["']?([a-z_-]{2,16})(?![\w-])/gi;

/** `POSTGRES_PASSWORD:`, with the program that it belongs to. */
const OF_PROGRAM = /(?<![a-z])([a-z]{3,16})_(?:root_)?pass(?:word)?["']?[ \t]{0,4}[:=][ \t]{0,4}["']?$/i;

/** True for a value that equals the name of the user or of the program: the default of local databases. */
function isUsersName(text: string, { start, end }: Span): boolean {
  const value = text.slice(start, end);
  // USER ignores case: a password with a capital is one, whatever the user is called.
  if (!/^[a-z_-]{2,16}$/.test(value)) return false;
  const around = text.slice(Math.max(0, start - 160), end + 160);
  const program = OF_PROGRAM.exec(text.slice(Math.max(0, start - 60), start))?.[1];
  return program?.toLowerCase() === value || [...around.matchAll(USER)].some(([, user]) => user === value);
}

/** True for a number of an enumeration or a vocabulary: between the one above and the one below, which are close. */
export function isCounted(text: string, { start, end }: Span): boolean {
  const value = text.slice(start, end);
  if (!/^\d{3,7}$/.test(value)) return false;
  const numberIn = (line = ""): number => Number(/[ :=](\d{3,7}),/.exec(line)?.[1]);
  const linesAbove = text.slice(Math.max(0, start - 120), start).split("\n");
  const above = numberIn(linesAbove.at(-2));
  const below = numberIn(text.slice(end, end + 120).split("\n")[1]);
  return above < Number(value) && Number(value) < below && below - above < 4;
}

/** True where what stands before a name says that it is no secret's. */
function isOfAnother(name: string, lead: string, behind: string): boolean {
  // The outcome of a test, not a password.
  if (name === "PASS") return /(?:^|\n)[^\w\n]*$/.test(lead) && !/^ ?=/.test(behind);
  // Git signs with a key of GnuPG, named by its id.
  if (/^signingkey$/i.test(name)) return /\buser(?:[.]|\][^[]*)$/.test(lead);
  // `to pass it on`
  if (/^pass$/i.test(name) && /^ (?:it|this|that|them|these|those) /.test(behind)) return true;
  return RESOURCE.test(lead);
}

function valueBeside(text: string, name: string, start: number): Span | undefined {
  const end = start + name.length;
  // A name must end at a word boundary: `tokenizer` does not match.
  if (/^(?:[a-z]{2}|[a-rt-z])/.test(text.slice(end, end + 2)) && /[a-z]$/i.test(name)) return undefined;
  const lead = text.slice(Math.max(0, start - BEFORE), start);
  if (isOfAnother(name, lead, text.slice(end, end + 7))) return undefined;
  const isPassword = isPasswordWord(name, lead);
  for (const { between, before, read, isSaid } of RELATIONS) {
    if (isSaid && !isPassword) continue;
    between.lastIndex = end;
    const groups = between.exec(text);
    if (groups === null || before?.test(lead) === false) continue;
    const span = read(text, { name, start, valueAt: between.lastIndex, groups });
    if (span !== undefined) return span;
  }
  return undefined;
}

/** The value after an operator or flag, quoted or bare. */
function assigned(text: string, named: Named): Span | undefined {
  const quoted = quotedAt(text, named.valueAt);
  if (quoted === undefined) return phraseAt(text, named) ?? bareSecret(text, named, named.valueAt);
  if (quoted.end === undefined) return bareSecret(text, named, quoted.start);
  const value = text.slice(quoted.start, quoted.end);
  if (isNameItself(value, text, named)) return undefined;
  return isQuotedSecret(value, named.name) ? { start: quoted.start, end: quoted.end } : undefined;
}

/** True for `ATTRIBUTE_CLIENT_SECRET = "client-secret"`. */
function isNameItself(value: string, text: string, { name, start }: Named): boolean {
  if (isPasswordName(name) || !/^[a-z]+(?:[_-][a-z]+)+$/.test(value)) return false;
  const before = /[\w-]*$/.exec(text.slice(Math.max(0, start - 60), start))?.[0] ?? "";
  return plainName(before + name).endsWith(plainName(value));
}

/** A quoted value without an operator: it must itself look like a secret. */
function given(text: string, { name, valueAt }: Named): Span | undefined {
  const { start = 0, end } = quotedAt(text, valueAt) ?? {};
  return end !== undefined && isGiven(text.slice(start, end), name) ? { start, end } : undefined;
}

/** The start of a quoted value, after its scheme, and its end; no end if the line has no closing quote. */
function quotedAt(text: string, at: number): { start: number; end: number | undefined } | undefined {
  const opening = matchAt(OPENING, text, at);
  if (opening === undefined) return undefined;
  const inner = at + opening.length;
  const end = closingQuote(text, inner, opening.replace(/^[fbruNL@$]/, ""));
  return { start: end === undefined ? inner : inner + (matchAt(SCHEME, text, inner)?.length ?? 0), end };
}

/** A passphrase of several words: any in a properties file, elsewhere with a number and a capital. */
function phraseAt(text: string, { name, start, valueAt, groups }: Named): Span | undefined {
  const [, before, sign, after] = groups;
  const phrase = isPasswordName(name) && sign ? (matchAt(PHRASE, text, valueAt) ?? "") : "";
  const isTight = sign === "=" && before === "" && after === "" && /^[a-z]/.test(name);
  const isProperty = isTight && SETTING.test(text.slice(Math.max(0, start - 80), start));
  const isMarked = / \d+(?: |$)/.test(phrase) && / \p{Lu}/u.test(phrase) && isPhrase(phrase);
  if (phrase === "" || !(isProperty || isMarked)) return undefined;
  return { start: valueAt, end: valueAt + phrase.length };
}

function bareSecret(text: string, named: Named, valueStart: number): Span | undefined {
  const scheme = matchAt(SCHEME, text, valueStart) ?? "";
  const start = valueStart + scheme.length;
  const lead = text.slice(Math.max(0, named.start - 80), named.start);
  const sign = named.groups[2];
  const isSetting =
    sign === "=" && SETTING.test(lead) && !MADE_SHORT.test(`${lead}~${text.slice(start, start + 60)}`);
  const rest = isSetting || sign === ":" ? matchAt(REST_OF_LINE, text, start) : undefined;
  // In YAML a password can contain any character; code contains brackets and commas.
  const isWhole = rest !== undefined && (isSetting || (isMixed(rest) && !/[,;(){}]/.test(rest)));
  const found = isWhole ? rest : (matchAt(BARE, text, start) ?? "");
  // `https://x-access-token:…@host`
  const atHost = sign === ":" && /:\/\/[\w.%+-]{0,64}$/.test(lead) ? found.lastIndexOf("@") : -1;
  const value = (atHost > 0 ? found.slice(0, atHost) : found).replace(END_OF_BARE, "");
  if (value === "") return undefined;
  const end = start + value.length;
  const context = contextOf(text, named, end);
  const inScheme = scheme === "" ? context : { ...context, joint: "scheme" as const };
  return isBareSecret(value, inScheme) ? { start, end: endOfLong(text, start, end) } : undefined;
}

/** A value is judged by its first 512 characters and then extended to its end. */
function endOfLong(text: string, start: number, end: number): number {
  if (end - start < JUDGED) return end;
  let reach = end;
  for (let more = matchAt(BARE, text, reach); more !== undefined; more = matchAt(BARE, text, reach))
    reach += more.length;
  return reach;
}

function contextOf(text: string, { name, start, groups }: Named, end: number): ValueContext {
  const [, before, sign, after] = groups;
  // `--secret=mailer` is a reference to a secret stored elsewhere.
  const isFlag = sign === undefined || (name === "secret" && text.startsWith("--", start - 2));
  const joint = isFlag ? "flag" : sign === ":" ? ":" : before !== "" || after !== "" ? "= " : "=";
  const lineStart = text.slice(Math.max(0, start - 80), start);
  // Alone on its line, or after words: " password: x", "the password: x".
  const startsLine = /(?:^|\n)[\s-]*(?:[A-Za-z'’]+ ){0,8}[\w.-]*$/.test(lineStart);
  const endsLine = /^[ \t]{0,8}(?:#|\r?\n|$)/.test(text.slice(end, end + 10));
  return { name, joint, ownLine: startsLine && endsLine, next: text.charAt(end) };
}

/** The end of a quoted value: the same quote with equally many backslashes, on the same line. */
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

/** What a sticky pattern matches at a place, or one of its groups. */
export function matchAt(pattern: RegExp, text: string, index: number, group = 0): string | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[group];
}
