import type { Finding } from "./finding.ts";

// Personal data: an optional layer, off by default.

interface PersonalFact {
  readonly kind: string;
  readonly pattern: RegExp;
  readonly isReal: (text: string) => boolean;
}

const digitsOf = (text: string): string => text.replace(/\D/g, "");

/** The countries of ISO 13616, each with the length of its bank account numbers. */
const COUNTRIES = (
  "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 " +
  "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 " +
  "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 " +
  "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
).split(" ");

/** What may be a bank account number: a country, two digits, and as much as that country's numbers have. */
export const IBAN: RegExp = new RegExp(
  `\\b(?=[A-Za-z]{2}\\d{2})(?:${COUNTRIES.map((one) => accountOf(one.slice(0, 2), Number(one.slice(2)) - 4)).join("|")})\\b`,
  "g",
);

/** In groups of four, or in capitals with any spaces: in small letters those would be the words of a sentence. */
function accountOf(country: string, length: number): string {
  const last = length % 4 === 0 ? "" : `[ -]?[A-Za-z0-9]{${length % 4}}`;
  const grouped = `(?:[ -]?[A-Za-z0-9]{4}){${Math.floor(length / 4)}}${last}`;
  const eitherCase = [...country].map((letter) => `[${letter}${letter.toLowerCase()}]`).join("");
  return `(?:${eitherCase}\\d{2}${grouped}|${country}\\d{2}(?: ?[A-Z0-9]){${length}})`;
}

/** Personal data; every repetition is bounded. */
const PERSONAL: readonly PersonalFact[] = [
  {
    kind: "email",
    pattern: /(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}\b/g,
    isReal: (text) => !/^git@|@\d+x\./.test(text),
  },
  {
    kind: "card",
    pattern: /(?<![\w.-])[2-6]\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w-])/g,
    isReal: (text) => isCardNumber(digitsOf(text)),
  },
  {
    kind: "iban",
    pattern: IBAN,
    isReal: isIban,
  },
  {
    kind: "phone",
    pattern: /(?<![\w.+/-])\+[1-9]\d{0,2}(?:[ .-]?\(?\d{1,4}\)?){2,6}(?![\w-])/g,
    isReal: (text) => digitsOf(text).length >= 8 && digitsOf(text).length <= 15,
  },
  {
    kind: "phone",
    pattern:
      /(?<![\w.+/-])(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[.-])[2-9]\d{2}[ .-]\d{4}(?![\w.-]\d|\w)/g,
    isReal: () => true,
  },
  {
    kind: "phone",
    pattern: /(?<![\w.+/-]|\d )0\d{2,4}[ /-]\d{3,4}[ -]?\d{3,4}(?! ?[\w-])/g,
    isReal: (text) => digitsOf(text).length >= 9 && digitsOf(text).length <= 12,
  },
  {
    kind: "us-social-security",
    pattern: /(?<![\w.-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
    isReal: () => true,
  },
];

/** E-mail addresses, telephone, payment card (Luhn), bank account (IBAN) and US social security numbers. */
export function* findPersonal(text: string): Generator<Finding> {
  if (!/\d|@/.test(text)) return;
  for (const { kind, pattern, isReal } of PERSONAL) {
    for (const { 0: match, index } of text.matchAll(pattern)) {
      if (isReal(match)) yield { start: index, end: index + match.length, kind };
    }
  }
}

/** The Luhn checksum over 13 to 19 digits that are not all equal. */
export function isCardNumber(digits: string): boolean {
  if (digits.length < 13 || digits.length > 19 || new Set(digits).size < 2) return false;
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** ISO 13616: the number with its first four characters moved to the end is 1 modulo 97. */
export function isIban(text: string): boolean {
  const account = text.replace(/[ -]/g, "");
  let rest = 0;
  for (const character of account.slice(4) + account.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
