import { HIGH, LETTER, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER } from "./character-classes.ts";
import { characterAt, classOfByte, contractionEnd, numberEnd, spaceEnd, symbolsEnd } from "./characters.ts";

const BLANK = 0x20;

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
  const start = text[at] === BLANK ? at + 1 : at;
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

/** End of the word whose first letter, an ASCII one, is at `start`; `at` is where its prefix is, if it has one. */
function asciiWordEnd(text: Uint8Array, at: number, start: number): number {
  let end = start;
  let kind = classOfByte(text, end);
  while (kind === UPPER) {
    end += 1;
    kind = classOfByte(text, end);
  }
  while (kind === LOWER) {
    end += 1;
    kind = classOfByte(text, end);
  }
  return kind === HIGH ? anyPieceEnd(text, at) : contractionEnd(text, end);
}

/** End of an ASCII piece by its first two characters, which is most of what is ever read; anything else in full. */
function pieceEnd(text: Uint8Array, at: number): number {
  const first = classOfByte(text, at);
  if (first <= UPPER) return asciiWordEnd(text, at, at);
  const second = classOfByte(text, at + 1);
  if (second <= UPPER && (first === SPACE || first === OTHER)) return asciiWordEnd(text, at, at + 1);
  if (first === HIGH || second === HIGH) return anyPieceEnd(text, at);
  if (first === OTHER || (second === OTHER && text[at] === BLANK)) return punctuationEnd(text, at);
  return first === NUMBER ? numberEnd(text, at) : spaceEnd(text, at);
}

/** Cuts UTF-8 text, END_BYTE behind it, as the o200k_base pattern does; writes the pieces' ends and returns their number. */
export function splitO200k(text: Uint8Array, length: number, ends: Int32Array): number {
  let pieces = 0;
  let at = 0;
  while (at < length) {
    at = pieceEnd(text, at);
    ends[pieces] = at;
    pieces += 1;
  }
  return pieces;
}
