// The ids of gitleaks' default rules and, for each, how a secret of that issuer looks: its beginning, alphabet and
// length as facts, written anew. A check that redaction knows the same issuers, not a measure of recall.

import { isGone } from "./corpus.mjs";
import { createDraw } from "./draw.mjs";

/** The list that the ids are from. */
export const GITLEAKS = "gitleaks' default rules of 2026-07-22";

const ROUNDS = 20;
const ENOUGH = 0.9;

/** Secrets that show by themselves: `id shape`. */
const BY_SHAPE = `
1password-secret-key A3-{upper:6}-{upper:11}-{upper:5}-{upper:5}-{upper:5}
1password-service-account-token ops_eyJ{base62:260}
adobe-client-secret p8e-{lower:32}
age-secret-key AGE-SECRET-KEY-1{QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L:58}
airtable-personnal-access-token pat{base62:14}.{hex:64}
alibaba-access-key-id LTAI{lower:20}
anthropic-admin-api-key sk-ant-admin01-{url64:93}AA
anthropic-api-key sk-ant-api03-{url64:93}AA
artifactory-api-key AKCp{base62:69}
artifactory-reference-token cmVmd{base62:59}
authress-service-client-access-key sc_{lower:20}.{lower:5}.acc_{lower:20}.{base62:60}
aws-access-token AKIA{ABCDEFGHIJKLMNOPQRSTUVWXYZ234567:16}
aws-amazon-bedrock-api-key-long-lived ABSK{base64:130}
aws-amazon-bedrock-api-key-short-lived bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{base64:200}
azure-ad-client-secret {base62:3}8Q~{base62:34}
clickhouse-cloud-api-secret-key 4b1d{base62:38}
clojars-api-token CLOJARS_{lower:60}
cloudflare-origin-ca-key v1.0-{hex:24}-{hex:146}
databricks-api-token dapi{hex:32}
digitalocean-access-token doo_v1_{hex:64}
digitalocean-pat dop_v1_{hex:64}
digitalocean-refresh-token dor_v1_{hex:64}
doppler-api-token dp.pt.{base62:43}
duffel-api-token duffel_test_{url64:43}
dynatrace-api-token dt0c01.{upper:24}.{upper:64}
easypost-api-token EZAK{lower:54}
easypost-test-api-token EZTK{lower:54}
facebook-access-token {digit:16}|{url64:30}
facebook-page-access-token EAAM{base62:120}
flutterwave-encryption-key FLWSECK_TEST-{hex:12}
flutterwave-public-key FLWPUBK_TEST-{hex:32}-X
flutterwave-secret-key FLWSECK_TEST-{hex:32}-X
flyio-access-token fo1_{url64:43}
frameio-api-token fio-u-{url64:64}
gcp-api-key AIza{url64:35}
github-app-token ghs_{base62:36}
github-fine-grained-pat github_pat_{base62:82}
github-oauth gho_{base62:36}
github-pat ghp_{base62:36}
github-refresh-token ghr_{base62:36}
gitlab-cicd-job-token glcbt-{base62:2}_{url64:20}
gitlab-deploy-token gldt-{url64:20}
gitlab-feature-flag-client-token glffct-{url64:20}
gitlab-feed-token glft-{url64:20}
gitlab-incoming-mail-token glimt-{url64:25}
gitlab-kubernetes-agent-token glagent-{url64:50}
gitlab-oauth-app-secret gloas-{url64:64}
gitlab-pat glpat-{url64:20}
gitlab-pat-routable glpat-{url64:27}.{lower:9}
gitlab-ptt glptt-{hex:40}
gitlab-rrt GR1348941{url64:20}
gitlab-runner-authentication-token glrt-{url64:20}
gitlab-runner-authentication-token-routable glrt-t1_{url64:27}.{lower:9}
gitlab-scim-token glsoat-{url64:20}
grafana-api-key eyJrIjoi{base62:80}
grafana-cloud-api-token glc_{base64:60}
grafana-service-account-token glsa_{base62:32}_{hex:8}
harness-api-key pat.{url64:22}.{base62:24}.{base62:20}
hashicorp-tf-api-token {base62:14}.atlasv1.{base62:64}
heroku-api-key-v2 HRKU-AA{url64:58}
huggingface-access-token hf_{letters:34}
huggingface-organization-api-token api_org_{letters:34}
infracost-api-token ico-{base62:32}
intra42-client-secret s-s4t2ud-{hex:64}
jwt eyJhbGciOiJIUzI1NiJ9.eyJ{base62:40}.{url64:43}
jwt-base64 ZXlKaGJHY2lPaU{base62:80}
linear-api-key lin_api_{base62:40}
maxmind-license-key {base62:6}_{base62:29}_mmk
notion-api-token ntn_{digit:11}{base62:35}
npm-access-token npm_{base62:36}
octopus-deploy-api-key API-{upper:26}
openai-api-key sk-proj-{url64:74}T3BlbkFJ{url64:74}
openshift-user-token sha256~{url64:43}
perplexity-api-key pplx-{base62:48}
planetscale-api-token pscale_tkn_{url64:43}
planetscale-oauth-token pscale_oauth_{url64:43}
planetscale-password pscale_pw_{url64:43}
postman-api-token PMAK-{hex:24}-{hex:34}
prefect-api-token pnu_{base62:36}
pulumi-api-token pul-{hex:40}
pypi-upload-token pypi-AgEIcHlwaS5vcmc{url64:120}
readme-api-token rdme_{lower:70}
rubygems-api-token rubygems_{hex:48}
scalingo-api-token tk-us-{url64:48}
sendgrid-api-token SG.{url64:22}.{url64:43}
sendinblue-api-token xkeysib-{hex:64}-{lower:16}
sentry-org-token sntrys_eyJpYXQiO{base62:120}_{base62:43}
sentry-user-token sntryu_{hex:64}
settlemint-application-access-token sm_aat_{base62:16}
settlemint-personal-access-token sm_pat_{base62:16}
settlemint-service-access-token sm_sat_{base62:16}
shippo-api-token shippo_live_{hex:40}
shopify-access-token shpat_{hex:32}
shopify-custom-access-token shpca_{hex:32}
shopify-private-app-access-token shppa_{hex:32}
shopify-shared-secret shpss_{hex:32}
slack-app-token xapp-1-{upper:10}-{digit:12}-{hex:64}
slack-bot-token xoxb-{digit:12}-{digit:12}-{base62:24}
slack-config-access-token xoxe.xoxp-1-{upper:164}
slack-config-refresh-token xoxe-1-{upper:146}
slack-legacy-bot-token xoxb-{digit:10}-{base62:24}
slack-legacy-token xoxs-{digit:10}-{digit:10}-{digit:10}-{hex:10}
slack-legacy-workspace-token xoxa-2-{base62:32}
slack-user-token xoxp-{digit:12}-{digit:12}-{digit:12}-{hex:32}
sourcegraph-access-token sgp_{hex:16}_{hex:40}
square-access-token sq0atp-{url64:22}
stripe-access-token sk_live_{base62:24}
twilio-api-key SK{hex:32}
vault-batch-token hvb.{url64:150}
vault-service-token hvs.{url64:95}
`;

/** Secrets that look like anything: `id issuer shape`, written with nothing but the issuer's name before them. */
const BY_ISSUER = `
adafruit-api-key adafruit {url64:32}
adobe-client-id adobe {hex:32}
airtable-api-key airtable {lower:17}
algolia-api-key algolia {lower:32}
alibaba-secret-key alibaba {lower:30}
asana-client-id asana {digit:16}
asana-client-secret asana {lower:32}
atlassian-api-token jira {lower:24}
beamer-api-token beamer b_{lower:44}
bitbucket-client-id bitbucket {lower:32}
bitbucket-client-secret bitbucket {url64:64}
bittrex-access-key bittrex {lower:32}
bittrex-secret-key bittrex {lower:32}
cisco-meraki-api-key meraki {hex:40}
cloudflare-api-key cloudflare {url64:40}
cloudflare-global-api-key cloudflare {hex:37}
codecov-access-token codecov {lower:32}
cohere-api-token cohere {base62:40}
coinbase-access-token coinbase {url64:64}
confluent-access-token confluent {lower:16}
confluent-secret-key confluent {lower:64}
contentful-delivery-api-token contentful {url64:43}
datadog-access-token datadog {lower:40}
defined-networking-api-token dnkey dnkey-{lower:26}-{lower:52}
discord-api-token discord {hex:64}
discord-client-id discord {digit:18}
discord-client-secret discord {url64:32}
droneci-access-token droneci {lower:32}
dropbox-api-token dropbox {lower:15}
dropbox-long-lived-api-token dropbox {lower:11}AAAAAAAAAA{url64:43}
dropbox-short-lived-api-token dropbox sl.{url64:135}
etsy-access-token etsy {lower:24}
facebook-secret facebook {hex:32}
fastly-api-token fastly {url64:32}
finicity-api-token finicity {hex:32}
finicity-client-secret finicity {lower:20}
finnhub-access-token finnhub {lower:20}
flickr-access-token flickr {lower:32}
freshbooks-access-token freshbooks {lower:64}
gitter-access-token gitter {url64:40}
gocardless-api-token gocardless live_{url64:40}
heroku-api-key heroku {uuid}
hubspot-api-key hubspot {uuid}
intercom-api-key intercom {url64:60}
jfrog-api-key jfrog {lower:73}
jfrog-identity-token jfrog {lower:64}
kraken-access-token kraken {base64:84}
kucoin-access-token kucoin {hex:24}
kucoin-secret-key kucoin {uuid}
launchdarkly-access-token launchdarkly {url64:40}
linear-client-secret linear {hex:32}
linkedin-client-id linkedin {lower:14}
linkedin-client-secret linkedin {lower:16}
lob-api-key lob live_{hex:35}
lob-pub-api-key lob live_pub_{hex:31}
looker-client-id looker {lower:20}
looker-client-secret looker {lower:24}
mailchimp-api-key mailchimp {hex:32}-us12
mailgun-private-api-token mailgun key-{hex:32}
mailgun-pub-key mailgun pubkey-{hex:32}
mailgun-signing-key mailgun {hex:32}-{hex:8}-{hex:8}
mapbox-api-token mapbox pk.{lower:60}.{lower:22}
mattermost-access-token mattermost {lower:26}
messagebird-api-token messagebird {lower:25}
messagebird-client-id messagebird {uuid}
netlify-access-token netlify {url64:43}
new-relic-browser-api-token newrelic NRJS-{hex:19}
new-relic-insert-key newrelic NRII-{url64:32}
new-relic-user-api-id newrelic {lower:64}
new-relic-user-api-key newrelic NRAK-{upper:27}
nytimes-access-token nytimes {url64:32}
okta-access-token okta 00{url64:40}
plaid-api-token plaid access-sandbox-{uuid}
plaid-client-id plaid {hex:24}
plaid-secret-key plaid {hex:30}
privateai-api-token privateai {lower:32}
rapidapi-access-token rapidapi {url64:50}
sendbird-access-id sendbird {uuid}
sendbird-access-token sendbird {hex:40}
sentry-access-token sentry {hex:64}
snyk-api-token snyk_token {uuid}
sonar-api-token sonar_token squ_{hex:40}
squarespace-access-token squarespace {uuid}
sumologic-access-id sumo su{base62:12}
sumologic-access-token sumo {base62:64}
telegram-bot-api-token telegram {digit:10}:A{url64:34}
travisci-access-token travis {base62:22}
twitch-api-token twitch {lower:30}
twitter-access-secret twitter {base62:45}
twitter-access-token twitter {digit:19}-{base62:40}
twitter-api-key twitter {base62:25}
twitter-api-secret twitter {base62:50}
twitter-bearer-token twitter AAAAAAAAAAAAAAAAAAAAAA{base62:90}
typeform-api-token typeform tfp_{url64:59}
yandex-access-token yandex t1.{url64:60}.{url64:86}
yandex-api-key yandex AQVN{url64:36}
yandex-aws-access-token yandex YC{url64:38}
zendesk-secret-key zendesk {lower:40}
`;

/** Secrets that show by where they stand, at the `§`: [id, shape, place]. */
const BY_PLACE = [
  ["curl-auth-header", "{base62:32}", 'curl -H "Authorization: Bearer §" https://api.example.com'],
  ["curl-auth-user", "{base62:12}", "curl -u admin:§ https://api.example.com"],
  ["freemius-secret-key", "sk_{base62:29}", "'secret_key' => '§',"],
  ["generic-api-key", "{base62:32}", 'my_api_key = "§"'],
  ["gitlab-session-cookie", "{hex:32}", "Cookie: _gitlab_session=§"],
  ["hashicorp-tf-password", "{lower:12}", 'administrator_login_password = "§"'],
  ["kubernetes-secret-yaml", "{base64:24}", "apiVersion: v1\nkind: Secret\ndata:\n  stuff: §\n"],
  ["microsoft-teams-webhook", "{hex:32}/{uuid}", `${teamsUrl()}§`],
  ["nuget-config-password", "{base62:14}", '<add key="ClearTextPassword" value="§" />'],
  ["private-key", "{base64:64}", "-----BEGIN PRIVATE KEY-----\n§\n-----END PRIVATE KEY-----"],
  ["sidekiq-secret", "{hex:8}:{hex:8}", "BUNDLE_ENTERPRISE__CONTRIBSYS__COM=§"],
  ["sidekiq-sensitive-url", "{hex:8}:{hex:8}", "https://§@gems.contribsys.com/"],
  ["slack-webhook-url", "T{upper:10}/B{upper:10}/{base62:24}", "https://hooks.slack.com/services/§"],
];

/** Rules about a file's name, which no text shows. */
const NOT_TEXT = ["pkcs12-file"];

/** The ids of all rules, and of those of whose secrets less than nine in ten are taken out. */
export function gitleaksCoverage(redactText) {
  const draw = createDraw(222);
  const samples = [
    ...rowsOf(BY_SHAPE).map(([id, shape]) => [id, shape, "see §, please"]),
    ...rowsOf(BY_ISSUER).map(([id, issuer, shape]) => [id, shape, `${issuer} = "§"`]),
    ...BY_PLACE,
  ];
  const missed = samples.filter(([, shape, place]) => {
    const secrets = Array.from({ length: ROUNDS }, () => drawn(shape, draw));
    const gone = secrets.filter((secret) => isGone(redactText(place.replace("§", () => secret)), { secret }));
    return gone.length < ROUNDS * ENOUGH;
  });
  const ids = [...samples.map(([id]) => id), ...NOT_TEXT];
  return { ids, missed: [...missed.map(([id]) => id), ...NOT_TEXT] };
}

function rowsOf(block) {
  return block
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
}

function drawn(shape, draw) {
  return shape.replace(/\{([^}]+)\}/g, (_, run) => {
    if (run === "uuid") return draw.uuid();
    const [alphabet, length] = run.split(":");
    return draw.of(alphabet, Number(length));
  });
}

function teamsUrl() {
  const id = "0f8fad5b-d9cb-469f-a165-70867728950e";
  return `https://acme.webhook.office.com/webhookb2/${id}@${id}/IncomingWebhook/`;
}
