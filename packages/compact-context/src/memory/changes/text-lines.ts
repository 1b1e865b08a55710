/** A text's lines without their ends; the number of lines is one more than that of the line ends. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

/** Replaces the lines from `from` up to `to`, counted from 0, `to` not included; line ends stay those of the text. */
export function replaceLines(text: string, from: number, to: number, lines: readonly string[]): string {
  const end = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
  const pieces = text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? [];
  const before = pieces.slice(0, from).join("");
  const gap = before !== "" && !/[\r\n]$/.test(before) && lines.length > 0 ? end : "";
  return before + gap + lines.map((line) => line + end).join("") + pieces.slice(to).join("");
}

/** The text with lines at its end, a blank one before them. */
export function appendLines(text: string, lines: readonly string[]): string {
  const end = Number.MAX_SAFE_INTEGER;
  const gap = text.trim() === "" || /\n\s*\n$/.test(text) ? [] : [""];
  return replaceLines(text, end, end, [...gap, ...lines]);
}
