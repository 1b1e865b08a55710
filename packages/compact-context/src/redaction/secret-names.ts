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
