import { readNumbers, writeNumber } from "./numbers.ts";

/** In which documents a word stands, ascending, and how often. */
export interface Posting {
  readonly document: number;
  readonly times: number;
}

/** Writes postings that come in ascending order of documents. */
export interface PostingWriter {
  add(document: number, times: number): void;
  /** Documents so far. */
  readonly count: number;
  readonly text: string;
}

/** Distances between documents; one bit says that the word stands there once, which it mostly does. */
export function createPostingWriter(): PostingWriter {
  let text = "";
  let count = 0;
  let last = -1;
  return {
    add(document, times) {
      const distance = document - last - 1;
      text += times === 1 ? writeNumber(distance * 2) : writeNumber(distance * 2 + 1) + writeNumber(times);
      last = document;
      count += 1;
    },
    get count() {
      return count;
    },
    get text() {
      return text;
    },
  };
}

/** Visits every posting of `text` between two offsets. */
export function eachPosting(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  visit: (document: number, times: number) => void,
): void {
  const numbers = readNumbers(text, start, end);
  let document = -1;
  while (numbers.more()) {
    const head = numbers.next();
    document += (head >>> 1) + 1;
    visit(document, head & 1 ? numbers.next() : 1);
  }
}
