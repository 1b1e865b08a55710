import { describe, expect, it } from "vitest";
import { redact } from "./redactor.ts";

const R = "<REDACTED>";
const DRAWN = "9fK2LmQ8xYzA7bC3dE5f";
const HEX = "3AA5C34371567BD23AA5C34371567BD2";
const UUID = "6a174c20-f6de-a53c-74d2-6018fcceff64";

describe("values that look like something else", () => {
  it.each([
    // Digits and a slash: no page of a count, no port
    ["AWS_SECRET_ACCESS_KEY=@", "97/fMjyASSJHerL9lYuFgDhD8Hjq1d0gIabcdEFGH"],
    ["aws_secret_access_key = @", "12/AbCdEfGhIjKlMnOpQrStUvWxYz0123456789Ab"],
    ["DB_PASSWORD=@", "18/03Paris!"],
    ['password = "@"', "2024/Paris"],
    ["DB_PASSWORD=@", "1234/5678"],
    ["the password is @", "12/Summer!"],
    // Words that end like the name of what they hold
    ["DB_PASSWORD=@", "WinterSecret"],
    ["MYSQL_ROOT_PASSWORD=@", "rootPassword"],
    ["run -e POSTGRES_PASSWORD=@ db", "DockerSecret"],
    ['password: "@"', "SuperSecret"],
    ['secret: "@"', "AlphaBetaGammaSecret"],
    ["client_secret=@", "aBcDeFgHiJkLmNoPqRsTuVwXyZToken"],
    ["accessKey=@", "AbCdEfGhIjKlMnOpQrStUvWxAccessKey"],
    ["secretAccessKey: @", "zZbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsSecretKey"],
    ['<add key="password" value="@"/>', "WinterSecret"],
    ["DB_PASSWORD=@", "NORTH_STAR_TOKEN9"],
    // What was drawn, and an ending
    ["API_TOKEN=@", `${DRAWN}.rs`],
    ['api_key: "@"', `${DRAWN}.sh`],
    ["token=@", "8f14e45fceea167a5a36dedad4bea543.io"],
    // Signs of selectors, colours, fields, brackets and scripts
    ["DB_PASSWORD=@", "#1234abcd"],
    ["password=@", "s#cr3t#pw"],
    ["DB_PASSWORD=@", ".hidden.pass"],
    ["DB_PASSWORD=@", "Blue.Sky!"],
    ["DB_PASSWORD=@", "abc).bar8Q"],
    ["DB_PASSWORD=@", "Horse[-12"],
    ["DB_PASSWORD=@", "Horse[:key"],
    ['password="@"', "/opensesame"],
    // What is said of a stand-in
    ["password = @", "kT7-here"],
    ["DB_PASSWORD=@", "it-was-here"],
    ["session_secret=@", "keyboard-cat-here"],
    ['cookie_secret = "@"', "placeholderXy81Qz"],
  ])("RED-2 takes the value out of %s: %s", (text, value) => {
    expect(redact(text.replace("@", value))).toBe(text.replace("@", R));
  });

  it.each([
    ["VAULT_SECRET_ID=@", UUID],
    ['{"secret_id":"@"}', UUID],
    ["secret_id                @", UUID],
    ['secretId: "@"', UUID],
    ["run --secret-id @", UUID],
    ["approle.secret-id=@", UUID],
    [`vault write auth/approle/login role_id=${UUID} secret_id=@`, UUID.replace("6a", "7b")],
    ["JWT_SIGNINGKEY=@", HEX],
    ["jwt.signingkey: @", HEX],
    ['HMAC_SIGNINGKEY="@"', HEX.slice(0, 24)],
    ["keystore.jksSecret=@", "Qx9mKf72Lpw8"],
    ["tlssecret=@", "Qx9mKf72Lpw8"],
  ])("RED-2 knows the name in %s", (text, value) => {
    expect(redact(text.replace("@", value))).toBe(text.replace("@", R));
  });

  it.each([
    `VAULT_ROLE_ID=${UUID}`,
    `git config user.signingkey=${HEX.slice(0, 16)}`,
    "tlsSecret: shop-tls",
    'tls.certificatesSecret="shop.local-tls"',
    "using the explicit credentials AccessKeyID/SecretAccessKey or others",
    "token: 12/34",
    "token: 8080/tcp",
    "lastToken === 46/*.*/ && next",
    'private_key: "_EllipticCurvePrivateKey", data: bytes',
    "const password = userPassword;",
    "login(user, password=userPassword)",
    'resetPassword: "/reset-password"',
    "token: src/a1.test.ts",
    "token=token-goes-here",
    "password: '#login'",
    "sed -e 's/password: s|a|b|/x/'",
  ])("RED-2 leaves %j alone", (text) => {
    expect(redact(text)).toBe(text);
  });
});

describe("words that nobody can say", () => {
  it("RED-2 judges many vowels as fast as few", () => {
    expect(redact(`token=${"a".repeat(60)}bcdf`)).toBe(`token=${R}`);
    expect(redact(`ghp_x509${"a".repeat(236)}x`)).not.toContain("x509");
  });
});
