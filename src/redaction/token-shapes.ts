import { REDACTED, SECRET_NAME } from "./secret-names.ts";

/**
 * Tokens that show by their beginning. Each alternative is one run of one class of characters, or such
 * runs parted by a character outside the class, so that no text is walked more than a few times.
 */
const SHAPES: readonly string[] = [
  "sk-[A-Za-z0-9]{20,}",
  "sk-(?=[A-Za-z_-]{0,200}\\d)[A-Za-z0-9_-]{16,}",
  "[srp]k_(?:live|test)_[A-Za-z0-9]{16,}",
  "gh[opsur]_[A-Za-z0-9]{20,}",
  "github_pat_[A-Za-z0-9_]{20,}",
  "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",
  "xox[abeoprs]-[A-Za-z0-9-]{10,}",
  "xapp-[A-Za-z0-9-]{10,}",
  "AIza[A-Za-z0-9_-]{30,}",
  "ya29\\.[A-Za-z0-9_-]{20,}",
  "gl(?:pat|dt|rt|ptt|ft|soat)-[A-Za-z0-9_-]{16,}",
  "npm_[A-Za-z0-9]{30,}",
  "pypi-[A-Za-z0-9_-]{50,}",
  "hf_[A-Za-z0-9]{20,}",
  "gsk_[A-Za-z0-9]{30,}",
  "xai-[A-Za-z0-9]{40,}",
  "r8_[A-Za-z0-9]{30,}",
  "SG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}",
  "whsec_[A-Za-z0-9+/=]{20,}",
  "do[opr]_v1_[a-f0-9]{40,}",
  "shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}",
  "dckr_pat_[A-Za-z0-9_-]{20,}",
  "AGE-SECRET-KEY-1[A-Z0-9]{40,}",
  "eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]*)?",
];
const TOKEN = new RegExp(`(?<![A-Za-z0-9_-])(?:${SHAPES.join("|")})`, "g");
const WEBHOOK = /(https:\/\/hooks\.slack\.com\/services\/)[A-Za-z0-9/]{20,}/g;
const BEARER = /\b((?:bearer|basic)[ \t]{1,8})([A-Za-z0-9._~+/=-]{12,})/gi;
const COOKIE = /\b((?:set-)?cookie:[ \t]{0,8})([^\r\n'"]{1,4096})/gi;
const USER_AND_PASSWORD = /(:\/\/[^\s:@/?#'"<>]{0,128}:)([^\s@/'"<>]{1,256})(?=@)/g;
const USER_ALONE = /(:\/\/)([A-Za-z0-9_-]{20,256})(?=@)/g;
const CURL_USER = /(\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]{0,4}["']?[^\s:'"]{1,128}:)([^\s'"<>]{1,256})/g;
const ELEMENT = new RegExp(`(<[\\w:.-]{0,40}?(?:${SECRET_NAME})>)([^<>\\s]{3,4096})(?=</)`, "gi");

/** Replaces what is a secret by its shape or its place: known tokens, web tokens, header schemes, cookies, URL passwords. */
export function redactShapes(text: string): string {
  return text
    .replace(USER_AND_PASSWORD, keepFirst(isFilledIn))
    .replace(USER_ALONE, keepFirst(hasDigit))
    .replace(CURL_USER, keepFirst(isFilledIn))
    .replace(ELEMENT, keepFirst(isFilledIn))
    .replace(COOKIE, keepFirst(isPair))
    .replace(BEARER, keepFirst(looksRandom))
    .replace(
      WEBHOOK,
      keepFirst(() => true),
    )
    .replace(TOKEN, REDACTED);
}

/** True for the value of a cookie header. */
export function isPair(value: string): boolean {
  return value.includes("=");
}

function keepFirst(isSecret: (value: string) => boolean): (...match: string[]) => string {
  return (whole = "", before = "", value = "") => (isSecret(value) ? before + REDACTED : whole);
}

function isFilledIn(value: string): boolean {
  return !/^(?:\$|\{|%[A-Z]|\*+$|x+$|\.+$|\d{1,5}$)/i.test(value);
}

function hasDigit(value: string): boolean {
  return /\d/.test(value);
}

function looksRandom(value: string): boolean {
  return value.length >= 32 || hasDigit(value) || /[a-z][A-Z].*[a-z][A-Z]|=$/.test(value);
}
