import {
  APOSTROPHE,
  BLANK,
  characterAt,
  contractionEnd,
  END,
  HIGH,
  isLetter,
  LETTER,
  LOWER,
  MARK,
  NEWLINE,
  NUMBER,
  numberEnd,
  OTHER,
  SLASH,
  SPACE,
  spaceEnd,
  symbolsEnd,
  UPPER,
} from "./characters.ts";
import { createSplitter, packStep, type Splitter, stepIndex } from "./encode.ts";

/** What a character does in a state: the next state, and the ends of pieces it reveals. */
export type Step = number;

/** Steps of one state by kind of character; omitted kinds start a new piece. */
export type Row = Readonly<Record<number, Step>>;

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

/** Goes to `state`; `found` pieces end before this character, -1 takes the last one back. */
function step(state: number, found = 0): Step {
  return packStep(state, found, 0);
}

/** Same, with the first piece ending one byte earlier. */
function stepBack(state: number, found: number): Step {
  return packStep(state, found, 1);
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

const BLANK_BYTE = 0x20;

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

/** End of ` ?[^\s\p{L}\p{N}]+[\r\n]*`, or `at`. */
function punctuationCl100k(text: Uint8Array, at: number): number {
  const start = text[at] === BLANK_BYTE ? at + 1 : at;
  let end = symbolsEnd(text, start);
  if (end === start) return at;
  while (text[end] === 0x0a || text[end] === 0x0d) end += 1;
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
    const punctuation = punctuationCl100k(text, at);
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

/** End of ` ?[^\s\p{L}\p{N}]+[\r\n/]*`, or `at`. */
function punctuationO200k(text: Uint8Array, at: number): number {
  const start = text[at] === BLANK_BYTE ? at + 1 : at;
  let end = symbolsEnd(text, start);
  if (end === start) return at;
  while (text[end] === 0x0a || text[end] === 0x0d || text[end] === 0x2f) end += 1;
  return end;
}

/** Any piece, by the patterns in order. */
function anyPieceO200k(text: Uint8Array, at: number): number {
  const character = characterAt(text, at);
  const kind = character & 15;
  if (kind === NUMBER) return numberEnd(text, at);
  if (kind !== NEWLINE) {
    const word = prefixedWordO200k(text, at, character);
    if (word > at) return word;
    const punctuation = punctuationO200k(text, at);
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
