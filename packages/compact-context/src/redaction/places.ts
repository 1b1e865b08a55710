import { beginningsOf, createScan } from "./beginnings.ts";
import type { Finder, Finding } from "./finding.ts";
import { GIVES, isCounted, OPENED, SPOKEN } from "./named.ts";
import {
  isCode,
  isFilledIn,
  isGiven,
  isMixed,
  isPhrase,
  isShuffled,
  isSpoken,
  isStandIn,
  isToldApart,
  looksGenerated,
} from "./values.ts";

// Secrets identified by their place: URLs, headers, command lines, statements, markup, dialogues, keywords of
// network devices, and sentences other than those that `named.ts` finds after a word for a password.

const { raw } = String;
/** An argument of a command line. */
const WORD = raw`(?<=')[^'\n]{3,128}(?=')|(?<=")[^"\n]{3,128}(?=")|[^\s'"|;&<>-][^\s'"|;&<>]{2,128}`;
const QUOTE = raw`["']?`;
/** A command up to one of its options. */
const command = (names: string, option: string): string =>
  raw`\b(?:${names})\b(?:[^\n|;&\\]|\\[^]){0,200}?(?<=\s)(?:${option})${QUOTE}`;
const LETTER = raw`[\w\u00c0-\u024f\u0400-\u04ff'’]`;
const TOKENS = raw`\b(?:api[\x20\-]?key|access[\x20\-]?token|token|secret|jeton|clé|schlüssel|chiave|chave)(?<!\/\w{1,9})`;
/** A one-time code; groups of four digits are separated by one space or dash. */
const CODE = raw`(?:\d{3}[\x20\-]?\d{3}|\d{4}[\x20\-]\d{4}|\d{2}(?:-\d{2}){1,3}|\d{4,8}|[a-z\d]{4,6}(?:-[a-z\d]{4,6}){1,5})(?![\w\-])`;
const CODES = raw`${CODE}(?:,[ \t]?${CODE}){0,15}#?`;
/** An argument of a call. */
const ARGUMENT = raw`(?:"[^"\n]{0,128}"|'[^'\n]{0,128}'|[^"'(),;\n]{1,60})`;
const ACCOUNT = raw`(?:user(?:name)?|login|account)(?: is|:)? [^\s,\/]{2,64}`;

/** The name of a hash or an encoding. */
const METHOD = raw`(?:sha|md|argon|pbkdf|base|utf|aes|v)-?\d`;

/** A secret identified by the text around it. */
interface Place {
  readonly kind: string;
  /** Two capture groups: the text to keep, and the secret; every repetition is bounded. */
  readonly source: string;
  readonly isSecret: (value: string, before: string) => boolean;
  /** The words that start a match, unless anything can. */
  readonly beginnings: readonly string[] | undefined;
  /** Text that must occur, otherwise the pattern cannot match. */
  readonly needs: string;
}

type Judge = Place["isSecret"];
const isGivenWord: Judge = (value) => isGiven(value, "password");

/** Whether the value at a place is a secret, by the name in the table. */
const JUDGES: Readonly<Record<string, Judge>> = {
  always: () => true,
  isFilledIn,
  isMixed,
  isSpoken,
  isToldApart,
  areOfSession,
  isWordGiven,
  isPhrase,
  isGivenWord,
  isPairedWith,
  isSeed: (value) => value === value.toUpperCase() && !/(.)\1{3}/.test(value),
  isHook: (value) => !/(.)\1{5}|your|example|[${]/i.test(value),
  // A password equal to the user name is a public default.
  isNoUser: (value, before) => value.length > 2 && isFilledIn(value) && !before.endsWith(`/${value}:`),
  isKeyword: (value) => isGivenWord(value, "") || /^\d{6,}$/.test(value),
  hasDigit: (value) => /\d/.test(value),
  // In a template, braces enclose a variable.
  isBraced: (value) => isFilledIn(value.slice(1, -1)) && !/^\{[\w.]+(?:![ars])?\}$/.test(value),
  isKey: (value) =>
    isMixed(value) && !/^%/.test(value) && (value.length >= 16 || /[a-z]\d|\d[a-z]/i.test(value)),
  // The argument of `-p`: a port or a path is not a password.
  isTyped: (value) =>
    isFilledIn(value) && !/^\d{1,5}(?::\d{1,5})?$|^[./~]|^(?:option|flag|argument)s?[.,]?$/.test(value),
  isQuotedOrMixed: (value, before) => isFilledIn(value) && (/["']$/.test(before) || isMixed(value)),
  isCookie: (value, before) => areOfSession(`${before.trim().split("\t").at(-1)}=${value}`),
  isCommunity: (value) => isFilledIn(value) && !/^(?:public|private)$/i.test(value),
  // A key or token must look generated.
  isTold: (value, before) =>
    isSpoken(value) &&
    (!/token|key|credential/i.test(before) ||
      looksGenerated(value) ||
      (value.length >= 10 && /[a-z]\d|\d[a-z]/i.test(value))),
  // A token in a sentence: letters and digits that alternate
  isDrawn: (value) => !isStandIn(value, "") && (looksGenerated(value) || isShuffled(value, 8)),
  isCodes: (value) => /\d\S* .*\d|^\S*\d\S*$/.test(value),
  isMnemonic: (value) => [12, 15, 18, 21, 24].includes(value.split(/\s+/).length),
};

/**
 * A row has, separated by `~>`, the pattern of the text before the secret, of the secret, and of the text after
 * it, then the text that is required if the row does not start with literal words. Required text must be ASCII:
 * Bun turns other characters of a raw template into escapes, which only patterns interpret. Above the rows, after
 * `==`: their kind, and what decides whether a match is a secret. A space that does not open a character class
 * means one to eight blanks; every repetition is bounded.
 */
const TABLE = raw`
== url-password isNoUser
:\/\/[^\s:@/?#'"<>]{0,128}:~>[^\s/'"<>]{1,256}~>(?=@)~>://
\b[\w.-]{1,64}:~>[^\s@:/'"\x60]{3,128}~>(?=@tcp\()~>@tcp(
%3A%2F%2F[^\s%]{0,128}%3A~>(?:(?!%40|%2F)[^\s'"<>]){1,256}~>(?=%40)~>%3A%2F%2F
// URLs that lost the colon before their slashes
\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)\/\/[^\s:@/]{1,64}:~>[^\s@/'"<>]{3,128}~>(?=@)
jdbc:oracle:\w{2,5}:[^/\s]{1,64}\/~>[^@\s]{1,128}~>(?=@)~>jdbc:oracle
== url-password hasDigit
// The key in a Sentry DSN is public: https://KEY@host/PROJECT
:\/\/~>(?![\da-f]{32}@[\w.-]{1,100}\/\d{1,20}(?![\w/]))[\w-]{20,256}~>(?=@)~>://
== connection-string isBraced
\b(?:password|pwd)=~>\{(?:[^{}\s]|\}\}){3,256}\}~>(?=[;"'\s]|$)~>={
== url-parameter isKey
[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|auth|code|api_?key|hapikey|app_?id|pass|pw|sid)=~>[\w.~%+/=!*-]{6,2048}~>~>=
== webhook isHook
~>https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/[^\s"'<>\x60)]{16,400}~>~>https://hooks.slack.com/
https:\/\/(?:(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{10,24}\/|[\w.-]{1,60}\.webhook\.office\.com\/webhookb2\/|outlook\.office\.com\/webhook\/|hooks\.zapier\.com\/hooks\/catch\/|chat\.googleapis\.com\/v1\/spaces\/[\w-]{1,40}\/messages\?|hook\.\w{2,6}\.make\.com\/|[\w-]{1,40}\.infura\.io\/v3\/|[\w-]{1,40}\.g\.alchemy\.com\/v2\/|api\.telegram\.org\/bot)~>[^\s"'<>\x60)]{16,400}~>~>https://
== header areOfSession
\bcookie["']?:[ \t]{0,8}~>[^\r\n'"]{1,4096}
(?<=\s)(?:-b|--cookie) ["']~>[^\r\n'"]{1,4096}
== header isDrawn
// A cookie of a session, in code
cookies?\b[^\n]{0,80}?(?:sess(?:ion)?(?:[_-]?id)?|sid)["']?(?:, ?["']?value["']?)?[ \t]?(?:[=:,]|=>)[ \t]?["']?~>[\w%.+\/=-]{16,512}~>~>ookie
== header always
\bDigest [^\n]{0,400}?\bresponse="~>[\da-f]{32,64}
== command-line isTyped
${command("mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump", "-p")}~>${WORD}
${command(raw`sshpass|docker login|podman login|helm registry login|az login|mongo|mongosh|mongodump|7za?|7zr|zip|unzip|rar|twine|sqlcmd|bcp|psexec(?:\.exe)?|snowsql|altool|notarytool|useradd|usermod|ipmitool|security (?!find)\S{1,40}|mosquitto_\w{3}|yubico-piv-tool|rdesktop|nxc|netexec|crackmapexec|certutil`, "-p(?!ass)[ =]?")}~>${WORD}
${command("redis-cli", "-a[ =]{1,2}")}~>${WORD}
${command(raw`snmp\w{3,8}`, "-[acx] (?!sha|md5|aes|des|public|private)")}~>${WORD}
${command("doctl|influx", "-t ")}~>${WORD}
${command("ssh-keygen", "-[NP] ")}~>${WORD}
${command(raw`ldap\w{3,10}`, "-w[ =]?")}~>${WORD}
${command("openssl", "-(?:k|K) |-pass(?:in|out)? pass:")}~>${WORD}
${command("smbclient|rpcclient|net|wmic|winexe", raw`(?:-U|--user)[ =]["']?[^\s%'"]{1,64}%`)}~>${WORD}
${command(raw`net use|cmdkey|xfreerdp|runas|signtool(?:\.exe)?|schtasks`, raw`\/r?p(?:ass)?[\x20:]|\/user:\S{1,64} `)}~>${WORD}
${command("htpasswd", raw`-(?:\w{0,6}b\w{0,6}(?: -\w{1,6}){0,3} \S{1,128}|(?=\w{0,6}n)\w{0,6}b\w{0,6}) \S{1,64} `)}~>${WORD}
\bnet use (?:[a-z*]:? )?\\\\\S{1,80} ~>${WORD}~>(?= \/user)
== command-line always
(?<=\s)--(?:[a-z]{2,8}-)?pin(?:=| )~>\d{4,8}~>(?![\w.])~>-pin
\boathtool (?:-\S{1,20} ){0,4}["']?~>[A-Z2-7]{16,128}
== command-line isGivenWord
\b(?:net user \S{1,64}|rabbitmqctl \w{3,16}_(?:user|password) \S{1,64}|(?:openssl passwd|mkpasswd)(?: -\S{1,12}){0,3}|vault (?:login|operator unseal)|rclone obscure|mc alias set \S{1,64} \S{1,128} \S{1,128}) ["']?~>${WORD}
== command-line isFilledIn
${command("curl|etcdctl|https?|xh", "-u|-a|--user|--proxy-user")}[ =]{0,4}${QUOTE}[^\s:'"]{1,128}:~>(?!\/\/)[^\s'"<>]{1,256}~>~>:
\b(?:echo|printf) (?:-n |['"]?%s(?:\\n)?['"]? )?["']?(?:[\w.-]{1,32}:(?=[^|\n]{3,256}\|[^|\n]{0,40}chpasswd))?~>(?<=["'])[^'"|$\n]{3,256}|[^\s'"|$]{3,256}~>(?=["']?[ \t]{0,4}\|[^|\n]{0,160}(?:-stdin|sudo -S|--with-token|passphrase-fd|chpasswd|cryptsetup|kinit))~>|
\b(?:(?:sqlplus|imp|exp|impdp|expdp) (?!v\d+[.])[\w.-]{1,40}\/|lftp (?:-\w )?[\w.-]{1,40},|(?:requirepass|masterauth) ["']?)~>[^\s'"]{3,128}?~>(?=@[\w/.:-]{1,80}|['"\s]|$)
\b(?:send|sendline)[ \t(]{1,3}["']~>[^"'\s\\]{4,128}~>(?=\\[rn])
== call isFilledIn
// Networks and databases that take a password as their last argument
\b(?:WiFi\.begin\([^,\n]{1,64}|DBI->connect\([^,\n]{1,128},[^,\n]{1,64}),[ \t]{0,4}["']~>[^"'\s]{4,128}~>(?=["'])
== call isGivenWord
// Calls that sign or verify with a secret
\b(?:jwt[.](?:sign|verify|encode|decode)|createHmac|createCipheriv)\(\s{0,8}(?:\{[^{}\n]{0,200}\}|[^,\n]{1,120}),\s{0,8}b?["'\x60]|\b(?:AES[.]new|hmac[.]new|SecretKeySpec|Fernet|SecretBox|ChaCha20\w{0,10})\(\s{0,8}(?:key=)?(?:bytes[.]fromhex\()?b?["']~>[^"'\x60\s]{6,256}~>(?=["'\x60])
(?:auth|login|connect\w{0,8}|credentials?|ftp|smtp|imap|btoa)\([^()\n]{0,80}?["'][\w.@-]{0,40}(?:["'],[ \t]{0,4}(?:Some\()?["']|(?<!jdbc):(?!\/\/))~>(?=[^"'\s]{0,256}[^a-z"'\s./-])[^"'\s]{6,256}~>(?=["'])
// Clients and credentials: the password is behind the host, the port or the user
\b(?:HTTP\w{0,8}Auth|NetworkCredential|UsernamePassword\w{0,20}|PasswordAuthentication|auth[ \t]{0,2}=|http_basic_?auth|(?:Set)?basic_?auth|(?:SFTP|SCP|FTP|SSH|SMTP|Search|Minio[.])Client(?:[.]create)?|algoliasearch|radius_add_server|(?:auth|login)(?<=[.:]\w{4,5})(?!\w))[ \t]{0,2}\(\s{0,16}(?:${ARGUMENT},\s{0,16}){1,3}b?["']~>(?=[^"'\s]{0,256}[\dA-F!#$%^&*+=?~])[^"'\s]{6,256}~>(?=["'])
== call isMixed
\bAC[\da-f]{32}(?:["'],\s{0,16}["']|:)~>[\da-f]{32}~>(?!\w)
\b(?:ConvertTo-SecureString|ToSecure\w{0,10}) ?\(?["']~>[^"'\s]{6,256}~>(?=["'])
\b(?:PDO(?:->__construct)?|mysqli|mysqli?_connect|(?:pymysql|MySQLdb)[.]connect|Sequelize|getConnection)\(\s{0,16}(?:${ARGUMENT},\s{0,16}){2}["']~>[^"'\s]{6,256}~>(?=["'])
== named-value always
// Blockchain accounts, by their private keys
\b(?:accounts|private_?keys?)["']?\s{0,4}[:=]\s{0,4}\[\s{0,24}(?:["'](?:0x)?<REDACTED>["'],\s{0,24}){0,8}["']~>(?:0x)?[0-9a-f]{64}~>(?=["'])
// Passwords that Google and Yahoo draw for one program: four groups of four letters.
pass(?:word|wd)?["']?[ \t]{0,3}[:=][ \t]{0,3}["']~>[a-z]{4}(?:[\x20][a-z]{4}){3}~>(?=["'])
[.]login\(["'][^"'\n]{1,64}["'], ?["']~>[a-z]{4}(?:[\x20][a-z]{4}){3}~>(?=["'])~>.login(
app[ _-]?pass(?:word|wd)?[ \t]{0,3}[:=][ \t]{0,3}~>[a-z]{4}(?:[\x20][a-z]{4}){3}~>(?![\x20]?\w)
(?:\b|_)pin(?:_?code)?["'\]]{0,2}[ \t]{0,4}[:=]{1,2}[ \t]{0,4}["']~>\d{4,8}~>(?=["'])
== sql isQuotedOrMixed
\bIDENTIFIED (?:WITH \w{1,40} )?BY ["']?~>[^'"\s;]{3,128}
== sql isFilledIn
\b(?:PASSWORD N?|PASSWORD FOR [^\n=]{1,80}=[ \t]{0,4}(?:PASSWORD\()?|(?<=[(,]\s{0,256}|\b(?:user|role|secret) \S{1,64} |[*]\/\s|'\s)SECRET |PRAGMA (?:re)?key[ \t]{0,4}=[ \t]{0,4})'~>(?:[^'\n]|''){3,256}~>(?=')
== credentials-file isFilledIn
:(?=[\d*]{1,5}:)(?<=(?:^|[\n"'])(?:[a-z0-9.-]{1,80}|\*):)(?:\d{3,5}|\*):(?!\d{1,9}:)[\w*-]{1,64}:[\w*.-]{1,64}:~>(?:[^\s:\\"']|\\.){3,128}~>(?=["']|\r?\n|$| (?:<-|#|>))
== credentials-file always
// BitLocker recovery keys; storage keys listed by Azure
~>(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])~>~>-
\bA[KS]IA[A-Z\d]{16}["']?(?: |[ \t]?[:,|][ \t]?)["']?~>[A-Za-z\d/+]{40}~>(?![\w/+])
\bkey[12] (?:FULL|READ)[ \t]{1,16}~>[A-Za-z0-9+/]{40,88}={0,2}
// The key of a gossip protocol, 16 or 32 bytes: Consul, Nomad, Serf
(?:-encrypt[=\x20]|\bencrypt["']?[ \t]{0,4}[=:])[ \t]{0,4}["']?~>[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{22}==~>(?![\w+/=])
== credentials-file isCookie
// Cookie files of curl and browsers
\t(?:TRUE|FALSE)\t\S{1,80}\t(?:TRUE|FALSE)\t\d{1,12}\t[\w.-]{1,64}\t~>\S{8,4096}
== device isKeyword
// Routers and switches: a keyword, optionally the encryption type number, then the secret.
\b(?:enable (?:secret|password)|username \S{1,64} (?:privilege \d{1,2} )?(?:secret|password)|insecure-password|(?:ip nhrp|standby \d{1,3}|vrrp \d{1,3}) authentication(?: text| md5 key-string)?|message-digest-key \d{1,3} md5|(?:tacacs|radius)-server (?:host \S{1,64} )?(?:[a-z-]{4,12} \d{1,5} ){0,4}key|radius key|(?:radius|tacplus)-server \S{1,64} secret|(?:tacacs|radius) server \S{1,64}\r?\n(?: [^\n]{1,120}\n){0,4}? key|neighbor \S{1,64} password|ppp (?:chap|pap) (?:password|sent-username \S{1,64} password)|isakmp key|key-string|pre-shared-key(?: ascii-text)?|authentication-key|(?:plain-text|encrypted)-password(?:-value)?|ntp authentication-key \d{1,5} md5|key(?= [0567] \S)|set-key ascii|password(?= 7 [\dA-F]{6}))(?: \d{1,2})? ["']?~>[^\s"';]{6,128}
\b(?:auth (?:md5|sha)|priv (?:aes|des)(?: \d{3})?) ~>[^\s"']{6,128}
== device isCommunity
\bsnmp(?:-server)? community "?~>[^\s"]{4,64}~>(?="?[ \t]{0,8}(?:\r?\n|$| r[ow]\b| view\b| authorization\b))
== device isFilledIn
[ \t]:[ \t]{1,4}(?:PSK|EAP|XAUTH) "~>[^"\n]{4,128}~>(?=")~> :
// Wireless networks and disks, whose passphrases can contain spaces
\bWIFI:(?:[TSHEAI]:(?:[^;\\\n]|\\.){0,64};){0,5}P:~>(?:[^;\\\n]|\\.){4,64}~>(?=;)
\b(?:nmcli\b[^\n]{1,120}? (?:password|\S{0,20}psk)|wpa_passphrase (?:"[^"\n]{1,32}"|'[^'\n]{1,32}'|\S{1,32})|iwconfig \S{1,16} key) (?:s:)?["']?~>(?<=["'])[^"'\n$]{4,64}(?=["'])|[^\s"'$]{6,64}
(?:^|\n)[ \t]{1,8}option key '~>(?!\.{0,2}\/|[a-z]+:\/|[A-Za-z][A-Za-z_.-]*')[^'\n]{8,63}~>(?='[ \t]{0,8}(?:\r?\n|$))~>option
<(?:keyMaterial|passphrase|psk)>~>[^<>\n]{8,64}~>(?=</)~></
(?:--with-token|--stdin|\blogin|\bcryptsetup|\bgpg|\bsudo|secret|passw)\b[^\n]{0,120}?<<< ["']?~>(?<=["'])[^"'\n$]{4,128}(?=["'])|[^\s"'$<>]{4,128}~>~><<<
// Passwords of daemons, installers and keystores
\brootpw (?:--plaintext )?~>[^\s-]\S{3,128}
\bnickserv[ :]{1,3}(?:identify|register) (?:[\w-]{1,32} (?=\S))?~>\S{4,128}
<auth-user-pass>\r?\n[^\n]{1,64}\n~>[^\s<]\S{2,128}~>~><auth-user-pass>
(?:^|\n)"?[\w@.\\-]{1,64}"? (?:\*|[\w.-]{1,32}) "?~>[^\s"]{4,128}(?="? \*)~>~>ap-secrets
list: \|\s{1,12}(?:[\w.-]{1,32}:<REDACTED>\s{1,12}){0,8}[\w.-]{1,32}:~>[^\s:]{3,128}~>~>chpasswd:
[.](?:load|store|getKey|init)\([^"\n;]{0,80}"~>[^"\n]{4,128}(?="[.]toC)~>~>.toCharArray
// Servers that prompt for a password
\bUGFzc3dvcmQ6[^\n]{0,40}\n[^\n]{0,40}?(?<![\w+/<])~>(?:[A-Za-z0-9+/]{4}){1,64}(?:[\w+/]{2}==|[\w+/]{3}=)?~>(?![\w+/=]|\()
\buser \S{1,64}\r?\n(?:[^\n]{0,120}\n){0,2}?(?:[->:\w\x20]{0,6} )?pass ~>\S{3,128}~>(?=[ \t]{0,8}(?:\r?\n|$))~>PASS
"(?:requirepass|masterauth)"\r?\n[ \t]{0,4}2\) "~>[^"\n]{3,256}~>(?=")~>2)
// Values generated by Terraform, in a plan or a state file
\brandom_password\b[^}]{0,400}?\bresult"?\s{0,16}[=:]\s{0,4}"~>[^"\n]{4,256}~>(?=")
"result": "~>[^"\n]{8,256}~>(?=",\s{1,24}"special")~>"special"
== dialogue isGivenWord
(?:^|\n|[>"] ?)auth (?:[\w-]{1,40} )?~>[^\s"'\\:]{6,128}~>(?=[ \t]{0,8}(?:\\r|\r?\n|$))~>AUTH
(?:^|\n)(?:[cs]: )?[a-z]{0,3}\d{1,4} login \S{1,64} "?~>[^"\s]{6,128}~>~>LOGIN
== dialogue isMixed
\bauth (?:plain|login|xoauth2|external) ~>[A-Za-z0-9+/]{10,4096}={0,2}
== prose isTold
\b(?:api[\x20\-]?key|access[\x20\-]?key|(?:secret|signing|private|my)[\x20\-]?(?:access[\x20\-]?)?key|secret|token|credentials?)(?: (?:for|of|on|to) [^\n:=]{1,48}?)? (?:is|was|will be|should be|are|set to|changed to|to)(?: (?:now|currently|still))?:? ${OPENED}~>${SPOKEN}{4,256}
== prose isDrawn
${TOKENS}(?!${LETTER}|[\-.])[^\n:=]{0,48}?(?: [\-–—=]|[:：]|,? (?:(?:c['’])?est|ist|es|é|è)) ["'\x60«]?~>[\w.~+\/=\-]{8,512}~>(?=["'\x60»]?(?:[\s,;.]|$))
== prose isCodes
// A PIN, one-time codes, the key of a second factor
\b(?:pin(?:\d|[\x20\-]?(?:code|number|nummer))?|puk\d?|passcode|sms-?tan|(?:bestätigungs|anmelde|sicherheits|zugangs|einmal|kenn|entsperr)code)(?:[ \t]{1,3}${LETTER}{1,16}){0,6}?[ \t]{0,3}(?:${GIVES})(?: (?:die|the|la|le|el))?[ \t]{0,3}${OPENED}~>\d{4,8}~>(?![\w-]|[.]\d)
\bpuk ~>\d{8}~>(?![\w-]|[.]\d)
\b(?:unlock|device|screen|sim|card) pin ~>\d{4,8}~>(?![\w-]|[.]\d)
(?:暗証番号|[認確]証?認?コード|验证码|인증 ?(?:번호|코드)|c(?:ode|[oó]digo) de (?:v[eé]rif|s[eé][cg]ur|valid|conf|conn|acc?[eè]s)${LETTER}{1,12}|код (?:подтв|доступа)${LETTER}{0,12})[^\d\n]{0,24}?(?: es| est| é|[:：は是\[])[ \t]?~>\d{4,8}~>(?![\w-]|[.]\d)
~>(?<![\w.])\d{4,8}~>(?= is your [^\n.]{0,32}?\b(?:(?:verification|security|login|sign-in|access) code|otp|passcode)\b)~> is your
\b(?:(?:one[\x20\-]time|login|sign-?in|confirmation|authentication|access|verification|recovery|backup|security|2fa|mfa|sms)[\x20\-](?:code|password)|(?:safe|door|alarm|gate|entry|your|our|use|enter|the)[\x20\-]code|code (?:for|to|of) the (?:\w{1,12} ){0,2}(?:safe|door|alarm|gate|lock|garage)|otp)s?\b[^\n:]{0,32}?(?: is|:|\? it['’]s|(?<=(?:safe|door|gate|alarm|your|our|use|enter)[\x20-]code)) ["'\x60]?~>${CODES}
== prose isSeed
\b(?:key\b[^\n:]{0,24}:|(?:manual|setup|secret) key) ~>[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}(?![\w-])
== prose isSpoken
// A user and a password
\b(?:cred(?:ential|encia(?:is|l(?:es)?))?s?|log[ \-]?ins?|logged in|sign(?:ed)? in|zugang(?:sdaten)?|identifiants?|acc[eè]so?|router|account)(?: (?:with|as|using|for|of|to|mit|con|avec)){0,2}(?: [^\n:=]{1,32}?[:→])?(?:[ \t]{0,2}(?:[:=]|is|are|ist|sind|sont|son|são)?[ \t]{1,3}|(?: \w{1,12}){0,3}\?\s{1,4}(?:> |\w{1,16}: )?)[\x60\*]{0,2}[\w.@\-]{1,64}[\x60\*]{0,2}[ \t]{0,2}[\/:][ \t]{0,2}["'\x60]?~>${SPOKEN}{6,128}
\b(?:shared|common|read-only|team)(?: (?:one|login|user|account|creds))?\b[^\n:]{0,32}: ["'\x60]?[\w.@\-]{1,64} ?[\/:] ?["'\x60]?~>${SPOKEN}{6,128}
== prose isPairedWith
(?:(?<!${LETTER})(?:with|use|using|as|mit|als|avec|con|com|под|用) |[:：][ \t]?)["'\x60]?[\w.@\-]{2,64}["'\x60]? \/ ["'\x60]?~>${SPOKEN}{8,128}~>~> / 
\b(?:typing|typed|entering|entered|tried) ["'\x60]?~>${SPOKEN}{8,128}
== prose isWordGiven
\b(?:(?:log|sign)(?:ged|ed)?[ \-]?in(?:to)?\b[^\n]{0,40}? as [^\s,]{2,64},?(?: with| and| using)?|${ACCOUNT}(?: and| with| \/|,))(?: the)? (?:password|pass|pw)(?:['’]s| is|:)?(?: just)? ["'\x60]?~>[^\s"'\x60,;]{4,128}~>(?=["'\x60]?(?:[\s,;]|$))
== prose isToldApart
\b(?:admin|administrator|root|postgres)(?<!\/\/\w{4,13})[\x60]?[ \t]{0,2}[\/:][ \t]{0,2}[\x60]?~>${SPOKEN}{6,128}~>(?=[\x60]?(?:[\s,;.]|$))
\b(?:wifi|wlan|ssid)\b[^\n]{0,60}?[\s,](?:key|code|pass|schlüssel|clé|clave)(?: is| ist|:)? ["'“]?~>${SPOKEN}{8,63}~>(?=["'”]?(?:[\s,;.]|$))
== prose isMixed
\b(?:use|using) ["'\x60]?~>(?!${METHOD})${SPOKEN}{4,128}~>(?=["'\x60]? as (?:the|my|your|our) (?:\w{1,12} )?password(?: for\b|[.,;!]|\s{0,4}(?:\n|$)))~> as 
\bpassword(?: (?:was|is|has been))? changed from ["'\x60]?(?!${METHOD})\S{3,128} to ["'\x60]?~>(?!${METHOD})${SPOKEN}{4,128}~>~>hanged from 
== prose isMnemonic
// The recovery words of a wallet
(?<![a-z])(?:mnemonic|wallet|seed|(?:seed|recovery|backup)[\x20_\-]?(?:phrase|words?))[^\n:=]{0,80}[:=]\s{0,3}["'\x60]?~>[a-z]{3,8}(?:[\x20\t]{1,3}[a-z]{3,8}){11,23}~>(?=["'\x60.,;)]{0,3}(?:\s{0,4}\n|\s{0,4}$|["'\x60])|[.;]\s)
(?<![a-z])(?:mnemonic|(?:seed|recovery|backup)[\x20_\-]?(?:phrase|words?))[^\n:=.]{0,40}? (?:is|are|ist|lautet) ["'\x60]?~>[a-z]{3,8}(?:[\x20\t]{1,3}[a-z]{3,8}){11,23}~>(?=["'\x60.,;)]{0,3}(?:\s{0,4}\n|\s{0,4}$|["'\x60])|[.;]\s)
== prose isPhrase
// A passphrase of several words
\bpassphrase(?: (?:for|of|to|on) (?:[^\n:.]|[.](?!\s)){1,48}?)?(?: is|:) ~>[a-z]{2,16}(?: [a-z]{2,16}){2,7}~>(?=\.?[ \t]{0,4}(?:\n|$))
\bpassphrase(?: (?:for|of|to|on) [^\n:'"“]{1,48}?)?(?: is|:|, it['’]s)? ["'“„«\x60]~>[^"'”“»\x60\n]{6,96}~>(?=["'”“»\x60])
`;

function readTable(): Place[] {
  let kind = "";
  let isSecret = isGivenWord;
  return TABLE.split("\n").flatMap((row) => {
    const [, nextKind, judge = ""] = /^== (\S+) (\w+)$/.exec(row) ?? [];
    if (nextKind !== undefined) [kind, isSecret] = [nextKind, JUDGES[judge] as Judge];
    if (nextKind !== undefined || row === "" || row.startsWith("// ")) return [];
    const [before = "", value = "", behind = "", needs = ""] = row.split("~>");
    const withBlanks = (pattern: string): string => pattern.replace(/(?<!\[) /g, "[ \\t]{1,8}");
    const source = withBlanks(`(${before})(${value})${behind}`);
    return { kind, isSecret, needs, source, beginnings: beginningsOf(withBlanks(before || value)) };
  });
}

/** Finds the secrets of all places; a pattern is compiled when a text first contains one of its beginnings. */
function createPlaceFinder(table: readonly Place[]): Finder {
  const scan = createScan(table.map(({ beginnings }) => beginnings));
  const patterns: RegExp[] = [];
  const free = [...table.keys()].filter((index) => table[index]?.beginnings === undefined);
  return (text) => {
    const found: Finding[] = [];
    /** By pattern: where its next match can start. */
    const from: number[] = [];
    const tryAt = (index: number, at: number): boolean => {
      const place = table[index] as Place;
      from[index] ??= text.includes(place.needs) ? 0 : Number.POSITIVE_INFINITY;
      if (at < (from[index] as number)) return false;
      patterns[index] ??= new RegExp(place.source, place.beginnings === undefined ? "gi" : "iy");
      const pattern = patterns[index];
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match === null) return false;
      from[index] = pattern.lastIndex;
      found.push(...findingOf(place, match));
      return true;
    };
    scan(text, tryAt);
    for (const index of free) while (tryAt(index, from[index] ?? 0));
    return found;
  };
}

/** The secret of a match, without sentence-ending punctuation. */
function findingOf({ kind, isSecret }: Place, match: RegExpExecArray): Finding[] {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:)\]*]+$/, "") : found;
  const start = match.index + before.length;
  const finding = { start, end: start + value.length, kind };
  return value === "" || !isSecret(value, before) || (value.length > 4 && isCounted(match.input, finding))
    ? []
    : [finding];
}

let finder: Finder | undefined;

/** Secrets identified by their place, including sentences. */
export function findPlaces(text: string): Iterable<Finding> {
  finder ??= createPlaceFinder(readTable());
  return finder(text);
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

/** After a user name and "with the password" any word is a password, unless the text describes passwords. */
function isWordGiven(value: string, before: string): boolean {
  return (
    isFilledIn(value) &&
    !before.includes(value) &&
    !isCode(value) &&
    !/[()[\]{}<>=]|^(?:str(?:ing)?|text|bytes|any|object|null|none|true|false|undefined)\b/i.test(value) &&
    !/^(?:auth\w*|prompt|field|method|manager|grant|flow|hash\w*|form|policy|reset\w*|only|below|above|from|and|or|that|which|you|we|is|was|login|protect\w*|based|option|for|in|on|of|to|set|stored|the|not|wrong|correct|incorrect|required|empty|invalid|missing)\b/i.test(
      value,
    )
  );
}

/** A password beside a user in a sentence: more than a name with a number, such as `Python3` or `feature-2`. */
function isPairedWith(value: string, before: string): boolean {
  if (/[A-Z][\w.@-]*["'\x60]? \/ /.test(before) || !isToldApart(value)) return false;
  if (/[!#$%^&*+=?~]|[a-z]{3}\d{2,4}[a-z]{3}|\d.*[a-z].*\d/i.test(value)) return true;
  return !/^[:：][^@]*$/.test(before) && /[A-Z].*(?:[-_]|[.][A-Z]).*\d/.test(value);
}
