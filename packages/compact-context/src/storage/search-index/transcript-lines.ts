/** A line of a stored value, from 1; `torn` where the value ends without a newline. */
export interface StoredLine {
  readonly line: number;
  readonly text: string;
  readonly torn: boolean;
}

/** The lines of a value that comes in pieces; a reader that stops early lets go of the value. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<StoredLine> {
  let open: string[] = [];
  let line = 1;
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", from)) {
      const tail = piece.slice(from, end);
      yield { line, text: open.length === 0 ? tail : open.join("") + tail, torn: false };
      open = [];
      line += 1;
      from = end + 1;
    }
    if (from < piece.length) open.push(piece.slice(from));
  }
  if (open.length > 0) yield { line, text: open.join(""), torn: true };
}
