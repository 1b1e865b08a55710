import {
  APOSTROPHE,
  BLANK,
  END,
  HIGH,
  LOWER,
  NEWLINE,
  NUMBER,
  OTHER,
  SLASH,
  SPACE,
  UPPER,
} from "./characters.ts";

import { packStep, stepIndex } from "./encode.ts";

/** What a character does in a state: the next state, and the ends of pieces it reveals. */
export type Step = number;

/** Steps of one state by the kind of the character; whatever is left out begins a new piece. */
export type Row = Readonly<Record<number, Step>>;

const START = 0;
/** Back to the beginning of the piece, which is left to the patterns. */
export const HARD: number = START;
export const LOWER_WORD = 1;
export const UPPER_WORD = 2;
const DIGIT = 3;
const DIGITS = 4;
const FULL_DIGITS = 5;
/** One character that may be the prefix of a word. */
export const SYMBOL = 6;
const SYMBOLS = 7;
/** Newlines behind symbols. */
export const SYMBOLS_TAIL = 8;
/** An apostrophe that may begin a contraction. */
export const QUOTE = 9;
/** White space up to a newline. */
const NEWLINES = 10;
// One blank or other white-space character; two or more of any, by the last one. Each has a twin behind NEWLINES.
const ONE_BLANK = 11;
const ONE_TAB = 12;
const BLANKS = 13;
const TABS = 14;
const BEHIND_NEWLINES = 4;
const STATES = 19;

/** Goes to `state`; `found` pieces end before this character, -1 takes the last one back. */
export function step(state: number, found = 0): Step {
  return packStep(state, found, 0);
}

/** The same where the first of them ends one byte earlier. */
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

/** Behind symbols, or behind the blank before them. */
export const moreSymbols: Row = { ...symbols(step(SYMBOLS)), [NEWLINE]: step(SYMBOLS_TAIL), [HIGH]: hard };

/** Steps of a character that begins a piece, behind `found` others. */
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
 * Of two or more white-space characters the last stays with what follows, if that can take it. Behind a newline they count
 * as a piece of their own until another newline shows that they are not.
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

/** Every step; `quote` is the state behind an apostrophe that begins a piece, `ownRows` are those of one encoding. */
export function stepTable(quote: number, ownRows: Readonly<Record<number, Row>>): Uint16Array {
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
