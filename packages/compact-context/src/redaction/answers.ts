import type { Finding } from "./finding.ts";
import { hasSecretName, SECRET_NAME } from "./lexicon.ts";
import { type Place, places } from "./place.ts";
import { isFilledIn, isGiven, isMixed } from "./values.ts";

// Secrets identified by the preceding line of a dialogue (a command, a label), by a server's prompt, or by a
// keyword of a network device.

const { raw } = String;
export const isGivenWord = (value: string): boolean => isGiven(value, "password");

export const DIALOGUES: readonly Place[] = [
  // Routers and switches: a keyword, optionally the encryption type number, then the secret.
  ...places(
    "device",
    isGivenWord,
    raw`
    \b(?:enable (?:secret|password)|username \S{1,64} (?:privilege \d{1,2} )?(?:secret|password)|insecure-password|(?:ip nhrp|standby \d{1,3}|vrrp \d{1,3}) authentication(?: text| md5 key-string)?|message-digest-key \d{1,3} md5|(?:tacacs|radius)-server (?:host \S{1,64} )?key|neighbor \S{1,64} password|ppp (?:chap|pap) (?:password|sent-username \S{1,64} password)|isakmp key|key-string|pre-shared-key(?: ascii-text)?|authentication-key|(?:plain-text|encrypted)-password(?:-value)?|ntp authentication-key \d{1,5} md5|key(?= [0567] \S)|set-key ascii|password(?= 7 [\dA-F]{6}))(?: \d{1,2})? ["']?~>[^\s"';]{6,128}
    \b(?:auth (?:md5|sha)|priv (?:aes|des)(?: \d{3})?) ~>[^\s"']{6,128}`,
  ),
  ...places(
    "device",
    (value) => isFilledIn(value) && !/^(?:public|private)$/i.test(value),
    raw`\bsnmp(?:-server)? community "?~>[^\s"]{4,64}~>(?="?[ \t]{0,8}(?:\r?\n|$| r[ow]\b| view\b| authorization\b))`,
  ),
  ...places(
    "device",
    isFilledIn,
    raw`
    [ \t]:[ \t]{1,4}(?:PSK|EAP|XAUTH) "~>[^"\n]{4,128}~>(?=")~> : 
    // Wireless networks and disks, whose passphrases have blanks
    \bWIFI:(?:[TSHEAI]:(?:[^;\\\n]|\\.){0,64};){0,5}P:~>(?:[^;\\\n]|\\.){4,64}~>(?=;)
    \b(?:nmcli\b[^\n]{1,120}? (?:password|\S{0,20}psk)|wpa_passphrase (?:"[^"\n]{1,32}"|'[^'\n]{1,32}'|\S{1,32})|iwconfig \S{1,16} key) (?:s:)?["']?~>(?<=["'])[^"'\n$]{4,64}(?=["'])|[^\s"'$]{6,64}
    <(?:keyMaterial|passphrase|psk)>~>[^<>\n]{8,64}~>(?=</)~></
    (?:--with-token|--stdin|\blogin|\bcryptsetup|\bgpg|\bsudo|secret|passw)\b[^\n]{0,120}?<<< ["']?~>(?<=["'])[^"'\n$]{4,128}(?=["'])|[^\s"'$<>]{4,128}~>~><<<
    // The passwords of daemons, installers and stores of keys
    \brootpw (?:--plaintext )?~>[^\s-]\S{3,128}
    \bnickserv[ :]{1,3}(?:identify|register) (?:[\w-]{1,32} (?=\S))?~>\S{4,128}
    <auth-user-pass>\r?\n[^\n]{1,64}\n~>[^\s<]\S{2,128}~>~><auth-user-pass>
    (?:^|\n)"?[\w@.\\-]{1,64}"? (?:\*|[\w.-]{1,32}) "?~>[^\s"]{4,128}(?="? \*)~>~>ap-secrets
    list: \|\s{1,12}(?:[\w.-]{1,32}:<REDACTED>\s{1,12}){0,8}[\w.-]{1,32}:~>[^\s:]{3,128}~>~>chpasswd:
    [.](?:load|store|getKey|init)\([^"\n;]{0,80}"~>[^"\n]{4,128}(?="[.]toC)~>~>.toCharArray
    // Servers that ask for a password
    \bUGFzc3dvcmQ6[^\n]{0,40}\n[^\n]{0,40}?(?<![\w+/<])~>(?:[A-Za-z0-9+/]{4}){1,64}(?:[\w+/]{2}==|[\w+/]{3}=)?~>(?![\w+/=]|\()
    \buser \S{1,64}\r?\n(?:[^\n]{0,120}\n){0,2}?(?:[->:\w\x20]{0,6} )?pass ~>\S{3,128}~>(?=[ \t]{0,8}(?:\r?\n|$))~>PASS 
    "(?:requirepass|masterauth)"\r?\n[ \t]{0,4}2\) "~>[^"\n]{3,256}~>(?=")~>2)
    // What Terraform drew, in a plan and in a state
    \brandom_password\b[^}]{0,400}?\bresult"?\s{0,16}[=:]\s{0,4}"~>[^"\n]{4,256}~>(?=")`,
  ),
  ...places(
    "dialogue",
    isGivenWord,
    raw`
    (?:^|\n|[>"] ?)auth (?:[\w-]{1,40} )?~>[^\s"'\\:]{6,128}~>(?=[ \t]{0,8}(?:\\r|\r?\n|$))~>AUTH
    (?:^|\n)(?:[cs]: )?[a-z]{0,3}\d{1,4} login \S{1,64} "?~>[^"\s]{6,128}~>~>LOGIN `,
  ),
  ...places("dialogue", isMixed, raw`\bauth (?:plain|login|xoauth2|external) ~>[A-Za-z0-9+/]{10,4096}={0,2}`),
];

/** A command after a shell or interpreter prompt. */
const COMMAND = /^[^\n$#%>]{0,60}(?:[$#%]|>>>|PS [^\n>]{0,60}>)[ \t]{1,4}(?=\S)/;
/** Commands that generate a secret or read one from a secret store. */
const GIVES =
  /openssl rand|\b(?:pwgen|apg|makepasswd|xkcdpass|diceware)\b|\/dev\/u?random|token_(?:urlsafe|hex|bytes)\(|generate_?key\(|randomBytes\(|\bwg gen(?:key|psk)|--gen-random|\bpass show|\bop read|\bgopass\b|\bvault (?:kv get|read)|get-secret-value|secrets versions access|keyvault secret show|-generic-password|secret-tool lookup|get secrets? [^\n]{0,80}-o|\bbw get|--with-decryption|auth:token|print-(?:access|identity)-token|auth token|create-token/i;
/** The name of a secret that the command does not itself assign. */
const NAMES = new RegExp(`(?:${SECRET_NAME})s?(?![\\w=-])`, "i");
/** Commands whose output about a file or variable is not a secret. */
const HANDLES =
  /[$#%>][ \t]{1,4}(?:sudo )?(?:ls|ll|find|git|wc|stat|du|which|type|\w{2,7}sum|grep|rg|cd|vim?|nano|rm|cp|mv|mkdir|touch|chmod|chown|npm|pip|docker (?:ps|images))\b/;
const CODES = /\b(?:recovery|backup|scratch|rescue|one-time|2fa|mfa)[ -]codes\b/i;

const ALONE = /^[ \t]{0,40}(?:b?["'])?([^\s"']{6,2048})["']?\s{0,8}$/;
const CODE =
  /^[ \t>]{0,16}(?:\d{1,2}[.):][ \t]{1,3}|[-*•][ \t])?([a-z\d]{4,10}(?:[- ][a-z\d]{4,10}){0,4})\s{0,8}$/i;

/** What the next lines can contain after a matching line; the value is the pattern's capture group. */
interface Expected {
  readonly answer: RegExp;
  readonly isSecret: (value: string) => boolean;
  /** True: every line is a value, up to the first that is not. False: only the first matching line is. */
  readonly isList: boolean;
  /** Maximum number of non-blank lines to check. */
  readonly lines: number;
}

const ANSWER: Expected = { answer: ALONE, isSecret: isAnswer, isList: false, lines: 3 };
const LABELLED: Expected = { ...ANSWER, lines: 1 };
const NOTHING: Expected = { ...ANSWER, lines: 0 };
const LISTED: Expected = { answer: CODE, isSecret: (value) => /\d/.test(value), isList: true, lines: 24 };

/** A value alone on its line, after the command that prints it or the label that names it. */
export function* findAnswers(text: string): Generator<Finding> {
  if (!mayAsk(text)) return;
  let expected = NOTHING;
  let left = 0;
  let start = 0;
  for (const line of text.split("\n")) {
    const behind = line.length > 400 ? undefined : expectedBehind(line);
    if (behind !== undefined) {
      expected = behind;
      left = behind.lines;
    } else if (left > 0 && line.trim() !== "") {
      const value = answerIn(line, expected);
      const at = start + line.indexOf(value);
      if (value !== "") yield { start: at, end: at + value.length, kind: "command-output" };
      left = (value !== "") === expected.isList ? left - 1 : 0;
    }
    start += line.length + 1;
  }
}

function mayAsk(text: string): boolean {
  if (!text.includes("\n")) return false;
  return (
    hasSecretName(text) ||
    (/(?:\$|>>>) /.test(text) && GIVES.test(text)) ||
    (/codes/i.test(text) && CODES.test(text))
  );
}

/** The expected value in the line; empty if there is none. */
function answerIn(line: string, { answer, isSecret }: Expected): string {
  const value = answer.exec(line)?.[1] ?? "";
  return value !== "" && isSecret(value) ? value : "";
}

function expectedBehind(line: string): Expected | undefined {
  if (CODES.test(line) && !HANDLES.test(line)) return LISTED;
  if (COMMAND.test(line))
    return (GIVES.test(line) || NAMES.test(line)) && !HANDLES.test(line) ? ANSWER : NOTHING;
  return /[:：]\s*$/.test(line.slice(-12)) && NAMES.test(line) ? LABELLED : undefined;
}

/** False for a path, a line of `/etc/passwd` or a setting. */
function isAnswer(value: string): boolean {
  return !/^[./~]|:.*:|^[A-Z\d_]+=/.test(value) && isGivenWord(value);
}
