import { describe, expect, it } from "vitest";
import { redact } from "./redactor.ts";

const SECRET = "vQ8xTr2mKw";
const LONG = "Zk3vQ8xTr2mKwY7pLs9NbD4hGc6JfA1e";
const HASH = "095da322291a5c885b96dc2051ed1b4310b7e8b1";
const UUID = "c3a1b192-b585-44f8-9668-e595486d2043";

describe("where secrets stand", () => {
  it.each([
    "app.password=vQ8x\\=Tr2mKw",
    "[reports]\nUID=reader\nPWD=vQ8x;Tr2mKw",
    " ip nhrp authentication @",
    "ip ospf message-digest-key 1 md5 @",
    'set security ike policy P pre-shared-key ascii-text "$9$@"',
    "set snmp community @ authorization read-only",
    "snmpwalk -v2c -c @ 10.1.1.1",
    "userlist ops\n  user admin insecure-password @",
    "rootpw --plaintext @",
    "/msg NickServ IDENTIFY @",
    "<auth-user-pass>\nanna\n@\n</auth-user-pass>",
    '# /etc/ppp/chap-secrets\n"anna@isp.example" * "@" *',
    "chpasswd:\n  list: |\n    anna:@\n  expire: false",
    "net use Z: \\\\files\\home @ /user:anna",
    'store.load(stream, "@".toCharArray());',
    "$db = new PDO('mysql:host=db;dbname=shop', 'shop', '@');",
    "| user | password_plain |\n|------|----------------|\n| anna | @     |",
    ".shop.example\tTRUE\t/\tTRUE\t1799999999\tuser_session\t@",
    "it will ask for a password, type @",
    "Ihr Einmalpasswort lautet: @",
    "le code du wifi c'est @",
    "вот пароль берёза@ от почты",
    "A temporary password is generated for root@localhost: @",
    "$db = new mysqli('10.20.3.18', 'importer', '@', 'shop');",
    "  id |     api_token\n----+--------------\n  1 | Zk3@Y7pLs9NbD4hGc6Jf",
    "use the shared one for now: data-team / @",
    "令牌：Zk3vQ8xTr2mKwY7pLs9NbD4hGc6JfvQ8xTr2mKw",
  ])("RED-2 takes the secret in %j", (text) => {
    const [secret = SECRET] = /vQ8x\S+/.exec(text) ?? [];
    expect(redact(text.replace(/@(?![\w.]*(?:isp|localhost))/, SECRET))).not.toContain(secret.slice(-6));
  });

  it.each([
    ["Backup codes: 1349 8711, 5767 1217, 5352 8170", /\d{4}/],
    ["PUK: 29824752  PIN1: 9418", /\d{4}/],
    ["Die PIN vom Keller ist die 360704.", /360704/],
    ["BitLocker:\n096738-574960-253884-733175-742529-120493-464557-771103", /\d{6}/],
    ["Enter this key manually: YEIT 6D4A GY5V C7AM", /YEIT|C7AM/],
    [`server = true\nencrypt = "${LONG}Zk3vQ8xTr2m="`, /Zk3v/],
    ["consul agent -encrypt=Zk3vQ8xTr2mKwY7pLs9NbA== -dev", /Zk3v/],
    ["config wifi-iface\n\toption ssid 'Pier'\n\toption key 'mossy-Pier-vQ8x'\n", /vQ8x/],
    [`key1       FULL           ${LONG}${LONG}==`, /Zk3v/],
    [`credentials.secret_key_base\n=> "${LONG}"`, /Zk3v/],
    ["Cookie: theme=dark; sid=vQ8xTr2mKw", /vQ8x/],
  ])("RED-2 takes the codes in %j", (text, left) => {
    expect(redact(text)).not.toMatch(left);
  });

  it.each([
    "unknown option key 'timeoutSeconds'",
    "config uhttpd\n\toption key '/etc/uhttpd.key'\n\toption cert '/etc/uhttpd.crt'\n",
    'encrypt = "true"\nretries = 3',
    "We encrypt everything that leaves the harbour.",
  ])("leaves %j", (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    ["My password is hunter[22x", "My password is <REDACTED>"],
    ["password: CiqE[2Qe4A$E4m8", "password: <REDACTED>"],
    ["password: P@ss&w0rd", "password: <REDACTED>"],
    ["password=hunter2&user=bob", "password=<REDACTED>&user=bob"],
    ["[db]\npassword = VdXikbqCAyNCsJke", "[db]\npassword = <REDACTED>"],
    ["https://deploy:xyz@example.com/x", "https://deploy:<REDACTED>@example.com/x"],
  ])("RED-2 takes the whole value in %j", (text, left) => {
    expect(redact(text)).toBe(left);
  });

  it.each([
    'parser.add_argument("--password", help="asked for when left out", default=None)',
    'docker login -u ci --password-stdin registry.example.com < "$HOME/.tok"',
    "Set-Cookie: theme=dark; Path=/; Max-Age=31536000",
    "Cookie: lang=de; consent=accepted",
    'Token="b77a5c561934e089"',
    "export const SET_TOKEN = 'auth/SET_TOKEN';",
    "password: !vault |\n  token_file: /etc/app/token",
    'password: "ENC[AES256_GCM,data:9xKq2,iv:Zk3v,tag:Q8xT,type:str]"',
    "podman run --secret=mailer app",
    `Cache restored from key: node-cache-Linux-npm-${LONG.toLowerCase()}`,
    "the password was wrong, type it again",
    "The password was reset to the default of the vendor.",
    '<string name="password">Contraseña</string>',
    "apiKey: 'API 密钥',\nsecretKey: '私有密钥',",
    '{"secret":"Geheimnis","accessToken":"Token de acceso","credentials":"Identifiants"}',
    `SENTRY_RELEASE=shop@${HASH}`,
    `SPEC CHECKSUMS:\n  Auth0: ${HASH}\n  Stripe: ${HASH}`,
    `{"hashed_secret":"${HASH}","client_token":"hmac-sha256:${HASH}"}`,
    `{"topic":"orders","key":"${UUID}"}`,
    `<UserSecretsId>${UUID}</UserSecretsId>`,
    `STRIPE_PK=pk_live_${LONG}`,
    "STRIPE_SECRET_KEY=sk_test_your_key_here\nSLACK_TOKEN=xoxb-your-token-goes-here",
    "POSTGRES_USER=postgres\nPOSTGRES_PASSWORD=postgres",
    "      POSTGRES_PASSWORD: postgres",
    `TWILIO_ACCOUNT_SID=AC${HASH.slice(0, 32)}`,
    `SENTRY_DSN=https://${HASH.slice(0, 32)}@o429110.ingest.sentry.io/6466785`,
    "pub password: Secret<String>,",
    "write(key: 'token', value: res.accessToken);",
    "<groupId>io.jsonwebtoken</groupId>\n<artifactId>jjwt-api</artifactId>",
    `kind: SealedSecret\nspec:\n  encryptedData:\n    token: AgC${LONG}${LONG}`,
    "`next_cursor` is an opaque token such as `eyJpZCI6MTAyNH0`.",
    '{"accessKeyId":"AKIA4QZ7M2XW9KD3LPTB"}',
    "PASS src/a1.test.ts",
    "PASS tests/unit/test_a1.py::test_x",
    "--- PASS: TestHash256 (0.00s)",
    "password = sha1(x)",
    "secret := sha256.Sum256(data)",
    "token = base64.b64decode(raw)",
    'password=os.environ["DB_PASSWORD"],',
    "gpg --recv-keys 5BE8A3F6C8A5C01D106C0AD820B1A390B168D356",
    "    ed25519_sha512_public_key (ctx->pub, ctx->key);",
    '<dt>pass</dt><dd><a href="x.html#A1b">x</a></dd>',
    "token = tokens[tokens.length - 1]",
    "secret = keypair[:32]",
    "if (token === NULL){",
    "e[e.OpenBraceToken=1]='OpenBraceToken'",
    "{ username: basic[0], password: basic[1] }",
    "auth.basic = { username: creds.username, password: creds.password }",
    "resource.reset_password_token = @raw",
    "{{- $rootPassword := .Values.auth.rootPassword }}",
    "- name: ALLOW_EMPTY_PASSWORD\n  value: 'yes'",
    "- name: SMTP_PASSWORD\n  value: '/secrets/smtp-password'",
    "  'GetAdminPassword',\n  'FindAdminByIdentity',\n  'RemoveAdmin3',\n",
    "| `existingSecret` | Name of a secret | `''` |\n| `initHook4ScriptsCM` | Name of a map | `''` |",
    "token=r2d2(pool)",
    "password: v8::String",
    "signer: AwsSdkSigV4Signer;",
    "const require_auth = require('./auth-CV4m0LEJ.cjs');",
    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "kind: Secret\nstringData:\n  config.yaml: |\n    storage:\n      type: memory",
    `REDIS_URL=redis://\${REDIS_PASSWORD:-}@\${REDIS_HOST}:6379`,
    "build user:       root@b595c7f32520",
    "use protocol::{BackendKeyData, Password, ReadyForQuery, Startup};",
    "with password C<$pass>.",
    "[user]\n\tsigningkey = 6A3814E56318DA04",
    `<samlp:AuthnRequest ID="_${HASH}" Version="2.0">`,
  ])("RED-2 leaves %j alone", (text) => {
    expect(redact(text)).toBe(text);
  });
});
