import stringWidth from "string-width";

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Cells that a text takes on a terminal; it must hold no control characters. */
export function displayWidth(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** Cells that a cut goes back at most to end behind a whole word. */
const WORD = 16;

/** The text cut to at most `width` cells, ending in `…` where something is missing; behind a word where one ends near. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return "";
  // No character takes less than no cells: what is far longer need not be looked at.
  if (text.length <= width * 16 && displayWidth(text) <= width) return text;
  let used = 0;
  let cut = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += displayWidth(segment);
    if (used >= width) break;
    cut += segment.length;
  }
  const kept = text.slice(0, cut);
  const word = text[cut] === " " ? kept.length : kept.lastIndexOf(" ");
  const whole =
    word > 0 && kept.length - word <= Math.min(WORD, kept.length / 2) ? kept.slice(0, word) : kept;
  return `${whole.trimEnd()}…`;
}

/** Filled up with spaces to `width` cells. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Filled up with spaces in front to `width` cells. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** The text as lines of at most `width` cells, broken at spaces alone: a longer word, such as a path, has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
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
