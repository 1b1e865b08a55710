import { DIALOGUES, findAnswers, isGivenWord } from "./answers.ts";
import type { Finding } from "./finding.ts";
import { hasSecretName, isSecretName, SECRET_NAME } from "./lexicon.ts";
import { createPlaceFinder, places } from "./place.ts";
import { SENTENCES } from "./sentences.ts";
import { isFilledIn, isGiven, isMixed } from "./values.ts";

// Secrets identified by their place: URLs, headers, command lines, statements, tables, markup.

const { raw } = String;
/** An argument of a command line. */
const WORD = raw`(?<=')[^'\n]{3,128}(?=')|(?<=")[^"\n]{3,128}(?=")|[^\s'"|;&<>-][^\s'"|;&<>]{2,128}`;
const QUOTE = raw`["']?`;
/** A command up to one of its options. */
const command = (names: string, option: string): string =>
  raw`\b(?:${names})\b(?:[^\n|;&\\]|\\[^]){0,200}?(?<=\s)(?:${option})${QUOTE}`;
const always = (): boolean => true;

const PLACES = [
  // A password equal to the user name is a public default.
  ...places(
    "url-password",
    (value, before) => isFilledIn(value) && !before.endsWith(`/${value}:`),
    raw`
    :\/\/[^\s:@/?#'"<>]{0,128}:~>[^\s/'"<>]{1,256}~>(?=@)~>://
    \b[\w.-]{1,64}:~>[^\s@:/'"\x60]{3,128}~>(?=@tcp\()~>@tcp(
    // URLs that lost the colon before their slashes
    \b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)\/\/[^\s:@/]{1,64}:~>[^\s@/'"<>]{3,128}~>(?=@)
    jdbc:oracle:\w{2,5}:[^/\s]{1,64}\/~>[^@\s]{1,128}~>(?=@)~>jdbc:oracle`,
  ),
  ...places(
    "url-password",
    (value) => /\d/.test(value),
    raw`
    // The key in a Sentry DSN is public: https://KEY@host/PROJECT
    :\/\/~>(?![\da-f]{32}@[\w.-]{1,100}\/\d{1,20}(?![\w/]))[\w-]{20,256}~>(?=@)~>://`,
  ),
  ...places(
    "connection-string",
    // In a template, braces enclose a variable.
    (value) => isFilledIn(value.slice(1, -1)) && !/^\{[\w.]+(?:![ars])?\}$/.test(value),
    raw`\b(?:password|pwd)=~>\{(?:[^{}\s]|\}\}){3,256}\}~>(?=[;"'\s]|$)~>={`,
  ),
  ...places(
    "url-parameter",
    isKey,
    raw`[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|auth|code|api_?key|hapikey|app_?id|pass|pw|sid)=~>[\w.~%+/=!*-]{6,2048}~>~>=`,
  ),
  ...places(
    "webhook",
    always,
    raw`https:\/\/(?:hooks\.slack\.com\/(?:services|workflows|triggers)\/|(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{10,24}\/|[\w.-]{1,60}\.webhook\.office\.com\/webhookb2\/|outlook\.office\.com\/webhook\/|hooks\.zapier\.com\/hooks\/catch\/|chat\.googleapis\.com\/v1\/spaces\/[\w-]{1,40}\/messages\?|hook\.\w{2,6}\.make\.com\/|[\w-]{1,40}\.infura\.io\/v3\/|[\w-]{1,40}\.g\.alchemy\.com\/v2\/|api\.telegram\.org\/bot)~>[^\s"'<>\x60)]{16,400}~>~>https://`,
  ),
  ...places(
    "header",
    areOfSession,
    raw`
    \bcookie["']?:[ \t]{0,8}~>[^\r\n'"]{1,4096}
    \s(?:-b|--cookie) ["']~>[^\r\n'"]{1,4096}~>~> -`,
  ),
  ...places("header", always, raw`\bDigest [^\n]{0,400}?\bresponse="~>[\da-f]{32,64}`),
  ...places(
    "command-line",
    isTyped,
    raw`
    ${command("mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump", "-p")}~>${WORD}
    ${command(raw`sshpass|docker login|podman login|helm registry login|az login|mongo|mongosh|mongodump|7za?|7zr|zip|unzip|rar|twine|sqlcmd|bcp|psexec(?:\.exe)?|altool|notarytool|useradd|usermod|ipmitool|security|mosquitto_\w{3}`, "-p[ =]?")}~>${WORD}
    ${command("redis-cli", "-a[ =]{1,2}")}~>${WORD}
    ${command(raw`snmp\w{3,8}`, "-[acx] (?!sha|md5|aes|des|public|private)")}~>${WORD}
    ${command("doctl|influx", "-t ")}~>${WORD}
    ${command("ssh-keygen", "-[NP] ")}~>${WORD}
    ${command(raw`ldap\w{3,10}`, "-w[ =]?")}~>${WORD}
    ${command("openssl", "-(?:k|K) |-pass(?:in|out)? pass:")}~>${WORD}
    ${command("smbclient|rpcclient|net|wmic|winexe", raw`(?:-U|--user)[ =]["']?[^\s%'"]{1,64}%`)}~>${WORD}
    ${command("net use|cmdkey|xfreerdp|runas", raw`\/p(?:ass)?:|\/user:\S{1,64} `)}~>${WORD}
    ${command("htpasswd", raw`-(?:\w{0,6}b\w{0,6} \S{1,128}|(?=\w{0,6}n)\w{0,6}b\w{0,6}) \S{1,64} `)}~>${WORD}
    \bnet use (?:[a-z*]:? )?\\\\\S{1,80} ~>${WORD}~>(?= \/user)`,
  ),
  ...places(
    "command-line",
    isGivenWord,
    raw`\b(?:net user \S{1,64}|rabbitmqctl \w{3,16}_(?:user|password) \S{1,64}|(?:openssl passwd|mkpasswd)(?: -\S{1,12}){0,3}|vault (?:login|operator unseal)|rclone obscure|mc alias set \S{1,64} \S{1,128} \S{1,128}) ["']?~>${WORD}`,
  ),
  ...places(
    "command-line",
    isFilledIn,
    raw`
    ${command("curl|etcdctl|https?|xh", "-u|-a|--user|--proxy-user")}[ =]{0,4}${QUOTE}[^\s:'"]{1,128}:~>[^\s'"<>]{1,256}~>~>:
    \b(?:echo|printf) (?:-n |['"]?%s(?:\\n)?['"]? )?["']?~>(?<=["'])[^'"|$\n]{3,256}|[^\s'"|$]{3,256}~>(?=["']?[ \t]{0,4}\|[^|\n]{0,160}(?:-stdin|sudo -S|--with-token|passphrase-fd|chpasswd|cryptsetup))~>|
    \b(?:(?:sqlplus|imp|exp|impdp|expdp) [\w.-]{1,40}\/|lftp (?:-\w )?[\w.-]{1,40},|(?:requirepass|masterauth) ["']?)~>[^\s'"]{3,128}?~>(?=@[\w/.:-]{1,80}|['"\s]|$)
    \b(?:send|sendline)[ \t(]{1,3}["']~>[^"'\s\\]{4,128}~>(?=\\[rn])`,
  ),
  // Networks and databases that take a password as their last argument
  ...places(
    "call",
    isFilledIn,
    raw`\b(?:WiFi\.begin\([^,\n]{1,64}|DBI->connect\([^,\n]{1,128},[^,\n]{1,64}),[ \t]{0,4}["']~>[^"'\s]{4,128}~>(?=["'])`,
  ),
  ...places(
    "call",
    isGivenWord,
    raw`
    // Calls that sign or verify with a secret
    \b(?:jwt[.](?:sign|verify|encode|decode)|createHmac|createCipheriv)\(\s{0,8}(?:\{[^{}\n]{0,200}\}|[^,\n]{1,120}),\s{0,8}b?["'\x60]|\b(?:AES[.]new|hmac[.]new|SecretKeySpec|Fernet|SecretBox|ChaCha20\w{0,10})\(\s{0,8}(?:key=)?(?:bytes[.]fromhex\()?b?["']~>[^"'\x60\s]{6,256}~>(?=["'\x60])
    \((?<=(?:auth|login|connect\w{0,8}|credentials?|ftp|smtp|imap|btoa)\()[^()\n]{0,80}?["'][\w.@-]{0,40}(?:["'],[ \t]{0,4}(?:Some\()?["']|:(?!\/\/))~>(?=[^"'\s]{0,256}[^a-z"'\s./-])[^"'\s]{6,256}~>(?=["'])~>(
    // User name and password arguments
    \b(?:ConvertTo-SecureString|HTTP\w{0,8}Auth|NetworkCredential|UsernamePassword\w{0,20}|PasswordAuthentication|getConnection|PDO|mysqli?_connect|mysqli|ToSecure\w{0,10}|auth[ \t]{0,2}=|http_basic_?auth|basic_?auth|(?:auth|login)(?<=[.:]\w{4,5})(?!\w))[ \t]{0,2}\(?\s{0,16}(?:[^"'\n;]{0,40}["'][^"'\n]{0,64}["'],\s{0,16}){0,2}[^"'\n;,]{0,12}["']~>[^"'\s]{6,256}~>(?=["'])`,
  ),
  ...places(
    "named-value",
    always,
    raw`
    // Blockchain accounts, by their private keys
    \b(?:accounts|private_?keys?)["']?\s{0,4}[:=]\s{0,4}\[\s{0,24}(?:["'](?:0x)?<REDACTED>["'],\s{0,24}){0,8}["']~>(?:0x)?[0-9a-f]{64}~>(?=["'])
    // Passwords that Google and Yahoo draw for one program: four groups of four letters.
    pass(?:word|wd)?["']?[ \t]{0,3}[:=][ \t]{0,3}["']~>[a-z]{4}(?:[\x20][a-z]{4}){3}~>(?=["'])
    app[ _-]?pass(?:word|wd)?[ \t]{0,3}[:=][ \t]{0,3}~>[a-z]{4}(?:[\x20][a-z]{4}){3}~>(?![\w ])
    (?:\b|_)pin(?:_?code)?["'\]]{0,2}[ \t]{0,4}[:=]{1,2}[ \t]{0,4}["']~>\d{4,8}~>(?=["'])`,
  ),
  ...places(
    "sql",
    (value, before) => isFilledIn(value) && (/["']$/.test(before) || isMixed(value)),
    raw`\bIDENTIFIED (?:WITH \w{1,40} )?BY ["']?~>[^'"\s;]{3,128}`,
  ),
  ...places(
    "sql",
    isFilledIn,
    raw`\b(?:PASSWORD N?|PASSWORD FOR [^\n=]{1,80}=[ \t]{0,4}(?:PASSWORD\()?|SECRET |PRAGMA (?:re)?key[ \t]{0,4}=[ \t]{0,4})'~>(?:[^'\n]|''){3,256}~>(?=')`,
  ),
  ...places(
    "credentials-file",
    isFilledIn,
    raw`(?:^|\n)(?:[a-z0-9.-]{1,80}|\*):(?:\d{3,5}|\*):(?!\d{1,9}:)[\w*-]{1,64}:[\w*.-]{1,64}:~>[^\s:]{3,128}~>(?=\r?\n|$)~>:`,
  ),
  ...places(
    "credentials-file",
    always,
    raw`
    (?:^|\n)[a-z_][\w-]{0,31}:~>\$(?:[1256y]|2[aby]|apr1|argon2id?)\$[\w./$=,+-]{12,200}~>~>:$
    // BitLocker recovery keys; storage keys listed by Azure
    ~>(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])~>~>-
    \bkey[12] (?:FULL|READ)[ \t]{1,16}~>[A-Za-z0-9+/]{40,88}={0,2}`,
  ),
  // Cookie files of curl and browsers
  ...places(
    "credentials-file",
    (value, before) => areOfSession(`${before.trim().split("\t").at(-1)}=${value}`),
    "\\t(?:TRUE|FALSE)\\t\\S{1,80}\\t(?:TRUE|FALSE)\\t\\d{1,12}\\t[\\w.-]{1,64}\\t~>\\S{8,4096}~>~>\t",
  ),
];

let finder: ReturnType<typeof createPlaceFinder> | undefined;

/** Secrets identified by their place, including sentences. */
export function findPlaces(text: string): Finding[] {
  finder ??= createPlaceFinder([...PLACES, ...DIALOGUES, ...SENTENCES]);
  const columns = hasSecretName(text) ? findColumns(text) : [];
  return [...finder(text), ...findAnswers(text), ...columns, ...findInserted(text)];
}

const NAMED_CELL = new RegExp(
  `(?:${SECRET_NAME})(?:_plain|_clear|_text)?["'\x60*]{0,3}(?:[ \\t]{0,40}(?=[,;\\t|│\\r\\n])|(?=  ))`,
  "gi",
);
const HEADING = /^[\w .-]{0,40}$/;
const RULE = /^[\s+|:─│┼-]{3,}$/;
const bare = (cell: string): string => cell.replace(/^[\s"'`*]+|[\s"'`*]+$/g, "");

/** Table and CSV cells below the name of a secret. */
function* findColumns(text: string): Generator<Finding> {
  if (text.search(NAMED_CELL) < 0) return;
  let done = 0;
  for (const { index } of text.matchAll(NAMED_CELL)) {
    if (index < done) continue;
    let end = endOfLine(text, index);
    const start = text.lastIndexOf("\n", index) + 1;
    const columns = columnsOf(
      text.slice(start, end),
      text.slice(text.lastIndexOf("\n", start - 2) + 1, start),
    );
    for (done = end; columns !== undefined && end < text.length; done = end) {
      const at = end + 1;
      end = endOfLine(text, at);
      const line = text.slice(at, end);
      const cells = line.split(columns.sign);
      if (cells.length === columns.names.length) yield* givenCells(line, cells, columns.names, at);
      else if (!RULE.test(line)) break;
    }
  }
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

/** The column names in the first row of a table. */
function columnsOf(line: string, above: string): { sign: string | RegExp; names: string[] } | undefined {
  if (line.length > 1000) return undefined;
  const sign = /[,;\t|│]/.exec(line)?.[0] ?? / {2,80}/;
  const names = line.split(sign).map(bare);
  if (sign !== "," && above.split(sign).length === names.length) return undefined;
  // A list in code ends its lines with a comma; indentation leaves the first name empty.
  const isList = (sign === "," || sign instanceof RegExp) && names.includes("");
  return names.length > 1 && !isList && names.every((name) => HEADING.test(name)) && names.some(isSecretName)
    ? { sign, names }
    : undefined;
}

function* givenCells(
  line: string,
  cells: readonly string[],
  names: readonly string[],
  at: number,
): Generator<Finding> {
  let from = 0;
  for (const [index, cell] of cells.entries()) {
    const name = names[index] ?? "";
    const value = bare(cell);
    const start = line.indexOf(cell, from) + cell.indexOf(value);
    if (isSecretName(name) && isGiven(value, name))
      yield { start: at + start, end: at + start + value.length, kind: "table" };
    from = line.indexOf(cell, from) + cell.length;
  }
}

const INSERTED =
  /\binsert\s{1,8}into[^(\n]{1,100}\(([^()]{1,400})\)\s{0,8}values\s{0,8}\(((?:[^()]|\([^()]{0,40}\)){1,4000})\)/dgi;

/** `INSERT INTO users (name, password) VALUES (…)`. */
function* findInserted(text: string): Generator<Finding> {
  if (text.search(INSERTED) < 0) return;
  for (const { 1: names = "", 2: values = "", indices } of text.matchAll(INSERTED))
    yield* givenCells(values, values.split(","), names.split(",").map(bare), indices?.[2]?.[0] ?? 0);
}

const OF_SESSION =
  /^[\w.%-]{0,64}?(?:sess|sid|auth|token|jwt|csrf|xsrf|login|remember|secret|key)[\w.%-]{0,64}=[^=\s]{3}/i;

/** True for the value of a cookie header. */
export function isPair(value: string): boolean {
  return /^[\w.%-]{1,128}=[^=\s]/.test(value) && !value.includes("<REDACTED");
}

/** True for cookies that include a session or a generated value, but not settings such as `theme=dark`. */
function areOfSession(value: string): boolean {
  const pairs = isPair(value) ? value.split(/;\s*/, 50) : [];
  return pairs.some((pair) => OF_SESSION.test(pair) || isGiven(pair.slice(pair.indexOf("=") + 1), ""));
}

function isKey(value: string): boolean {
  return isMixed(value) && !/^%/.test(value) && (value.length >= 16 || /[a-z]\d|\d[a-z]/i.test(value));
}

/** The argument of `-p`: a port or a path is not a password. */
function isTyped(value: string): boolean {
  return isFilledIn(value) && !/^\d{1,5}(?::\d{1,5})?$|^[./~]/.test(value);
}
