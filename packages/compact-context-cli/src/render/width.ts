// East Asian wide and fullwidth blocks, and pictographs: two cells each (Unicode UAX #11, the blocks in use).
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const NO_WIDTH = /^(?:\p{M}|\ufe0f)$/u;

/** Cells that one code point takes on a terminal. */
function cellsOf(character: string): number {
  if (character < "\u0300") return 1;
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Cells that a text takes on a terminal; it must hold no control characters. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += cellsOf(character);
  return width;
}

/** The text cut to at most `width` cells, ending in `…` where something is missing. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return "";
  let used = 0;
  let index = 0;
  let cut = 0;
  for (const character of text) {
    used += cellsOf(character);
    if (used > width) return `${text.slice(0, cut).trimEnd()}…`;
    index += character.length;
    if (used < width) cut = index;
  }
  return text;
}

/** Filled up with spaces to `width` cells. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Filled up with spaces in front to `width` cells. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** The text as lines of at most `width` cells, broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((one) => pieces(one, width))) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width || line === "") line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** A sentence as indented lines that fit a screen of `width` cells. */
export function paragraph(text: string, width: number): string[] {
  return wrap(text, width - 4).map((line) => `  ${line}`);
}

function pieces(word: string, width: number): string[] {
  if (displayWidth(word) <= width) return [word];
  const parts: string[] = [];
  let part = "";
  for (const character of word) {
    if (displayWidth(part + character) > width) {
      parts.push(part);
      part = "";
    }
    part += character;
  }
  return [...parts, part];
}
