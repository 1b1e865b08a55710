const PLAIN_WORD = /\p{L}{4,}/gu;
const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n/;
const SENTENCE_ROOM = 20_000;

/** Text without line breaks or runs of blanks. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** At most `characters` from the start, cut after a whole word where one ends near the limit; ` …` marks the cut. */
export function clipEnd(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${wordHead(text, Math.max(0, characters - 2))} …`;
}

/** Head and tail of a text with ` … ` between them, each ending at a whole line or word where one is near. */
function clipMiddle(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const room = Math.max(0, characters - 3);
  const head = wordHead(text, Math.ceil(room * 0.65));
  const tail = wordTail(text, Math.floor(room * 0.35));
  const [lines, last] = [lineHead(head), lineTail(tail)];
  const mark = lines === head || last === tail ? " … " : "\n…\n";
  return `${lines}${mark}${last}`.trim();
}

/** Part of a clipped text that is given up for the sake of a whole line. */
const GIVEN_UP = 0.4;

function lineHead(head: string): string {
  const end = head.lastIndexOf("\n");
  return end >= head.length * (1 - GIVEN_UP) ? head.slice(0, end).trimEnd() : head;
}

function lineTail(tail: string): string {
  const start = tail.indexOf("\n");
  return start >= 0 && start <= tail.length * GIVEN_UP ? tail.slice(start).trimStart() : tail;
}

const NEAR = 60;

function wordHead(text: string, length: number): string {
  let end = length;
  while (end > 0 && length - end < NEAR && /\S/.test(text.charAt(end)) && /\S/.test(text.charAt(end - 1)))
    end -= 1;
  if (end === 0 || length - end === NEAR) end = length;
  if (isHighSurrogate(text, end - 1)) end -= 1;
  return text.slice(0, end).trimEnd();
}

function wordTail(text: string, length: number): string {
  if (length === 0) return "";
  const from = text.length - length;
  let start = from;
  while (start - from < NEAR && /\S/.test(text.charAt(start)) && /\S/.test(text.charAt(start - 1)))
    start += 1;
  if (start >= text.length || start - from === NEAR) start = from;
  if (isHighSurrogate(text, start - 1)) start += 1;
  return text.slice(start).trimStart();
}

function isHighSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code <= 0xdbff;
}

/** The longest head-and-tail clip of `text` that has at most `tokens` tokens; empty when not even one word fits. */
export function clipToTokens(text: string, tokens: number, countText: (text: string) => number): string {
  if (tokens <= 0) return "";
  const most = Math.min(text.length, tokens * 16);
  if (most === text.length && countText(text) <= tokens) return text;
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (countText(clipMiddle(text, middle)) <= tokens) low = middle;
    else high = middle - 1;
  }
  const clipped = low < 4 ? "" : clipMiddle(text, low);
  return countText(clipped) <= tokens ? clipped : "";
}

/** Sentences and lines of a text, trimmed, none empty; only the first and last 20,000 characters of a longer one are looked at. */
export function sentences(text: string): string[] {
  const read =
    text.length > 2 * SENTENCE_ROOM ? `${text.slice(0, SENTENCE_ROOM)}\n${text.slice(-SENTENCE_ROOM)}` : text;
  return read
    .split(SENTENCE_END)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length > 1);
}

const MARKS = /^(?:(?:[-*+]|#{1,6}|>{1,8})\s+)+/;

/** A sentence without the marks of a list, heading or quote before it. */
export function withoutMarks(sentence: string): string {
  return sentence.replace(MARKS, "");
}

/** Words of four letters and more, in lower case. */
export function plainWords(text: string): string[] {
  return text.toLowerCase().match(PLAIN_WORD) ?? [];
}

/** What a line is made of, guessed without an encoder. */
interface LineMeasure {
  /** Good to about a fifth. */
  readonly tokens: number;
  /** Words of four letters and more that are no part of a name or path; in scripts without blanks every four letters. */
  readonly words: number;
}

const PLAIN_LETTERS = 4;
const HYPHEN = 45;
const DOT = 46;
const SLASH = 47;
const UNDERSCORE = 95;
const LOWER_A = 97;
const FIRST_FOREIGN = 0xc0;

export function measureLine(text: string): LineMeasure {
  let tokens = 0;
  let plain = 0;
  let foreign = 0;
  let start = 0;
  for (let index = 0; index <= text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isLetter(code)) continue;
    tokens += Math.ceil((index - start) / 7) + markTokens(code);
    if (isPlainWord(text, start, index)) plain += 1;
    if (code >= FIRST_FOREIGN) foreign += 1;
    start = index + 1;
  }
  return { tokens: Math.max(1, Math.round(tokens)), words: plain + foreign / 4 };
}

// The letters from start to end are a word of prose: only the first may be a capital, and no name or path goes on beside it.
function isPlainWord(text: string, start: number, end: number): boolean {
  if (end - start < PLAIN_LETTERS || joins(text.charCodeAt(end))) return false;
  const before = text.charCodeAt(start - 1);
  if (joins(before) || before === DOT) return false;
  for (let index = start + 1; index < end; index += 1) if (text.charCodeAt(index) < LOWER_A) return false;
  return true;
}

function isLetter(code: number): boolean {
  return (code | 32) >= 97 && (code | 32) <= 122;
}

// Beside one of these a word is part of a name or a path.
function joins(code: number): boolean {
  return (code >= 48 && code <= 57) || code === UNDERSCORE || code === SLASH || code === HYPHEN;
}

// Blanks join the word after them; digits come up to three a token. The end of the text (NaN) costs nothing.
function markTokens(code: number): number {
  if (Number.isNaN(code) || code === 32) return 0;
  return code >= 48 && code <= 57 ? 0.4 : 0.6;
}
