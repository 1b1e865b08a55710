import { A_NAME, type Place, place } from "./place.ts";
import { isFilledIn, isShuffled, isSpoken, looksGenerated } from "./values.ts";

// Secrets that people tell each other in sentences, in some twenty languages.

const { raw } = String;

const GIVES =
  "[:：→]|->|=>|—|–|(?<= )=(?= )|(?<= )(?:(?:is|was)(?! (?:generated|created|set|reset))|be|to|as|ist|war|lautet|jetzt|est|c['’]est|es|era|é|è|är|er|on|это|هي|هو)(?=[\\s:])|['’]s(?=\\s)|是|为|為|は|が|는|은|를";
const OPENING = "[\"'\x60*«»“„「『]{0,3}[ \\t]?";
const SPOKEN = "[!#-&(-;=?-_a-~\\u00c0-\\u024f\\u0400-\\u04ff]";

const LETTER = raw`[\w\u00c0-\u024f\u0400-\u04ff'’]`;
const TOKENS = raw`\b(?:api[\x20\-]?key|access[\x20\-]?token|token|secret|jeton|clé|schlüssel|chiave|chave)`;
/** A code that is used once; groups of four digits have one blank or dash. */
const CODE = raw`(?:\d{3}[\x20\-]?\d{3}|\d{4}[\x20\-]\d{4}|\d{2}(?:-\d{2}){1,3}|\d{4,8}|[a-z\d]{4,6}(?:-[a-z\d]{4,6}){1,5})(?![\w\-])`;
const CODES = raw`${CODE}(?:,[ \t]?${CODE}){0,15}`;
const ACCOUNT = raw`(?:user(?:name)?|login|account)(?: is|:)? [^\s,\/]{2,64}`;

export const SENTENCES: readonly Place[] = [
  place("prose", isKey, [
    raw`\b(?:api[\x20\-]?key|access[\x20\-]?key|(?:secret|signing|private|my)[\x20\-]?(?:access[\x20\-]?)?key|secret|token|credentials?)(?: (?:for|of|on|to) [^\n:=]{1,48}?)? (?:is|was|will be|should be|are|set to|changed to|to)(?: (?:now|currently|still))?:? ${OPENING}`,
    `${SPOKEN}{4,256}`,
  ]),
  place("prose", isDrawn, [
    raw`${TOKENS}(?!${LETTER})[^\n:=]{0,48}?(?: [\-–—=]|[:：]| (?:est|ist|es|é|è)) ["'\x60«]?`,
    raw`[\w.~+\/=\-]{8,512}`,
    raw`(?=["'\x60»]?(?:[\s,;.]|$))`,
  ]),
  // A PIN, and codes that are used once
  ...[raw`\b(?:pin(?:\d|[\x20\-]?(?:code|number|nummer))?|puk\d?|passcode)`, "暗証番号"].map((pin) =>
    place("prose", () => true, [
      raw`${pin}(?:[ \t]{1,3}${LETTER}{1,16}){0,6}?[ \t]{0,3}(?:${GIVES})(?: (?:die|the|la|le|el))?[ \t]{0,3}${OPENING}`,
      raw`\d{4,8}`,
      raw`(?![\w-]|[.]\d)`,
    ]),
  ),
  place("prose", (value) => /\d/.test(value), [
    raw`\b(?:(?:one[\x20\-]time|verification|recovery|backup|security|2fa|mfa|sms)[\x20\-](?:code|password)|(?:safe|door|alarm|gate|entry)[\x20\-]code|otp)s?\b[^\n:]{0,32}?(?: is|:|\? it['’]s|(?<=(?:safe|door|gate|alarm)[\x20-]code)) ["'\x60]?`,
    CODES,
  ]),
  // A user and a password
  place("prose", isSpoken, [
    raw`\b(?:cred(?:ential)?s?|log[ \-]?ins?|logged in|sign(?:ed)? in|zugang(?:sdaten)?|identifiants?|acc[eè]so?|router|account)(?: (?:with|as|using|for|of|to|mit|con|avec)){0,2}(?: [^\n:=]{1,32}?:)?(?:[ \t]{0,2}(?:[:=]|is|are|ist)?[ \t]{1,3}|(?: \w{1,12}){0,3}\?\s{1,4}(?:> )?)[\x60\*]{0,2}[\w.@\-]{1,64}[\x60\*]{0,2}[ \t]{0,2}[\/:][ \t]{0,2}["'\x60]?`,
    `${SPOKEN}{6,128}`,
  ]),
  place("prose", isSpoken, [
    raw`\buse [\w.@\-]{1,64} ?[\/:] ?["'\x60]?`,
    `${SPOKEN}{6,128}?`,
    raw`(?=["'\x60]? (?:to|for) (?:log|sign))`,
  ]),
  place("prose", isWordGiven, [
    raw`\b(?:(?:log|sign)(?:ged|ed)?[ \-]?in(?:to)?\b[^\n]{0,40}? as [^\s,]{2,64},?(?: with| and| using)?|${ACCOUNT}(?: and| with| \/|,))(?: the)? (?:password|pass|pw)(?:['’]s| is|:)?(?: just)? ["'\x60]?`,
    raw`[^\s"'\x60,;]{4,128}`,
    raw`(?=["'\x60]?(?:[\s,;]|$))`,
  ]),
  place(
    "prose",
    isSpoken,
    [
      raw`\b(?:(?:with|using|and|by)(?: the)? (?:password|passphrase|pw)|(?:password|pw),? (?:type|enter|try)) ["'\x60]?`,
      raw`[^\s"'\x60,;]{5,128}`,
      raw`(?=["'\x60]?(?:[\s,;]|$))`,
    ],
    A_NAME,
  ),
  // The key of a second factor, to be typed
  place("prose", (value) => /\d\S* .*\d/.test(value), [
    raw`\bkey\b[^\n:]{0,24}: `,
    raw`[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}(?![\w-])`,
  ]),
  place(
    "prose",
    isSpoken,
    [
      raw`\b(?:use|with|set|put) ["'\x60]?`,
      raw`[^\s"'\x60,;]{6,128}`,
      raw`(?=["'\x60]? as (?:the |a |your |its )?(?:\w{1,16} )?(?:password|passphrase))`,
    ],
    A_NAME,
  ),
  // The words of a wallet
  place("prose", (value) => [12, 15, 18, 21, 24].includes(value.split(/\s+/).length), [
    raw`(?<![a-z])(?:mnemonic|wallet|seed|(?:seed|recovery|backup)[\x20_\-]?(?:phrase|words?))[^\n:=]{0,80}[:=]\s{0,3}["'\x60]?`,
    raw`[a-z]{3,8}(?:[\x20\t]{1,3}[a-z]{3,8}){11,23}`,
    raw`(?=["'\x60.,;)]{0,3}(?:\s{0,4}\n|\s{0,4}$|["'\x60]))`,
  ]),
  // Several words
  place("prose", isPhrase, [
    raw`\bpassphrase(?: (?:for|of|to|on) [^\n:]{1,48}?)?(?: is|:) `,
    raw`[a-z]{2,16}(?: [a-z]{2,16}){2,7}`,
    raw`(?=\.?[ \t]{0,4}(?:\n|$))`,
  ]),
  place("prose", isPhrase, [
    raw`\bpassphrase(?: (?:for|of|to|on) [^\n:'"“]{1,48}?)?(?: is|:|, it['’]s)? ["'“„«\x60]`,
    raw`[^"'”“»\x60\n]{6,96}`,
    raw`(?=["'”“»\x60])`,
  ]),
  place("prose", (value) => (value.length >= 24 ? looksGenerated(value) : isShuffled(value)), [
    raw`\b(?:token|api[\x20\-]?key|secret|key|(?:secret_access|api)_key|(?:access|auth)_token|client_secret)[ \t]{1,3}["'\x60]?`,
    raw`[\w.~+\/=\-]{12,512}`,
    raw`(?=["'\x60]?(?:[\s,;.\)]|$))`,
  ]),
];

/** A key or token must have been drawn by a machine. */
function isKey(value: string, before: string): boolean {
  if (!isSpoken(value)) return false;
  if (!/token|key|credential/i.test(before)) return true;
  return looksGenerated(value) || (value.length >= 10 && /[a-z]\d|\d[a-z]/i.test(value));
}

/** What a sentence gives as a token: letters and digits in turns. */
function isDrawn(value: string): boolean {
  return looksGenerated(value) || isShuffled(value, 8);
}

/** Behind a user and "with the password" any word is one, unless it goes on about passwords. */
function isWordGiven(value: string): boolean {
  return (
    isFilledIn(value) &&
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
