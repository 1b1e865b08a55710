import { requireNumber, requireText } from "../../errors.ts";
import type { Encoding } from "../encodings/encoding.ts";
import { END_BYTE } from "./character-classes.ts";
import { createPieceCounter, type PieceCounter, type TextBytes } from "./pieces.ts";
import type { Splitter } from "./splitter.ts";
import { type PackedVocabulary, unpackVocabulary } from "./vocabulary.ts";

// UTF-16 units read at a time: text, piece ends and the busy part of the tables then stay in the processor's cache.
const WINDOW = 1 << 16;
// A single piece longer than this is cut: the cost per unit stays bounded, and so does memory.
const LONGEST_WINDOW = 1 << 20;
// No pattern looks further than this many bytes behind the piece that follows; the longest contraction has 3.
const LOOKAHEAD = 8;

interface Buffers extends TextBytes {
  readonly ends: Int32Array;
}

function buffersFor(units: number): Buffers {
  // A unit takes at most 3 bytes; words are read up to 8 bytes behind the text, and ends written up to 2 behind the last.
  const bytes = new Uint8Array(units * 3 + 16);
  return { bytes, view: new DataView(bytes.buffer), ends: new Int32Array(units * 3 + 2) };
}

/** UTF-16 units of well-formed UTF-8. */
function unitsBetween(bytes: Uint8Array, from: number, to: number): number {
  let units = 0;
  for (let i = from; i < to; i += 1) {
    const byte = bytes[i] as number;
    if ((byte & 0xc0) !== 0x80) units += byte < 0xf0 ? 1 : 2;
  }
  return units;
}

/** How many of the pieces would be cut the same whatever text followed the `length` bytes, if any does. */
function settledPieces(ends: Int32Array, pieces: number, length: number, more: boolean): number {
  if (!more) return pieces;
  let settled = pieces;
  while (settled > 0 && (ends[settled - 1] as number) > length - LOOKAHEAD) settled -= 1;
  // A word may end where it does because of the case of the letters in the next piece.
  return Math.max(settled - 1, 0);
}

/** End of the next window, which never parts a surrogate pair. */
function windowEnd(text: string, at: number, window: number): number {
  const end = at + window;
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}

/** An encoding that unpacks its vocabulary at the first count. */
export function createEncoding(name: string, packed: PackedVocabulary, split: Splitter): Encoding {
  const encoder = new TextEncoder();
  let kept: { readonly buffers: Buffers; readonly countPieces: PieceCounter } | undefined;

  function prepare(): { readonly buffers: Buffers; readonly countPieces: PieceCounter } {
    kept ??= { countPieces: createPieceCounter(unpackVocabulary(packed)), buffers: buffersFor(WINDOW) };
    return kept;
  }

  function countUpTo(text: string, limit: number): number {
    requireText(text, "text", "Pass the text itself; countTokens counts lists of messages.");
    if (limit !== Number.POSITIVE_INFINITY) requireNumber(limit, "limit", "Pass the most tokens to count.");
    const { buffers: small, countPieces } = prepare();
    let buffers = small;
    let window = WINDOW;
    let total = 0;
    let at = 0;
    while (at < text.length && total <= limit) {
      const to = windowEnd(text, at, window);
      const { bytes, ends } = buffers;
      const length = encoder.encodeInto(text.slice(at, to), bytes).written;
      bytes[length] = END_BYTE;
      const found = split(bytes, length, ends);
      const settled = settledPieces(ends, found, length, to < text.length);
      if (settled === 0 && window < LONGEST_WINDOW) {
        window *= 2;
        buffers = buffersFor(window);
        continue;
      }
      const pieces = settled > 0 ? settled : found;
      total += countPieces(buffers, ends, pieces);
      at = to - unitsBetween(bytes, ends[pieces - 1] as number, length);
      window = WINDOW;
      buffers = small;
    }
    return total;
  }

  return { name, countUpTo, count: (text) => countUpTo(text, Number.POSITIVE_INFINITY) };
}
