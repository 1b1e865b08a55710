import { crc32 } from "../errors.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const BASE62 = `${DIGITS}${LETTERS.toUpperCase()}${LETTERS}`;

export type Alphabet =
  | "digit"
  | "hex"
  | "HEX"
  | "anyhex"
  | "upper"
  | "lower"
  | "base62"
  | "base32"
  | "bech32"
  | "url64"
  | "url64dot"
  | "url64pad"
  | "base64"
  | "word";

/** The characters of each alphabet that a token format names; base62 in the order of its digits. */
export const ALPHABETS: Readonly<Record<Alphabet, string>> = {
  digit: DIGITS,
  hex: `${DIGITS}abcdef`,
  HEX: `${DIGITS}ABCDEF`,
  anyhex: `${DIGITS}abcdefABCDEF`,
  upper: `${DIGITS}${LETTERS.toUpperCase()}`,
  lower: `${DIGITS}${LETTERS}`,
  base62: BASE62,
  base32: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
  bech32: "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
  /** base64 for addresses, unpadded. */
  url64: `${BASE62}_-`,
  url64dot: `${BASE62}_-.`,
  url64pad: `${BASE62}_-=`,
  base64: `${BASE62}+/=`,
  word: `${BASE62}_`,
};

const CHECK_LENGTH = 6;

/**
 * The checksum that GitHub and npm put at the end of a token: CRC-32 of what stands between prefix and checksum,
 * in base 62, six characters. https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
 */
export function checksumOf(entropy: string): string {
  let rest = crc32(entropy);
  let digits = "";
  for (; rest > 0; rest = Math.floor(rest / 62)) digits = BASE62.charAt(rest % 62) + digits;
  return digits.padStart(CHECK_LENGTH, "0");
}

/** True when the last six characters of a token's body are the checksum of the others. */
export function hasChecksum(body: string): boolean {
  return checksumOf(body.slice(0, -CHECK_LENGTH)) === body.slice(-CHECK_LENGTH);
}

/**
 * How an issuer's tokens look. `shape` is literal text with runs in braces: `ghp_{base62:36}` or, with a range,
 * `{lower:5-30}`. The text before the first run is what tokens are found by.
 */
export interface TokenFormat {
  readonly issuer: string;
  readonly shape: string;
  /** `crc32`: the last six characters are the checksum of those before them; such a token needs nothing around it. */
  readonly check?: "crc32";
  /** The body must hold a digit: for beginnings that words have as well. */
  readonly digit?: true;
}

export interface Run {
  readonly alphabet: Alphabet;
  readonly least: number;
  readonly most: number;
}

/** A shape in its parts: literal text and runs in turn. */
export function partsOf(shape: string): (string | Run)[] {
  return shape
    .split(/(\{[^}]*\})/)
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("{") ? runOf(part.slice(1, -1)) : part));
}

/** Formats of one issuer, one line each; a line that begins with `#` needs a digit. */
function formatsOf(issuer: string, ...shapes: readonly string[]): TokenFormat[] {
  return shapes.map((shape) =>
    shape.startsWith("#") ? { issuer, shape: shape.slice(1), digit: true as const } : { issuer, shape },
  );
}

function runOf(text: string): Run {
  const [alphabet = "", lengths = ""] = text.split(":");
  const [least = "", most = least] = lengths.split("-");
  if (!(alphabet in ALPHABETS)) throw new RangeError(`no alphabet is called ${alphabet}`);
  return { alphabet: alphabet as Alphabet, least: Number(least), most: Number(most) };
}

const github: TokenFormat[] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((prefix) => ({
  issuer: "GitHub",
  shape: `${prefix}{base62:20-255}`,
  check: "crc32",
}));

/** Where code, packages and builds live. */
const codeHosts: readonly TokenFormat[] = [
  ...github,
  ...formatsOf("GitHub", "github_pat_{word:20-255}"),
  { issuer: "npm", shape: "npm_{base62:30-64}", check: "crc32" },
  ...formatsOf(
    "GitLab",
    ...[
      "glpat-",
      "gldt-",
      "glrt-",
      "glcbt-",
      "glptt-",
      "glft-",
      "glimt-",
      "glagent-",
      "gloas-",
      "glsoat-",
    ].map((prefix) => `${prefix}{url64dot:16-320}`),
    "glffct-{url64:16-64}",
    "GR1348941{url64:20-40}",
    "_gitlab_session={lower:32-64}",
  ),
  ...formatsOf("Bitbucket", "ATBB{base62:24-60}", "ATCTT3{url64pad:60-400}"),
  ...formatsOf("Atlassian", "ATATT3{url64pad:60-400}"),
  ...formatsOf("PyPI", "pypi-{url64:50-1000}"),
  ...formatsOf("RubyGems", "rubygems_{hex:48}"),
  ...formatsOf("crates.io", "cio{base62:32}"),
  ...formatsOf("Clojars", "CLOJARS_{lower:60}"),
  ...formatsOf("NuGet", "oy2{lower:43}"),
  ...formatsOf("Docker", "dckr_pat_{url64:20-64}", "dckr_oat_{url64:20-64}"),
  ...formatsOf("JFrog", "AKCp{base62:60-80}", "cmVmd{base62:55-70}"),
  ...formatsOf(
    "Sourcegraph",
    "sgp_{anyhex:16}_{anyhex:40}",
    "sgp_local_{anyhex:40}",
    "sgp_{anyhex:40}",
    "slk_{hex:64}",
  ),
  ...formatsOf("SonarQube", "squ_{hex:40}", "sqp_{hex:40}", "sqa_{hex:40}"),
  ...formatsOf("CircleCI", "CCIPAT_{base62:20-30}_{hex:40}", "CCIPRJ_{base62:20-30}_{hex:40}"),
  ...formatsOf("Buildkite", "bkua_{hex:40}", "bkpt_{hex:40}", "bkct_{base62:20-60}"),
  ...formatsOf("Octopus Deploy", "#API-{upper:25-32}"),
  ...formatsOf("Vercel", "vercel_blob_rw_{word:30-80}", "vck_{base62:40-80}", "vcp_{base62:40-80}"),
  ...formatsOf("Netlify", "nfp_{base62:30-60}"),
  ...formatsOf("Linear", "lin_api_{base62:32-64}", "lin_oauth_{hex:64}"),
  ...formatsOf("Postman", "PMAK-{anyhex:24}-{anyhex:34}"),
  ...formatsOf("ReadMe", "rdme_{lower:60-80}"),
  ...formatsOf("Infracost", "ico-{base62:32}"),
  ...formatsOf("Harness", "pat.{url64:22}.{base62:24}.{base62:20}", "sat.{url64:22}.{base62:24}.{base62:20}"),
  ...formatsOf("Snyk", "snyk_uat.{hex:8}.{url64dot:50-800}"),
  ...formatsOf("StackHawk", "hawk.{url64:20}.{url64:20}"),
];

/** Who rents machines, storage, databases and keys. */
const clouds: readonly TokenFormat[] = [
  ...formatsOf(
    "AWS",
    ...["AKIA", "ASIA", "ABIA", "ACCA"].map((prefix) => `${prefix}{upper:16}`),
    "#A3T{upper:17}",
    "ABSK{base64:100-280}",
    "bedrock-api-key-{base64:20-2000}",
  ),
  ...formatsOf(
    "Google",
    "AIza{url64:30-45}",
    "ya29.{url64:20-2000}",
    "GOCSPX-{url64:20-40}",
    "1//0{url64:30-200}",
  ),
  ...formatsOf("Google Storage", "GOOG{upper:20-60}"),
  ...formatsOf("Firebase", "AAAA{url64:7}:APA91b{url64:100-200}"),
  ...formatsOf("Alibaba Cloud", "LTAI{base62:12-24}"),
  ...formatsOf("Tencent Cloud", "AKID{base62:32}"),
  ...formatsOf(
    "Yandex Cloud",
    "AQVN{url64:35-40}",
    "t1.{url64pad:20-600}.{url64pad:80-100}",
    "#YCA{url64:35-45}",
    "y0_{url64:50-70}",
  ),
  ...formatsOf("DigitalOcean", "dop_v1_{hex:40-64}", "doo_v1_{hex:40-64}", "dor_v1_{hex:40-64}"),
  ...formatsOf("Linode", "linode_{hex:64}"),
  ...formatsOf("Scaleway", "#SCW{upper:17}"),
  ...formatsOf("Scalingo", "tk-us-{url64:40-60}"),
  ...formatsOf("Heroku", "HRKU-{url64:30-70}"),
  ...formatsOf(
    "Fly.io",
    "fo1_{url64:40-50}",
    "fm1a_{base64:90-2000}",
    "fm1r_{base64:90-2000}",
    "fm2_{base64:90-2000}",
  ),
  ...formatsOf("Cloudflare", "v1.0-{hex:24}-{hex:100-160}"),
  ...formatsOf("Databricks", "dapi{hex:32}", "dose{hex:32}"),
  ...formatsOf(
    "PlanetScale",
    "pscale_tkn_{url64dot:32-64}",
    "pscale_oauth_{url64dot:32-64}",
    "pscale_pw_{url64dot:32-64}",
  ),
  ...formatsOf("Supabase", "sbp_{hex:40}", "sb_secret_{url64:20-60}", "sbp_v0_{hex:40}"),
  ...formatsOf("Neon", "napi_{lower:40-80}"),
  ...formatsOf("Turso", "turso_{base62:30-80}"),
  ...formatsOf("ClickHouse Cloud", "4b1d{base62:38}"),
  ...formatsOf("MongoDB Atlas", "mdb_sa_sk_{url64:30-60}"),
  ...formatsOf("Pulumi", "pul-{hex:40}"),
  ...formatsOf(
    "HashiCorp Vault",
    "hvs.{url64:24-160}",
    "hvb.{url64:90-320}",
    "hvr.{url64:24-160}",
    "#s.{base62:24}",
  ),
  ...formatsOf("OpenShift", "sha256~{url64:43}"),
  ...formatsOf(
    "Doppler",
    ...["pt", "ct", "st.{lower:1-35}", "st", "sa", "scim", "audit"].map(
      (kind) => `dp.${kind}.{base62:40-44}`,
    ),
  ),
  ...formatsOf(
    "1Password",
    "ops_eyJ{base64:100-3000}",
    ...["{upper:11}", "{upper:6}-{upper:5}"].map(
      (middle) => `A3-{upper:6}-${middle}-{upper:5}-{upper:5}-{upper:5}`,
    ),
  ),
  ...formatsOf("Bitwarden", "0.{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}.{base62:30}:{base64:22-26}"),
  ...formatsOf("age", "AGE-SECRET-KEY-1{upper:40-70}", "AGE-PLUGIN-{upper:2-20}-1{upper:40-200}"),
  ...formatsOf(
    "Tailscale",
    ...["auth", "api", "client", "scim", "webhook"].map(
      (kind) => `tskey-${kind}-{base62:8-20}-{base62:20-50}`,
    ),
  ),
  ...formatsOf("Defined Networking", "dnkey-{url64pad:26}-{url64pad:52}"),
  ...formatsOf(
    "Authress",
    ...["sc_", "ext_", "scauth_", "authress_"].map(
      (prefix) => `${prefix}{lower:5-30}.{lower:4-6}.acc_{lower:10-32}.{base64:30-120}`,
    ),
  ),
  ...formatsOf("Prefect", "pnu_{base62:36}", "pnb_{base62:36}"),
  ...formatsOf("Grafana", "glc_{base64:32-400}", "glsa_{base62:32}_{anyhex:8}", "eyJrIjoi{base62:60-400}"),
  ...formatsOf("New Relic", "NRAK-{base62:27}", "NRII-{url64:32}", "NRJS-{hex:19}", "NRAL-{base62:20-40}"),
  ...formatsOf("Sentry", "sntrys_{base64:40-500}_{base64:40-46}", "sntryu_{hex:64}", "sntrya_{hex:64}"),
  ...formatsOf("Dynatrace", "dt0c01.{base62:24}.{base62:64}", "dt0s16.{base62:24}.{base62:64}"),
  ...formatsOf("Datadog", "ddapp_{base62:34}", "pub{hex:32}"),
  ...formatsOf("Honeycomb", "hcaik_{lower:40-70}", "hcxik_{lower:40-70}"),
  ...formatsOf("PostHog", "phx_{base62:40-60}", "phs_{base62:40-60}"),
  ...formatsOf("Intra 42", "s-s4t2ud-{hex:64}", "s-s4t2af-{hex:64}"),
];

/** Who serves models, messages, payments and the rest. */
const services: readonly TokenFormat[] = [
  ...formatsOf(
    "OpenAI",
    "sk-{base62:20-200}",
    "#sk-{url64:16-300}",
    "sk-proj-{url64:20-300}",
    "sk-svcacct-{url64:20-300}",
    "sk-admin-{url64:20-300}",
    "#sess-{base62:40}",
  ),
  ...formatsOf("Anthropic", "sk-ant-{lower:2-12}-{url64:20-200}"),
  ...formatsOf("OpenRouter", "sk-or-v1-{hex:40-80}"),
  ...formatsOf("Hugging Face", "hf_{base62:20-60}", "api_org_{base62:30-60}"),
  ...formatsOf("Groq", "gsk_{base62:30-80}"),
  ...formatsOf("xAI", "xai-{base62:40-120}"),
  ...formatsOf("Replicate", "r8_{base62:30-60}"),
  ...formatsOf("Perplexity", "pplx-{base62:40-80}"),
  ...formatsOf("Fireworks", "fw_{base62:20-40}"),
  ...formatsOf("Tavily", "tvly-{url64:20-80}"),
  ...formatsOf("Exa and other search", "fc-{hex:32}", "jina_{url64:50-80}"),
  ...formatsOf("NVIDIA", "nvapi-{url64:50-80}"),
  ...formatsOf("LangSmith", "lsv2_pt_{hex:32}_{hex:10}", "lsv2_sk_{hex:32}_{hex:10}", "ls__{hex:32}"),
  ...formatsOf("Langfuse", "sk-lf-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
  ...formatsOf("Pinecone", "pcsk_{word:30-80}"),
  ...formatsOf("ElevenLabs", "#sk_{hex:48}"),
  ...formatsOf("E2B", "e2b_{hex:40}"),
  ...formatsOf(
    "Stripe",
    ...["sk", "rk", "pk"].flatMap((kind) =>
      ["live", "test", "prod"].map((mode) => `${kind}_${mode}_{base62:10-110}`),
    ),
    "whsec_{base64:20-80}",
  ),
  ...formatsOf(
    "Slack",
    ...[..."abeoprscd"].map((kind) => `xox${kind}-{url64:10-260}`),
    ...["b", "p"].map((kind) => `xoxe.xox${kind}-{url64:20-260}`),
    "xapp-{url64:10-160}",
  ),
  ...formatsOf("SendGrid", "SG.{url64:16-32}.{url64:16-64}"),
  ...formatsOf("Twilio", "SK{anyhex:32}", "AC{hex:32}"),
  ...formatsOf("Brevo", "xkeysib-{hex:64}-{base62:16}", "xsmtpsib-{hex:64}-{base62:16}"),
  ...formatsOf("Mailgun", "key-{hex:32}", "pubkey-{hex:32}"),
  ...formatsOf("Resend", "#re_{word:20-60}"),
  ...formatsOf("Postmark and SparkPost", "#PM-{url64:30-80}"),
  ...formatsOf("Shopify", ...["at", "ca", "pa", "ss", "ka"].map((kind) => `shp${kind}_{anyhex:32}`)),
  ...formatsOf(
    "Square",
    "EAAA{url64:22-80}",
    "sq0atp-{url64:22-60}",
    "sq0csp-{url64:40-60}",
    "sq0idp-{url64:22}",
  ),
  ...formatsOf(
    "PayPal",
    ...["production", "sandbox"].map((mode) => ["access_token", mode, "{lower:16}", "{hex:32}"].join("$")),
  ),
  ...formatsOf(
    "Plaid",
    ...["sandbox", "development", "production"].map(
      (mode) => `access-${mode}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}`,
    ),
  ),
  ...formatsOf("Razorpay", "rzp_live_{base62:14-24}", "rzp_test_{base62:14-24}"),
  ...formatsOf(
    "Flutterwave",
    "FLWSECK_TEST-{lower:12-36}",
    "FLWPUBK_TEST-{lower:32}-X",
    "FLWSECK-{lower:32}-X",
  ),
  ...formatsOf("EasyPost", "EZAK{base62:54}", "EZTK{base62:54}"),
  ...formatsOf("Duffel", "duffel_test_{url64pad:43}", "duffel_live_{url64pad:43}"),
  ...formatsOf("Shippo", "shippo_live_{anyhex:40}", "shippo_test_{anyhex:40}"),
  ...formatsOf("Lob", "#live_{hex:35}", "#test_{hex:35}", "live_pub_{hex:31}", "test_pub_{hex:31}"),
  ...formatsOf("GoCardless", "#live_{url64pad:40}"),
  ...formatsOf(
    "Facebook",
    "EAAC{base62:90-300}",
    "EAAM{base62:90-300}",
    "EAAG{base62:90-300}",
    "EAAB{base62:90-300}",
  ),
  ...formatsOf("Twitter", "AAAAAAAAAAAAAAAAAAAAAA{base62:60-120}"),
  ...formatsOf("Adobe", "p8e-{base62:32}"),
  ...formatsOf("Airtable", "pat{base62:14}.{hex:64}"),
  ...formatsOf("Notion", "ntn_{base62:40-60}", "secret_{base62:43}"),
  ...formatsOf("Figma", "figd_{url64:40-60}", "figu_{url64:40-60}"),
  ...formatsOf("Asana", "1/{digit:10-20}:{hex:32}", "2/{digit:10-20}/{digit:10-20}:{hex:32}"),
  ...formatsOf("Frame.io", "fio-u-{url64pad:64}"),
  ...formatsOf(
    "Mapbox",
    "pk.{base62:60-120}.{url64:22}",
    "sk.{base62:60-120}.{url64:22}",
    "tk.{base62:60-120}.{url64:22}",
  ),
  ...formatsOf("Typeform", "tfp_{url64dot:40-70}"),
  ...formatsOf("Beamer", "#b_{url64pad:44}"),
  ...formatsOf("Dropbox", "sl.{url64pad:100-1400}", "sl.u.{url64pad:100-1400}"),
  ...formatsOf(
    "HubSpot",
    ...["na1", "na2", "eu1", "ap1"].map((region) => `pat-${region}-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}`),
  ),
  ...formatsOf("Contentful", "CFPAT-{url64:43}"),
  ...formatsOf("Ubidots and Particle", "BBFF-{base62:30}"),
  ...formatsOf("SettleMint", "sm_aat_{base62:16}", "sm_pat_{base62:16}", "sm_sat_{base62:16}"),
  ...formatsOf("Okta", "#00{url64:40}"),
  ...formatsOf("LaunchDarkly", "sdk-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
  ...formatsOf("WakaTime", "waka_{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"),
  ...formatsOf("Zapier and Make", "#zak_{base62:30-60}"),
  ...formatsOf("ngrok", "#ngrok_{word:30-80}"),
  ...formatsOf(
    "Web tokens",
    "eyJ{url64:8-8000}.{url64:8-16000}.{url64:0-4000}",
    "eyJ{url64:8-8000}.{url64:8-16000}",
    "ZXlK{base64:60-8000}",
  ),
];

/** Every token format that shows by its beginning. */
export const TOKEN_FORMATS: readonly TokenFormat[] = [...codeHosts, ...clouds, ...services];
