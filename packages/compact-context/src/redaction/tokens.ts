import { crc32 } from "../core/records.ts";
import { beginningsOf, createScan } from "./beginnings.ts";
import type { Finding } from "./finding.ts";

// Tokens recognizable by their own format: tables of issuers.

const { raw } = String;

/** The characters of a run in a token's shape. */
export const ALPHABETS: Readonly<Record<string, string>> = {
  digit: raw`\d`,
  hex: raw`\da-f`,
  anyhex: raw`\da-fA-F`,
  upper: raw`\dA-Z`,
  lower: raw`\da-z`,
  base62: raw`\dA-Za-z`,
  base32: "A-Z2-7",
  base64: raw`\dA-Za-z+/=`,
  url64: raw`\w-`,
  url64dot: raw`\w.-`,
  url64pad: raw`\w=-`,
  word: raw`\w`,
};

/**
 * Issuers and the shapes of their tokens, separated by spaces; a line that starts with a space continues the
 * previous one. A shape is literal text with runs of characters in braces: `ghp_{base62:36}` or, with a range,
 * `{lower:5-30}`; the text before the first run is its prefix. `(a|b)` stands for two shapes. `!` marks a shape
 * that ends with a checksum, and needs no word boundary before it then; `#` one that requires a digit, because
 * words can start with the prefix.
 */
const TABLE = `
GitHub: !gh(p|o|u|s|r)_{base62:20-255} github_pat_{word:20-255}
npm: !npm_{base62:30-64}
GitLab: gl(pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-{url64dot:16-320} glffct-{url64:16-64} GR1348941{url64:20-40}
  gl(rtr|wt)-{url64:20-60} _gitlab_session={lower:32-64}
Bitbucket: ATBB{base62:24-60} ATCTT3{url64pad:60-400}
Atlassian: ATATT3{url64pad:60-400}
PyPI: pypi-{url64:50-1000}
RubyGems: rubygems_{hex:48}
crates.io: cio{base62:32}
Clojars: CLOJARS_{lower:60}
NuGet: oy2{lower:43}
Docker: dckr_(pat|oat)_{url64:20-64} SWMTKN-1-{lower:50}-{lower:25} SWMKEY-1-{base64:43}
JFrog: AKCp{base62:60-80} cmVmd{base62:55-70}
Sourcegraph: sgp_{anyhex:16}_{anyhex:40} sgp_local_{anyhex:40} sgp_{anyhex:40} slk_{hex:64}
SonarQube: sq(u|p|a)_{hex:40}
CircleCI: CCI(PAT|PRJ)_{base62:20-30}_{hex:40}
Buildkite: bk(ua|pt)_{hex:40} bkct_{base62:20-60}
Octopus Deploy: #API-{upper:25-32}
Vercel: vercel_blob_rw_{word:30-80} vc(k|p)_{base62:40-80}
Netlify: nfp_{base62:30-60}
Linear: lin_api_{base62:32-64} lin_oauth_{hex:64}
Postman: PMAK-{anyhex:24}-{anyhex:34} PMAT-{upper:26}
ReadMe: rdme_{lower:60-80}
Infracost: ico-{base62:32}
Harness: (pat|sat).{url64:22}.{base62:24}.{base62:20}
Snyk: snyk_uat.{hex:8}.{url64dot:50-800}
StackHawk: hawk.{url64:20}.{url64:20}
AWS: A(KIA|SIA|BIA|CCA){upper:16} #A3T{upper:17} ABSK{base64:100-280} bedrock-api-key-{base64:20-2000}
Google: AIza{url64:30-45} ya29.{url64:20-2000} GOCSPX-{url64:20-40} 1//0{url64:30-200}
Google Storage: GOOG{upper:20-60}
Firebase: AAAA{url64:7}:APA91b{url64:100-200}
Alibaba Cloud: LTAI{base62:12-24}
Tencent Cloud: AKID{base62:32}
Yandex Cloud: AQVN{url64:35-40} t1.{url64pad:20-600}.{url64pad:80-100} #YCA{url64:35-45} y0_{url64:50-70}
DigitalOcean: do(p|o|r)_v1_{hex:40-64}
Linode: linode_{hex:64}
Scaleway: #SCW{upper:17}
Scalingo: tk-us-{url64:40-60}
Heroku: HRKU-{url64:30-70}
Fly.io: fo1_{url64:40-50} fm(1a|1r|2)_{base64:90-2000}
Cloudflare: v1.0-{hex:24}-{hex:100-160} cf(at|ut|k)_{base62:48}
Akamai: akab-{lower:16}-{lower:16}
Databricks: d(api|ose){hex:32}
PlanetScale: pscale_(tkn|oauth|pw)_{url64dot:32-64}
Supabase: sbp_{hex:40} sb_secret_{url64:20-60} sbp_v0_{hex:40}
Neon: napi_{lower:40-80}
Turso: turso_{base62:30-80}
ClickHouse Cloud: 4b1d{base62:38}
MongoDB Atlas: mdb_sa_sk_{url64:30-60}
Pulumi: pul-{hex:40}
HashiCorp Vault: hvs.{url64:24-160} hvb.{url64:90-320} hvr.{url64:24-160} #s.{base62:24}
OpenShift: sha256~{url64:43}
Doppler: dp.(pt|ct).{base62:40-44} dp.st.{lower:1-35}.{base62:40-44} dp.st.{base62:40-44}
  dp.(sa|scim|audit).{base62:40-44}
1Password: ops_eyJ{url64pad:100-3000} A3-{upper:6}-{upper:11}-{upper:5}-{upper:5}-{upper:5}
  A3-{upper:6}-{upper:6}-{upper:5}-{upper:5}-{upper:5}-{upper:5}
Bitwarden: 0.{uuid}.{base62:30}:{base64:22-26}
age: AGE-SECRET-KEY-1{upper:40-70} AGE-PLUGIN-{upper:2-20}-1{upper:40-200}
Tailscale: tskey-(auth|api|client|scim|webhook)-{base62:8-20}-{base62:20-50}
Defined Networking: dnkey-{url64pad:26}-{url64pad:52}
Authress: (sc|ext|scauth|authress)_{lower:5-30}.{lower:4-6}.acc_{lower:10-32}.{base64:30-120}
Prefect: pn(u|b)_{base62:36}
Grafana: glc_{base64:32-400} glsa_{base62:32}_{anyhex:8} eyJrIjoi{base62:60-400}
New Relic: NRAK-{base62:27} NRII-{url64:20-40} NR(JS|BR)-{hex:19} NRAA-{hex:27} NRAL-{base62:20-40}
Sentry: sntrys_{base64:40-500}_{base64:40-46} sntrys_eyJ{url64pad:80-600} sntry(u|a)_{hex:64}
Dynatrace: dt0(c01|s16).{base62:24}.{base62:64}
Datadog: ddapp_{base62:34} pub{hex:32}
Honeycomb: hc(a|x)ik_{lower:40-70}
PostHog: ph(x|s)_{base62:40-60} phr_{base62:40-70} pha_{base62:40-70}
Intra 42: s-s4t2(ud|af)-{hex:64}
Together AI: tgp_v1_{url64:43}
LlamaIndex: llx-{url64:48}
WunderGraph: cosmo_{hex:32}
Instagram: IGQ(V|W){url64:60-400}
NATS: S(U|A|O|N|C|X){base32:56}
NTLM: TlRMTVNTUAAD{base64:60-2000}
OpenAI: sk-{base62:20-200} #sk-{url64:16-300} sk-(proj|svcacct|admin)-{url64:20-300} #sess-{base62:40}
Anthropic: sk-ant-{lower:2-12}-{url64:20-200}
OpenRouter: sk-or-v1-{hex:40-80}
Hugging Face: hf_{base62:20-60} api_org_{base62:30-60}
Groq: gsk_{base62:30-80}
xAI: xai-{base62:40-120}
Replicate: r8_{base62:30-60}
Perplexity: pplx-{base62:40-80}
Fireworks: fw_{base62:20-40}
Tavily: tvly-{url64:20-80}
Exa and other search: fc-{hex:32} jina_{url64:50-80}
NVIDIA: nvapi-{url64:50-80}
LangSmith: lsv2_(pt|sk)_{hex:32}_{hex:10} ls__{hex:32}
Langfuse: sk-lf-{uuid}
Pinecone: pcsk_{word:30-80}
ElevenLabs: #sk_{hex:48}
E2B: e2b_{hex:40}
Stripe: (sk|rk)_(live|test|prod)_{base62:10-110} whsec_{base64:20-80}
Slack: xox(a|b|e|o|p|r|s|c|d)-{url64:10-260} xoxe.xox(b|p)-{url64:20-260} xapp-{url64:10-160}
SendGrid: SG.{url64:16-32}.{url64:16-64}
Twilio: SK{anyhex:32}
Brevo: xkeysib-{hex:64}-{base62:16} xsmtpsib-{hex:64}-{base62:16}
Mailgun: (key|pubkey)-{hex:32}
Resend: #re_{word:20-60}
Postmark and SparkPost: #PM-{url64:30-80}
Shopify: shp(at|ca|pa|ss|ka)_{anyhex:32}
Square: EAAA{url64:22-80} sq0atp-{url64:22-60} sq0csp-{url64:40-60} sq0idp-{url64:22}
PayPal: access_token$(production|sandbox)\${lower:16}\${hex:32}
Plaid: access-(sandbox|development|production)-{uuid}
Razorpay: rzp_(live|test)_{base62:14-24}
Flutterwave: FLWSECK_TEST-{lower:12-36} FLWPUBK_TEST-{lower:32}-X FLWSECK-{lower:32}-X
EasyPost: EZ(AK|TK){base62:54}
Duffel: duffel_(test|live)_{url64pad:40-60}
Shippo: shippo_(live|test)_{anyhex:40}
Lob: #(live|test)_{hex:35} (live|test)_pub_{hex:31}
GoCardless: #live_{url64pad:40}
Facebook: EAA(C|M|G|B){base62:90-300}
Twitter: AAAAAAAAAAAAAAAAAAAAAA{base62:60-120}
Adobe: p8e-{base62:32}
Airtable: pat{base62:14}.{hex:64}
Notion: ntn_{base62:40-60} secret_{base62:43}
Figma: fig(d|u)_{url64:40-60}
Asana: 1/{digit:10-20}:{hex:32} 2/{digit:10-20}/{digit:10-20}:{hex:32}
Adafruit: aio_{base62:28}
Dependency-Track: odt_{base62:32-36}
pganalyze: pgar_{base62:24-40}
Rootly: rootly_{hex:64}
SpectralOps: spu-{hex:32}
Frame.io: fio-u-{url64pad:64}
Mapbox: (pk|sk|tk).{base62:60-120}.{url64:22}
Typeform: tfp_{url64dot:40-70}
Beamer: #b_{url64pad:44}
Dropbox: sl.{url64pad:100-1400} sl.u.{url64pad:100-1400}
HubSpot: pat-(na1|na2|eu1|ap1)-{uuid}
Contentful: CFPAT-{url64:43}
Ubidots and Particle: BBFF-{base62:30}
SettleMint: sm_(aat|pat|sat)_{base62:16}
Okta: #00{url64:40}
LaunchDarkly: sdk-{uuid}
WakaTime: waka_{uuid}
Zapier and Make: #zak_{base62:30-60}
ngrok: #ngrok_{word:30-80}
Web tokens: eyJ{url64:8-8000}.{url64:8-16000}.{url64:0-4000} eyJ{url64:8-8000}.{url64:8-16000} ZXlK{base64:60-8000}
`;

/**
 * Tokens identified by text in the middle or at the end: issuer, the pattern of what stands before that text, and
 * of that text and what follows, with every repetition bounded; separated by `~>`.
 */
const ANCHORED = raw`
HashiCorp Terraform~>\b[A-Za-z0-9]{14}~>\.atlasv1\.[\w=-]{55,75}
Azure~>(?<![\w~.-])[\w~.]{3}\d~>Q~[\w~.-]{31,34}(?![\w~-])
Azure DevOps~>\b[A-Za-z0-9]{70,80}~>AZDO[A-Za-z0-9]{4,8}\b
Azure Storage~>[A-Za-z0-9+/]{76}~>\+ASt[A-Za-z0-9+/]{5,8}={0,2}
Azure~>(?<![\w+/])[A-Za-z0-9+/]{42}~>\+ACR[A-D][A-Za-z0-9]{4,7}\b
Azure~>\b[A-Za-z0-9]{52}~>JQQJ99[A-Za-z0-9]{26}\b
MaxMind~>\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}~>_mmk\b
Mailchimp~>\b[0-9a-f]{32}~>-us\d{1,2}\b
Telegram~>\b\d{8,10}~>:A[\w-]{33,35}(?![\w-])
Discord~>~>\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])
Facebook~>\b\d{15,16}~>\|[\w-]{27,40}\b
Twitter~>\b\d{15,19}~>-[A-Za-z0-9]{40}\b
Mailgun~>\b[0-9a-f]{32}~>-[0-9a-f]{8}-[0-9a-f]{8}\b
Atlassian~>~>\bATATT[\w+/-]{30,400}=[0-9A-Za-z]{8}\b
New Relic~>\b[0-9a-z]{36}~>NRAL\b
Salesforce~>~>\b00D[A-Za-z0-9]{12,15}![\w.]{60,150}
X~>~>\bA{15,24}\w{4,30}%[\w%]{50,120}\b
MySQL~>~>\*[0-9A-F]{40}\b
crypt~>~>\${1,2}(?:(?:1|apr1)\${1,2}[./\w]{1,8}\${1,2}[./\w]{22}|2[abxy]\${1,2}\d\d\${1,2}[./\w]{53}|[56]\$(?:rounds=\d{1,9}\$)?[./\w]{1,16}\$[./\w]{43,86}|[89]\$[./\w]{14}\$[./\w]{43}|y\$[./\w]{3,8}\$[./\w]{8,40}\$[./\w]{43}|argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,8},t=\d{1,4},p=\d{1,3}\$[\w+/]{8,64}\$[\w+/]{16,128}|krb5(?:asrep|tgs)\$\d\d\$[\w@.*/$:-]{60,4096})
OpenAI~>\b[\w-]{20,80}~>T3BlbkFJ[\w-]{20,80}
DeepL~>\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}~>:fx\b
Express session~>~>\bs%3A[\w-]{32}\.[\w%]{43,61}
Sidekiq~>\b[0-9a-f]{8}~>:[0-9a-f]{8}(?=@(?:gems|enterprise)\.contribsys)
Sidekiq~>(?<=CONTRIBSYS__COM["'\s=:]{1,5})[0-9a-f]{8}~>:[0-9a-f]{8}\b
`;

interface TokenFormat {
  readonly issuer: string;
  readonly shape: string;
  readonly prefix: string;
  /** `!` or `#`, as in the table. */
  readonly mark: string;
  /** Compiled when a text first contains the prefix. */
  pattern?: RegExp;
}

const UUID = "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}";

/** All token formats with a fixed prefix. */
export function tokenFormats(): TokenFormat[] {
  const lines = TABLE.replace(/\n /g, " ").replaceAll("{uuid}", UUID).trim().split("\n");
  return lines.flatMap((line) => {
    const [issuer = "", shapes = ""] = line.split(": ", 2);
    return shapes
      .split(/ +/)
      .flatMap(shapesOf)
      .map((marked): TokenFormat => {
        const [, mark = "", shape = "", prefix = ""] = /^([!#]?)(([^{]+).*)$/.exec(marked) ?? [];
        return { issuer, shape, prefix, mark };
      });
  });
}

/** `glpat-…` and `gldt-…` of `gl(pat|dt)-…`. */
function shapesOf(shape: string): string[] {
  const [, before = "", choices, behind = ""] = /^([^(]*)\(([^)]*)\)(.*)$/.exec(shape) ?? [];
  return choices?.split("|").flatMap((choice) => shapesOf(before + choice + behind)) ?? [shape];
}

const RUN = /\{(\w+):(\d+)(?:-(\d+))?\}/g;

/** The pattern of a shape. A run at the end is cut after its most characters if these are at least 100. */
function patternOf(shape: string): RegExp {
  const literal = shape.replace(/[.$]/g, "\\$&");
  const source = literal.replace(RUN, (run, name: string, least: string, most: string, at: number) => {
    const set = `[${ALPHABETS[name]}]`;
    const whole = `${set}{${least},${most ?? least}}(?!${set})`;
    if (at + run.length === literal.length) return Number(most) >= 100 ? `${set}{${least},${most}}` : whole;
    // A literal after a run can consist of the run's own characters: the run then has its minimum length.
    return most === undefined ? `${set}{${least}}` : `(?:${whole}|${set}{${least}})`;
  });
  return new RegExp(source, "y");
}

const ANCHORED_TOKENS = ANCHORED.trim()
  .split("\n")
  .map((row) => {
    const [issuer = "", before = "", source = ""] = row.split("~>");
    return { issuer, source, pattern: new RegExp(`(?<=(${before}))${source}`, "y") };
  });

/** The formats, longest prefix first, and where one of them can start or one without a prefix be; built by the first search. */
function createTokenScan() {
  const formats = tokenFormats().toSorted((one, other) => other.prefix.length - one.prefix.length);
  const prefixes = formats.map(({ prefix }) => [prefix]);
  const anchors = ANCHORED_TOKENS.map(({ source }) => beginningsOf(source));
  return { formats, scan: createScan([...prefixes, ...anchors]) };
}

let known: ReturnType<typeof createTokenScan> | undefined;

export function findTokens(text: string): Finding[] {
  known ??= createTokenScan();
  const { formats, scan } = known;
  const found: Finding[] = [];
  const barred = new Map<TokenFormat, number>();
  let from = 0;
  scan(text, (index, at) => {
    const format = formats[index];
    if (format === undefined) found.push(...anchoredAt(text, at, index - formats.length));
    const finding = format && at >= from ? tokenAt(text, at, format, barred) : undefined;
    if (finding === undefined) return;
    const isId = isKeyId(text, finding);
    from = isId ? at + 1 : finding.end;
    if (!isId) found.push(finding);
  });
  return found;
}

function anchoredAt(text: string, at: number, index: number): Finding[] {
  const { issuer, pattern } = ANCHORED_TOKENS[index] as (typeof ANCHORED_TOKENS)[number];
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (match === null) return [];
  const [whole, before = ""] = match;
  return [{ start: at - before.length, end: at + whole.length, kind: `token:${issuer}` }];
}

function tokenAt(
  text: string,
  start: number,
  format: TokenFormat,
  barred: Map<TokenFormat, number>,
): Finding | undefined {
  const { prefix, mark, issuer } = format;
  if (!text.startsWith(prefix, start)) return undefined;
  // After `dump-` or `my_`, a prefix of four characters is sufficient.
  const begins = isAtBoundary(text, start) || (prefix.length >= 4 && /[_-]/.test(text.charAt(start - 1)));
  const end = begins || mark === "!" ? endAt(text, start, format, barred) : undefined;
  return end !== undefined && isToken(text.slice(start + prefix.length, end), mark, begins)
    ? { start, end, kind: `token:${issuer}` }
    : undefined;
}

/** The end of the token; `barred` has, by format, the position before which it cannot start. */
function endAt(
  text: string,
  start: number,
  format: TokenFormat,
  barred: Map<TokenFormat, number>,
): number | undefined {
  if (start < (barred.get(format) ?? 0)) return undefined;
  format.pattern ??= patternOf(format.shape);
  format.pattern.lastIndex = start;
  const token = format.pattern.exec(text)?.[0];
  if (token === undefined) barred.set(format, nextStart(text, start, format));
  // A final dot ends the sentence, not the token.
  return token === undefined ? undefined : start + token.length - (token.endsWith(".") ? 1 : 0);
}

/** After a failure: where a format whose long first run must end with a literal can start again; else 0. */
function nextStart(text: string, start: number, { shape, prefix }: TokenFormat): number {
  const [, alphabet = "", most] = /^[^{]+\{(\w+):\d+-(\d{4,})\}./.exec(shape) ?? [];
  if (most === undefined) return 0;
  const run = new RegExp(`[${ALPHABETS[alphabet]}]*`, "y");
  run.lastIndex = start + prefix.length;
  const length = run.exec(text)?.[0].length ?? 0;
  // Starts within the run have the same end, and fail too unless the run was too long.
  return start + length + (length > Number(most) ? -Number(most) : prefix.length);
}

/** A placeholder in a template file: `ghp_replace_me`, `xoxb-your-token`. */
const SAYS_SO = /(?:^|[-_.])(?:your|replace|insert)[-_]|[-_]here$|^(?:ssh|ecdsa)-/i;
/** `re_export_a_default_1195`, `re_exported_when_1_is_on_1291` */
const WORDS = /(?:[_-][a-z]{2,}){3}|^(?:[A-Za-z]+(?:[_-][A-Za-z]+){2}|(?:(?:[a-z]+|\d{1,4})(?:_|$)){4})/;
const FEWEST_DIFFERENT = 5;

function isToken(body: string, mark: string, begins: boolean): boolean {
  if (new Set(body.slice(0, 64)).size < FEWEST_DIFFERENT || SAYS_SO.test(body)) return false;
  if (mark === "#" && (!/\d/.test(body) || !/[A-Za-z]/.test(body) || WORDS.test(body))) return false;
  return begins || checksumOf(body.slice(0, -CHECK_LENGTH)) === body.slice(-CHECK_LENGTH);
}

/** An access key id of AWS or Alibaba Cloud is not a secret if its label says that it is an id. */
function isKeyId(text: string, { kind, start }: Finding): boolean {
  if (!/AWS|Alibaba/.test(kind)) return false;
  const before = text.slice(Math.max(0, start - 30), start);
  return /(?:(?:key[_ -]?|\b)id|user(?:name)?|x-amz-credential)\W{1,12}(?:none\W{1,4})?$/i.test(before);
}

/** True at a word boundary, also after an escape (`\n`), a percent code (`%3D`) and a terminal colour. */
function isAtBoundary(text: string, start: number): boolean {
  const before = text.charAt(start - 1);
  if (!/[A-Za-z0-9_-]/.test(before)) return true;
  return /(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|--|[a-z]_|\[\d[\d;]{0,11}m)$/.test(
    text.slice(Math.max(0, start - 15), start),
  );
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const CHECK_LENGTH = 6;

/**
 * The checksum at the end of GitHub and npm tokens: CRC-32 of the text between prefix and checksum, as six
 * base62 characters. https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
 */
export function checksumOf(entropy: string): string {
  let rest = crc32(entropy);
  let digits = "";
  for (; rest > 0; rest = Math.floor(rest / 62)) digits = BASE62.charAt(rest % 62) + digits;
  return digits.padStart(CHECK_LENGTH, "0");
}
