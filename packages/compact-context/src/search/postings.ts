import { readNumbers, writeNumber } from "./numbers.ts";

/**
 * Writes in which documents a term stands, ascending, and how often: `pairs` are document and times in turn. What is
 * written is the distance between documents; one bit says that the term stands there once, which it mostly does.
 */
export function writePostings(pairs: readonly number[]): string {
  let text = "";
  let last = -1;
  for (let index = 0; index < pairs.length; index += 2) {
    const document = pairs[index] ?? 0;
    const times = pairs[index + 1] ?? 1;
    const distance = document - last - 1;
    text += times === 1 ? writeNumber(distance * 2) : writeNumber(distance * 2 + 1) + writeNumber(times);
    last = document;
  }
  return text;
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
