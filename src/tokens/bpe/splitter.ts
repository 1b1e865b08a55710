import { byteKinds } from "./characters.ts";
import { FOUND_SHIFT, HARD, KIND_BITS, START, STATE_BITS } from "./steps.ts";

/** Cuts UTF-8 text of `length` bytes, END_BYTE behind it, into pieces; writes their ends and returns their number. */
export type Splitter = (text: Uint8Array, length: number, ends: Int32Array) => number;

/** Where the piece that begins at `at` ends. */
export type PieceEnd = (text: Uint8Array, at: number) => number;

/**
 * Reads ASCII with an automaton, and leaves each piece that its steps call hard to `pieceEnd`. Writing an end at every byte
 * and counting only the true ones spares the processor a guess per piece, which costs more than reading the piece.
 */
export function createSplitter(steps: Uint16Array, pieceEnd: PieceEnd): Splitter {
  const kinds = byteKinds();

  return (text, length, ends) => {
    let pieces = 0;
    let at = 0;
    for (;;) {
      let state = START;
      while (state !== HARD) {
        const step = steps[(state << KIND_BITS) | (kinds[text[at] as number] as number)] as number;
        ends[pieces] = at - ((step >> STATE_BITS) & 1);
        ends[pieces + 1] = at;
        pieces += (step >> FOUND_SHIFT) - 1;
        state = step & ((1 << STATE_BITS) - 1);
        at += 1;
      }
      const start = pieces === 0 ? 0 : (ends[pieces - 1] as number);
      if (start >= length) return pieces;
      at = pieceEnd(text, start);
      ends[pieces] = at;
      pieces += 1;
    }
  };
}
