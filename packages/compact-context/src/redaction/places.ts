import {
  type Finding,
  hasSecretName,
  isFilledIn,
  isGiven,
  isMixed,
  isQuotedSecret,
  isSecretName,
  looksGenerated,
  SECRET_NAME,
} from "./finding.ts";
import { createWordGate, type WordGate } from "./words.ts";

/** Where a secret stands because of what is around it. */
interface Place {
  readonly kind: string;
  /** Two groups: what stays, and the secret; every repetition bounded. */
  readonly source: string;
  readonly isSecret: (value: string, before: string) => boolean;
  /** Text without which the pattern has nothing to find. */
  readonly needs: string;
  /** The name of a secret must be in the text. */
  readonly named: boolean;
}

type Judge = Place["isSecret"];

/** `before`, `value` and `behind` are sources of patterns; a space that does not open a class means one to eight blanks. */
function place(kind: string, isSecret: Judge, parts: readonly [string, string, string?], needs = ""): Place {
  const [before = "", value, behind = ""] = parts.map((part) => part?.replace(/(?<!\[) /g, "[ \\t]{1,8}"));
  const named = parts.some((part) => part?.includes(SECRET_NAME));
  return { kind, isSecret, needs, named, source: `(${before})(${value})${behind}` };
}

const { raw } = String;
const NAME = `[\\w.-]{0,40}?(?:${SECRET_NAME})`;
/** A word of a command line. */
const WORD = raw`[^\s'"|;&<>-][^\s'"|;&<>]{2,128}`;
const QUOTE = raw`["']?`;
/** Up to the option of a command. */
const command = (names: string, option: string): string =>
  raw`\b(?:${names})\b(?:[^\n|;&\\]|\\[^]){0,200}?(?<=\s)(?:${option})${QUOTE}`;

const ADDRESSES: readonly Place[] = [
  place(
    "url-password",
    isFilledIn,
    [raw`:\/\/[^\s:@/?#'"<>]{0,128}:`, raw`[^\s/'"<>]{1,256}`, "(?=@)"],
    "://",
  ),
  place("url-password", (value) => /\d/.test(value), [raw`:\/\/`, raw`[\w-]{20,256}`, "(?=@)"], "://"),
  place(
    "url-password",
    isFilledIn,
    [raw`\b[\w.-]{1,64}:`, raw`[^\s@:/'"\x60]{3,128}`, raw`(?=@tcp\()`],
    "@tcp(",
  ),
  // The colon before the slashes was lost.
  place(
    "url-password",
    isFilledIn,
    [
      raw`\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)\/\/[^\s:@/]{1,64}:`,
      raw`[^\s@/'"<>]{3,128}`,
      "(?=@)",
    ],
    "//",
  ),
  place(
    "connection-string",
    isFilledIn,
    [raw`\b(?:password|pwd)=\{`, raw`(?:[^{}\s]|\}\}){3,256}`, raw`(?=\}(?:[;"'\s]|$))`],
    "={",
  ),
  place(
    "url-password",
    isFilledIn,
    [raw`jdbc:oracle:\w{2,5}:[^/\s]{1,64}\/`, raw`[^@\s]{1,128}`, "(?=@)"],
    "jdbc:oracle",
  ),
  place("url-parameter", isKey, [
    "[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|auth|code|api_?key|hapikey|pass|pw|sid)=",
    raw`[\w.~%+/=!*-]{6,2048}`,
  ]),
  place(
    "webhook",
    () => true,
    [
      raw`https:\/\/(?:hooks\.slack\.com\/(?:services|workflows|triggers)\/|(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{10,24}\/|[\w.-]{1,60}\.webhook\.office\.com\/webhookb2\/|outlook\.office\.com\/webhook\/|hooks\.zapier\.com\/hooks\/catch\/|chat\.googleapis\.com\/v1\/spaces\/[\w-]{1,40}\/messages\?|hook\.\w{2,6}\.make\.com\/|api\.telegram\.org\/bot)`,
      raw`[^\s"'<>\x60)]{16,400}`,
    ],
    "https://",
  ),
  place("header", looksRandom, [raw`\b(?:bearer|basic) `, raw`[A-Za-z0-9._~+/=-]{12,8192}`]),
  place("header", isPair, [raw`\bcookie["']?:[ \t]{0,8}`, raw`[^\r\n'"]{1,4096}`]),
];

const COMMANDS: readonly Place[] = [
  place(
    "command-line",
    isFilledIn,
    [
      raw`${command("curl", "-u|--user|--proxy-user")}[ =]{0,4}${QUOTE}[^\s:'"]{1,128}:`,
      raw`[^\s'"<>]{1,256}`,
    ],
    "curl",
  ),
  ...[
    [
      "mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump|sshpass|docker login|podman login|helm registry login|az login|mongo|mongosh|mongodump|7za?|7zr|zip|unzip|rar|twine|sqlcmd|bcp|psexec(?:\\.exe)?|useradd|usermod",
      "-p[ =]?",
    ],
    ["redis-cli", "-a[ =]{1,2}"],
    [raw`ldap\w{3,10}`, "-w[ =]?"],
    ["openssl", "-(?:k|K) |-pass(?:in|out)? pass:"],
    ["smbclient|rpcclient|net|wmic|winexe", raw`(?:-U|--user)[ =]["']?[^\s%'"]{1,64}%`],
    ["net use|cmdkey|xfreerdp|runas", raw`\/p(?:ass)?:|\/user:\S{1,64} `],
    ["htpasswd", raw`-(?:\w{0,6}b\w{0,6} \S{1,128}|(?=\w{0,6}n)\w{0,6}b\w{0,6}) \S{1,64} `],
  ].map(([names = "", option = ""]) => place("command-line", isTyped, [command(names, option), WORD])),
  place("command-line", isGivenWord, [
    raw`\b(?:net user \S{1,64}|vault (?:login|operator unseal)|rclone obscure|mc alias set \S{1,64} \S{1,128} \S{1,128}) ["']?`,
    WORD,
  ]),
  place(
    "command-line",
    isGivenWord,
    [raw`\b(?:--with-token|login|--stdin)\b[^\n]{0,40}?<<< ["']?`, WORD],
    "<<<",
  ),
  place(
    "command-line",
    isFilledIn,
    [
      raw`\becho ["']?[\w.-]{1,32}:`,
      raw`[^\s'"|]{3,128}`,
      raw`(?=["']?[ \t]{0,8}\|[ \t]{0,8}(?:sudo )?chpasswd)`,
    ],
    "chpasswd",
  ),
  place("command-line", isFilledIn, [
    raw`(?:^|\n)[ \t]{0,16}(?:\$ )?(?:\w{1,20} ){0,2}?(?:ENV|ARG|setenv|setx|set -[A-Za-z]{1,4}|env add|[\w-]{1,20} (?:config|configure) set|git config(?: --\w{1,10})?) [\w./:@-]{0,60}?(?:${SECRET_NAME}) ["']?`,
    raw`[^\s'"=-][^\s'"]{2,512}`,
  ]),
  place(
    "command-line",
    isFilledIn,
    [
      raw`\b(?:echo|printf) (?:-n |['"]?%s(?:\\n)?['"]? )?["']?`,
      raw`[^\s'"|$]{3,256}`,
      raw`(?=["']?[ \t]{0,4}\|[^|\n]{0,160}(?:-stdin|sudo -S|--with-token|passphrase-fd|chpasswd))`,
    ],
    "|",
  ),
  place("command-line", isFilledIn, [
    raw`\b(?:(?:sqlplus|imp|exp|impdp|expdp) [\w.-]{1,40}\/|lftp (?:-\w )?[\w.-]{1,40},|requirepass ["']?)`,
    raw`[^\s'"]{3,128}?`,
    raw`(?=@[\w/.:-]{1,80}|['"\s]|$)`,
  ]),
  place(
    "command-line",
    isFilledIn,
    [raw`\bsend(?:line)?[ \t(]{1,3}["']`, raw`[^"'\s]{4,128}?`, raw`(?=\\[rn])`],
    "send",
  ),
  place(
    "call",
    isFilledIn,
    [raw`\bdefine\(\s{0,4}["'](?:${NAME})["'],\s{0,8}["']`, raw`[^"'\n]{3,256}`, raw`(?=["']\s{0,4}\))`],
    "define",
  ),
  place("call", () => true, [
    raw`(?:\b(?:AKIA|ASIA)[A-Z2-7]{16}|<REDACTED>)["'],[ \t]{0,4}["']`,
    raw`[A-Za-z0-9/+]{40}`,
    `(?=["'])`,
  ]),
  place(
    "command-output",
    isFilledIn,
    [raw`"(?:requirepass|masterauth)"\r?\n[ \t]{0,4}2\) "`, raw`[^"\n]{3,256}`, '(?=")'],
    "2)",
  ),
  // What signs or checks with a secret
  place("call", isGivenWord, [
    raw`\b(?:jwt[.](?:sign|verify|encode|decode)|createHmac)\(\s{0,8}[^,\n]{1,120},\s{0,8}b?["'\x60]`,
    raw`[^"'\x60\s]{6,256}`,
    raw`(?=["'\x60])`,
  ]),
  // The default of a placeholder: ${jwt.secret:…}, ${TOKEN:-…}
  place(
    "named-value",
    isFilledIn,
    [raw`\$\{${NAME}:-?`, raw`[^\s"'{}?$-][^\s"'{}]{3,256}`, raw`(?=\})`],
    "${",
  ),
  // A user and a password in a call
  ...[
    raw`\b(?:ConvertTo-SecureString|HTTP\w{0,8}Auth|NetworkCredential|UsernamePassword\w{0,20}|PasswordAuthentication|getConnection|mysqli?_connect|ToSecure\w{0,10}|auth[ \t]{0,2}=)`,
    raw`(?:basic_?auth|[.](?:auth|login))`,
  ].map((callee) =>
    place("call", isGivenWord, [
      raw`${callee}[ \t]{0,2}\(?(?:[^"'\n;]{0,40}["'][^"'\n]{0,64}["'],[ \t]{0,4}){0,2}[^"'\n;,]{0,12}["']`,
      raw`[^"'\s]{6,256}`,
      `(?=["'])`,
    ]),
  ),
];

const STATEMENTS: readonly Place[] = [
  place("sql", isFilledIn, [raw`\bIDENTIFIED (?:WITH \w{1,40} )?BY ["']?`, raw`[^'"\s;]{3,128}`], "BY"),
  place("sql", isFilledIn, [
    raw`\b(?:PASSWORD N?|PASSWORD FOR [^\n=]{1,80}=[ \t]{0,4}(?:PASSWORD\()?|SECRET |PRAGMA (?:re)?key[ \t]{0,4}=[ \t]{0,4})'`,
    raw`[^'\n]{3,256}`,
    "(?=')",
  ]),
  place(
    "sql",
    isFilledIn,
    [
      raw`\bset \w{1,40}[ \t]{0,4}=[ \t]{0,4}'`,
      raw`[^'\n]{3,256}`,
      raw`(?=' where \w{1,40}[ \t]{0,4}=[ \t]{0,4}'${NAME}')`,
    ],
    "'",
  ),
  place("table", isGiven, [
    raw`(?:^|\n|[|│])[ \t]{0,40}[*\x60]{0,3}${NAME}[*\x60]{0,3}(?:[ \t]{0,40}[|│][ \t]{0,8}|[ \t]{2,40}|\t|[ \t]?[.·…]{3,60}:?[ \t]|:[ \t][.·…]{3,60}[ \t])[*\x60"]{0,3}`,
    raw`[^\s|│*\x60"]{6,512}`,
    raw`(?=[*\x60"]{0,3}[ \t]{0,40}(?:[|│]|\r?\n|$))`,
  ]),
  place(
    "credentials-file",
    isFilledIn,
    [raw`\blogin[ \t\n]{1,4}\S{1,128}[ \t\n]{1,8}password[ \t]{1,4}`, raw`\S{3,256}`],
    "login",
  ),
  place(
    "credentials-file",
    isFilledIn,
    [
      raw`(?:^|\n)(?:[a-z0-9.-]{1,80}|\*):(?:\d{3,5}|\*):(?!\d{1,9}:)[\w*-]{1,64}:[\w*.-]{1,64}:`,
      raw`[^\s:]{3,128}`,
      raw`(?=\r?\n|$)`,
    ],
    ":",
  ),
  place(
    "credentials-file",
    () => true,
    [raw`(?:^|\n)[a-z_][\w-]{0,31}:`, raw`\$(?:[1256y]|2[aby]|apr1|argon2id?)\$[\w./$=,+-]{12,200}`],
    ":$",
  ),
  place(
    "element",
    isFilledIn,
    [
      raw`(?:<[\w:.-]{0,40}?(?:${SECRET_NAME})(?:\s[^<>\n]{0,160})?>|>[ \t]{0,8}${NAME}[ \t]{0,4}:?</[\w:]{1,24}>\s{0,40}<[\w:]{1,24}(?:\s[^<>\n]{0,80})?>|=["'][\w:.-]{0,60}?(?:${SECRET_NAME})["'][^<>\n]{0,60}>)\s{0,40}(?:<(?:value|string)>\s{0,40})?(?:<!\[CDATA\[)?`,
      raw`[^<>\s\]]{3,4096}`,
      raw`(?=\s{0,40}(?:\]\]>)?\s{0,40}</)`,
    ],
    "</",
  ),
  // Jenkins keeps what it encrypted in braces.
  place(
    "element",
    (value) => value.length >= 20,
    [
      raw`<[\w:.-]{0,40}?(?:${SECRET_NAME})(?:\s[^<>\n]{0,160})?>\s{0,40}`,
      raw`\{[A-Za-z0-9+/=][\w+/=.~\x20-]{10,4096}\}`,
      raw`(?=\s{0,40}</)`,
    ],
    "}</",
  ),
  place(
    "named-value",
    isGiven,
    [
      raw`\breturn\s{1,4}["'\x60](?<=(?:${NAME})\w{0,20}\([^()\n]{0,80}\)[^"'\n{}]{0,40}\{\s{0,20}return\s{1,4}["'\x60])`,
      raw`[^\s"'\x60]{6,512}`,
    ],
    "return",
  ),
  place("named-value", isFilledIn, [
    raw`(?:name|key|id|variable|type)\\{0,3}["']?[ \t]{0,4}[=:][ \t]{0,4}\\{0,3}["']?(?:${NAME})\\{0,3}["']?[ \t]{0,4},?\s{0,24}\\{0,3}["']?\w{0,12}(?:value|content)\\{0,3}["']?[ \t]{0,4}[=:][ \t]{0,4}\\{0,3}["']?`,
    raw`[^\s"'<>\\,}]{3,4096}`,
  ]),
  place("named-value", isFilledIn, [
    raw`(?:value|content)["']?[ \t]{0,4}[=:][ \t]{0,4}@?["']`,
    raw`[^\s"'<>\\]{3,4096}`,
    raw`(?=["'],?\s{1,8}["']?\w{0,20}(?:name|key|id|variable|type|field)["']?[ \t]{0,4}[=:][ \t]{0,4}@?["']${NAME}["'])`,
  ]),
];

/** What a password is called in twenty languages. */
const PASSWORDS = new RegExp(
  [
    "pass(?:word|wd|phrase|code|wort)s?|pwd?|kennwort|mots? de passe|contraseñas?|clave|senha|parola(?: d['’]ordine)?",
    "wachtwoord|has[łl]o|парол[а-я]{0,2}|lösenord(?:et)?|adgangskode|passord(?:et)?|salasana|heslo|jelszó|şifre[a-zı]{0,3}",
    "密码|密碼|口令|パスワード|비밀번호|암호|كلمة المرور|סיסמה|पासवर्ड|mật khẩu|kata sandi",
  ].join("|"),
  "gi",
);
const IN_WORD = /[\p{L}\p{N}_-]/u;
const GIVES =
  "[:：→]|->|=>|—|–|(?<= )=(?= )|(?<= )(?:is|was|be|to|as|ist|war|lautet|jetzt|est|c['’]est|es|era|é|è|är|er|on|это)(?=[\\s:])|是|为|為|は|が|는|은|를";
const OPENING = "[\"'\x60*«»“„「『]{0,3}[ \\t]?";
/** Letters of alphabets and printable ASCII but quotes and angles: what follows in a script without blanks is not part of it. */
const SPOKEN = "[!#-&(-;=?-_a-~\\u00c0-\\u024f\\u0400-\\u04ff]";

/** Up to six words and what gives a value, or nothing but a blank; then the value. */
const SAID = new RegExp(
  `((?:[ \\t]{1,3}[\\p{L}'’.-]{1,16}){0,6}?[ \\t]{0,3}(?:${GIVES})[:：]?(?:[ \\t](?:now|still|jetzt))?[ \\t]{0,4}${OPENING})(${SPOKEN}{4,256})`,
  "iuy",
);
const BEHIND = new RegExp(`([ \\t]{1,3}${OPENING})(${SPOKEN}{6,128})(?=["'\x60]?(?:[\\s,;]|\\.?$))`, "iuy");

/** Passwords in sentences of twenty languages: `the password for the server is …`, `Mein Passwort lautet …`. */
function* findSpoken(text: string): Generator<Finding> {
  if (text.search(PASSWORDS) < 0) return;
  for (const { 0: word, index } of text.matchAll(PASSWORDS)) {
    // Scripts without blanks put a word behind the other.
    if (word < "\u3000" && IN_WORD.test(text.charAt(index - 1))) continue;
    for (const [pattern, isSecret] of [
      [SAID, isPassword],
      [BEHIND, isDistinct],
    ] as const) {
      pattern.lastIndex = index + word.length;
      const match = pattern.exec(text);
      const finding = match === null ? undefined : findingOf({ kind: "prose", isSecret }, match);
      if (finding !== undefined) yield finding;
    }
  }
}

const PROSE: readonly Place[] = [
  place("prose", isSpoken, [
    raw`\b(?:passcode|pin|api[\x20\-]?key|access[\x20\-]?key|(?:secret|signing|private|my)[\x20\-]?(?:access[\x20\-]?)?key|secret|token|credentials?)(?: (?:for|of|on|to) [^\n:=]{1,48}?)? (?:is|was|will be|should be|are|set to|changed to|to)(?: (?:now|currently|still))?:? ${OPENING}`,
    `${SPOKEN}{4,256}`,
  ]),
  place("prose", isPassword, [
    raw`\b(?:cred(?:ential)?s?|logins?|zugangsdaten|identifiants|(?:log(?:ged)?|sign(?:ed)?) in (?:with|as))[ \t]{0,2}(?:[:=]|is|are)?[ \t]{1,3}[\w.@\-]{1,64}[ \t]{0,2}[\/:][ \t]{0,2}["'\x60]?`,
    `${SPOKEN}{6,128}`,
  ]),
  place(
    "prose",
    isSpoken,
    [raw`\b(?:(?:re)?set|changed) to ${OPENING}`, `${SPOKEN}{6,128}`, raw`(?=[^\n]{0,24}\bpassw)`],
    " to ",
  ),
  place(
    "prose",
    (value) => isQuotedSecret(value, "password"),
    [
      raw`\bpassw(?:or)?d(?: (?:for|of|on|to) [^\n:=]{1,48}?)? (?:is|was) ["'\x60]`,
      raw`[^\s"'\x60]{3,128}`,
      raw`(?=["'\x60])`,
    ],
    "passw",
  ),
  place("prose", isPassword, [
    raw`\buse [\w.@\-]{1,64} ?[\/:] ?["'\x60]?`,
    `${SPOKEN}{6,128}?`,
    raw`(?=["'\x60]? (?:to|for) (?:log|sign))`,
  ]),
  place(
    "prose",
    (value) => isFilledIn(value) && /\d|[!@#$%^&*+?~=]|^[A-Z]/.test(value),
    [
      raw`\b(?:log|sign)(?:ged|ed)?[ \-]?in\b[^\n]{0,48}? (?:with|and|using) (?:the )?password ["'\x60]?`,
      raw`[^\s"'\x60,;]{5,128}`,
      raw`(?=["'\x60]?(?:[\s,;]|$))`,
    ],
    "password",
  ),
  // Installers print what they drew for the first login on a line of its own.
  place(
    "prose",
    looksGenerated,
    [raw`\bpassword [^\n:]{0,60}:\s{2,8}`, raw`[\w-]{16,64}`, raw`(?=\s|$)`],
    "password",
  ),
  place("prose", looksGenerated, [raw`\bkey (?:is|was|=):? ${OPENING}`, raw`[\w.~+\/=\-]{20,512}`], "key "),
  place("prose", looksGenerated, [
    raw`\b(?:token|api[\x20\-]?key|secret|key)[ \t]{1,3}["'\x60]?`,
    raw`[\w.~+\/=\-]{24,512}`,
    raw`(?=["'\x60]?(?:[\s,;.\)]|$))`,
  ]),
];

const PLACES: readonly Place[] = [...ADDRESSES, ...COMMANDS, ...STATEMENTS, ...PROSE];

const patterns: RegExp[] = [];
let gate: WordGate | undefined;

/** Of a place; compiled when it is first searched for. */
function patternOf(index: number, { source }: Place): RegExp {
  const pattern = patterns[index] ?? new RegExp(source, "gi");
  patterns[index] = pattern;
  return pattern;
}

/** Secrets that show by their place: addresses, headers, command lines, statements, tables, markup, prose. */
export function findPlaces(text: string): Finding[] {
  gate ??= createWordGate(PLACES.map(({ source }) => source.slice(1)));
  const open = gate.open(text);
  const hasName = hasSecretName(text);
  const findings: Finding[] = [];
  for (let index = 0; index < PLACES.length; index += 1) {
    const searched = PLACES[index] as Place;
    if (open[index] === 0 || (searched.named && !hasName) || !text.includes(searched.needs)) continue;
    const pattern = patternOf(index, searched);
    // Most texts have none, and going through the matches begins with a copy of the pattern.
    if (text.search(pattern) < 0) continue;
    for (const match of text.matchAll(pattern)) {
      const finding = findingOf(searched, match);
      if (finding !== undefined) findings.push(finding);
    }
  }
  findings.push(...findSpoken(text), ...(hasName ? findColumns(text) : []), ...findInserted(text));
  return findings;
}

function findingOf(
  { kind, isSecret }: Pick<Place, "kind" | "isSecret">,
  match: RegExpExecArray,
): Finding | undefined {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:!?)\]*]+$/, "") : found;
  const start = match.index + before.length;
  if (value === "" || !isSecret(value, before)) return undefined;
  return { start, end: start + value.length, kind };
}

const NAMED_CELL = new RegExp(`(?:${SECRET_NAME})["'\x60*]{0,3}[ \\t]{0,40}(?=[,;\\t|│\\r\\n])`, "gi");
const PARTED = /[,;\t|│]/;
const HEADING = /^[\w .:-]{0,40}$/;
const RULE = /^[\s+|:─│┼-]{3,}$/;
const bare = (cell: string): string => cell.replace(/^[\s"'`*]+|[\s"'`*]+$/g, "");

/** The cells below the name of a secret, in tables and CSV. */
function* findColumns(text: string): Generator<Finding> {
  if (text.search(NAMED_CELL) < 0) return;
  let done = 0;
  for (const { index } of text.matchAll(NAMED_CELL)) {
    if (index < done) continue;
    let end = endOfLine(text, index);
    const columns = columnsOf(text.slice(text.lastIndexOf("\n", index) + 1, end));
    for (done = end; columns !== undefined && end < text.length; done = end) {
      const at = end + 1;
      end = endOfLine(text, at);
      const line = text.slice(at, end);
      const cells = line.split(columns.sign);
      if (cells.length === columns.names.length) yield* givenCells(cells, columns.names, at);
      else if (!RULE.test(line)) break;
    }
  }
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

function columnsOf(line: string): { sign: string; names: string[] } | undefined {
  const sign = line.length > 1000 ? undefined : PARTED.exec(line)?.[0];
  if (sign === undefined) return undefined;
  const names = line.split(sign).map(bare);
  return names.every((name) => HEADING.test(name)) && names.some(isSecretName) ? { sign, names } : undefined;
}

function* givenCells(cells: readonly string[], names: readonly string[], at: number): Generator<Finding> {
  let start = at;
  for (const [index, cell] of cells.entries()) {
    const name = names[index] ?? "";
    const value = bare(cell);
    const from = start + cell.indexOf(value);
    if (isSecretName(name) && isGiven(value, name))
      yield { start: from, end: from + value.length, kind: "table" };
    start += cell.length + 1;
  }
}

const INSERTED =
  /\binsert\s{1,8}into[^(\n]{1,100}\(([^()]{1,400})\)\s{0,8}values\s{0,8}\(([^()]{1,4000})\)/dgi;

/** `INSERT INTO users (name, password) VALUES (…)`. */
function* findInserted(text: string): Generator<Finding> {
  if (text.search(INSERTED) < 0) return;
  for (const { 1: names = "", 2: values = "", indices } of text.matchAll(INSERTED))
    yield* givenCells(values.split(","), names.split(",").map(bare), indices?.[2]?.[0] ?? 0);
}

/** True for the value of a cookie header. */
export function isPair(value: string): boolean {
  return /^[\w.%-]{1,128}=[^=\s]/.test(value) && !value.includes("<REDACTED");
}

function isKey(value: string): boolean {
  return isMixed(value) && !/^%/.test(value) && (value.length >= 16 || /[a-z]\d|\d[a-z]/i.test(value));
}

/** What is typed behind `-p`: a port or a path is no password. */
function isTyped(value: string): boolean {
  return isFilledIn(value) && !/^\d{1,5}(?::\d{1,5})?$|^[./~]/.test(value);
}

function isGivenWord(value: string): boolean {
  return isGiven(value, "password");
}

/** A word of a sentence is no secret: digits or signs must be in it, and letters. */
function isSpoken(value: string, before: string): boolean {
  if (/^\d+$/.test(value)) return /pin|passcode/i.test(before) && value.length >= 4;
  if (!isFilledIn(value) || /[()]|^\w+\.\w+$|^https?:|^[/.~]/.test(value)) return false;
  if (!/\d/.test(value) && !/[!@#$%^&*+?~=]/.test(value.slice(0, -1)) && !isMixed(value)) return false;
  if (/^\d/.test(value) && /^\d+[a-z]{0,8}$/i.test(value) && value.length < 8) return false;
  if (/token|key|credential/i.test(before))
    return looksGenerated(value) || (value.length >= 10 && /[a-z]\d|\d[a-z]/i.test(value));
  return value.length >= 5 && isQuotedSecret(value, "password");
}

/** What a sentence calls a password, whatever it is for. */
function isPassword(value: string): boolean {
  return isSpoken(value, "");
}

/** Behind a mere "password": letters and digits, and no name in code. */
function isDistinct(value: string): boolean {
  if (/^[a-z_]+\d$|[.]\w+$|^\d+[a-z-]+$|^\$|^--?\w|[(){}[\]:;,|&\\/]/i.test(value) || !isMixed(value))
    return false;
  return isPassword(value);
}

function looksRandom(value: string): boolean {
  return value.length >= 32 || /\d/.test(value) || /[a-z][A-Z].*[a-z][A-Z]|=$/.test(value);
}

interface PersonalFact {
  readonly kind: string;
  readonly pattern: RegExp;
  readonly isReal: (text: string) => boolean;
}

const digitsOf = (text: string): string => text.replace(/\D/g, "");

/** Facts about people; every repetition is bounded. */
const PERSONAL: readonly PersonalFact[] = [
  {
    kind: "email",
    pattern: /(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}\b/g,
    isReal: (text) => !/^git@|@\d+x\./.test(text),
  },
  {
    kind: "card",
    pattern: /(?<![\w.-])[2-6]\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w-])/g,
    isReal: (text) => isCardNumber(digitsOf(text)),
  },
  {
    kind: "iban",
    pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8}\b/g,
    isReal: (text) => isIban(text.replace(/ /g, "")),
  },
  {
    kind: "phone",
    pattern: /(?<![\w.+/-])\+[1-9]\d{0,2}(?:[ .-]?\(?\d{1,4}\)?){2,6}(?![\w-])/g,
    isReal: (text) => digitsOf(text).length >= 8 && digitsOf(text).length <= 15,
  },
  {
    kind: "phone",
    pattern:
      /(?<![\w.+/-])(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[.-])[2-9]\d{2}[ .-]\d{4}(?![\w.-]\d|\w)/g,
    isReal: () => true,
  },
  {
    kind: "phone",
    pattern: /(?<![\w.+/-]|\d )0\d{2,4}[ /-]\d{3,4}[ -]?\d{3,4}(?! ?[\w-])/g,
    isReal: (text) => digitsOf(text).length >= 9 && digitsOf(text).length <= 12,
  },
  {
    kind: "us-social-security",
    pattern: /(?<![\w.-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
    isReal: () => true,
  },
];

/** E-mail addresses, telephone numbers, payment cards (Luhn), bank accounts (IBAN, mod 97), US social security numbers. */
export function* findPersonal(text: string): Generator<Finding> {
  if (!/\d|@/.test(text)) return;
  for (const { kind, pattern, isReal } of PERSONAL) {
    for (const { 0: match, index } of text.matchAll(pattern)) {
      if (isReal(match)) yield { start: index, end: index + match.length, kind };
    }
  }
}

/** Luhn's checksum over 13 to 19 digits that do not all look the same. */
function isCardNumber(digits: string): boolean {
  if (digits.length < 13 || digits.length > 19 || new Set(digits).size < 2) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** ISO 13616: the number with its first four characters at the end is 1 modulo 97. */
function isIban(account: string): boolean {
  if (account.length < 15 || account.length > 34) return false;
  let rest = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
