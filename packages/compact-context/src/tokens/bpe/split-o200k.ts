import {
  APOSTROPHE,
  characterAt,
  contractionEnd,
  HIGH,
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
import { createSplitter, type Splitter } from "./encode.ts";
import { HARD, LOWER_WORD, type Row, SYMBOL, SYMBOLS_TAIL, step, stepTable, UPPER_WORD } from "./steps.ts";

const BLANK_BYTE = 0x20;

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
function prefixedWordEnd(text: Uint8Array, at: number, character: number): number {
  const kind = character & 15;
  const start = kind === SPACE || kind === OTHER || kind === MARK ? at + (character >> 4) : at;
  let end = wordEnd(text, start);
  if (end < 0 && kind === MARK) end = wordEnd(text, at);
  if (end === -start || end === 0) return at;
  return contractionEnd(text, Math.abs(end));
}

/** End of ` ?[^\s\p{L}\p{N}]+[\r\n/]*`, or `at`. */
function punctuationEnd(text: Uint8Array, at: number): number {
  const start = text[at] === BLANK_BYTE ? at + 1 : at;
  let end = symbolsEnd(text, start);
  if (end === start) return at;
  while (text[end] === 0x0a || text[end] === 0x0d || text[end] === 0x2f) end += 1;
  return end;
}

/** Any piece, by the patterns in their order. */
function anyPieceEnd(text: Uint8Array, at: number): number {
  const character = characterAt(text, at);
  const kind = character & 15;
  if (kind === NUMBER) return numberEnd(text, at);
  if (kind !== NEWLINE) {
    const word = prefixedWordEnd(text, at, character);
    if (word > at) return word;
    const punctuation = punctuationEnd(text, at);
    if (punctuation > at) return punctuation;
  }
  return spaceEnd(text, at);
}

const wordGoesOn: Row = { [LOWER]: step(LOWER_WORD), [APOSTROPHE]: step(HARD), [HIGH]: step(HARD) };

const steps: Uint16Array = stepTable(SYMBOL, {
  [UPPER_WORD]: { ...wordGoesOn, [UPPER]: step(UPPER_WORD) },
  [LOWER_WORD]: wordGoesOn,
  [SYMBOLS_TAIL]: { [NEWLINE]: step(SYMBOLS_TAIL), [SLASH]: step(SYMBOLS_TAIL) },
});

/** Cuts as the o200k_base pattern does. */
export const splitO200k: Splitter = createSplitter(steps, anyPieceEnd);
