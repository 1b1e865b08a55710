import { wordsOf } from "./words.ts";

/** What to look for: any of the words ranks a message, every phrase must stand in it. */
export interface Query {
  /** Each once. */
  readonly words: readonly string[];
  readonly phrases: readonly Phrase[];
}

export interface Phrase {
  /** As `foldedText` writes it. */
  readonly text: string;
  readonly words: readonly string[];
}

const QUOTED = /"([^"]+)"/g;

/** Reads a query; what stands in double quotes is a phrase, and so is a text without any word in it. */
export function readQuery(text: string): Query {
  const phrases = [...text.matchAll(QUOTED)].map(([, quoted = ""]) => phrase(quoted));
  const words = wordsOf(text.replace(QUOTED, " "));
  if (words.length === 0 && phrases.length === 0) phrases.push(phrase(text));
  const all = [...words, ...phrases.flatMap((one) => one.words)];
  return { words: [...new Set(all)], phrases: phrases.filter((one) => one.text !== "") };
}

function phrase(text: string): Phrase {
  return { text: foldedText(text).trim(), words: [...new Set(wordsOf(text))] };
}

/** Text as phrases are compared: case, compatibility forms and kinds of white space do not count. */
export function foldedText(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ");
}
