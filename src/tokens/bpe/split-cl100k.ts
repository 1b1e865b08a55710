import { HIGH, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER } from "./character-classes.ts";
import {
  characterAt,
  classOfByte,
  contractionEnd,
  isLetter,
  numberEnd,
  spaceEnd,
  symbolsEnd,
} from "./characters.ts";

const BLANK = 0x20;

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
  const start = text[at] === BLANK ? at + 1 : at;
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

/** End of the word whose first letter, an ASCII one, is at `start`; `at` is where its prefix is, if it has one. */
function asciiWordEnd(text: Uint8Array, at: number, start: number): number {
  let end = start;
  let kind = classOfByte(text, end);
  while (kind <= UPPER) {
    end += 1;
    kind = classOfByte(text, end);
  }
  return kind === HIGH ? anyPieceEnd(text, at) : end;
}

/** End of an ASCII piece by its first two characters, which is most of what is ever read; anything else in full. */
function plainPieceEnd(text: Uint8Array, at: number): number {
  const first = classOfByte(text, at);
  if (first <= UPPER) return asciiWordEnd(text, at, at);
  const second = classOfByte(text, at + 1);
  if (second <= UPPER && (first === SPACE || first === OTHER)) return asciiWordEnd(text, at, at + 1);
  if (first === HIGH || second === HIGH) return anyPieceEnd(text, at);
  if (first === OTHER || (second === OTHER && text[at] === BLANK)) return punctuationEnd(text, at);
  return first === NUMBER ? numberEnd(text, at) : spaceEnd(text, at);
}

function pieceEnd(text: Uint8Array, at: number): number {
  const contraction = contractionEnd(text, at);
  return contraction > at ? contraction : plainPieceEnd(text, at);
}

/** Cuts UTF-8 text, END_BYTE behind it, as the cl100k_base pattern does; writes the pieces' ends and returns their number. */
export function splitCl100k(text: Uint8Array, length: number, ends: Int32Array): number {
  let pieces = 0;
  let at = 0;
  while (at < length) {
    at = pieceEnd(text, at);
    ends[pieces] = at;
    pieces += 1;
  }
  return pieces;
}
