// Rows of the corpus from the templates of a half; positives carry the secret that must not survive.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ALPHABET, createDraw } from "./draw.mjs";

const ROUNDS = 6;
const MOST_OTHERS = 3_000;
const MENTIONS = /passw|secret|token|api.?key|credential|\bauth|private.?key|bearer|cookie|\bkeys?\b/i;

/** Every template of a half with fresh secrets: { text, secret, kind }. */
export function positives(half, seed) {
  const d = createDraw(seed);
  const named = valueRows(half.named, d, (what) => (what === "password" ? "password" : "named"));
  return [
    ...tokenRows(half, d),
    ...named,
    ...valueRows(half.forms, d, () => "other forms"),
    ...keyRows(half, d),
  ];
}

function tokenRows(half, d) {
  return Object.values(half.tokens).flatMap((make) =>
    half.tokenPlaces.map((place) => {
      const secret = make(d);
      return { kind: "token", secret, text: fill(place, secret), template: place };
    }),
  );
}

function valueRows(templates, d, kindOf) {
  return templates.flatMap(([template, what]) =>
    Array.from({ length: ROUNDS }, () => {
      const secret = drawn(d, what);
      return { kind: kindOf(what), secret, text: fill(template, secret), template };
    }),
  );
}

function keyRows(half, d) {
  return half.keys.flatMap((make) =>
    half.keyFrames.map((frame) => {
      const key = make(d);
      const text = frame(key);
      const secret = key.body.split("\n").filter((line) => text.includes(line));
      return { kind: "private key", secret, text, template: String(frame) };
    }),
  );
}

const COMMON = [
  "changeme",
  "toor",
  "hunter2",
  "letmein",
  "qwerty",
  "correct-horse-battery",
  "Passw0rd",
  "test1234",
];
const base64 = (text) => Buffer.from(text).toString("base64");

function drawn(d, what) {
  if (what === "password") return d.password();
  if (what === "word") return d.word() + d.word();
  if (what === "uuid") return d.uuid();
  if (what === "common") return d.one(COMMON);
  if (what === "url")
    return encodeURIComponent(`${d.password()}${d.one(["/", "=", " ", "#", "?"])}${d.of("base62", 6)}`);
  if (what === "b64-env")
    return base64(`DB_HOST=db\nDB_PASSWORD=${d.password()}\nAPI_TOKEN=${d.of("hex", 32)}\n`);
  if (what === "b64-json") return base64(JSON.stringify({ user: d.word(), password: d.password() }));
  const [alphabet, length] = what.split("-");
  return d.of(alphabet in ALPHABET ? alphabet : "base62", Number(length));
}

/** `@@` is the secret and the `@` of an address; a lone `@` is the secret. */
function fill(template, secret) {
  return template
    .split("@@")
    .map((piece) => piece.split("@").join(secret))
    .join(`${secret}@`);
}

/** True when no eight characters in a row of the secret are left. */
export function isGone(shown, { secret }) {
  const parts = Array.isArray(secret) ? secret : [secret];
  return parts.every((part) => {
    if (part.length < 8) return !shown.includes(part);
    for (let at = 0; at + 8 <= part.length; at++) if (shown.includes(part.slice(at, at + 8))) return false;
    return true;
  });
}

/** Facts about people in the sentences of a half. */
export function personalRows(half, seed) {
  const d = createDraw(seed);
  const make = { email: () => email(d), phone: () => phone(d), card: () => card(d), iban: () => iban(d) };
  return Object.entries(half.personal).flatMap(([kind, places]) =>
    places.flatMap((place) =>
      Array.from({ length: ROUNDS }, () => {
        const secret = make[kind]();
        return { kind, secret, text: place.replace("@", secret), template: place };
      }),
    ),
  );
}

const email = (d) =>
  `${d.word()}.${d.word()}${d.integer(1, 99)}@${d.word()}.${d.one(["com", "org", "co.uk"])}`;
const phone = (d) =>
  d.one([
    () => `+49 ${d.integer(151, 179)} ${d.of("digit", 8)}`,
    () => `(${d.integer(201, 989)}) ${d.integer(200, 999)}-${d.of("digit", 4)}`,
    () => `+1-${d.integer(201, 989)}-${d.integer(200, 999)}-${d.of("digit", 4)}`,
    () => `+33 6 ${d.of("digit", 2)} ${d.of("digit", 2)} ${d.of("digit", 2)} ${d.of("digit", 2)}`,
  ])();

function card(d) {
  const digits = `${d.one(["4", "51", "37"])}${d.of("digit", 13)}`.slice(0, 15);
  const sum = [...digits].reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  const number = `${digits}`.padEnd(15, "0") + String((10 - (sum % 10)) % 10);
  return d.one([number, number.replace(/(\d{4})(?=\d)/g, "$1 ")]);
}

function iban(d) {
  const account = `${d.of("digit", 18)}`;
  const rest = [...`${account}131400`].reduce((left, digit) => (left * 10 + Number(digit)) % 97, 0);
  return `DE${String(98 - rest).padStart(2, "0")}${account}`;
}

/** Lines of code that mention secrets or were drawn from all others; of a half's folders. */
export function codeLines(roots, skip = () => false) {
  const mentioning = [];
  const others = [];
  for (const root of roots.filter(existsSync)) {
    for (const path of sourcesBelow(root)) {
      if (skip(path)) continue;
      readFileSync(path, "utf8")
        .split("\n")
        .forEach((line, index) => {
          if (line.length < 4 || line.length > 400) return;
          if (MENTIONS.test(line)) mentioning.push(line);
          else if (index % 7 === 0) others.push(line);
        });
    }
  }
  const different = [...new Set(others)];
  const step = Math.ceil(different.length / MOST_OTHERS);
  return { mentioning: [...new Set(mentioning)], others: different.filter((_, index) => index % step === 0) };
}

function sourcesBelow(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() &&
        /\.(?:ts|mjs|cjs|js|py|sh)$/.test(entry.name) &&
        !/\.min\.|generated/.test(entry.name),
    )
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
