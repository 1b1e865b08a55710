/** Even base64 and emoji have fewer characters to a token. */
const MOST_CHARACTERS = 8;

/** The beginning of a text that has at most so many tokens, never ending within a character; at least one character. */
export function within(text: string, maxTokens: number, countText: (text: string) => number): string {
  let piece = cut(text, maxTokens * MOST_CHARACTERS);
  for (;;) {
    const tokens = countText(piece);
    if (tokens <= maxTokens) return piece;
    // A piece that is cut anew counts anew: at least one character less each time.
    const shorter = cut(piece, Math.min(piece.length - 1, Math.floor((piece.length * maxTokens) / tokens)));
    if (shorter.length === piece.length) return piece;
    piece = shorter;
  }
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const end = Math.max(1, characters);
  const code = text.charCodeAt(end);
  const splits = code >= 0xdc00 && code <= 0xdfff;
  if (!splits) return text.slice(0, end);
  return text.slice(0, end > 1 ? end - 1 : end + 1);
}
