import { CompactError, escapeControl, replaceUnseen } from "compact-context/internal/errors";
import { eastAsianWidth } from "get-east-asian-width";

/** Characters of one cell each in any context: Latin letters, dashes, dots, arrows, lines and bars. */
const NARROW = /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u21ff\u2212\u2500-\u259f]*$/;

/** What a terminal draws as one sign of two cells: flags, keycaps, changed and joined emoji, Korean syllables. */
const PICTURE = String.raw`\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]`;
const SIGN = new RegExp(
  String.raw`\p{RI}{2}|[\d#*]\ufe0f?\u20e3|${PICTURE}*(?:\u200d${PICTURE}*)+|${PICTURE}+|[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?`,
  "gu",
);
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Cs}]/gu;

/** The number of terminal cells of a text without control characters. */
export function displayWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const character of text.replace(SIGN, "\u3000").replace(UNSEEN, ""))
    width += eastAsianWidth(character.codePointAt(0) ?? 0);
  return width;
}

/** Slow to begin: the first one takes as long as the start of many commands. */
function* graphemes(text: string): Generator<string> {
  for (const { segment } of new Intl.Segmenter().segment(text)) yield segment;
}

/** Cells that `truncate` gives up at most to end at a word boundary. */
const WORD = 16;

/** Truncates a text to `width` cells, ending in `…`, at a word boundary where one is near. */
export function truncate(text: string, width: number): string {
  if (width <= 0) return "";
  // The length check avoids measuring a very long text.
  if (text.length <= width * 16 && displayWidth(text) <= width) return text;
  let used = 0;
  let cut = 0;
  for (const sign of NARROW.test(text) ? text : graphemes(text)) {
    used += displayWidth(sign);
    if (used >= width) break;
    cut += sign.length;
  }
  const kept = text.slice(0, cut);
  const word = text[cut] === " " ? kept.length : kept.lastIndexOf(" ");
  const whole =
    word > 0 && kept.length - word <= Math.min(WORD, kept.length / 2) ? kept.slice(0, word) : kept;
  return `${whole.trimEnd()}…`;
}

/** Pads with spaces to `width` cells. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Pads with leading spaces to `width` cells. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Wraps a text at spaces to lines of `width` cells; a longer word, such as a path, gets its own line. */
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

/** Wraps and indents a text for a screen of `width` cells. */
export function paragraph(text: string, width: number, indent = 2): string[] {
  return wrap(text, width - indent - 2).map((line) => " ".repeat(indent) + line);
}

/** Untrusted text on one line: whitespace collapsed, control characters escaped. */
export function oneLine(text: string): string {
  return escapeControl(text.replace(/[ \t\r\n]+/g, " ").trim());
}

/** The start of a text on one line; only that part is processed. */
export function firstWords(text: string, characters = 400): string {
  return oneLine(text.slice(0, characters).replace(/[\ud800-\udbff]$/, ""));
}

/** JSON that is safe to print to a terminal: control characters are escaped, the parsed value is the same. */
export function safeJson(value: unknown, indent = 2): string {
  return replaceUnseen(JSON.stringify(value, undefined, indent), (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

/** Untrusted text as printable lines; tabs become spaces. */
export function safeLines(text: string): string[] {
  return escapeControl(text.replaceAll("\r\n", "\n")).replaceAll("\t", "  ").split("\n");
}

/** Keys whose values keep their names: library messages, and counts by names from a file. */
const AS_IS: ReadonlySet<string> = new Set(["message", "left_out", "kinds", "value"]);

/** Converts all keys to snake_case, the convention of `--json`. */
export function snakeKeys(value: unknown, asIs: ReadonlySet<string> = AS_IS): unknown {
  if (Array.isArray(value)) return value.map((entry) => snakeKeys(entry, asIs));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = key.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [name, asIs.has(name) ? inner : snakeKeys(inner, asIs)];
  });
  return Object.fromEntries(entries);
}

/** `12,345`. */
export function formatCount(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `840`, `12.3k`, `1.2M`. */
export function formatShort(count: number): string {
  if (count < 1000) return formatCount(count);
  const [value, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1_000_000, "M"];
  return `${value < 100 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

/** `12.3%`; `0%` of nothing. */
export function formatPercent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0%";
  const percent = (part / whole) * 100;
  if (percent === 100) return "100%";
  if (percent < 0.1) return "<0.1%";
  // 100% is reserved for the whole.
  return `${(percent < 100 ? Math.min(percent, 99.9) : percent).toFixed(1)}%`;
}

/** `1 message`, `12,345 messages`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** `820 B`, `12 kB`, `3.4 MB`; decimal units. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** `0.4 ms`, `840 ms`, `12.3 s`, `2 h 5 min`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

/** `just now`, `5 min ago`, `3 h ago`, `12 days ago`. */
export function formatAge(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}

const AMOUNT = /^(\d+(?:\.\d+)?)\s*(k|m)?$/i;
const PERCENT = /^(\d+(?:\.\d+)?)\s*%$/;

/** Parses `20000`, `20k`, `1.5M`, `20,000` or `20_000`; throws `InvalidUsage` with the flag. */
export function parseTokens(text: string, flag: string): number {
  const match = AMOUNT.exec(text.replace(/(?<=\d)[,_](?=\d{3})/g, "").trim());
  const factor = { k: 1000, m: 1_000_000 }[match?.[2]?.toLowerCase() ?? ""] ?? 1;
  const tokens = Math.round(Number(match?.[1] ?? Number.NaN) * factor);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new CompactError("InvalidUsage", `${flag} ${text}: not a positive number of tokens`, {
    place: flag,
    hint: `Write it as ${flag} 20000, ${flag} 20k or ${flag} 1.5M.`,
  });
}

/** Parses tokens as `parseTokens` does, or a share such as `25%` of `whole`. */
export function parseTokensOrShare(text: string, flag: string, whole: number): number {
  const percent = PERCENT.exec(text.trim());
  if (percent === null) return parseTokens(text, flag);
  const share = Number(percent[1]);
  if (share > 0 && share <= 100) return Math.max(1, Math.floor((whole * share) / 100));
  throw new CompactError("InvalidUsage", `${flag} ${text}: not a share between 0% and 100%`, {
    place: flag,
    hint: `Write it as ${flag} 25%, a share of what the file holds.`,
  });
}
