/** Names of the tags that set data apart from the request. */
const TAGS = "records|notes_so_far|wish";
const FRAME_TAG = new RegExp(`<(?=\\s{0,8}/?\\s{0,8}(?:${TAGS})\\b)`, "gi");
const HEADER =
  /^([^\S\n]{0,8})\[(?=\d{1,9}(?:\.\d{1,9})? (?:user|assistant|call|result|note|system|developer|reasoning|media)\b)/gm;
const CONTROL = /(?![\t\n\r])\p{Cc}|[\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Text that cannot leave its frame: frame tags and record headers inside it are broken by a backslash, invisible
 * and control characters left out, lone surrogates replaced.
 */
export function asData(text: string): string {
  return withoutLoneSurrogates(text).replace(CONTROL, "").replace(FRAME_TAG, "<\\").replace(HEADER, "$1\\[");
}

/** The text with U+FFFD for every half of a surrogate pair that stands alone. */
export function withoutLoneSurrogates(text: string): string {
  return text.replace(LONE, "\ufffd");
}
