import { type Finding, isQuotedSecret, looksGenerated, SECRET_NAME } from "./secrets.ts";

interface Place {
  readonly kind: string;
  /** Two groups: what stays, and the secret; every repetition bounded. */
  readonly pattern: RegExp;
  /** Text without which the pattern has nothing to find. */
  readonly needs?: string;
  readonly isSecret: (value: string, before: string) => boolean;
}

const always = (): boolean => true;
const NAME = `[\\w.-]{0,40}?(?:${SECRET_NAME})`;

/** Where a secret stands because of what is around it, whatever it looks like. */
const PLACES: readonly Place[] = [
  // Addresses
  {
    kind: "url-password",
    needs: "://",
    pattern: /(:\/\/[^\s:@/?#'"<>]{0,128}:)([^\s/'"<>]{1,256})(?=@)/g,
    isSecret: isFilledIn,
  },
  { kind: "url-password", needs: "://", pattern: /(:\/\/)([A-Za-z0-9_-]{20,256})(?=@)/g, isSecret: hasDigit },
  {
    kind: "url-password",
    needs: "(",
    pattern: /(\b[\w.-]{1,64}:)([^\s@:/'"`]{3,128})(?=@(?:tcp|unix)\()/g,
    isSecret: isFilledIn,
  },
  {
    kind: "url-password",
    needs: "jdbc:oracle",
    pattern: /(jdbc:oracle:\w{2,5}:[^/\s]{1,64}\/)([^@\s]{1,128})(?=@)/g,
    isSecret: isFilledIn,
  },
  {
    kind: "url-parameter",
    pattern:
      /([?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|auth|code|api_?key|hapikey|apikey|pass|pw|sid)=)([\w.~%+/=-]{8,2048})/gi,
    isSecret: (value) =>
      hasDigit(value) && /[a-z]/i.test(value) && (value.length >= 16 || /[a-z]\d|\d[a-z]/i.test(value)),
  },
  {
    kind: "webhook",
    needs: "https://",
    pattern:
      /(https:\/\/(?:hooks\.slack\.com\/(?:services|workflows|triggers)\/|(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{10,24}\/|[\w.-]{1,60}\.webhook\.office\.com\/webhookb2\/|hooks\.zapier\.com\/hooks\/catch\/|chat\.googleapis\.com\/v1\/spaces\/[\w-]{1,40}\/messages\?|hook\.\w{2,6}\.make\.com\/|api\.telegram\.org\/bot))([^\s"'<>`)]{16,400})/g,
    isSecret: always,
  },
  // Headers
  {
    kind: "header",
    pattern: /\b((?:bearer|basic)[ \t]{1,8})([A-Za-z0-9._~+/=-]{12,8192})/gi,
    isSecret: looksRandom,
  },
  { kind: "header", pattern: /\b(cookie["']?:[ \t]{0,8})([^\r\n'"]{1,4096})/gi, isSecret: isPair },
  // Commands
  {
    kind: "command-line",
    needs: "curl",
    pattern:
      /(\bcurl\b[^\n]{0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]{0,4}["']?[^\s:'"]{1,128}:)([^\s'"<>]{1,256})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    pattern:
      /(\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|sshpass|docker login|podman login|helm registry login|az login|mongo|mongosh|mongodump|7z[ar]?|zip|unzip|rar)\b[^\n|;&]{0,200}?\s-(?:p|P)[ =]?["']?)([^\s'"|;&<>-][^\s'"|;&<>]{2,128})/g,
    isSecret: isTyped,
  },
  {
    kind: "command-line",
    needs: "redis-cli",
    pattern: /(\bredis-cli\b[^\n|;&]{0,200}?\s-a[ =]{1,2}["']?)([^\s'"|;&<>-][^\s'"|;&<>]{2,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "ldap",
    pattern: /(\bldap\w{3,10}\b[^\n|;&]{0,300}?\s-w[ =]?["']?)([^\s'"|;&<>-][^\s'"|;&<>]{2,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "%",
    pattern:
      /(\b(?:smbclient|rpcclient|net|wmic|winexe)\b[^\n|;&]{0,200}?\s(?:-U|--user)[ =]["']?[^\s%'"]{1,64}%)([^\s'"|;&<>]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "chpasswd",
    pattern:
      /(\becho[ \t]{1,8}["']?[\w.-]{1,32}:)([^\s'"|]{3,128})(?=["']?[ \t]{0,8}\|[ \t]{0,8}(?:sudo[ \t]{1,8})?chpasswd)/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "htpasswd",
    pattern:
      /(\bhtpasswd[ \t]{1,8}-\w{0,6}b\w{0,6}[ \t]{1,8}[^\s]{1,128}[ \t]{1,8}[^\s]{1,64}[ \t]{1,8}["']?)([^\s'"]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "pass:",
    pattern: /(\s-pass(?:in|out)?[ \t]{1,8}pass:)([^\s'"]{3,128})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "command-line",
    needs: "net use",
    pattern: /(\bnet use[^\n]{0,120}?\/user:\S{1,64}[ \t]{1,8})([^\s'"/]{3,128})/g,
    isSecret: isFilledIn,
  },
  // Files
  {
    kind: "credentials-file",
    needs: "login",
    pattern: /(\blogin[ \t\n]{1,4}[^\s]{1,128}[ \t\n]{1,8}password[ \t]{1,4})([^\s]{3,256})/g,
    isSecret: isFilledIn,
  },
  {
    kind: "credentials-file",
    needs: ":",
    pattern:
      /(?<=^|\n)((?:[a-z0-9.-]{1,80}|\*):(?:\d{3,5}|\*):(?!\d{1,9}:)[\w*-]{1,64}:[\w*.-]{1,64}:)([^\s:]{3,128})(?=\r?\n|$)/g,
    isSecret: isFilledIn,
  },
  {
    kind: "credentials-file",
    needs: ":$",
    pattern: /(?<=^|\n)([a-z_][\w-]{0,31}:)(\$(?:[1256y]|2[aby]|apr1|argon2id?)\$[\w./$=,+-]{12,200})/g,
    isSecret: always,
  },
  // Markup
  {
    kind: "element",
    needs: "</",
    pattern: new RegExp(`(<[\\w:.-]{0,40}?(?:${SECRET_NAME})>)([^<>\\s]{3,4096})(?=</)`, "gi"),
    isSecret: isFilledIn,
  },
  {
    kind: "named-value",
    pattern: new RegExp(
      `(\\b(?:name|key|id|variable)\\\\{0,3}["']?[ \\t]{0,4}[=:][ \\t]{0,4}\\\\{0,3}["']?(?:${NAME})\\\\{0,3}["']?[ \\t]{0,4},?\\s{0,24}\\\\{0,3}["']?value\\\\{0,3}["']?[ \\t]{0,4}[=:][ \\t]{0,4}\\\\{0,3}["']?)([^\\s"'<>\\\\,}]{3,4096})`,
      "gi",
    ),
    isSecret: isFilledIn,
  },
  // Prose
  {
    kind: "prose",
    pattern:
      /(\bpass(?:word|wd|phrase)[ \t]{1,3}["'`]?)([^\s"'`<>(){}[\]:;,|&\\/]{8,128})(?=["'`]?(?:[\s,;]|\.?$))/gi,
    isSecret: isDistinct,
  },
  {
    kind: "prose",
    pattern:
      /(\b(?:passw(?:or)?d|passphrase|passcode|pin|api[ -]?key|access[ -]?key|(?:secret|signing|private|my)[ -]?(?:access[ -]?)?key|secret|token|credentials?)(?:[ \t]{1,8}(?:for|of|on|to)[ \t]{1,8}[^\n:=]{1,48}?)?[ \t]{1,8}(?:is|was|will be|should be|are|set to|changed to|to)(?:[ \t]{1,8}(?:now|currently|still))?:?[ \t]{1,8}["'`*]{0,3})([^\s"'`<>]{4,256})/gi,
    isSecret: isSpoken,
  },
];

/** Secrets that show by their place: URL passwords, headers, cookies, command lines, credential files, markup, prose. */
export function* findPlaces(text: string): Generator<Finding> {
  for (const place of PLACES) {
    if (place.needs !== undefined && !text.includes(place.needs)) continue;
    for (const match of text.matchAll(place.pattern)) {
      const finding = findingOf(place, match);
      if (finding !== undefined) yield finding;
    }
  }
}

function findingOf({ kind, isSecret }: Place, match: RegExpExecArray): Finding | undefined {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:!?)\]*]+$/, "") : found;
  const start = match.index + before.length;
  if (value === "" || !isSecret(value, before)) return undefined;
  return { start, end: start + value.length, kind };
}

/** True for the value of a cookie header. */
export function isPair(value: string): boolean {
  return value.includes("=") && !value.includes("<REDACTED");
}

function isFilledIn(value: string): boolean {
  if (/^(?:\$|\{|<|%[A-Z]|\*+$|x+$|\.+$|\d{1,5}$|\[)|<REDACTED>/i.test(value)) return false;
  return !/^(?:pass|password|passwd|pwd|secret|token|your[-_].*|changeme|placeholder)$/i.test(value);
}

/** What is typed behind `-p`: a port or a path is no password. */
function isTyped(value: string): boolean {
  return isFilledIn(value) && !/^\d{1,5}(?::\d{1,5})?$|^[./~]/.test(value);
}

/** A word of a sentence is no secret: digits or signs must be in it, and letters. */
function isSpoken(value: string, before: string): boolean {
  if (!isFilledIn(value) || /[()]|^\w+\.\w+$|^https?:|^[/.~]/.test(value)) return false;
  if (!/\d/.test(value) && !/[!@#$%^&*+?~=]/.test(value.slice(0, -1))) return false;
  if (/^\d+$/.test(value)) return /pin|passcode/i.test(before) && value.length >= 4;
  if (/^\d/.test(value) && /^\d+[a-z]{0,8}$/i.test(value) && value.length < 8) return false;
  const named = /token|key|credential/i.test(before);
  if (named) return looksGenerated(value) || (value.length >= 10 && /[a-z]\d|\d[a-z]/i.test(value));
  return value.length >= 5 && isQuotedSecret(value, "password");
}

/** Behind a mere "password": letters, digits and either capitals or a sign, and no name in code. */
function isDistinct(value: string, before: string): boolean {
  if (
    !/[a-z]/.test(value) ||
    !/\d/.test(value) ||
    /^[a-z_]+\d+$|[.]\w+$|^\d+[a-z-]+$|^\$|^--?\w/i.test(value)
  )
    return false;
  return /[A-Z]|[!@#$%^&*+?~=-]/.test(value) && isSpoken(value, before);
}

function hasDigit(value: string): boolean {
  return /\d/.test(value);
}

function looksRandom(value: string): boolean {
  return value.length >= 32 || hasDigit(value) || /[a-z][A-Z].*[a-z][A-Z]|=$/.test(value);
}
