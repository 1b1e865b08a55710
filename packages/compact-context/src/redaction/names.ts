import { beginningsOf, createScan } from "./beginnings.ts";

// Names of secrets.

/** Pattern source for the last words of a secret's name, in camel, snake or kebab case. */
export const SECRET_NAME: string = [
  "(?:api|access|private|secret|encryption|signing|auth|account|activation|unseal|master|shared|service|admin|session|webhook|license|write|ingest)[_\\x20-]?key",
  "(?<![a-z])psk(?![a-z])",
  "pa?ss?w(?:or?|r)?d",
  "passphrase",
  "passcode",
  "(?:_|pg|db|sql|user|auth|mail|login|proxy|ftp|smtp|store|key|require|root|admin)pass(?![a-z])",
  "(?:pass|pw)(?=\\\\{0,3}[\"'`]?\\s{0,3}(?:[=:](?![=:])|[,|\\r\\n]))(?<![a-z](?:pass|pw))",
  "pwd",
  // Words behind these are the name of a secret that is kept elsewhere.
  "(?<!existing|pull|(?:tls|certificates|passwords|scripts|jks)(?=secret[\"']?[:=]\\s?[\"']?[a-z]{1,40}(?:[-.][a-z]{1,40}){0,8}(?![\\w.-])))secret",
  "(?<!(?:public_?key|origin_?trial|page|next|continuation|sync|cursor)[_-]?)token",
  "(?<!amz[_-])credentials?",
  "authorization",
  "oauth2[_-]?bearer",
  "auth(?=[\"'`]?\\s{0,3}[=:])(?<![a-z\\d]auth)",
].join("|");

/** Words for a password in some twenty languages. */
export const PASSWORD_WORDS: string = [
  "pass(?:word|wd|phrase|code|wort)s?|pwd?|kennwort|mots? de passe|mdp|contraseñas?|clave|senha|palavra-passe|parola(?: d['’]ordine)?|code (?:du |de la )?wi-?fi|(?:wi-?fi|wlan)[ -](?:code|key|schlüssel)",
  "wachtwoord|has[łl]o|парол[а-я]{0,2}|lösenord(?:et)?|adgangskode|passord(?:et)?|salasana(?: on)?|heslo|jelszó|şifre[a-zı]{0,3}",
  "密码|密碼|口令|パスワード|비밀번호|암호|كلمة (?:المرور|السر)|סיסמה|पासवर्ड|mật khẩu|kata sandi",
].join("|");

/** Words for a key in several languages, and short words for passwords: the value must look secret too. */
export const KEY_WORDS =
  "bearer(?:_auth)?|(?<![a-z])pat(?![a-z])|(?:totp|otp|[2m]fa)[ _-]?(?:seed|secret|key)|(?<![\\w-])key|(?<![a-z])(?:pw|pass(?=\\W{0,3}[:=]))(?![a-z])|jeton|clé|schlüssel|chiave|chave|llave|токен|ключ|キー|トークン|令牌|密钥|密匙|키|토큰";

const WHOLE_NAME = new RegExp(
  `(?<!hashed[_-]?)(?:${SECRET_NAME})(?:[_-]?\\d{1,2}|_plain|_clear|_text)?$`,
  "i",
);

/**
 * Pattern source for words that make a nearby generated value a secret: weaker than `SECRET_NAME`, because
 * map keys and grammar tokens have such names too.
 */
export const HINT: string = [
  "密钥|私钥|密匙|令牌|api[_\\x20-]?key|access[_\\x20-]?key|token|secret|passw(?:or)?d|credential|creds?|auth|sasl|totp|key|\\bsig(?![a-z])|cookie|\\bpin|[._-]salt|jsessionid|phpsessid|connect\\.sid|_session(?![\\w-])|wordpress_(?:logged_in|sec)|_(?:pat|api)(?![a-z])|private|bearer|crumb|webhook|dsn|license",
  "adafruit|adobe|airtable|algolia|alibaba|anthropic|artifactory|asana|atlassian|beamer|bintray|bitbucket|bittrex|cloudflare",
  "codecov|cohere|coinbase|confluen(?:t|ce)|contentful|datadog|discord|droneci|dropbox|etsy|facebook|fastly|finicity|finnhub",
  "flickr|freshbooks|gitter|gocardless|heroku|hubspot|intercom|jfrog|jira|kraken|kucoin|launchdarkly|linear|linked[_-]?in",
  "looker|mailchimp|mailgun|mapbox|mattermost|meraki|message[_-]?bird|mistral|netlify|new[_-]?relic|nytimes|okta|openai|plaid",
  "private[_-]?ai|rapidapi|sendbird|sendgrid|sentry|snyk|sonar|squarespace|stripe|sumo|telegram|travis|twilio|twitch|twitter",
  "typeform|xray|yandex|zendesk|alphavantage|amplitude|apify|assemblyai|auth0|binance|bugsnag|cloudimage|cloudinary|cloudmersive",
  "cloudsmith|coinapi|coinmarketcap|deepgram|digitalocean|elevenlabs|etherscan|filestack|huggingface|infura|ipinfo|ipstack",
  "klaviyo|langfuse|langsmith|mixpanel|nexmo|onesignal|openweather|opsgenie|pagerduty|pinecone|pubnub|railway|rollbar|scraper_?api",
  "scraping_?bee|serp_?api|shodan|supabase|uploadcare|virustotal|vonage|vultr|wandb|weatherapi|webex|workos|postmark|codeclimate|cc_test_reporter",
].join("|");

const HAS_HINT = new RegExp(HINT, "i");
/** Names that contain a hint and do not name a secret. */
const HARMLESS =
  /publi[cs]|pub[_-]?key|recv-?keys?$|signing-?key$|gpg|site[_-]?key|(?:origin_?trial|page|next|continuation|sync)[_-]?token|cursor|(?:message|record|row|event|object|map)[_-]?key|websocket|checksum|digest|hash(?![_-]?salt)|sha\d|integrity|etag|fingerprint|(?:client|credentials?|secrets|token|webhook|auth|account)[_-]?s?ids?$|key[_-]?(?:id|name|path|file|code|board|word|frame|type|length|size|hash)|primary|foreign|partition|sort[_-]?key|cache|monkey|keychain|keyboard|author(?!iz)|tokeni[sz]er|(?<!secret)[ _]id$|max_|revision|commit|version|release|idempotency|-mac$|url$|uri$/i;

/** Pattern source for the name of a secret in a text, also a short one: what follows must say that it is one. */
export const NAME: string = `${PASSWORD_WORDS}|${SECRET_NAME}|(?<![a-z])(?:pass|pw)(?![a-z])`;
const ANY_NAME = new RegExp(SECRET_NAME, "iy");
let scan: ReturnType<typeof createScan> | undefined;
let lastText = "";
let lastStarts: readonly number[] = [];

/** Where names can start; kept for the last text, since several finders ask. */
function startsOf(text: string): readonly number[] {
  if (text !== lastText) {
    const starts: number[] = [];
    scan ??= createScan([beginningsOf(NAME)]);
    scan(text, (_, at) => starts.push(at));
    lastStarts = starts;
    lastText = text;
  }
  return lastStarts;
}

/** The matches of a sticky pattern that starts with a name, each from the `lastIndex` that the one before it leaves. */
export function* matchNames(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  let from = 0;
  for (const at of startsOf(text)) {
    if (at < from) continue;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) continue;
    yield match;
    from = pattern.lastIndex;
  }
}

export function hasSecretName(text: string): boolean {
  return matchNames(text, ANY_NAME).next().done !== true;
}

/** True for a field name such as `dbPassword`, `X-Api-Key` or `GITHUB_TOKEN`; false for `max_tokens`. */
export function isSecretName(name: string): boolean {
  return name.length <= 200 && (WHOLE_NAME.test(name) || /^(?:_?auth|pass|pw)$/i.test(name));
}

/** True for a name whose value is a secret if it looks generated: `datadogId`, `keys`, `tokenForProd`. */
export function isHintingName(name: string): boolean {
  return name.length <= 200 && HAS_HINT.test(name) && !HARMLESS.test(name);
}

/** True for names whose value a person may have chosen: possibly short, plain words, or with spaces. */
export function isPasswordName(name: string): boolean {
  return /pa?ss?w|passphrase|passcode|pass$|pwd?$|pwd|psk/i.test(name);
}

/** Behind `root-`, not `in_`; in a script without spaces behind anything. */
const PASSWORD_WORD = new RegExp(
  `(?:^|[^\\p{L}\\p{N}_-]|\\p{L}-|[\\u3000-\\uffff]|(?=[^a-z]))(?:${PASSWORD_WORDS})$|wort$`,
  "iu",
);

/** True for a word that means a password in a sentence, also at the end of a compound as in German. */
export function isPasswordWord(name: string, before: string): boolean {
  return PASSWORD_WORD.test(before.slice(-2) + name);
}
