// What distinguishes the values of secrets from similar text.

import { isHintingName, isPasswordName, isSecretName, PASSWORD_WORDS } from "./names.ts";

/** Words for secrets in user interfaces: a value that is one of these words is a translation of its key. */
const LABELS =
  /^(?:[\p{L}-]*(?:schlüssel|geheimnis|zugang|zugangscode|sleutel|nøgle)|passwor[dt]s?|palavra-passe|geheim|segredos?|secretos?|segreto|chiave|chaves?|claves?|clés?|clefs?|credencia(?:l|is|les)|identifiants?|jetons?|token|secret|[\p{L}-]*-passwor[dt]|ключи?|секреты?)$/iu;

/** Any spelling of the word for a password; also compound names such as `client_secret`. */
const NAMED_ITSELF = new RegExp(
  `^(?:${PASSWORD_WORDS}|[a-z]+(?:[_-][a-z\\d]+)*[_-](?:password|passwd|pwd)|[a-z]+(?:_[a-z]+)*_(?:secret|token))$`,
  "i",
);

/** True for a UI label: a word for a secret, or text in a non-Latin script without digits. */
function isLabel(value: string): boolean {
  if (/[\u0400-\u9fff\uac00-\ud7af]/.test(value))
    return !/[a-z\d@#$%^&*=_]/i.test(value.replace(/\b(?:api|pin|id|wi-?fi|oauth|ssh|url)/gi, ""));
  return NAMED_ITSELF.test(value) || (/^\p{Lu}/u.test(value) && LABELS.test(value));
}

/** Words that name a password, but also a passed test, a page width or a method: the value decides. */
const AMBIGUOUS = /^(?:pass|pw|auth)$/i;

/** The context of an unquoted value, which distinguishes it from code and prose. */
export interface ValueContext {
  /** The value's name, or the end of it. */
  readonly name: string;
  /** `=` without spaces, `= ` with spaces, a flag (`--token value`), a scheme (`Bearer value`). */
  readonly joint: "=" | "= " | ":" | "flag" | "scheme";
  /** The name begins its line and the value ends it, as in YAML. */
  readonly ownLine: boolean;
  /** The character after the value; empty at the end. */
  readonly next: string;
}

const TYPE_WORDS =
  "string|str|text|number|integer|int|float|boolean|bool|bytes|buffer|object|array|list|dict|any|unknown|never|void|null|nil|none|eof|undefined|true|false|optional|required|default|always|on_create|yes|no|char|varchar|uuid";
const CODE_WORDS = "await|async|new|function|lambda|typeof|return|await|this|self|super|yield|import|require";
const STAND_INS =
  "(?:replace|insert|fill)[_-][a-z\\d_-]+|(?:fake|test|dummy)[_-](?:api[_-])?(?:key|token|secret|password)(?:[_-]?\\d{1,3})?|placeholder|redacted|removed|hidden|masked|example|sample|dummy|todo|tbd|n/a|empty|missing|invalid|unset|short|weak|wrong|bad|incorrect|foo|bar|foobar|test|b77a5c561934e089|b03f5f7f11d50a3a|31bf3856ad364e35";
/** What stands for a key or a token, and can be a password. */
const STAND_INS_OF_KEYS =
  /^(?:(?:example|sample|mock)[_-](?:[a-z]+[_-])*(?:key|token|secret|password)(?:[_-]?\d{1,3})?|(?:my|your|some|other|fake|wrong|bad|invalid)_?(?:pass(?:word)?|secret|token)|[a-z]+(?:v\d)?(?:_[a-z]+)*_(?:secret|token|credentials)|hashed|encrypted|fake|abc|key|value|(?:file|path)(?:name)?)[?!]?$/i;
const TYPE_WORD = new RegExp(`^(?:${TYPE_WORDS})[?!]?$`, "i");
const NO_SECRET_WORD = new RegExp(
  `^(?:(?:${TYPE_WORDS}|${CODE_WORDS}|${STAND_INS})[?!]?$|(?:null|nil|none|undefined|true|false)[)\\]}](?!\\w*\\d))`,
  "i",
);

const ALGORITHM =
  /^(?:[A-Z\d]+[-_])+(?:SHA\d*|MD5|CCM(?:_8)?|GCM|POLY1305)$|^(?:sha|md|utf|base|rs|hs|es|v|argon|bcrypt|pbkdf|scrypt|rfc|aes|win|oauth)[-_]?\d{1,4}(?:[-_]?[a-z]+)?$/i;
const PATH =
  /^(?:~|\.{1,2})?(?:(?:\/[\w.-]{1,24}){2,8}|(?:\/[a-z]+(?:[-_.][a-z\d]+)*){2,8}|\/[a-z-]*(?:passw|token|secret|key|auth|login)[a-z-]*)$/;

/**
 * One character again and again; a page of a count, a port and its protocol, a number with a comment behind it; a
 * mail address.
 */
const COUNT =
  /^(.)\1{2,}$|^\d{1,3}$|^\d{1,5}(?:\.\d{1,5})+$|^\d{2,5}(?:\/\*.*|(?:\/(?:\d{1,5}|[a-z.-]{1,8}))+)$|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/;

/** Where a secret is kept, a package, the name of an event: `default/web-tls`, `default-token-x7k2p`, `.data-api`. */
const REFERENCE =
  /^(?:(?=[^/-]+[/-].*[/-])[a-z]+(?:-[a-z]+)*(?:\/[a-z]+(?:-[a-z]+)*(?:-\d{1,4})?)+|@[a-z-]+\/[a-z-]+|\.[a-z]+-[a-z]+|[a-z-]+-token-[bcdfghj-np-tv-xz24-9]{5})$/;

/** Pattern source for the name of a variable that holds a secret, of such words. */
function variable(word: string): string {
  return `${word}(?:_${word})*_(?:TOKEN|SECRET|PASSWORD|PW|PASS|CREDENTIALS?|API_KEY)(?:_[A-Z]+)*`;
}

const PLACEHOLDERS: readonly RegExp[] = [
  // Another name and its value, names of fields
  /^(?:[a-z]+(?:_[a-z]+)*|[A-Z]+(?:_[A-Z]+)+)=(?:[^=]|$)|^(?=(?:.*:)?(?:user|name|password|UID)(?::|$))[A-Za-z_]+(?::[A-Za-z_]+){2,}$/,
  NO_SECRET_WORD,
  ALGORITHM,
  PATH,
  /^(?:jdbc:)?[a-z][a-z0-9+.-]{1,20}:\/\//i,
  // Text between two quoted texts, the first of which ends like a name: `"Password:",next:"…"`
  /^(?:[,;)\]}]\s?[\w.]*\s?[:=(]?$|\s?[+&]\s|\+\w+\+$|\s?\.\s?\$|\s\D*\s$)/,
  /^(?:<|&lt;)[^>]*>?$|^&#(?:x3c|60);(?:[a-z]+>?|[^>]*>)$/i,
  /^#(?:[A-Za-z][\w-]*|[\da-f]{3}(?:[\da-f]{3})?)$/i,
  /^\{.*\}?\}$|^-?\}|^\{\{|#\{[@a-z]/i,
  /^\$(?:[A-Z_][A-Z0-9_]*(?:$|\/)|[a-z_]\w*(?:::|->|-$|[>)\]]|$))/i,
  /^(?:[a-z:_-]*\$\{|:?\$\(|%\{)|^\\{1,3}(?:[$(]|f[\dBIR(])/i,
  // Options, emoji codes and roles, patterns
  /^\s?--?[a-z]|^:\w+:|^qr\W/i,
  /^-?0(?:x[0-9a-f_]{1,40}|b[01_]+)n?$|^\d+\.{2,3}\d+$/i,
  /^(%{1,2})[A-Z_][A-Z0-9_]*\1$|^@(?:[A-Z\d]+_)+(?:PASSWORD|PASS|SECRET|TOKEN|KEY)$/,
  /^\[[^\]]*\]$/,
  /^(?:[\w-]{0,16}x{8,}|[x*.•…#=_~-]+)$/i,
  // What stands for a password in tests and examples
  /^(?:pass(?:word|wd)?|secret|(?:\w+-)*client-secret|change[-_]?(?:me|it|this)(?:[-_][a-z]+)*)$/i,
  // What was masked, shortened or made up for a manual
  /^.{0,12}(?:\.{3}|…)|\*{3}|EXAMPLE|placeholder(?![A-Za-z]+\d)|YOUR_[A-Z]|^\w{0,40}(?:::\w+)+$/,
  // The id of a key, alone or in what it signed; the beginning of a token in GitLab's log
  /^A[KS]IA[A-Z\d]{16}(?![A-Za-z\d])|^6\d_[\w-]{6}$/,
  // Reports in a changelog
  /^(?:bug|issue|pr|gh|lp|mr|ticket)s?#\d+(?:,#?\d+)*$/i,
  // Encrypted values
  /^(?:ENC[[(]|Ag[\w+/]{60}|AQICAH|vault:v\d|\{cipher\}|\$ANSIBLE_VAULT)/,
  // Checksums, cache and release names; packages; public keys
  /^(?:MFkwEwYHKoZIzj0|MIIBIjANBgkqhkiG9w0BAQEF|MCowBQYDK2Vw|AAAA[BC]3Nz|AAAAE2VjZHNh)|^(?:hmac-)?(?:sha|md|blake)-?\d[\w/-]{0,5}[:-]|^[\w./-]+@(?:[0-9a-f]{40}$|v?\d+\.\d+\.)|^[\w.-]+:v?\d+\.\d|^pk_(?:live|test)_|^[a-z]+-\S*-[0-9a-f]{40,64}$/i,
  // Version ranges, selectors
  /^[~^<>=]{1,2}\d+\.\d|^[@v]?\d+\.\d+\.\d+(?:[-+][a-z]{0,6}[\d.]*|\*)?$|^[\w#.]*\[[\w-]+[~^*$|]?=/,
  // The name of an action or of a variable
  new RegExp(`^(?:[\\w.@-]{1,40}[/:])?${variable("[A-Z]+")}$`),
  // Names of the standards, an alphabet, a class that is called like what it holds
  /^_[A-Z][A-Za-z]*(?:Password|Key|Token|Secret)$|^file:\/|^#\/\w|^@[A-Z]\w+\.\w+\(|^x5t#S256$|^x-oauth-basic$|ABCDEFGHIJKLMNOPQRSTUVWXYZ(?:abcdefghijklmnopqrstuvwxyz|234567)/,
  // Rules of validation
  /^(?:required|omitempty|optional|min|max|len|gte?|lte?|string|nullable)(?:[,=|]|$)/,
  // A pattern of what a value must be, the format of a text
  /^(?!.*\d).*\\[wdsWDS][*+?]|^%[sdr](?:[:@/ ]%[sdr])+$|^\^(?:.+\$$|[[(].*[\])][+*?{])|\(\?[=!:]|^s([/|#])\S*\1\S*\1\w*$/,
  /(?:^(?:my|put|add|insert|replace|enter|some|the|an?)|(?:^|[-_.])your)[-_ ].*(?:key|token|secret|password|passwd|here|value)(?![a-z])|(?:key|token|secret|pass(?:word)?|id|value|goes)[-_]here$/i,
  /^(?:set|replace)_(?:this|me|it)(?:_[a-z]+)*$|^your[-_][a-z-]+$/i,
];
const NAMES_A_SECRET = new RegExp(
  `token|secr[eèé]t|passw|api.?key|credential|clé|clef|schlüssel|geheim|chave|segredo|令牌|(?<![a-z])(?:${PASSWORD_WORDS})(?![a-z])`,
  "i",
);

/** Names of what an issuer draws. */
const DRAWN = /(?:token|credentials?|auth(?:orization)?|(?:api|access)[_\x20-]?key)$/i;
/** What no issuer draws: a label (words with a capital and a space, or with an accent), `env-key`. */
const UNDRAWN =
  /^(?=\p{Lu}.* |.*[\u00c0-\u024f])\p{Lu}?\p{Ll}+(?:[ '’-]\p{Lu}?\p{Ll}+)*$|^(?:env|request|fallback|test)(?:-[a-z]+)?-key$/u;

/** True if the quoted text after `name` is a secret: not a placeholder, a type, prose or a path. */
export function isQuotedSecret(value: string, name: string): boolean {
  if (isStandIn(value, name)) return false;
  if (AMBIGUOUS.test(name)) return isGiven(value, name);
  if (/^[\w.]+\(.*\)$/.test(value) && !isPasswordName(name)) return false;
  const words = value.trim().split(/\s+/, 4).length;
  if (words > 2 && !isPasswordName(name) && !/secret/i.test(name)) return false;
  if (
    (words > 1 || /[\u3000-\uffff]/.test(value)) &&
    NAMES_A_SECRET.test(value) &&
    !/\d/.test(value.replace(/(?<!\S)\d{1,2}(?!\S)/g, ""))
  )
    return false;
  if (isPasswordName(name)) return true;
  if (DRAWN.test(name) && UNDRAWN.test(value)) return false;
  if (/secret|key/i.test(name)) return !/^[A-Z]+(?:_[A-Z]+)+$/.test(value);
  // A kind of token, `?EOL`
  if (/^[?][A-Z]{2,4}$/.test(value)) return false;
  return !isWords(value.replace(/^[?@:.]/, "")) || /^[a-z]+\d+$/.test(value);
}

/** The names in specification 001, and common weak passwords. */
const SPECIFIED = /^(?:password|passwd|pwd|api[ _-]?key)$/i;
const WEAK =
  /^(?!(?:\w+-)?your-|.*-here$)(?:change[_-]?me|root|toor|admin|guest|letmein|qwerty|welcome|hunter|secret|sesame|dragon|monkey|master|abc|test|[a-z]{2,12}(?:-[a-z]{2,12}){2,6})\d{0,8}!?$/i;

/** True if an unquoted value is a secret: not an expression, a type, a count or the sentence's next word. */
export function isBareSecret(value: string, context: ValueContext): boolean {
  const { name } = context;
  if (SPECIFIED.test(name) && WEAK.test(value) && !/[(.<]/.test(context.next)) return true;
  if (isStandIn(value, name) || isReference(value, context) || isVariable(value, context)) return false;
  // `BASIC_AUTH=ann:…`
  if (AMBIGUOUS.test(name))
    return isGiven(value.replace(/^[\w.@-]{1,40}:/, ""), value.includes(":") ? "password" : name);
  if (/^\d[\d_.]*$/.test(value)) return isPasswordName(name) && value.length >= 4;
  if (/^[~./]|^[A-Z]:\\/.test(value) && /pwd/i.test(name)) return false;
  if (/^[A-Za-z_$-]+$/.test(value)) return isChosenWord(value, context);
  return context.joint.startsWith("=") || value.length >= (isPasswordName(name) ? 4 : 6);
}

/** Names of algorithms, formats and versions, also inside longer names: `scram-sha-256`, `Ed25519`. */
const ALGORITHM_IN =
  /(?:^|[^a-z])(?:sha|md|aes|rsa|utf|iso|rfc|pbkdf|pkcs|ed|x|ipv|latin|cp|cl|prime|secp|curve|chacha|poly|base|oauth|http|win|urllib|v)-?\d{1,5}(?![a-z\d]{3})|25519/i;

/** True for a secret without an operator after the name: generated, or for a password with digits. */
export function isGiven(value: string, name: string): boolean {
  if (isStandIn(value, name) || isExpression(value) || isFile(value) || isIdOf(value, name)) return false;
  if (looksGenerated(value)) return true;
  if (ALGORITHM_IN.test(value) && /^[\w.:/-]+$/.test(value)) return false;
  if (isShuffled(value)) return true;
  if (!isPasswordName(name)) return false;
  if (/^[A-Za-z]+$/.test(value) && isWords(value)) return false;
  return value.length >= 6 && !/\s/.test(value) && !NAMES_A_SECRET.test(value) && isMixed(value);
}

/** True if letters and digits alternate: sufficient after a specific name, but not alone. */
export function isShuffled(value: string, least = 12): boolean {
  if (value.length < least || !/^[\w.~+/=-]+$/.test(value)) return false;
  if (value.length < 24 && ALGORITHM_IN.test(value)) return false;
  return digitSwitches(value) >= 2 && !isWords(value) && isMixed(value);
}

/** True for letters with digits or mixed capitals, except algorithm names and ordinary words. */
export function isMixed(value: string): boolean {
  if (!/\d/.test(value)) {
    const signed = /[!@#$%^&*+=~]|\?./.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
    return value.length >= 8 && (signed || (caseSwitches(value) >= 5 && /^[A-Za-z]{8,}$/.test(value)));
  }
  return /\p{L}/u.test(value) && !ALGORITHM.test(value);
}

/** The name of a variable whose words end in digits: `AUTH0_SECRET`. */
const NUMBERED_NAME = new RegExp(`^${variable("[A-Z]+\\d?")}$`);

function isPlace(value: string): boolean {
  return (
    REFERENCE.test(value) && value.split(/[^a-z]+/).every((part) => part.length < 4 || SAYABLE.test(part))
  );
}

export function isStandIn(value: string, name: string): boolean {
  if (value.length < 3 || value.length > 8192) return value.length < 3;
  if (PLACEHOLDERS.some((pattern) => pattern.test(value))) return true;
  if (isLabel(value) || plainName(value) === plainName(name)) return true;
  if (isPasswordName(name)) return false;
  if (COUNT.test(value) || STAND_INS_OF_KEYS.test(value) || isPlace(value) || NUMBERED_NAME.test(value))
    return true;
  return name !== "" && isFile(value) && !looksGenerated(value.replace(/\.\w+$/, ""));
}

/** Variables, templates and placeholders. */
const TEMPLATE =
  /^(?:\$|\\f[\dBIR(]|\{|-?\}|[A-Z]?<|&lt;|%(?:[A-Z_]+%|[A-Z]\b|\()|\*+$|x+$|\.+$|\d{1,5}$|\[|[a-z]+\]|(?:pass|secret|token|your[-_].*|some[-_]?\w*|changeme|placeholder)$)|<REDACTED>|EXAMPLE/i;

/** True for a value that somebody has filled in. */
export function isFilledIn(value: string): boolean {
  return !TEMPLATE.test(value) && !TYPE_WORD.test(value) && !isLabel(value);
}

/** Letters and digits only. */
export function plainName(name: string): string {
  return name.length > 100 ? name : name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** True for `options.password`, `getToken(…)`, `keys[0]`, `!found`, but not with a long part with digits. */
export function isExpression(value: string): boolean {
  if (/^[!&*]\w|^@?[([{]|^this\.|^\/[\^[(\\]|^[A-Z]\w*<[$A-Z]|^(?:::)?\w{1,40}::|^@{1,2}[a-z_]+$/.test(value))
    return true;
  // The closing bracket was opened before the value: `token === NULL){`, `e[e.Token=1]=`.
  if (/^(?:@?[A-Za-z_.]+|\d+)[)\]](?:[{.;,=)\]]|$)/.test(value)) return true;
  const called = /^([A-Za-z_$][\w$.:?!]*)(?:[({]|\[(?:[^\]]*\]|:?[A-Za-z_+-][\w.+-]*$|:?-?\d{0,3}$))/.exec(
    value,
  )?.[1];
  const isName = (part: string): boolean =>
    part.length < 6 ||
    (isWords(part) && !/\d/.test(part.replace(WITH_DIGITS, "").replace(/\$\d$/, ""))) ||
    /^_*[a-z]+(?:_[a-z]+\d?){2,}$/.test(part) ||
    ((part.length < 20 || !/\d/.test(part)) && digitSwitches(part) < 3);
  if (called?.split(/[.:]+/).every(isName)) return true;
  if (!/^(?:[A-Za-z_$][\w$]*)?(?:\??\.[A-Za-z_$][\w$]*)+!?$/.test(value)) return false;
  return value
    .split(/\??\./)
    .every((part) => isName(part) || isWords(part) || /^[A-Z\d]+(?:_[A-Z\d]+)+$/.test(part));
}

/** In a sentence `ivory.tower` is a password, while `user.password` and `find(x` are still code. */
export function isCode(value: string): boolean {
  return isExpression(value) && /[[({?]|[.]\w*(?:passw|pwd|secret|token)/i.test(value);
}

/** What has the signs of an expression and is none: a digit among its letters, a bracket that nothing opens or closes. */
const IN_SETTING =
  /^[\w.]+\d$|^\w*[a-z]\d+[a-z]\w*(?:[.]\w+)+$|^[.]|!$|^[^(]*\)[^(]*$|^[^[]*\][^[]*$|\[[^\]]*$/i;

/** What is cut from code that was made short: `e.token??t.token`, `{token:e}=this`, `t.tokens.length-1`. */
const CUT = /^(?:[a-z_$]\.\w+\?\?(?:[a-z_$]\.|null$)|[a-z_$]\}=|[a-z_$]\.[\w.]+[-+]\d$)/;

/** In `DB_PASSWORD=ivory.tower9`, where a shell reads it, words are no field of an object. */
function isReference(value: string, { name, joint, ownLine, next }: ValueContext): boolean {
  if (/[,;}&]/.test(next) && CUT.test(value)) return true;
  if (joint !== "=" && /^!![a-z]\w*\??\./.test(value)) return true;
  // `token = found!;`, `token = line[start:end]`, `token = 1*char`
  const isOfCode = /^[a-z]\w*(?:!;|\[\w*[:(]\w*[\])])$|^\d\*[a-z]+\s?$/.test(value + next);
  if (isOfCode && joint === "= " && !isPasswordName(name)) return true;
  const isYaml = joint === ":" && ownLine && /^[A-Z]/.test(value);
  const isSetting = isYaml || (joint === "=" && (ownLine || /^[A-Z]+$/.test(name)));
  // `found!.token`, `found.0.token`
  const isOfFields = (joint === ":" || joint === "= ") && !isPasswordName(name);
  const plain = isOfFields ? value.replace(/!(?=\.)|\.\d(?=\.)/g, "") : value;
  return isExpression(plain) && !(isSetting && isPasswordName(name) && IN_SETTING.test(value));
}

/** Pronounceable syllables (at most three consonants in a row), or common technical abbreviations. */
const SAYABLE =
  /^(?:(?!.*(?:q[^u]|[^aeiouy]{4})).*[aeiouy].*|https?|html|xml|sql|sdk|ssl|tls|jwt|css|rpc|tcp|gcp)$/i;

/** Words that are spelled with digits. */
const WITH_DIGITS =
  /(?<![A-Za-z\d])(?:(?:e2e|l10n|a11y|k8s|ec2|x509|[di]2[di]|l2cap|sha\d{1,3}|pkcs\d{1,2})(?=[-_.]|$)|i18n)|(?:[Aa]uth2|[Rr]fc\d{4}|Pkcs12|Sha(?:1|256|512)|[Vv]\d(?:alpha|beta)\d)(?![a-z\d])/g;

/** True for compound names as in code: `sanitizeCredentials`, `x509Authentication`, `INVALID_TOKEN`. */
export function isWords(name: string): boolean {
  const spelled = /\d/.test(name) ? name.replace(WITH_DIGITS, (word) => word.replace(/\d/g, "")) : name;
  const value = /\d/.test(spelled) ? name : spelled;
  if (!/^[#$\w-]+(?:\.[$\w-]+)*$/.test(value) || /\d{4}/.test(value.replace(/25519|2048|4096/, "")))
    return false;
  const letters = value.replace(/[^A-Za-z]/g, "").length;
  const switches = digitSwitches(value);
  if (switches > 2 && switches * 6 > value.length) return false;
  const parts = value.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  const words = parts.filter(
    (part) => part.length >= (switches > 0 && /^[a-z]/.test(part) ? 4 : 3) && SAYABLE.test(part),
  );
  const least = switches > 0 && value.length >= 24 && !/[-_.]/.test(value) ? 0.8 : 0.55;
  return words.join("").length >= least * letters && letters >= 3 * parts.length;
}

/** True for a variable named after its content, such as `token: previousToken2`. */
function isVariable(value: string, { joint }: ValueContext): boolean {
  // Words in camel case; a hyphen with a digit excludes a variable name.
  const isTyped = joint === "=" || (joint === "flag" && /\d/.test(value) && !NAMES_A_SECRET.test(value));
  return !isTyped && /[a-z\d][A-Z]/.test(value) && !/-.*\d/.test(value) && isWords(value);
}

/** Letters alone are usually a variable, a type or a word; only some contexts make them a password. */
function isChosenWord(value: string, context: ValueContext): boolean {
  if (value.startsWith("-")) return false;
  if (context.joint === "scheme") return value.length >= 8;
  if (context.joint === "=") {
    const code = NAMES_A_SECRET.test(value) ? /[,;:)\]}]/ : /[,)]/;
    return !code.test(context.next) || value.length >= 24;
  }
  if (isDrawnOfLetters(value) || (value.length >= 32 && !isWords(value))) return true;
  if (context.joint === "= ") return isPasswordName(context.name) && context.ownLine && isMixed(value);
  if (!isPasswordName(context.name) || value.length < 6 || /^[A-Z][a-z]/.test(value)) return false;
  return context.joint === "flag"
    ? !/^(?:option|argument|parameter|should|prompt|(?:commands?|descr\w{0,8}|packages?|file|respectively)$)/.test(
        value,
      )
    : context.ownLine;
}

/** True for a generated value after a hinting name. A UUID, usually an id, needs a more specific name. */
export function isHintedAt(value: string, name: string): boolean {
  if (!looksGenerated(value) || !isHintingName(name)) return false;
  if (isIdOf(value, name)) return false;
  return !UUID.test(value) || isSecretName(name) || /(?:[a-z\d][_-]?key|secret[_-]?id)$/i.test(name);
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** True for the id of an account that stands before its secret in a credential's arguments. */
const isIdOf = (value: string, name: string): boolean => UUID.test(value) && /credentials?$/i.test(name);
const LEAST_ENTROPY = 3.2;

/**
 * True for generated values: mixed letters and digits without words, including UUIDs. At least fifteen
 * characters; `user-service-2024` and `sha256` are names.
 */
export function looksGenerated(value: string): boolean {
  if (value !== judged.value) judged = { value, isGenerated: isGenerated(value) };
  return judged.isGenerated;
}

/** The last judgement: several layers ask for the same value. */
let judged = { value: "", isGenerated: false };

function isGenerated(value: string): boolean {
  if (UUID.test(value) || isNoise(value)) return true;
  if (value.length < 15 || !/^(?=.*[A-Za-z])\S+$/.test(value) || isWords(value)) return false;
  if (!/\d/.test(value)) return isDrawnOfLetters(value);
  if (GROUPS.test(value)) return digitSwitches(value) >= 4;
  if (
    PATH.test(value) ||
    isFile(value) ||
    /^\d{4}-\d\d-\d\d|^[.~]|^\/(?![\w+/]{30})|\.\.|\/\/|\.[a-z]{2,4}$/.test(value)
  )
    return false;
  const longest = Math.max(...value.split(/[^A-Za-z0-9]+/).map((part) => part.length));
  return longest >= 12 && digitSwitches(value) >= 2 && entropy(value) >= LEAST_ENTROPY;
}

/** Letters, digits and at least three kinds of punctuation, as in generated passwords. */
function isNoise(value: string): boolean {
  const signs = new Set(value.match(/[!@#$%^&*|~?]/g));
  return value.length >= 16 && signs.size >= 3 && /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)\S+$/.test(value);
}

/** `2F7J-B4O0-H9TP-QH1S`: keys meant to be typed. */
const GROUPS = /^[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){3,7}$/;

/** True for letters whose case changes far more often than in words. */
function isDrawnOfLetters(value: string): boolean {
  const least = /^[A-Za-z]+$/.test(value) ? 8 : Math.max(10, value.length * 0.4);
  return /^[A-Za-z_-]{20,}$/.test(value) && caseSwitches(value) >= least;
}

/** Number of case changes; camel-case names have one per word. */
function caseSwitches(value: string): number {
  return value.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g)?.length ?? 0;
}

/** Number of changes between letters and digits; a word with a trailing number has one. */
function digitSwitches(value: string): number {
  return value.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
}

/** Shannon entropy in bits per character. */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

const FILE_OR_HOST =
  /\.(?:[cm]?[jt]sx?|json|ya?ml|toml|env|txt|md|py|go|rs|java|kt|rb|php|sh|sql|xml|html?|css|conf|cfg|ini|log|csv|key|pem|com|org|net|io|dev|local|example)$/i;

/** True for a file, with or without a position, or a path on a host: `src/a1.test.ts`, `github.com/x/y2`. */
function isFile(value: string): boolean {
  return (
    FILE_OR_HOST.test(value.replace(/(?:[#?]|::|:\d+$).*$/, "")) ||
    /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}\//.test(value)
  );
}

const OF_CODE =
  /^(?:(?!.*\d)[a-z]+[A-Z]\w*|import|this|self|req|res|body|props|state|data|options?|settings|config|process|env|user|request|params|args|ctx|form|field|input|output|result|error)\.[#a-z]/;
/** Adjectives for passwords in prose: base64-encoded, case-sensitive, one-time. */
const SAID_OF =
  /-(?:\w{2,}ed|\w{2,}ing|only|in|up|off|out|on|by|to|free|safe|like|wide|side|specific|sensitive|dependent|friendly|compliant|ready|aware|level|time|less|date|long|known)$|^(?:non|un|pre|re|self|auto|case|server|client|user|plain|clear|read|write|well|not|base|md|sha|one|two|multi|double|single|long|short|high|low)\d*-|passw|token|secret|credential/i;

/** True for words joined by punctuation, such as `marmalade-on-toast` or `ivory.tower.9`. */
function isJoined(value: string): boolean {
  return value.length >= 8 && /^[\p{L}\d]{2,}(?:[-_.][\p{L}\d]+)+$/u.test(value) && !SAID_OF.test(value);
}

/** True for a password in a sentence: a word with digits, punctuation or capitals, or joined words. */
export function isSpoken(value: string): boolean {
  if (
    !isFilledIn(value) ||
    isStandIn(value, "password") ||
    /[()]|\[[^\]]*\]|^[/.~?]|^\d+$|^\d{1,3}(?:,\d{3})+$|^!(?:[a-z]+$|\d)/.test(value)
  )
    return false;
  if (/^[a-z]+(?:_[a-z]+)+\d{0,2}$|^[A-Z][A-Za-z]+Key$/.test(value)) return false;
  if (isFile(value) || OF_CODE.test(value) || isCode(value)) return false;
  if (/^(?=.{0,7}$)\d+[a-z]*$/i.test(value)) return false;
  const marked =
    /\d/.test(value) ||
    /^[a-z]+(?:[A-Z][a-z]+){2,}$/.test(value) ||
    /[!@#$%^&*+?~=]/.test(value.slice(0, -1)) ||
    isMixed(value);
  if (!marked) return isJoined(value);
  return value.length >= 5;
}

/** True for a value after the bare word "password": letters and digits, and not a name in code. */
export function isToldApart(value: string): boolean {
  if (/^[a-z_]\w*(?:[.][a-z_]\w*)*(?:[.][a-z_]\w*|[.][a-z_]\w*[.][A-Z]\w*)$/.test(value)) return false;
  if (/^(?:[a-z_]+|[A-Z_]+|[A-Z][a-z]+)\d$/.test(value)) return false;
  if (/^\d+[a-z-]+$|^\$|^--?\w|[(){}[\]:;,|\\/]|&(?![a-z][^=&]*$)/i.test(value)) return false;
  return isMixed(value) && !(/^[A-Za-z]+$/.test(value) && isWords(value)) && isSpoken(value);
}

const OF_A_RULE =
  /^(?:must|should|can|may|the|an?|is|not?|optional|required|used|(?:only|read|shown)(?=.* (?:if|when|by|until|once|from) )|get|for|this|that|if|enter|leave|your|empty|in|to|from|string|see|siehe|voir|ver)\b|\b(?:of|at least|chars?|characters?|letters|digits|words?|zeichen|password|passphrase|hashed|expected)\b| <[^<>@ ]+@[^<> ]+>$/i;

/** True for several words that neither describe what a passphrase must contain nor name a person. */
export function isPhrase(value: string): boolean {
  return /^\S+ |^[a-z]+(?:-[a-z]+){3,}$/.test(value) && !OF_A_RULE.test(value);
}
