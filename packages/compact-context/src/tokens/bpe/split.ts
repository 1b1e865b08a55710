import { lowercase, mark, number, otherLetter, space, uppercase } from "./character-classes.generated.ts";

// Where an encoding cuts a text into pieces: the classes of characters, the ends of a pattern's parts, and the two
// patterns.

// Plain numbers instead of an object: the splitters compare them millions of times, and module constants are
// free.
const LOWER = 0;
/** Uppercase and titlecase letters. */
const UPPER = 1;
/** Letters without case, modifier letters. */
const LETTER = 2;
const MARK = 3;
const NUMBER = 4;
/** Everything else, unassigned code points included. */
const OTHER = 5;
/** White_Space without the two characters of NEWLINE. */
const SPACE = 6;
/** CR and LF. */
const NEWLINE = 7;
/** The byte after the text. */
const END = 8;
/** First byte of a character outside ASCII; only found in the byte tables. */
const HIGH = 9;
// Characters that a pattern names; only in the table of byte kinds.
const BLANK = 10;
const SLASH = 11;
const APOSTROPHE = 12;

/** Never part of UTF-8, so it can follow the text and stop every loop. */
export const END_BYTE = 0xff;

function fillRanges(table: Uint8Array, packed: string, value: number): void {
  const numbers = packed.split(" ");
  let at = 0;
  for (let i = 0; i + 1 < numbers.length; i += 2) {
    const start = at + Number.parseInt(numbers[i] as string, 36);
    at = start + Number.parseInt(numbers[i + 1] as string, 36);
    table.fill(value, start, at);
  }
}

// Filled on the first count (takes 3 ms), as most processes that load this never count.
/** The class of every code point, by tiktoken's Unicode version, not the engine's. */
const byCodePoint = new Uint8Array(0x110000);
/** The class of a byte that starts a character: ASCII by its class, others HIGH or END. */
const byByte = new Uint8Array(256);

function fillClasses(): void {
  byCodePoint.fill(OTHER);
  fillRanges(byCodePoint, lowercase, LOWER);
  fillRanges(byCodePoint, uppercase, UPPER);
  fillRanges(byCodePoint, otherLetter, LETTER);
  fillRanges(byCodePoint, mark, MARK);
  fillRanges(byCodePoint, number, NUMBER);
  fillRanges(byCodePoint, space, SPACE);
  byCodePoint[0x0a] = NEWLINE;
  byCodePoint[0x0d] = NEWLINE;
  byByte.fill(HIGH);
  byByte.set(byCodePoint.subarray(0, 128));
  byByte[END_BYTE] = END;
}

const BLANK_BYTE = 0x20;
const APOSTROPHE_BYTE = 0x27;
const SLASH_BYTE = 0x2f;

/**
 * The class of each byte; blank, slash and apostrophe have their own. Call before any other function here.
 */
function byteKinds(): Uint8Array {
  if (byByte[END_BYTE] !== END) fillClasses();
  const kinds = Uint8Array.from(byByte);
  kinds[BLANK_BYTE] = BLANK;
  kinds[APOSTROPHE_BYTE] = APOSTROPHE;
  kinds[SLASH_BYTE] = SLASH;
  return kinds;
}

/** The class of an ASCII character; HIGH for any other, END after the text. */
function classOfByte(text: Uint8Array, at: number): number {
  return byByte[text[at] as number] as number;
}

/** Class and UTF-8 width of the character at `at`, as `class | width << 4`; the width of END is 0. */
function characterAt(text: Uint8Array, at: number): number {
  const first = text[at] as number;
  if (first < 0x80) return (byByte[first] as number) | 0x10;
  const second = (text[at + 1] as number) & 0x3f;
  if (first < 0xe0) return (byCodePoint[((first & 0x1f) << 6) | second] as number) | 0x20;
  const third = (text[at + 2] as number) & 0x3f;
  if (first < 0xf0) {
    return (byCodePoint[((first & 0x0f) << 12) | (second << 6) | third] as number) | 0x30;
  }
  if (first === 0xff) return END;
  const fourth = (text[at + 3] as number) & 0x3f;
  return (byCodePoint[((first & 0x07) << 18) | (second << 12) | (third << 6) | fourth] as number) | 0x40;
}

/** End of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, or `at`; U+017F folds to `s`. */
function contractionEnd(text: Uint8Array, at: number): number {
  if (text[at] !== APOSTROPHE_BYTE) return at;
  const first = (text[at + 1] as number) | 0x20;
  if (first === 0x73 || first === 0x74 || first === 0x6d || first === 0x64) return at + 2;
  if (text[at + 1] === 0xc5 && text[at + 2] === 0xbf) return at + 3;
  const second = (text[at + 2] as number) | 0x20;
  const two = (first === 0x6c && second === 0x6c) || ((first === 0x76 || first === 0x72) && second === 0x65);
  return two ? at + 3 : at;
}

/** End of `\p{N}{1,3}`, whose first character is known to be a number. */
function numberEnd(text: Uint8Array, at: number): number {
  let end = at;
  for (let digits = 0; digits < 3; digits += 1) {
    const kind = classOfByte(text, end);
    if (kind === NUMBER) {
      end += 1;
    } else {
      if (kind !== HIGH) return end;
      const character = characterAt(text, end);
      if ((character & 15) !== NUMBER) return end;
      end += character >> 4;
    }
  }
  return end;
}

/** End of `[^\s\p{L}\p{N}]+`, or `at` if there is none. */
function symbolsEnd(text: Uint8Array, at: number): number {
  let end = at;
  for (;;) {
    const ascii = classOfByte(text, end);
    if (ascii === OTHER) {
      end += 1;
    } else {
      if (ascii !== HIGH) return end;
      const character = characterAt(text, end);
      const kind = character & 15;
      if (kind !== OTHER && kind !== MARK) return end;
      end += character >> 4;
    }
  }
}

function blanksEnd(text: Uint8Array, at: number): number {
  let end = at;
  while (text[end] === BLANK_BYTE) end += 1;
  return end;
}

/** End of `\s*[\r\n]+|\s+(?!\S)|\s+`, whose first character is known to be white space. */
function spaceEnd(text: Uint8Array, at: number): number {
  let end = blanksEnd(text, at);
  let last = Math.max(at, end - 1);
  let behindNewline = at;
  let character = characterAt(text, end);
  while (isSpace(character & 15)) {
    const behind = end + (character >> 4);
    if ((character & 15) === NEWLINE) behindNewline = behind;
    const blanks = blanksEnd(text, behind);
    last = blanks > behind ? blanks - 1 : end;
    end = blanks;
    character = characterAt(text, end);
  }
  if (behindNewline > at) return behindNewline;
  // The last space joins the following piece, unless it is the only one or nothing follows.
  return character === END || last === at ? end : last;
}

function isSpace(kind: number): boolean {
  return kind === SPACE || kind === NEWLINE;
}

function isLetter(kind: number): boolean {
  return kind <= LETTER;
}

// ---- the automaton

/**
 * Splits UTF-8 text of `length` bytes, followed by END_BYTE, into pieces; writes their ends and returns their
 * number.
 */
export type Splitter = (text: Uint8Array, length: number, ends: Int32Array) => number;

/** The end of the piece that starts at `at`. */
type PieceEnd = (text: Uint8Array, at: number) => number;

// Not exported: the engine inlines only a module's own constants, and the loop below is the hot path.
const KIND_BITS = 4;
const STATE_BITS = 5;
const FOUND_SHIFT = STATE_BITS + 1;

/** Table index of the step for a kind of character in a state. */
function stepIndex(state: number, kind: number): number {
  return (state << KIND_BITS) | kind;
}

/**
 * Reads ASCII with an automaton that starts in state 0, and passes pieces that lead back to it to `pieceEnd`.
 * Writing an end at every byte and counting only the true ones avoids a branch per piece; a misprediction
 * costs more than reading the piece.
 */
function createSplitter(makeSteps: () => Uint16Array, pieceEnd: PieceEnd): Splitter {
  let tables: { readonly steps: Uint16Array; readonly kinds: Uint8Array } | undefined;

  return (text, length, ends) => {
    tables ??= { steps: makeSteps(), kinds: byteKinds() };
    const { steps, kinds } = tables;
    let pieces = 0;
    let at = 0;
    for (;;) {
      let state = 0;
      do {
        const step = steps[(state << KIND_BITS) | (kinds[text[at] as number] as number)] as number;
        ends[pieces] = at - ((step >> STATE_BITS) & 1);
        ends[pieces + 1] = at;
        pieces += (step >> FOUND_SHIFT) - 1;
        state = step & ((1 << STATE_BITS) - 1);
        at += 1;
      } while (state !== 0);
      const start = pieces === 0 ? 0 : (ends[pieces - 1] as number);
      if (start >= length) return pieces;
      at = pieceEnd(text, start);
      ends[pieces] = at;
      pieces += 1;
    }
  };
}

/** What a character does in a state: the next state, and the ends of pieces it reveals. */
type Step = number;

/** Steps of one state by kind of character; omitted kinds start a new piece. */
type Row = Readonly<Record<number, Step>>;

const START = 0;
/** Back to the start of the piece, which is then matched by the patterns. */
const HARD: number = START;
const LOWER_WORD = 1;
const UPPER_WORD = 2;
const DIGIT = 3;
const DIGITS = 4;
const FULL_DIGITS = 5;
/** One character that may be the prefix of a word. */
const SYMBOL = 6;
const SYMBOLS = 7;
/** Newlines after symbols. */
const SYMBOLS_TAIL = 8;
/** An apostrophe that may start a contraction. */
const QUOTE = 9;
/** White space up to a newline. */
const NEWLINES = 10;
// One blank or other white-space character; two or more of any, by the last one. Each has a variant after
// NEWLINES.
const ONE_BLANK = 11;
const ONE_TAB = 12;
const BLANKS = 13;
const TABS = 14;
const BEHIND_NEWLINES = 4;
const STATES = 19;

/** Goes to `state`; `found` pieces (up to 2) end before this character, -1 takes the last one back. */
function step(state: number, found = 0): Step {
  return state | ((found + 1) << FOUND_SHIFT);
}

/** Same, with the first piece ending one byte earlier. */
function stepBack(state: number, found: number): Step {
  return step(state, found) | (1 << STATE_BITS);
}

const hard = step(HARD);

function letters(to: (state: number) => Step): Row {
  return { [LOWER]: to(LOWER_WORD), [UPPER]: to(UPPER_WORD) };
}

function symbols(to: Step): Row {
  return { [OTHER]: to, [SLASH]: to, [APOSTROPHE]: to };
}

/** After symbols, or after the blank before them. */
const moreSymbols: Row = { ...symbols(step(SYMBOLS)), [NEWLINE]: step(SYMBOLS_TAIL), [HIGH]: hard };

/** Steps of a character that starts a piece, after `found` others. */
function firstRow(quote: number, found: number): Row {
  const begin = (state: number): Step => step(state, found);
  return {
    ...letters(begin),
    ...symbols(begin(SYMBOL)),
    [APOSTROPHE]: begin(quote),
    [NUMBER]: begin(DIGIT),
    [BLANK]: begin(ONE_BLANK),
    [SPACE]: begin(ONE_TAB),
    [NEWLINE]: begin(NEWLINES),
    [HIGH]: begin(HARD),
    [END]: begin(HARD),
  };
}

/**
 * The last of several white-space characters joins the following piece, if that can take it. After a newline
 * they form their own piece until another newline shows otherwise.
 */
function spaceRows(quote: number, offset: number): Record<number, Row> {
  const found = offset === 0 ? 0 : -1;
  const more: Row = {
    [BLANK]: step(BLANKS + offset),
    [SPACE]: step(TABS + offset),
    [NEWLINE]: step(NEWLINES, found),
    [HIGH]: step(HARD, found),
  };
  const several: Row = { ...more, ...letters((state) => stepBack(state, 1)), [NUMBER]: stepBack(DIGIT, 2) };
  return {
    [ONE_BLANK + offset]: { ...more, ...letters(step), ...symbols(step(SYMBOLS)) },
    [ONE_TAB + offset]: { ...more, ...letters(step) },
    [BLANKS + offset]: { ...several, ...symbols(stepBack(SYMBOLS, 1)) },
    [TABS + offset]: { ...several, ...symbols(stepBack(SYMBOL, 2)), [APOSTROPHE]: stepBack(quote, 2) },
  };
}

function commonRows(quote: number): Record<number, Row> {
  return {
    [DIGIT]: { [NUMBER]: step(DIGITS), [HIGH]: hard },
    [DIGITS]: { [NUMBER]: step(FULL_DIGITS), [HIGH]: hard },
    [FULL_DIGITS]: {},
    [SYMBOL]: { ...letters(step), ...moreSymbols },
    [SYMBOLS]: moreSymbols,
    [NEWLINES]: {
      [NEWLINE]: step(NEWLINES),
      [BLANK]: step(ONE_BLANK + BEHIND_NEWLINES, 1),
      [SPACE]: step(ONE_TAB + BEHIND_NEWLINES, 1),
      [HIGH]: hard,
    },
    ...spaceRows(quote, 0),
    ...spaceRows(quote, BEHIND_NEWLINES),
  };
}

/**
 * All steps; `quote` is the state after an apostrophe that starts a piece, `ownRows` are specific to one
 * encoding.
 */
function stepTable(quote: number, ownRows: Readonly<Record<number, Row>>): Uint16Array {
  const table = new Uint16Array(stepIndex(STATES, 0)).fill(hard);
  const fill = (state: number, row: Row): void => {
    for (const [kind, to] of Object.entries(row)) table[stepIndex(state, Number(kind))] = to;
  };
  fill(START, firstRow(quote, 0));
  for (const [state, row] of Object.entries({ ...commonRows(quote), ...ownRows })) {
    fill(Number(state), firstRow(quote, 1));
    fill(Number(state), row);
  }
  return table;
}

/** End of `[^\r\n\p{L}\p{N}]?\p{L}+`, or `at`. */
function prefixedWordCl100k(text: Uint8Array, at: number, first: number): number {
  const kind = first & 15;
  const start = kind === SPACE || kind === OTHER || kind === MARK ? at + (first >> 4) : at;
  let end = start;
  let character = characterAt(text, end);
  while (isLetter(character & 15)) {
    end += character >> 4;
    character = characterAt(text, end);
  }
  return end === start ? at : end;
}

/** End of ` ?[^\s\p{L}\p{N}]+[\r\n]*`, or `at`; with another byte (`also`) among the newlines. */
function punctuationEnd(text: Uint8Array, at: number, also = 0x0a): number {
  const start = text[at] === BLANK_BYTE ? at + 1 : at;
  let end = symbolsEnd(text, start);
  if (end === start) return at;
  while (text[end] === 0x0a || text[end] === 0x0d || text[end] === also) end += 1;
  return end;
}

/** Any piece except a contraction, by the patterns in order. */
function anyPieceCl100k(text: Uint8Array, at: number): number {
  const character = characterAt(text, at);
  const kind = character & 15;
  if (kind === NUMBER) return numberEnd(text, at);
  if (kind !== NEWLINE) {
    const word = prefixedWordCl100k(text, at, character);
    if (word > at) return word;
    const punctuation = punctuationEnd(text, at);
    if (punctuation > at) return punctuation;
  }
  return spaceEnd(text, at);
}

function pieceEnd(text: Uint8Array, at: number): number {
  const contraction = contractionEnd(text, at);
  return contraction > at ? contraction : anyPieceCl100k(text, at);
}

const word: Row = { [LOWER]: step(LOWER_WORD), [UPPER]: step(LOWER_WORD), [HIGH]: step(HARD) };

const stepsCl100k = (): Uint16Array =>
  stepTable(QUOTE, {
    [UPPER_WORD]: word,
    [LOWER_WORD]: word,
    [QUOTE]: { ...moreSymbols, [LOWER]: step(HARD), [UPPER]: step(HARD) },
    [SYMBOLS_TAIL]: { [NEWLINE]: step(SYMBOLS_TAIL) },
  });

/** Cuts as the cl100k_base pattern does. */
export const splitCl100k: Splitter = createSplitter(stepsCl100k, pieceEnd);

/**
 * The word patterns from `at` on, prefix already taken: end of `[U O]*[L O]+` if that matches (U upper, L lower, O without
 * case or mark), otherwise minus the end of `[U O]+`, which may be -at.
 */
function wordEnd(text: Uint8Array, at: number): number {
  let end = at;
  let behindCaseless = -1;
  let character = characterAt(text, end);
  let kind = character & 15;
  while (kind === UPPER || kind === LETTER || kind === MARK) {
    end += character >> 4;
    if (kind !== UPPER) behindCaseless = end;
    character = characterAt(text, end);
    kind = character & 15;
  }
  // Without a lowercase letter the greedy first half gives back characters until the second half can begin.
  if (kind !== LOWER) return behindCaseless > 0 ? behindCaseless : -end;
  while (kind === LOWER || kind === LETTER || kind === MARK) {
    end += character >> 4;
    character = characterAt(text, end);
    kind = character & 15;
  }
  return end;
}

/** End of the word that begins at `at` with or without a prefix character, or `at` when none does. */
function prefixedWordO200k(text: Uint8Array, at: number, character: number): number {
  const kind = character & 15;
  const start = kind === SPACE || kind === OTHER || kind === MARK ? at + (character >> 4) : at;
  let end = wordEnd(text, start);
  if (end < 0 && kind === MARK) end = wordEnd(text, at);
  if (end === -start || end === 0) return at;
  return contractionEnd(text, Math.abs(end));
}

/** Any piece, by the patterns in order. */
function anyPieceO200k(text: Uint8Array, at: number): number {
  const character = characterAt(text, at);
  const kind = character & 15;
  if (kind === NUMBER) return numberEnd(text, at);
  if (kind !== NEWLINE) {
    const word = prefixedWordO200k(text, at, character);
    if (word > at) return word;
    const punctuation = punctuationEnd(text, at, SLASH_BYTE);
    if (punctuation > at) return punctuation;
  }
  return spaceEnd(text, at);
}

const wordGoesOn: Row = { [LOWER]: step(LOWER_WORD), [APOSTROPHE]: step(HARD), [HIGH]: step(HARD) };

const stepsO200k = (): Uint16Array =>
  stepTable(SYMBOL, {
    [UPPER_WORD]: { ...wordGoesOn, [UPPER]: step(UPPER_WORD) },
    [LOWER_WORD]: wordGoesOn,
    [SYMBOLS_TAIL]: { [NEWLINE]: step(SYMBOLS_TAIL), [SLASH]: step(SYMBOLS_TAIL) },
  });

/** Cuts as the o200k_base pattern does. */
export const splitO200k: Splitter = createSplitter(stepsO200k, anyPieceO200k);
