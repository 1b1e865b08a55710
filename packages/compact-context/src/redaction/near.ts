import { createRunFinder, type Finding } from "./finding.ts";
import { isUnderHashes, matchAt, SIGN, TYPE } from "./named.ts";
import { HINT, KEY_WORDS, PASSWORD_WORDS, SECRET_NAME } from "./names.ts";
import { isExpression, isHintedAt, isShuffled, isStandIn, isWords, looksGenerated } from "./values.ts";

// Values that look like secrets themselves, and are identified by other words on their line.

const { raw } = String;
const LEAST = 8;
const MOST = 512;
/** Runs of characters that can form a value. */
const findRuns = createRunFinder(/[\w./+~!#$%^*?@-]/, LEAST);
/** The rest of an escape, as of `é` in JSON, is no part of the value behind it. */
const ESCAPE = /(?<=\\)(?:u[\da-f]{4}|u00[C-F][\dA-F]|x[c-fC-F][\da-fA-F]|f[\dA-Z])/y;
const PADDING = /={1,2}(?![\w=])/y;
/** A prefix that is part of the value: `4711|s9KqZ7wTr2LmX4vB8nHd`. */
const LEAD = /(?:\b\d{1,9}\||base64:)$/;
const BEFORE_RUN = 160;
const BEHIND = 60;

const SAYS_SECRET = new RegExp(`(?:${SECRET_NAME}|${PASSWORD_WORDS}|${KEY_WORDS})(?![\\w-])`, "i");
const ACCOUNT =
  /(?<![\p{L}\d-])(?:admin|root|creds?|credentials|logins?|log in|sign in|user(?:name)?|usuario|benutzer|zugang|zugangsdaten|identifiants?|логин|unlock|get in)(?![\p{L}\d-])/iu;
/** Words near a value that mark it as harmless or as an example. */
const NO_SECRET =
  /\barn:|\bh1:$|(?:badge[.]svg[?]|\bcodecov\/c\/)\S*$|public|restor|hash|checksum|digest|fingerprint|(?<!n['’]t )commit|\bsha-?\d|(?<!secret[ -])\b(?:app)?id\b|version|trace|cache|integrity|etag|\bmd5|uuid|revision|(?<!secret)[ _-]id\b|user(?:_?name)?["']?[=:] ?["']?$|example|e\.g\.|such as|like /i;
/** What leads from a value to the words that say what it is. */
const TOLD_BEHIND = /^["'\x60)]{0,3}[;,]?\s{0,4}(?:[(#]|(?:for)?key:|\/\/|--|as\b|is\b|ist\b|for\w|where\b)/i;
/** A hinting name, followed by an operator, a type and an operator, a C++ brace, or the end of a tag. */
const HINTED = new RegExp(
  raw`(?:${HINT})[\w.-]{0,40}(?:(?:_|\x20)\d{1,2})?(?:(?:${TYPE}(?=[ \t]{0,4}:?=[ \t]{0,4}[fbru&]?["'\x60]))?${SIGN}(?:[\w.]{0,30}(?:hex|bytes)\w{0,16}\((?=["']))?|[ \t]?：[ \t]?|\((?=["'])|\{(?=["'])|>)(?:[fbruNL@$]?\\{0,7}["'\x60])?$`,
  "i",
);
/** A flag, the name of a setting, or the name field of a name-value pair. */
const SET =
  /(?<=(?:(?<![\w-])--?|(?:^|\n)[ \t]*(?:[$>] )?(?:[\w-]{1,20} ){0,2}|(?:name|key|id|variable)["']?[ \t]{0,4}[=:][ \t]{0,4}["']?)([a-z][\w.-]{0,60})["']?(?:[ \t]{1,40}|[ \t]{0,4},?\s{0,24}["']?\w{0,12}(?:value|content)["']?[ \t]{0,4}[=:][ \t]{0,4})["']?)/iy;
/** A list of secrets by name: `secrets:`, and below it `session: …`. */
const PARENT =
  /(?:secrets|credentials|passwords)["']?:[ \t]*\{?\r?\n(?:[ \t]+[^\n]*\n)*[ \t]+["']?(?!\w*(?:id|user|name|host)\b)[\w.-]+["']?:[ \t]*["']?$/i;
/** The outcome of a test, before its name. */
const PASSED = /^\W*PASS: (?=\w+[ :])/;
/** The left side of an assignment. */
const LABEL =
  /(?!(?:set)?(?:value|content|default)\b)(?<![\p{L}\w.@$-])([\p{L}\w.@$-]{1,80})["'\x60)\]]{0,3}[ \t]{0,4}(?::=|=>|[=:])[ \t]{0,4}["'\x60*(\\]{0,4}$/u;
const IDENTIFIER = /(?<=([\w./-]{0,60}))/y;

/** Generated values next to hinting names, and password-like values next to words for secrets. */
export function* findNear(text: string): Generator<Finding> {
  for (const run of findRuns(text)) {
    const index = run.start + (matchAt(ESCAPE, text, run.start)?.length ?? 0);
    const value = valueIn(text, index, run.end);
    if (!isPassing(value)) continue;
    const end = index + value.length;
    const lead = LEAD.exec(text.slice(Math.max(0, index - 10), index))?.[0] ?? "";
    const start = index - lead.length;
    const before = text.slice(Math.max(0, start - BEFORE_RUN), start);
    const behind = /^[^\n]{0,60}/.exec(text.slice(end, end + BEHIND))?.[0] ?? "";
    if (isSecret(value, before, behind) && !isUnderHashes(text, { start, end }))
      yield { start, end, kind: "named-value" };
  }
}

function valueIn(text: string, start: number, end: number): string {
  const most = Math.min(end, start + MOST);
  const padding = most === end && text.charAt(end) === "=" ? (matchAt(PADDING, text, end) ?? "") : "";
  return padding === "" ? text.slice(start, most).replace(/[.]+$/, "") : text.slice(start, most) + padding;
}

/** Rejects ordinary words, which are most runs, by their characters. */
function isPassing(value: string): boolean {
  if (/\d/.test(value) ? value.length < LEAST : value.length < 20) return false;
  if (!looksGenerated(value) && !isStrong(value)) return false;
  return !isStandIn(value, "") && !isExpression(value.replace(/[!?]$/, ""));
}

function isSecret(value: string, before: string, behind: string): boolean {
  // Followed by a call, an index or a port: a name or a host, not a value.
  if (/^(?:[([{:]| \(|[ \t]+\(void\))/.test(behind)) return false;
  // `Key: v2-gradle-1vmd…`: the key of a cache begins with words.
  if (/(?:^|\n)[ \t]*key\W{1,8}$/i.test(before) && /^(?:v\d+-)?[a-z]{3,}-/.test(value)) return false;
  if (looksGenerated(value) && isHinted(value, before)) return true;
  return isDistinct(value) && isNamed(value, before.slice(before.lastIndexOf("\n") + 1), behind);
}

/** True if an operator or flag assigns the value to a hinting name. */
function isHinted(value: string, before: string): boolean {
  if (PARENT.test(before)) return true;
  const set = matchAt(SET, before, before.length, 1);
  if (set !== undefined && isHintedAt(value, set))
    return !NO_SECRET.test(before.slice(before.lastIndexOf("\n") + 1));
  const hinted = HINTED.exec(before);
  if (hinted === null) return false;
  const lead = before.slice(0, hinted.index);
  if (/\b(?:cache(?: \w+){0,3}|gpg|pgp|build|lock|object|row|public|partition|crash\w+)[ \t]$/i.test(lead))
    return false;
  const name = (matchAt(IDENTIFIER, lead, lead.length, 1) ?? "") + hinted[0];
  return isHintedAt(value, name.replace(/["'\x60\]* \t=:：>?{\\]+$/, ""));
}

/** True if the words of the line identify the value. */
function isNamed(value: string, before: string, behind: string): boolean {
  if (
    !looksGenerated(value) &&
    /^[A-Za-z_$][\w$]*$/.test(value) &&
    /[\w.([{,][ \t]?$/.test(before) &&
    /^[.,;)\]}]/.test(behind)
  )
    return false;
  const line = looksGenerated(value) ? before : before.replace(PASSED, "");
  const clause = line.slice(Math.max(line.lastIndexOf(";"), line.lastIndexOf(". ")) + 1);
  if (NO_SECRET.test(clause)) return false;
  const label = LABEL.exec(before);
  if (label !== null && !/[\p{L}\d] $/u.test(before.slice(0, label.index)))
    return SAYS_SECRET.test(label[1] ?? "");
  if (SAYS_SECRET.test(clause) || ACCOUNT.test(clause)) return true;
  return TOLD_BEHIND.test(behind) && SAYS_SECRET.test(behind) && !NO_SECRET.test(behind);
}

/** False for hashes, ids (Apple's have ten capitals and digits), references, quantities, files and addresses: they need an explicit name. */
function isDistinct(value: string): boolean {
  if (value.includes("/") && !looksGenerated(value)) return false;
  if (/token|secret|passw|credential/i.test(value) || /^[A-Z\d]{10}$/.test(value)) return false;
  return !/^(?:0x)?[0-9a-f-]+$|^[$%#@.~]|^\/(?![\w+/]{30})|^\d+%|\/\/|%[0-9a-f]{2}|\.\w{2,4}$|@[\w-]+\.|@[\da-f]{12}$|^[a-z-]+[#@]v?[\d.]+$|^return[!-]\d$|^[\da-f]{7,40}(?:[~^]\d*)?\.{2,3}[\da-f]{7,40}$|^[a-z]+\*{1,2}\d{1,3}(?:\+|\*\*)[a-z\d]{1,2}$/i.test(
    value,
  );
}

function isStrong(value: string): boolean {
  return (
    /\d/.test(value) &&
    /[a-z]/i.test(value) &&
    !isWords(value) &&
    (isShuffled(value, LEAST) || isSigned(value))
  );
}

/** True for punctuation at the end or between parts that are not words: `aws.auth#sigv4` is a reference. */
function isSigned(value: string): boolean {
  return /[!#%^*?]$|\w[!$%^]/.test(value) || (/[#?@*]/.test(value) && !value.split(/[#?@*]/).every(isWords));
}
