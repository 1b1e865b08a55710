/** A piece of a text, and whether it is one of the words that were looked for. */
export interface MarkedPiece {
  readonly text: string;
  readonly found: boolean;
}

/** The text in pieces that together are the text. `words`: in lower case. */
export function marked(text: string, words: readonly string[]): MarkedPiece[] {
  const lower = text.toLowerCase();
  // Where lower case has another length, places would not agree.
  if (lower.length !== text.length) return [{ text, found: false }];
  const pieces: MarkedPiece[] = [];
  let from = 0;
  while (from < text.length) {
    const [at, length] = nextWord(lower, words, from);
    if (at > from) pieces.push({ text: text.slice(from, at), found: false });
    if (length > 0) pieces.push({ text: text.slice(at, at + length), found: true });
    from = at + length;
  }
  return pieces;
}

/** Where the first of the words stands and how long it is; the end of the text where none does. */
function nextWord(text: string, words: readonly string[], from: number): [number, number] {
  let best: [number, number] = [text.length, 0];
  for (const word of words) {
    const at = word === "" ? -1 : text.indexOf(word, from);
    if (at >= 0 && at < best[0]) best = [at, word.length];
  }
  return best;
}
