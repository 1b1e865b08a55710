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
} from "./character-classes.ts";

/** What a character does in a state: the next state, and the ends of pieces it reveals; see `step`. */
export type Step = number;

/** Steps of one state by the kind of the character; whatever is left out begins a new piece. */
export type Row = Readonly<Record<number, Step>>;

export const START = 0;
/** Leaves the piece, from its beginning, to the patterns. */
export const HARD = 1;
export const LOWER_WORD = 2;
export const UPPER_WORD = 3;
const DIGIT = 4;
const DIGITS = 5;
const FULL_DIGITS = 6;
/** One character that may be the prefix of a word. */
export const SYMBOL = 7;
const SYMBOLS = 8;
/** Newlines behind symbols. */
export const SYMBOLS_TAIL = 9;
/** An apostrophe that may begin a contraction. */
export const QUOTE = 10;
/** White space up to a newline. */
const NEWLINES = 11;
// One blank or other white-space character; two or more of any, by the last one. Each has a twin behind NEWLINES.
const ONE_BLANK = 12;
const ONE_TAB = 13;
const BLANKS = 14;
const TABS = 15;
const BEHIND_NEWLINES = 4;
const STATES = 20;

/** Where a kind is in the index of a step: state << KIND_BITS | kind. */
export const KIND_BITS = 4;
/** A step: state, then one bit for `stepBack`, then pieces found + 1. */
export const STATE_BITS = 5;
export const FOUND_SHIFT: number = STATE_BITS + 1;

/** Goes to `state`; `found` pieces end before this character, -1 takes the last one back. */
export function step(state: number, found = 0): Step {
  return state | ((found + 1) << FOUND_SHIFT);
}

/** The same where the first of them ends one byte earlier. */
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

/** Behind symbols, or behind the blank before them. */
export const moreSymbols: Row = { ...symbols(step(SYMBOLS)), [NEWLINE]: step(SYMBOLS_TAIL), [HIGH]: hard };

function firstRow(quote: number): Row {
  return {
    ...letters(step),
    ...symbols(step(SYMBOL)),
    [APOSTROPHE]: step(quote),
    [NUMBER]: step(DIGIT),
    [BLANK]: step(ONE_BLANK),
    [SPACE]: step(ONE_TAB),
    [NEWLINE]: step(NEWLINES),
    [HIGH]: hard,
    [END]: hard,
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
  const first = firstRow(quote);
  const table = new Uint16Array(STATES << KIND_BITS).fill(hard);
  const fill = (state: number, row: Row, found: number): void => {
    for (const [kind, to] of Object.entries(row))
      table[(state << KIND_BITS) | Number(kind)] = to + (found << FOUND_SHIFT);
  };
  fill(START, first, 0);
  for (const [state, row] of Object.entries({ ...commonRows(quote), ...ownRows })) {
    fill(Number(state), first, 1);
    fill(Number(state), row, 0);
  }
  return table;
}
