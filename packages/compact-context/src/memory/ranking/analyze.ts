import { englishStem } from "./stem.ts";
import { IRREGULAR_FORMS, STOP_WORDS } from "./word-lists.ts";

/** Scripts written without spaces, or with endings glued to the word as in Korean: read as characters and pairs. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u;
const RUNS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー])[\p{L}\p{N}\p{M}'])+/gu;
/** Names of things in code and releases, which count as a whole beside their parts: `src/a_b.ts`, `v1.10`. */
const COMPOUNDS = /[\p{L}\p{N}]+(?:[._/:#-]+[\p{L}\p{N}]+)*[._/:#][\p{L}\p{N}]+(?:[._/:#-]+[\p{L}\p{N}]+)*/gu;

const stems = new Map<string, string>();
const MOST_STEMS = 50_000;
/** V8 copies a piece of up to 12 characters out of its text. */
const LONGEST_KEPT = 12;

/**
 * The index terms of a text in any script, in order and with repetition: stems of its words without stop words,
 * single characters and pairs where words are not spaced, and compound identifiers.
 */
export function analyze(text: string): string[] {
  const terms: string[] = [];
  const plain = text.normalize("NFKC").replace(/[\u2018\u2019\u02BC]/g, "'");
  const lower = plain.toLowerCase();
  for (const [run] of lower.matchAll(RUNS)) {
    if (UNSPACED.test(run)) addCharacters(run, terms);
    else addWord(run, terms);
  }
  for (const [compound] of lower.matchAll(COMPOUNDS)) terms.push(compound);
  return terms;
}

function addCharacters(run: string, terms: string[]): void {
  const characters = [...run];
  characters.forEach((character, index) => {
    terms.push(character);
    const next = characters[index + 1];
    if (next !== undefined) terms.push(character + next);
  });
}

function addWord(run: string, terms: string[]): void {
  const word = run.replace(/^'+|'+$/g, "").replace(/'.*$/, "");
  if (word === "" || STOP_WORDS.has(word)) return;
  terms.push(stemOf(word));
}

function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const bare = withoutAccents(word);
  const stem = englishStem(IRREGULAR_FORMS.get(bare) ?? bare);
  // A longer word is a view of its text to the engine, and would keep all of it in memory.
  if (word.length > LONGEST_KEPT) return stem;
  if (stems.size >= MOST_STEMS) stems.clear();
  stems.set(word, stem);
  return stem;
}

/** Accents of Latin letters are often left out in questions; in other scripts marks make other letters. */
function withoutAccents(word: string): string {
  return /^[\p{Script=Latin}\p{N}]+$/u.test(word)
    ? word.normalize("NFD").replace(/[\u0300-\u036F]/g, "")
    : word;
}
