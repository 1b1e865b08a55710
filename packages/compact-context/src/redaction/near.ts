import type { Finding } from "./finding.ts";
import { HINT, KEY_WORDS, PASSWORD_WORDS, SECRET_NAME } from "./lexicon.ts";
import { isUnderHashes, SIGN, TYPE } from "./named.ts";
import { isExpression, isHintedAt, isShuffled, isStandIn, isWords, looksGenerated } from "./values.ts";

// Values that look like secrets and are identified by other words on their line.

const { raw } = String;

/** A run of characters that can form a value. */
const RUN = /(?<![\w./+~!#$%^*?@-]|\\(?=u[\da-f]{4}))[\w./+~!#$%^*?@-]{8,512}(?:={1,2}(?![\w=]))?/g;
/** A prefix that is part of the value: `4711|s9KqZ7wTr2LmX4vB8nHd`. */
const LEAD = /(?:\b\d{1,9}\||base64:)$/;
const LEAST = 8;
const BEFORE = 160;
const BEHIND = 60;

const NAMED = new RegExp(`(?:${SECRET_NAME}|${PASSWORD_WORDS}|${KEY_WORDS})(?![\\w-])`, "i");
const ACCOUNT =
  /(?<![\p{L}\d-])(?:admin|root|creds?|credentials|logins?|log in|sign in|user(?:name)?|usuario|benutzer|zugang|zugangsdaten|identifiants?|логин|unlock|get in)(?![\p{L}\d-])/iu;
/** Words near a value that mark it as harmless or as an example. */
const NO_SECRET =
  /\barn:|public|hash|checksum|digest|fingerprint|(?<!n['’]t )commit|\bsha-?\d|(?<!secret[ -])\bid\b|version|trace|cache|integrity|etag|\bmd5|uuid|revision|(?<!secret)[ _-]id\b|example|e\.g\.|such as|like /i;
/** What leads from a value to the words that say what it is. */
const TOLD_BEHIND = /^["'\x60)]{0,3}[;,]?\s{0,4}(?:[(#]|\/\/|--|as\b|is\b|ist\b|for\w|where\b)/i;
/** A hinting name, followed by an operator, a type and an operator, a C++ brace, or the end of a tag. */
const HINTED = new RegExp(
  raw`(?:${HINT})[\w.-]{0,40}(?:(?:_|\x20)\d{1,2})?(?:(?:${TYPE}(?=[ \t]{0,4}:?=[ \t]{0,4}[fbru&]?["'\x60]))?${SIGN}(?:[\w.]{0,30}(?:hex|bytes)\w{0,16}\((?=["']))?|[ \t]?：[ \t]?|\((?=["'])|\{(?=["'])|>)(?:[fbruNL@$]?\\{0,7}["'\x60])?$`,
  "i",
);
/** A flag, the name of a setting, or the name field of a name-value pair. */
const SET =
  /(?:(?<![\w-])--?|(?:^|\n)[ \t]*(?:[$>] )?(?:[\w-]{1,20} ){0,2}|(?:name|key|id|variable)["']?[ \t]{0,4}[=:][ \t]{0,4}["']?)([a-z][\w.-]{0,60})["']?(?:[ \t]{1,40}|[ \t]{0,4},?\s{0,24}["']?\w{0,12}(?:value|content)["']?[ \t]{0,4}[=:][ \t]{0,4})["']?$/i;
/** A list of secrets by name: `secrets:`, and below it `session: …`. */
const PARENT =
  /(?:secrets|credentials|passwords)["']?:[ \t]*\{?\r?\n(?:[ \t]+[^\n]*\n)*[ \t]+["']?(?!\w*(?:id|user|name|host)\b)[\w.-]+["']?:[ \t]*["']?$/i;
/** The left side of an assignment. */
const LABEL =
  /(?!(?:set)?(?:value|content|default)\b)(?<![\p{L}\w.@$-])([\p{L}\w.@$-]{1,80})["'\x60)\]]{0,3}[ \t]{0,4}(?::=|=>|[=:])[ \t]{0,4}["'\x60*(\\]{0,4}$/u;
const IDENTIFIER = /[\w./-]{0,60}$/;

/** Generated values next to hinting names, and password-like values next to words for secrets. */
export function* findNear(text: string): Generator<Finding> {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const value = run.replace(/[.]+$/, "");
    if (!isPassing(value)) continue;
    const end = index + value.length;
    const lead = LEAD.exec(text.slice(Math.max(0, index - 10), index))?.[0] ?? "";
    const start = index - lead.length;
    const before = text.slice(Math.max(0, start - BEFORE), start);
    const behind = /^[^\n]{0,60}/.exec(text.slice(end, end + BEHIND))?.[0] ?? "";
    if (isSecret(value, before, behind) && !isUnderHashes(text, { start, end }))
      yield { start, end, kind: "named-value" };
  }
}

/** Rejects ordinary words, which are most runs, by their characters. */
function isPassing(value: string): boolean {
  if (/\d/.test(value) ? value.length < LEAST : value.length < 20) return false;
  if (isStandIn(value, "") || isExpression(value.replace(/[!?]$/, ""))) return false;
  return looksGenerated(value) || isStrong(value);
}

function isSecret(value: string, before: string, behind: string): boolean {
  // Followed by a call, an index or a port: a name or a host, not a value.
  if (/^(?:[([{:]| \()/.test(behind)) return false;
  if (looksGenerated(value) && isHinted(value, before)) return true;
  return isDistinct(value) && isNamed(value, clauseOf(before, behind), behind);
}

/** The words of the line before the value; if it stands alone, the prompt on the line above. */
function clauseOf(before: string, behind: string): string {
  const lines = before.split("\n");
  const own = lines.at(-1) ?? "";
  const above = lines.at(-2)?.trimEnd() ?? "";
  const isAlone =
    /^\s*(?:\[[^\]\n]{1,20}\] )?(?:[\w.-]{1,20}[:>] )?["'\x60]?$/.test(own) && /^["'\x60.]?\s*$/.test(behind);
  return isAlone && /[:：?？]$/.test(above) ? above : own;
}

/** True if an operator or flag assigns the value to a hinting name. */
function isHinted(value: string, before: string): boolean {
  if (PARENT.test(before)) return true;
  const set = SET.exec(before)?.[1];
  if (set !== undefined && isHintedAt(value, set))
    return !NO_SECRET.test(before.slice(before.lastIndexOf("\n") + 1));
  const hinted = HINTED.exec(before);
  if (
    hinted === null ||
    /\b(?:cache(?: \w+){0,3}|build|lock|object|row|public)[ \t]$/i.test(before.slice(0, hinted.index))
  )
    return false;
  const name = (IDENTIFIER.exec(before.slice(0, hinted.index))?.[0] ?? "") + hinted[0];
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
  const clause = before.slice(Math.max(before.lastIndexOf(";"), before.lastIndexOf(". ")) + 1);
  if (NO_SECRET.test(clause)) return false;
  const label = LABEL.exec(before);
  if (label !== null && !/[\p{L}\d] $/u.test(before.slice(0, label.index))) return NAMED.test(label[1] ?? "");
  if (NAMED.test(clause) || ACCOUNT.test(clause)) return true;
  return TOLD_BEHIND.test(behind) && NAMED.test(behind) && !NO_SECRET.test(behind);
}

/** False for hashes, ids, references, quantities, files and addresses: they need an explicit name. */
function isDistinct(value: string): boolean {
  if (value.includes("/") && !looksGenerated(value)) return false;
  if (/token|secret|passw|credential/i.test(value)) return false;
  return !/^(?:0x)?[0-9a-f-]+$|^[$%#@.~]|^\/(?![\w+/]{30})|^\d+%|\/\/|%[0-9a-f]{2}|\.\w{2,4}$|@[\w-]+\.|@[\da-f]{12}$|^[a-z-]+[#@]v?[\d.]+$/i.test(
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
