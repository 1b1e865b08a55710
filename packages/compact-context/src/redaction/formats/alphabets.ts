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
