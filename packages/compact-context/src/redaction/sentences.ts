import { GIVES, OPENED, SPOKEN } from "./named.ts";
import { type Place, places } from "./place.ts";
import {
  isCode,
  isFilledIn,
  isShuffled,
  isSpoken,
  isStandIn,
  isToldApart,
  looksGenerated,
} from "./values.ts";

// Secrets that people tell each other in sentences, beside what `named.ts` finds behind the word for a password.

const { raw } = String;
const LETTER = raw`[\w\u00c0-\u024f\u0400-\u04ff'’]`;
const TOKENS = raw`\b(?:api[\x20\-]?key|access[\x20\-]?token|token|secret|jeton|clé|schlüssel|chiave|chave)(?<!\/\w{1,9})`;
/** A code that is used once; groups of four digits have one blank or dash. */
const CODE = raw`(?:\d{3}[\x20\-]?\d{3}|\d{4}[\x20\-]\d{4}|\d{2}(?:-\d{2}){1,3}|\d{4,8}|[a-z\d]{4,6}(?:-[a-z\d]{4,6}){1,5})(?![\w\-])`;
const CODES = raw`${CODE}(?:,[ \t]?${CODE}){0,15}#?`;
const ACCOUNT = raw`(?:user(?:name)?|login|account)(?: is|:)? [^\s,\/]{2,64}`;

export const SENTENCES: readonly Place[] = [
  ...places(
    "prose",
    isKey,
    raw`\b(?:api[\x20\-]?key|access[\x20\-]?key|(?:secret|signing|private|my)[\x20\-]?(?:access[\x20\-]?)?key|secret|token|credentials?)(?: (?:for|of|on|to) [^\n:=]{1,48}?)? (?:is|was|will be|should be|are|set to|changed to|to)(?: (?:now|currently|still))?:? ${OPENED}~>${SPOKEN}{4,256}`,
  ),
  ...places(
    "prose",
    isDrawn,
    raw`
    ${TOKENS}(?!${LETTER}|[\-.])[^\n:=]{0,48}?(?: [\-–—=]|[:：]|,? (?:(?:c['’])?est|ist|es|é|è)) ["'\x60«]?~>[\w.~+\/=\-]{8,512}~>(?=["'\x60»]?(?:[\s,;.]|$))`,
  ),
  // A PIN, codes that are used once, the key of a second factor, to be typed
  ...places(
    "prose",
    (value) => /\d\S* .*\d|^\S*\d\S*$/.test(value),
    raw`
    \b(?:pin(?:\d|[\x20\-]?(?:code|number|nummer))?|puk\d?|passcode)(?:[ \t]{1,3}${LETTER}{1,16}){0,6}?[ \t]{0,3}(?:${GIVES})(?: (?:die|the|la|le|el))?[ \t]{0,3}${OPENED}~>\d{4,8}~>(?![\w-]|[.]\d)
    \bpuk ~>\d{8}~>(?![\w-]|[.]\d)
    \b(?:unlock|device|screen|sim|card) pin ~>\d{4,8}~>(?![\w-]|[.]\d)
    暗証番号[^\d\n]{0,12}?~>\d{4,8}~>(?![\w-]|[.]\d)
    \b(?:(?:one[\x20\-]time|login|access|verification|recovery|backup|security|2fa|mfa|sms)[\x20\-](?:code|password)|(?:safe|door|alarm|gate|entry|your|our|use|enter|the)[\x20\-]code|code (?:for|to|of) the (?:\w{1,12} ){0,2}(?:safe|door|alarm|gate|lock|garage)|otp)s?\b[^\n:]{0,32}?(?: is|:|\? it['’]s|(?<=(?:safe|door|gate|alarm|your|our|use|enter)[\x20-]code)) ["'\x60]?~>${CODES}
    \bkey\b[^\n:]{0,24}: ~>[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}(?![\w-])`,
  ),
  // A user and a password
  ...places(
    "prose",
    isSpoken,
    raw`
    \b(?:cred(?:ential)?s?|log[ \-]?ins?|logged in|sign(?:ed)? in|zugang(?:sdaten)?|identifiants?|acc[eè]so?|router|account)(?: (?:with|as|using|for|of|to|mit|con|avec)){0,2}(?: [^\n:=]{1,32}?:)?(?:[ \t]{0,2}(?:[:=]|is|are|ist)?[ \t]{1,3}|(?: \w{1,12}){0,3}\?\s{1,4}(?:> |\w{1,16}: )?)[\x60\*]{0,2}[\w.@\-]{1,64}[\x60\*]{0,2}[ \t]{0,2}[\/:][ \t]{0,2}["'\x60]?~>${SPOKEN}{6,128}
    \b(?:shared|common|read-only|team)(?: (?:one|login|user|account|creds))?\b[^\n:]{0,32}: ["'\x60]?[\w.@\-]{1,64} ?[\/:] ?["'\x60]?~>${SPOKEN}{6,128}
    \buse [\w.@\-]{1,64} ?[\/:] ?["'\x60]?~>${SPOKEN}{6,128}?~>(?=["'\x60]? (?:to|for) (?:log|sign))`,
  ),
  ...places(
    "prose",
    isWordGiven,
    raw`\b(?:(?:log|sign)(?:ged|ed)?[ \-]?in(?:to)?\b[^\n]{0,40}? as [^\s,]{2,64},?(?: with| and| using)?|${ACCOUNT}(?: and| with| \/|,))(?: the)? (?:password|pass|pw)(?:['’]s| is|:)?(?: just)? ["'\x60]?~>[^\s"'\x60,;]{4,128}~>(?=["'\x60]?(?:[\s,;]|$))`,
  ),
  ...places(
    "prose",
    isToldApart,
    raw`\b(?:admin|administrator|root|postgres)[\x60]?[ \t]{0,2}[\/:][ \t]{0,2}[\x60]?~>${SPOKEN}{6,128}~>(?=[\x60]?(?:[\s,;.]|$))`,
  ),
  // The words of a wallet
  ...places(
    "prose",
    (value) => [12, 15, 18, 21, 24].includes(value.split(/\s+/).length),
    raw`(?<![a-z])(?:mnemonic|wallet|seed|(?:seed|recovery|backup)[\x20_\-]?(?:phrase|words?))[^\n:=]{0,80}[:=]\s{0,3}["'\x60]?~>[a-z]{3,8}(?:[\x20\t]{1,3}[a-z]{3,8}){11,23}~>(?=["'\x60.,;)]{0,3}(?:\s{0,4}\n|\s{0,4}$|["'\x60]))`,
  ),
  // Several words
  ...places(
    "prose",
    isPhrase,
    raw`
    \bpassphrase(?: (?:for|of|to|on) [^\n:]{1,48}?)?(?: is|:) ~>[a-z]{2,16}(?: [a-z]{2,16}){2,7}~>(?=\.?[ \t]{0,4}(?:\n|$))
    \bpassphrase(?: (?:for|of|to|on) [^\n:'"“]{1,48}?)?(?: is|:|, it['’]s)? ["'“„«\x60]~>[^"'”“»\x60\n]{6,96}~>(?=["'”“»\x60])`,
  ),
];

/** A key or token must have been drawn by a machine. */
function isKey(value: string, before: string): boolean {
  if (!isSpoken(value)) return false;
  if (!/token|key|credential/i.test(before)) return true;
  return looksGenerated(value) || (value.length >= 10 && /[a-z]\d|\d[a-z]/i.test(value));
}

/** What a sentence gives as a token: letters and digits in turns. */
function isDrawn(value: string): boolean {
  return !isStandIn(value, "") && (looksGenerated(value) || isShuffled(value, 8));
}

/** Behind a user and "with the password" any word is one, unless it goes on about passwords. */
function isWordGiven(value: string, before: string): boolean {
  return (
    isFilledIn(value) &&
    !before.includes(value) &&
    !isCode(value) &&
    !/[()[\]{}<>=]|^(?:str(?:ing)?|text|bytes|any|object|null|none|true|false|undefined)\b/i.test(value) &&
    !/^(?:auth\w*|prompt|field|manager|grant|flow|hash\w*|form|policy|reset\w*|only|below|above|from|and|or|that|which|you|we|is|was|login|protect\w*|based|option|for|in|on|of|to|set|stored|the|not|wrong|correct|incorrect|required|empty|invalid|missing)\b/i.test(
      value,
    )
  );
}

/** Several words are a phrase, unless they say what a phrase has to be. */
function isPhrase(value: string): boolean {
  return (
    value.includes(" ") &&
    !/^(?:must|should|can|may|the|an?|is|not|optional|required|used|for|this|that|if|enter|your|no|empty|in|to|from)\b/i.test(
      value,
    )
  );
}
