/** A secret in a text: characters `start` to `end`, and what it was taken for, such as `private-key` or `token:GitHub`. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** What stands in place of a secret. */
export const REDACTED = "<REDACTED>";

/** Source of a pattern for the words that a secret's name ends with, in any spelling of camel, snake or kebab case. */
export const SECRET_NAME: string = [
  "(?:api|access|private|secret|encryption|signing|auth|account|master|shared|service|admin|session|webhook|license)[_ -]?key",
  "passw(?:or)?d",
  "passphrase",
  "passcode",
  "(?<=_|\\bpg|\\bdb|\\bsmtp)pass",
  "pwd",
  "secret",
  "token",
  "credentials?",
  "authorization",
  "(?<=[._-]|\\b)_?auth(?=[\"'`]?\\s{0,3}[=:])",
].join("|");

const WHOLE_NAME = new RegExp(`(?:${SECRET_NAME})(?:[_-]?\\d{1,2})?$`, "i");

/**
 * Source of a pattern for words that make a generated value beside them a secret: weaker than `SECRET_NAME`,
 * because keys of maps and tokens of grammars are called so as well.
 */
export const HINT: string = [
  "api[_ -]?key|access[_ -]?key|token|secret|passw(?:or)?d|credential|creds?|auth|key|signature|\\bsig|cookie|\\bpin|private|bearer|webhook|dsn|license",
  "adafruit|adobe|airtable|algolia|alibaba|anthropic|artifactory|asana|atlassian|beamer|bintray|bitbucket|bittrex|cloudflare",
  "codecov|cohere|coinbase|confluen(?:t|ce)|contentful|datadog|discord|droneci|dropbox|etsy|facebook|fastly|finicity|finnhub",
  "flickr|freshbooks|gitter|gocardless|heroku|hubspot|intercom|jfrog|jira|kraken|kucoin|launchdarkly|linear|linked[_-]?in",
  "looker|mailchimp|mailgun|mapbox|mattermost|meraki|message[_-]?bird|mistral|netlify|new[_-]?relic|nytimes|okta|openai|plaid",
  "private[_-]?ai|rapidapi|sendbird|sendgrid|sentry|snyk|sonar|squarespace|stripe|sumo|telegram|travis|twilio|twitch|twitter",
  "typeform|xray|yandex|zendesk",
].join("|");

const HAS_HINT = new RegExp(HINT, "i");
/** Names that hold a hint and still name no secret. */
const HARMLESS =
  /public|checksum|digest|hash|sha\d|integrity|etag|fingerprint|key[_-]?(?:id|name|path|file|code|board|word|frame|type|length|size|hash)|primary|foreign|partition|sort[_-]?key|cache|monkey|keyboard|author(?!iz)|tokeni[sz]er|max_|revision|commit|version|idempotency|url$|uri$/i;

/** True for a field name such as `dbPassword`, `X-Api-Key` or `GITHUB_TOKEN`; false for `max_tokens`. */
export function isSecretName(name: string): boolean {
  return name.length <= 200 && (WHOLE_NAME.test(name) || /^_?auth$/i.test(name));
}

/** True for a name beside which a value that looks generated is a secret: `datadogId`, `keys`, `tokenForProd`. */
export function isHintingName(name: string): boolean {
  return name.length <= 200 && HAS_HINT.test(name) && !HARMLESS.test(name);
}

/** True for names whose value a person may have chosen: short, plain words, with spaces. */
export function isPasswordName(name: string): boolean {
  return /passw|passphrase|passcode|pass$|pwd/i.test(name);
}

/** Where an unquoted value stands; enough to tell a value from code and from prose. */
export interface ValueContext {
  /** The name that the value is given to, or its end. */
  readonly name: string;
  /** What joins name and value: `=` without spaces, `= ` with, a flag (`--token value`), a scheme (`Bearer value`). */
  readonly joint: "=" | "= " | ":" | "flag" | "scheme";
  /** The name begins its line and the value ends it, as in YAML. */
  readonly ownLine: boolean;
  /** The character after the value; empty at the end. */
  readonly next: string;
}

const TYPE_WORDS =
  "string|str|text|number|integer|int|float|boolean|bool|bytes|buffer|object|array|list|dict|any|unknown|never|void|null|nil|none|undefined|true|false|optional|required|default|yes|no|char|varchar|uuid";
const CODE_WORDS = "await|async|new|function|lambda|typeof|return|await|this|self|super|yield|import|require";
const STAND_INS =
  "change[_-]?me|placeholder|redacted|removed|hidden|masked|example|sample|dummy|todo|tbd|n/a|empty|missing|invalid|unset";
const NO_SECRET_WORD = new RegExp(`^(?:${TYPE_WORDS}|${CODE_WORDS}|${STAND_INS})[?!]?$`, "i");

const PLACEHOLDERS: readonly RegExp[] = [
  /^<[^>]*>?$/,
  /^\$?\{.*\}?\}$/,
  /^\$\{/,
  /^\$[A-Z_][A-Z0-9_]*$/,
  /^\$[({]/,
  /^\$\d{1,3}\b/,
  /^-?0x[0-9a-f_]+n?$/i,
  /^%[A-Z_][A-Z0-9_]*%$/,
  /^%[a-z@]$/,
  /^\[[^\]]*\]$/,
  /^[*x.•…#_-]+$/i,
  /^.{0,12}(?:\.{3}|…|\*{3})/,
  /^(?:your|my|insert|replace|enter|some|the|an?)[-_ ].*(?:key|token|secret|password|passwd|here|value)\b/i,
];
const LINK = /^[a-z][a-z0-9+.-]{1,20}:\/\//i;
const PATH = /^(?:~|\.{1,2})?(?:\/[\w.-]{1,24}){2,8}$/;
const NAMES_A_SECRET = /token|secret|passw|passphrase|api.?key|credential|pwd/i;

/** True when the text between quotes after `name` is a secret itself: no placeholder, type, prose or path. */
export function isQuotedSecret(value: string, name: string): boolean {
  if (isStandIn(value, name)) return false;
  const words = value.trim().split(/\s+/, 4).length;
  if (words > 2 && !isPasswordName(name) && !/secret/i.test(name)) return false;
  if (words > 1 && NAMES_A_SECRET.test(value) && !/\d/.test(value)) return false;
  return isPasswordName(name) || /secret|key/i.test(name) || !/^[a-z]{1,10}$/i.test(value);
}

/** True when an unquoted value is a secret: not an expression, a type, a count or the next word of a sentence. */
export function isBareSecret(value: string, context: ValueContext): boolean {
  const { name } = context;
  if (isStandIn(value, name) || isExpression(value)) return false;
  if (/^\d+(?:\.\d+)?$/.test(value)) return isPasswordName(name) && value.length >= 4;
  if (/^[~./]|^[A-Z]:\\/.test(value) && /pwd/i.test(name)) return false;
  if (/^[A-Za-z_$-]+$/.test(value)) return isChosenWord(value, context);
  return context.joint.startsWith("=") || value.length >= (isPasswordName(name) ? 4 : 6);
}

function isStandIn(value: string, name: string): boolean {
  if (value.length < 3 || value.length > 8192) return value.length < 3;
  if (NO_SECRET_WORD.test(value) || LINK.test(value) || PATH.test(value)) return true;
  if (plainName(value) === plainName(name)) return true;
  return PLACEHOLDERS.some((pattern) => pattern.test(value));
}

function plainName(name: string): string {
  return name.length > 100 ? name : name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** `options.password`, `getToken(…)`, `keys[0]`, `!found`; a long part with digits is a secret all the same. */
function isExpression(value: string): boolean {
  if (/^[!&*]\w|^[([{]|^[A-Za-z_$][\w$.]*[([{]/.test(value)) return true;
  if (!/^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(value)) return false;
  return !value.split(".").some((part) => part.length >= 20 && /\d/.test(part));
}

/** Letters alone are mostly a variable, a type or a word; only some places make them a password. */
function isChosenWord(value: string, context: ValueContext): boolean {
  if (value.startsWith("-")) return false;
  if (context.joint === "scheme") return value.length >= 8;
  if (context.joint === "=") {
    const code = NAMES_A_SECRET.test(value) ? /[,;:)\]}]/ : /[,)]/;
    return !code.test(context.next) || value.length >= 24;
  }
  if (value.length >= 32 && !NAMES_A_SECRET.test(value)) return true;
  if (context.joint === "= ") return false;
  if (!isPasswordName(context.name) || value.length < 6 || /^[A-Z][a-z]/.test(value)) return false;
  return context.joint === "flag"
    ? !/^(?:option|argument|parameter|should|prompt)/.test(value)
    : context.ownLine;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LEAST_ENTROPY = 3.2;

/**
 * True for what a machine drew: letters and digits mixed, no words, a UUID among them. Fifteen characters at
 * least; `user-service-2024` and `sha256` are names.
 */
export function looksGenerated(value: string): boolean {
  if (UUID.test(value)) return true;
  if (value.length < 15 || !/[A-Za-z]/.test(value)) return false;
  if (!/\d/.test(value)) return value.length >= 20 && caseSwitches(value) >= 8 && /^[A-Za-z]+$/.test(value);
  if (PATH.test(value) || /^\d{4}-\d\d-\d\d|^[./~]|\.\.|\/\/|\.[a-z]{2,4}$/.test(value)) return false;
  const longest = Math.max(...value.split(/[^A-Za-z0-9]+/).map((part) => part.length));
  return longest >= 12 && digitSwitches(value) >= 2 && entropy(value) >= LEAST_ENTROPY;
}

/** How often capitals follow and precede small letters; names in camel case turn once a word. */
function caseSwitches(value: string): number {
  return value.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g)?.length ?? 0;
}

/** How often letters and digits take turns; words with a number at the end have one. */
function digitSwitches(value: string): number {
  return value.match(/[A-Za-z]\d|\d[A-Za-z]/g)?.length ?? 0;
}

/** Bits by character, after Shannon. */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}
