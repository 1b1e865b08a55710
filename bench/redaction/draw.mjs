// Random secrets for the corpus; the same seed gives the same ones. Shapes are written here from the issuers'
// documentation and not taken from src/, so that the corpus does not measure the table with itself.

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const DIGIT = "0123456789";
export const ALPHABET = {
  digit: DIGIT,
  hex: `${DIGIT}abcdef`,
  HEX: `${DIGIT}ABCDEF`,
  lower: LOWER + DIGIT,
  letters: LOWER,
  upper: LOWER.toUpperCase() + DIGIT,
  base62: LOWER + LOWER.toUpperCase() + DIGIT,
  url64: `${LOWER}${LOWER.toUpperCase()}${DIGIT}_-`,
  base64: `${LOWER}${LOWER.toUpperCase()}${DIGIT}+/`,
};
const WORDS =
  "sommer winter falcon dragon coffee monkey tiger ocean rocket silver orange admin welcome thunder purple marble velvet canyon".split(
    " ",
  );

export function createDraw(seed) {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const integer = (least, most) => least + Math.floor(random() * (most - least + 1));
  const one = (list) => list[integer(0, list.length - 1)];
  const of = (alphabet, length) => Array.from({ length }, () => one(ALPHABET[alphabet] ?? alphabet)).join("");
  const word = () => one(WORDS);
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const uuid = () => [8, 4, 4, 4, 12].map((length) => of("hex", length)).join("-");
  const base64 = (bytes) => {
    const padding = "=".repeat((3 - (bytes % 3)) % 3);
    return of("base64", Math.ceil((bytes * 4) / 3)) + padding;
  };
  const encoded = (value) => Buffer.from(value).toString("base64url");
  const jwt = () =>
    [
      encoded(JSON.stringify({ alg: "HS256", typ: "JWT" })),
      encoded(
        JSON.stringify({ sub: of("digit", 10), name: word(), iat: integer(1_600_000_000, 1_800_000_000) }),
      ),
      of("url64", 43),
    ].join(".");
  /** What people choose: a word and numbers, a mixed one, a few words, one from a password manager. */
  const password = () =>
    one([
      () => `${capital(word())}${integer(10, 2030)}!`,
      () => `${word()}${integer(10, 9999)}`,
      () => `${word()}-${word()}-${integer(1, 99)}`,
      () => `${of("base62", 5)}${of("#!%?*+=", 1)}${of("base62", integer(4, 9))}`,
      () => of("base62", integer(12, 20)),
      () => `${capital(word()).replace("o", "0").replace("e", "3")}#${of("digit", 3)}`,
    ])();
  const pem = (label = "RSA PRIVATE KEY", lines = integer(6, 24)) => {
    const body = [
      ...Array.from({ length: lines }, () => of("base64", 64)),
      `${of("base64", integer(20, 60))}==`,
    ];
    return {
      label,
      body: body.join("\n"),
      text: `-----BEGIN ${label}-----\n${body.join("\n")}\n-----END ${label}-----`,
    };
  };
  return { random, integer, one, of, word, capital, uuid, base64, jwt, password, pem };
}
