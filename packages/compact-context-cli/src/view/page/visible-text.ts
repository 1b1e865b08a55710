// Controls but tab and newline, then what turns or hides text. Joiners stay: scripts and emoji need them.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** The text with every character that hides, or turns what follows, written out (`\u202e`); newline and tab stay. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The beginning of a text on one line; only that much of it is looked at. */
export function firstLine(text: string, characters = 240): string {
  const start = text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
  return visibleText(start.replace(/\s+/g, " ").trim());
}
