import {
  characterAt,
  contractionEnd,
  HIGH,
  isLetter,
  LOWER,
  MARK,
  NEWLINE,
  NUMBER,
  numberEnd,
  OTHER,
  SPACE,
  spaceEnd,
  symbolsEnd,
  UPPER,
} from "./characters.ts";
import { createSplitter, type Splitter } from "./encode.ts";
import {
  HARD,
  LOWER_WORD,
  moreSymbols,
  QUOTE,
  type Row,
  SYMBOLS_TAIL,
  step,
  stepTable,
  UPPER_WORD,
} from "./steps.ts";

const BLANK_BYTE = 0x20;

/** End of `[^\r\n\p{L}\p{N}]?\p{L}+`, or `at`. */
function prefixedWordEnd(text: Uint8Array, at: number, first: number): number {
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
function punctuationEnd(text: Uint8Array, at: number): number {
  const start = text[at] === BLANK_BYTE ? at + 1 : at;
  let end = symbolsEnd(text, start);
  if (end === start) return at;
  while (text[end] === 0x0a || text[end] === 0x0d) end += 1;
  return end;
}

/** Any piece but a contraction, by the patterns in their order. */
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

function pieceEnd(text: Uint8Array, at: number): number {
  const contraction = contractionEnd(text, at);
  return contraction > at ? contraction : anyPieceEnd(text, at);
}

const word: Row = { [LOWER]: step(LOWER_WORD), [UPPER]: step(LOWER_WORD), [HIGH]: step(HARD) };

const steps: Uint16Array = stepTable(QUOTE, {
  [UPPER_WORD]: word,
  [LOWER_WORD]: word,
  [QUOTE]: { ...moreSymbols, [LOWER]: step(HARD), [UPPER]: step(HARD) },
  [SYMBOLS_TAIL]: { [NEWLINE]: step(SYMBOLS_TAIL) },
});

/** Cuts as the cl100k_base pattern does. */
export const splitCl100k: Splitter = createSplitter(steps, pieceEnd);
