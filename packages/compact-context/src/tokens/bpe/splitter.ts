import { byteKinds } from "./characters.ts";

/** Cuts UTF-8 text of `length` bytes, END_BYTE behind it, into pieces; writes their ends and returns their number. */
export type Splitter = (text: Uint8Array, length: number, ends: Int32Array) => number;

/** Where the piece that begins at `at` ends. */
export type PieceEnd = (text: Uint8Array, at: number) => number;

// Not exported: the engine knows the value of a module's own constants only, and the loop below is where time goes.
const KIND_BITS = 4;
const STATE_BITS = 5;
const FOUND_SHIFT = STATE_BITS + 1;

/** Where in the table the step of a kind of character in a state stands. */
export function stepIndex(state: number, kind: number): number {
  return (state << KIND_BITS) | kind;
}

/** A step to `state`, before which `found` pieces end (-1 to 2), the first of them `back` (0 or 1) bytes earlier. */
export function packStep(state: number, found: number, back: number): number {
  return state | (back << STATE_BITS) | ((found + 1) << FOUND_SHIFT);
}

/**
 * Reads ASCII with an automaton that begins in state 0, and leaves each piece whose steps lead back there to `pieceEnd`.
 * Writing an end at every byte and counting only the true ones spares the processor a guess per piece, and a wrong guess
 * costs more than reading the piece.
 */
export function createSplitter(steps: Uint16Array, pieceEnd: PieceEnd): Splitter {
  const kinds = byteKinds();

  return (text, length, ends) => {
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
