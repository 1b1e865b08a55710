// Controls but tab and newline, then what turns or hides text: soft hyphen, zero-width, bidi and invisible marks.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/**
 * The text with every character that could move the cursor, hide, or turn what follows made visible
 * (`\x1b`, `\u202e`); newline and tab stay. Safe to print to a terminal.
 */
export function escapeControl(text: string): string {
  return replaceUnseen(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The same characters written in another way, such as that of a data format. */
export function replaceUnseen(text: string, written: (character: string) => string): string {
  return text.replace(UNSEEN, written);
}
