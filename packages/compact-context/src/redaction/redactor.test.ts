import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, REDACTION_OFF_WARNING, redact } from "./redactor.ts";

const R = "<REDACTED>";
// Built at run time, so that no scanner reports this file as a leak.
const letters = (length: number): string => "aB3dE5gH7jK9mN2pQ4sT6vW8".repeat(9).slice(0, length);
const upper = (length: number): string => letters(length).toUpperCase();
const jwt = `${"ey"}J${letters(20)}.eyJ${letters(40)}.${letters(30)}`;
const pem = (body: string): string => `-----BEGIN RSA PRIVATE KEY-----${body}-----END RSA PRIVATE KEY-----`;

const tokens = [
  `sk-${letters(48)}`,
  `sk-ant-api03-${letters(60)}`,
  `sk-proj-${letters(20)}_${letters(20)}-x`,
  `ghp_${letters(36)}`,
  `gho_${letters(36)}`,
  `github_pat_${letters(22)}_${letters(59)}`,
  `AKIA${upper(16)}`,
  `ASIA${upper(16)}`,
  `xoxb-123456789012-${letters(24)}`,
  `AIza${letters(35)}`,
  `glpat-${letters(20)}`,
  `npm_${letters(36)}`,
  `hf_${letters(34)}`,
  `SG.${letters(22)}.${letters(43)}`,
  `rk_live_${letters(24)}`,
  `sk_live_${letters(24)}`,
  jwt,
  "3ac0f7b7-4597-4d49-ad3e-a459370efabd:fx",
  `s%3A${letters(32)}.${letters(43)}`,
];

describe("default patterns", () => {
  it("RED-2 keeps the name and takes the value", () => {
    expect(redact("api_key=sk-abc123")).toBe("api_key=<REDACTED>");
    expect(redact("curl 'https://x.test/?api_key=abc123&page=2'")).toBe(
      `curl 'https://x.test/?api_key=${R}&page=2'`,
    );
  });

  it.each(tokens)("RED-2 takes a bare token out of prose: %s", (token) => {
    for (const [before, after] of [
      ["", ""],
      ["use ", " please"],
      ['"', '"'],
      ["(", ")."],
      ["x=", "\n"],
      ["`", "`"],
      ["k:", ","],
    ]) {
      expect(redact(`${before}${token}${after}`)).toBe(`${before}${R}${after}`);
    }
  });

  it.each([
    ["password=hunter2", `password=${R}`],
    ["passwd hunter2", `passwd ${R}`],
    ["DB_PASSWORD=hunter2", `DB_PASSWORD=${R}`],
    ["export PGPASS='two words here'", `export PGPASS='${R}'`],
    ['password: "correct horse battery staple"', `password: "${R}"`],
    ['"passwd": "x y z1"', `"passwd": "${R}"`],
    ['{\\"password\\": \\"hunter2 and more\\", \\"a\\": 1}', `{\\"password\\": \\"${R}\\", \\"a\\": 1}`],
    ['{\\\\\\"secret\\\\\\": \\\\\\"abc123\\\\\\"}', `{\\\\\\"secret\\\\\\": \\\\\\"${R}\\\\\\"}`],
    ['"password": "with \\"quotes\\" inside1"', `"password": "${R}"`],
    ['"password": "ends\\\\", "b": "kept"', `"password": "${R}", "b": "kept"`],
    ["client_secret = 'Zm9vYmFy1'", `client_secret = '${R}'`],
    ["  password: correcthorse\n  user: me", `  password: ${R}\n  user: me`],
    ["apiKey: 'k-123456'", `apiKey: '${R}'`],
    ["githubToken := abc123def456", `githubToken := ${R}`],
    ["config['password'] = 'hunter2'", `config['password'] = '${R}'`],
    ["**Password:** hunter2", `**Password:** ${R}`],
    ["Password: `hunter2`", `Password: \`${R}\``],
    ["Server=db;Password=hunter2;Database=x", `Server=db;Password=${R};Database=x`],
    ["AccountKey=Zm9v+YmFy/123==", `AccountKey=${R}`],
    ["password=mysecretpassword", `password=${R}`],
    ["SECRET=super_secret_value\nX=1", `SECRET=${R}\nX=1`],
    ["?password=mine_2x&x=1", `?password=${R}&x=1`],
    ['"password": "mysecretpassword"', `"password": "${R}"`],
    ["  password: mysecretpassword\n", `  password: ${R}\n`],
    ["PASSWORD=12345678", `PASSWORD=${R}`],
    ["password=abc$1def", `password=${R}`],
  ])("RED-2 takes the value of a name: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each([
    ["Authorization: Bearer abc.DEF-123_x", `Authorization: Bearer ${R}`],
    ["Authorization: Bearer mysecrettoken", `Authorization: Bearer ${R}`],
    ["Authorization: Basic dXNlcjpwYXNz", `Authorization: Basic ${R}`],
    ["Authorization: token abcdef123456", `Authorization: token ${R}`],
    [`-H "Authorization: Bearer ${letters(20)}"`, `-H "Authorization: Bearer ${R}"`],
    ['"authorization": "Bearer abc123def"', `"authorization": "Bearer ${R}"`],
    ["-H 'x-api-key: abc123'", `-H 'x-api-key: ${R}'`],
    [`send Bearer ${letters(20)} along`, `send Bearer ${R} along`],
    ["Cookie: session=abc; theme=dark\r\nHost: x", `Cookie: ${R}\r\nHost: x`],
    ["postgres://app:hunter2@db:5432/x", `postgres://app:${R}@db:5432/x`],
    ["redis://:hunter2@cache", `redis://:${R}@cache`],
    [`https://${letters(30)}@git.test/a.git`, `https://${R}@git.test/a.git`],
    ["login --password hunter2 --user me", `login --password ${R} --user me`],
    ["tool --password 'two words 1'", `tool --password '${R}'`],
    ["tool --token=abc123", `tool --token=${R}`],
    ["curl -u me:hunter2 https://x.test", `curl -u me:${R} https://x.test`],
    ["BUNDLE_ENTERPRISE__CONTRIBSYS__COM=1a2b3c4d:5e6f7a8b", `BUNDLE_ENTERPRISE__CONTRIBSYS__COM=${R}`],
    ["<password>hunter2</password>", `<password>${R}</password>`],
    [`https://hooks.slack.com/services/T0/B0/${letters(24)}`, R],
  ])("RED-2 takes headers, addresses, flags and elements: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it("RED-2 takes private keys, also escaped in JSON and cut off", () => {
    const body = `\n${letters(64)}\n${letters(64)}\n${letters(20)}=\n`;
    expect(redact(`a ${pem(body)} b`)).toBe(`a ${pem(R)} b`);
    expect(redact(JSON.stringify({ k: pem(body) }))).toBe(JSON.stringify({ k: pem(R) }));
    const headers = `\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n${letters(64)}\n`;
    expect(redact(pem(headers))).toBe(pem(R));
    const cut = redact(`-----BEGIN PRIVATE KEY-----${body}and then prose goes on`);
    expect(cut).toMatch(/^-----BEGIN PRIVATE KEY-----<REDACTED>\s+and then prose goes on$/);
    expect(redact(`-----BEGIN PRIVATE KEY-----${body}text ${pem(body)}`)).toContain(`text ${pem(R)}`);
    const publicKey = `-----BEGIN PUBLIC KEY-----${body}-----END PUBLIC KEY-----`;
    expect(redact(publicKey)).toBe(publicKey);
  });

  it.each([
    "password: string;",
    "password: options.password",
    "password: options.password,",
    `api_key: ${"$"}{{ secrets.X }}`,
    `token=${"$"}{TOKEN}`,
    "TOKEN=$GITHUB_TOKEN",
    "const token = await getToken();",
    "token = tokens[i]",
    "connect(user=user, password=user_password)",
    "token=access_token;",
    "Authorization: Bearer tokens expire",
    "const authToken = (env.AUTH_TOKEN_1 ?? '').trim();",
    "password=getpass()",
    "login(password=password, token=token)",
    "api_key = os.environ['API_KEY']",
    "apiKey: process.env.OPENAI_API_KEY",
    "api_key=YOUR_API_KEY",
    "api_key=<your-api-key>",
    "api_key=sk-...",
    '"password": "string"',
    '"password": ""',
    '"password": null',
    "password: Optional[str] = None",
    "max_tokens=4096",
    "max_token: 4096",
    '"total_tokens": 12345, "token": 17',
    "token_count: 99",
    "PWD=/home/someone/project",
    "if password == None:",
    "Token: the next unit of input",
    "The password must be at least 8 characters",
    "Password: must hold a digit",
    "use the --token flag",
    "--password option is required",
    '"forgotPassword": "Forgot your password?"',
    "std::token::Kind",
    "https://example.test/path:8080/@scope",
    "docker run -u 1000:1000 image",
    "Basic authentication is off",
    "task-based-learning and sk-learn",
    "secret_name: /run/secrets/db",
    "secret: '/run/secrets/db'",
    "type Token = { kind: TokenKind; secret?: boolean }",
    "git commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id: 123e4567-e89b-12d3-a456-426614174000",
    "Cookie: strawberry",
    "password: ********",
  ])("RED-2 leaves code, types, placeholders and prose alone: %s", (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    // After calls, defaults, types and a pair's comma
    'api_key: SecretStr = SecretStr("@")',
    '(defparameter *db-password* "@")',
    'password <- "@"',
    'var password = new StringBuilder("@");',
    'let token = String::from("@");',
    'const jwtSecret = process.env.JWT_SECRET || "@";',
    'env::var("API_KEY").unwrap_or("@".into())',
    'conf.set("fs.s3a.secret.key", "@")',
    "Config.put(:api_token, '@')",
    'requests.get(url, auth=("ann", "@"))',
    'new NetworkCredential("user", "@")',
    '[request setValue:"@" forHTTPHeaderField:"X-Api-Key"];',
    // Commands and statements
    "keytool -storepass @ -list",
    "sqlcmd -S h -U sa -P @",
    "gh auth login --with-token <<< @",
    "cmdkey /add:h /user:u /pass:@",
    "INSERT INTO users (name, password) VALUES ('ann', '@');",
    "UPDATE settings SET value = '@' WHERE name = 'smtp_password';",
    "CREATE USER ann IDENTIFIED BY @;",
    // Tables, pairs and markup
    "user,password\nann,@",
    " id | user | password \n----+------+----------\n  1 | ann  | @",
    "| user | api_key |\n|------|---------|\n| ann | @ |",
    "Password ........ @",
    '{"ParameterKey": "DBPassword", "ParameterValue": "@"}',
    "<tr><td>Password</td><td>@</td></tr>",
    '<wsse:Password Type="x#PasswordText">@</wsse:Password>',
    '<input type="password" value="@">',
    "{&quot;api_key&quot;: &quot;@&quot;}",
    "\u001b[32mpassword\u001b[0m: @",
    // Sentences
    "das neue Passwort ist jetzt @",
    "Mon mot de passe pour le serveur est @",
    "la contraseña de la base de datos es @",
    "minha senha do servidor é @",
    "la password del database è @",
    "mijn wachtwoord voor de server is @",
    "hasło do bazy to @",
    "пароль от базы: @",
    "数据库密码是@",
    "パスワードは@です",
    "비밀번호는 @입니다",
  ])("RED-2 takes what is given to a name in %s", (text) => {
    // Next to a key or token, only a generated value is a secret
    const drawn = "s9KqZ7wTr2LmX4vB8nHd";
    for (const secret of /key|token/i.test(text) ? [drawn] : [drawn, "Falc0n#845x"]) {
      const shown = redact(text.replace("@", secret));
      expect(shown).not.toContain(secret);
      expect(shown).toContain(R);
    }
  });

  it.each([
    'var fastlyKey string = "@"',
    'const std::string AccountKey{\n    "@"};',
    'static final String ACCOUNT_KEY\n        = "@";',
    'const key = process.env.ACCOUNT_KEY ||\n  "@";',
    "copy.exe -storagename box\n  -storagekey @ -v",
    'klaviyo := "@"',
    "a-vendor = pinecone_prod=@",
    'String getToken() { return "@"; }',
    "Using key = @ for the call",
    "the key is @",
    "<secret>{@}</secret>",
    "<mailgun_key>@</mailgun_key>",
    "run --super-secret_token @ now",
    "run --oauth2-bearer @ now",
    'easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, "@");',
    "Authorization: NTLM @",
    'at = "https://x.test/?a%3D1%26token%3D@%26version%3D3";',
    "mysql_pswd: @",
    "jdbc:mysql://h/db?user=a&userpass=@",
    "Unseal Key 2: @",
    "vault operator unseal @",
    'ado_pat = "@"',
    "Please use the following password to proceed:\n\n@\n\nIt stays there.",
    "the password for ann is '@', change it",
    "PsExec.exe \\\\host -u ann -p @ cmd",
    "curl -X POST \\\n  -u ann:@ \\\n  https://x.test",
  ])("RED-2 takes what a machine drew in %s", (text) => {
    const drawn = "s9KqZ7wTr2LmX4vB8nHdQ1";
    expect(redact(text.replace("@", drawn))).toBe(text.replace(/\{?@\}?/, R));
  });

  it.each([
    "$ openssl rand -base64 32 | tee /etc/app/session_key\n@\n$ ls",
    ">>> secrets.token_hex(16)\n'@'",
    "Your new API key (shown only once):\n\n  @\n\nKeep it.",
    "Backup codes:\n  1. 8f3k-29dl\n  2. @\n",
    "enable secret 0 @",
    "username ann privilege 15 secret @\n",
    "WIFI:T:WPA;S:Cafe Rosa;P:@;;",
    "nmcli dev wifi connect x password '@'",
    "127.0.0.1:6379> AUTH default @\nOK",
    "S: 334 UGFzc3dvcmQ6\nC: @\n",
    "USER ann\n331 Password required\nPASS @\n",
    'Content-Disposition: form-data; name="user[password]"\n\n@\n--x',
    'resource "random_password" "db" {\n  + result = "@"\n}',
    "cipher = AES.new(b'@', AES.MODE_GCM)",
    "DB_PASS:\n  value: @",
  ])("RED-2 takes what the lines before or the words around ask for in %s", (text) => {
    const secret = /codes/.test(text) ? "qp4z-77xv" : "s9KqZ7wTr2LmX4vB8nHd";
    expect(redact(text.replace("@", secret))).toBe(text.replace("@", R).replace("8f3k-29dl", R));
  });

  it.each([
    ["letters alone", "sQkZwTrLmXvBnHdQaJfGyPcE"],
    ["letters with signs", "sQk-ZwTrLmXvBn_HdQaJfGyPcEtUiOpLkR"],
    ["groups to type", "2F7J-B4O0-H9TP-QH1S"],
    ["a number and a bar", "4711|s9KqZ7wTr2LmX4vB8nHd"],
  ])("RED-2 knows %s as drawn by a machine", (_, value) => {
    expect(redact(`datadog_prod: ${value}`)).toBe(`datadog_prod: ${R}`);
  });

  it("RED-2 takes tokens and keys behind a terminal's colour and inside base64", () => {
    const token = `sk-proj-${letters(40)}`;
    expect(redact(`\u001b[93m${token}\u001b[0m`)).toBe(`\u001b[93m${R}\u001b[0m`);
    const held = btoa(`tls:\n  key: |\n${pem(`\n${letters(64)}\n`)}\n`);
    expect(redact(`data ${held} end`)).toBe(`data ${R} end`);
  });

  it.each(["  vendor_api_key: YXNkZmZmZmZm_HARDcoded", "  token: sQkZwTrL-mXvBnHdQaJfGyPcE"])(
    "RED-2 takes letters whose case turns: %s",
    (text) => {
      expect(redact(text)).toBe(text.replace(/\S+$/, R));
    },
  );

  it("RED-2 knows tokens by an anchor in their middle", () => {
    const tokens = [
      `${letters(42)}+ACRC${letters(6)}`,
      `ATATT${letters(60)}=1A2B3C4D`,
      `${letters(36).toLowerCase()}NRAL`,
      `00D${letters(15)}!AQ${letters(80)}`,
      `*${"0123456789ABCDEF".repeat(3).slice(0, 40)}`,
      `$2b$12$${letters(53)}`,
      `$6$rounds=5000$${letters(12)}$${letters(86)}`,
      `$argon2id$v=19$m=65536,t=3,p=4$${letters(22)}$${letters(43)}`,
    ];
    for (const token of tokens) expect(redact(`see ${token}, please`)).toBe(`see ${R}, please`);
  });

  it.each([
    "the key is SomeVeryLongTypeNameForTheKey",
    'labels = {passwordLabel:"Password:",rememberLabel:"Remember me:"}',
    "echo 'password = '.$config['daemon_password'].\"\\n\";",
    '\\$pwd = \\$_POST["password"];',
    "the password is 'required'",
    'String getTokenName() { return "token-name"; }',
    "<secret>{your secret here}</secret>",
    "railway: the-line-from-Ghent-to-Bruges",
    "datadog: AGENT-HOST-NAME-TAGS",
    'credentials {\n  name = "cargo:token"\n}',
  ])("RED-2 leaves what a person wrote: %s", (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    "exports.validateMountCredentialFileEffectivePaths = validateMountCredentialFileEffectivePaths;",
    "const MY_API_KEY = 'LANGSMITH_API_KEY';",
    "const RFC9110_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;",
    "credentials: DecartCredentials<Message>['credentials'];",
    "authentication: x509Authentication,",
    'case "cookie": return parse(value);',
    "password,name,role\nrequired,optional,none",
    "the password field is not shown",
    "auth: OAuth2, scope: read:user",
    'WWW-Authenticate: Bearer realm="api"',
    "$ kubectl get secret db -o name\nsecret/db-creds",
    "$ git log -1 --format=%H token.ts\n5d41402abc4b2a76b9719d911017c592a1b2c3d4",
    "define('AUTH_KEY', 'put your unique phrase here');",
  ])("RED-2 leaves names in code alone: %s", (text) => {
    expect(redact(text)).toBe(text);
  });

  it("RED-2 expands no replacement pattern and keeps what is redacted already", () => {
    expect(redact("$& password=abc$1c9 $& $1")).toBe(`$& password=${R} $& $1`);
    const done = `password=${R} token: "${R}" Authorization: Bearer ${R} ${pem(R)} x://u:${R}@h`;
    expect(redact(done)).toBe(done);
  });

  const fragments = [
    ..."\"'`\\ =:;,.{}()<>$&-_/@\n\t01aZ",
    "password",
    "token",
    "api_key",
    "Authorization",
    "Bearer ",
    "--secret ",
    "eyJ",
    "sk-",
    "ghp_",
    "://",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "Cookie: ",
    "curl -u ",
    R,
    letters(24),
    "hunter2",
    "null",
    "string",
    "SG.",
  ];

  it("RED-2 changes nothing the second time", () => {
    const hostile = fc.array(fc.constantFrom(...fragments), { maxLength: 24 }).map((list) => list.join(""));
    fc.assert(
      fc.property(hostile, (text) => {
        const once = redact(text);
        expect(redact(once)).toBe(once);
      }),
      { numRuns: 600, seed: 7 },
    );
  });
});

describe("time", () => {
  const repeated = [
    "a",
    " ",
    "\\",
    '"',
    "eyJ",
    "eyJ-",
    "eyJ.",
    "-eyJaaaaaaaaa.",
    "sk-",
    "-sk-a",
    "a://",
    "://a:",
    "token",
    "token=",
    'token="',
    "token='token=\"",
    "token\\\\\\",
    "token        ",
    "--",
    "--token ",
    "password:\n",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----aaaaaaaaaaaaaaaaaaaa\n",
    "Bearer ",
    "cookie:",
    "curl -u a:",
    "curl ",
    "<token>",
    "<token>a",
    "SG.",
    "SG.aaaaaaaaaaaaaaaaaaaa",
    "xoxb-1",
    "token=a.",
    "\u0000",
    "password=x1 ",
    "password: hunter22\n",
    "api_key: Zx81Q ",
    "--token a9 ",
    "=",
    "key=",
    "-storagekey ",
  ];
  const fill = (piece: string, length: number): string => piece.repeat(Math.ceil(length / piece.length));
  const took = (text: string): number => {
    const start = performance.now();
    redact(text);
    return performance.now() - start;
  };

  it.each(repeated)("RED-4 grows linearly with hostile text: %j", (piece) => {
    // Eight times the text: quadratic time would be 64 times as long. The minimum is the clock's resolution;
    // other work only adds.
    const grows = [1, 2, 3].every(
      () => took(fill(piece, 80_000)) >= 50 * Math.max(took(fill(piece, 10_000)), 3),
    );
    expect(grows).toBe(false);
  });

  it.each(["password for", "the token to"])("RED-4 is not held up by blanks behind %j", (words) => {
    expect(took(words + " ".repeat(12_000))).toBeLessThan(1000);
  });
});

describe("createRedactor", () => {
  it("RED-3 takes custom patterns out beside its own", () => {
    const redactor = createRedactor({ patterns: ["ACME-\\d+", /internal\.host/i, "x*"] });
    expect(redactor.redactText("ACME-12 on Internal.Host, password=hunter2")).toBe(
      `${R} on ${R}, password=${R}`,
    );
    const long = `${"line\n".repeat(20_000)}ACME-7\n${"y".repeat(70_000)}`;
    expect(redactor.redactText(long)).toBe(long.replace("ACME-7", R));
  });

  it.each([
    "(?i)password\\s*[:=]\\s*\\S+",
    "/password\\s*[:=]\\s*\\S+/i",
    "/(?i)password\\s*[:=]\\s*\\S+/",
    "(?im)^the password\\s*[:=]\\s*\\S+",
    "/password\\s*[:=]\\s*\\S+/gi",
    /password\s*[:=]\s*\S+/gi,
  ])("RED-3 %s ignores case, however it says so", (pattern) => {
    const redactor = createRedactor({ patterns: [pattern] });
    expect(redactor.redactText("so\nthe PassWord : required, ok")).not.toContain("required");
    expect(createRedactor().redactText("so\nthe PassWord : required, ok")).toContain("required");
  });

  it("RED-3 a slash that is part of the text stays one", () => {
    const redactor = createRedactor({ patterns: ["/srv/[a-z]+", "https://intern/\\w+"] });
    expect(redactor.redactText("see /srv/alpha and https://intern/x")).toBe("see <REDACTED> and <REDACTED>");
  });

  it.each([
    ["(?x)a b", /flag x, which is not known/],
    ["/a/xi", /flag x, which is not known/],
    ["a(?i)b", /no valid regular expression/],
    ["(?i)(a+)+$", /repeats a group/],
    ["/(a+)+$/i", /repeats a group/],
    ["(?i)(?=a)b", /linear time/],
  ])("RED-4 %s is refused in words", (pattern, words) => {
    expect(() => createRedactor({ patterns: [pattern] })).toThrowError(words);
  });

  it("RED-3 refuses patterns that do not compile or can take for ever, naming them", () => {
    expect(() => createRedactor({ patterns: ["ok", "("] })).toThrowError(
      expect.objectContaining({ code: "InvalidConfig", place: "redaction.patterns[1]" }),
    );
    for (const pattern of ["(a+)+$", "(?:a*b?)*", "((ab){2,})*", "(\\w+\\s?)+"]) {
      expect(() => createRedactor({ patterns: [pattern] })).toThrowError(/repeats/);
    }
    for (const pattern of ["(ab)+", "(?:a|b)*", "[a+]+(x)", "(a{2,3})+", "\\(a+\\)+"])
      createRedactor({ patterns: [pattern] });
  });

  it("switched off changes nothing and says so", () => {
    const warnings: string[] = [];
    const redactor = createRedactor({ enabled: false, onWarning: (warning) => warnings.push(warning) });
    expect(redactor.enabled).toBe(false);
    expect(redactor.redactText("password=hunter2")).toBe("password=hunter2");
    expect(redactor.redactValue({ password: "hunter2" })).toEqual({ password: "hunter2" });
    expect(warnings).toEqual([REDACTION_OFF_WARNING]);
  });

  it("RED-1 is on when nothing is said, and leaves the value in memory as it was", () => {
    const redactor = createRedactor();
    const value = { a: [{ password: "hunter2", n: 1 }], note: "token=abc123" };
    const before = structuredClone(value);
    expect(redactor.enabled).toBe(true);
    expect(redactor.redactValue(value)).toEqual({ a: [{ password: R, n: 1 }], note: `token=${R}` });
    expect(value).toEqual(before);
  });

  it("gives the same object back where there is no secret", () => {
    const value = { a: [1, "x", null, { token_count: 3, password: "" }], when: new Date(0) };
    expect(createRedactor().redactValue(value)).toBe(value);
  });

  it("RED-2 takes values by field name, in headers, in JSON text and in names themselves", () => {
    const { redactValue } = createRedactor();
    expect(redactValue({ Authorization: "Bearer abc123", "X-Api-Key": "k1234" })).toEqual({
      Authorization: `Bearer ${R}`,
      "X-Api-Key": R,
    });
    expect(redactValue({ arguments: '{"password":"hunter2 x","q":"y"}' })).toEqual({
      arguments: `{"password":"${R}","q":"y"}`,
    });
    expect(redactValue({ cookie: "a=b" })).toEqual({ cookie: R });
    expect(redactValue({ [tokens[0] ?? ""]: 1, [tokens[1] ?? ""]: 2 })).toEqual({ [R]: 1, [`${R}#2`]: 2 });
    expect(redactValue({ secrets: { password: "a1b2c3" }, tokens: 5 })).toEqual({
      secrets: { password: R },
      tokens: 5,
    });
  });

  it("walks cycles, depths, toJSON and __proto__ without harm", () => {
    const { redactValue } = createRedactor();
    const cycle: { password: string; self?: unknown } = { password: "hunter2" };
    cycle.self = cycle;
    expect(redactValue(cycle)).toEqual({ password: R, self: "<CIRCULAR>" });
    let deep: unknown = "password=hunter2";
    for (let level = 0; level < 4000; level++) deep = [deep];
    expect(JSON.stringify(redactValue(deep))).toContain("<REDACTED:too-deep>");
    expect(redactValue({ message: { toJSON: () => ({ token: "abc123" }) } })).toEqual({
      message: { token: R },
    });
    const parsed = JSON.parse('{"__proto__":{"x":1},"password":"hunter2"}') as object;
    expect(JSON.stringify(redactValue(parsed))).toBe(`{"__proto__":{"x":1},"password":"${R}"}`);
    expect(Object.getPrototypeOf(redactValue(parsed))).toBe(Object.prototype);
  });
});
