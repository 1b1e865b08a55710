import { argumentsText, type Message, messageText, readSummary, resultText } from "../core/message.ts";

/** Increment when the same text would produce other words: older indexes are then rebuilt. */
export const WORDS_VERSION = 1;

const ASCII = /^[\0-\x7f]*$/;
const ASCII_RUN = /[A-Za-z0-9_$]+(?:[./\\:@#+~-]+[A-Za-z0-9_$]+)*/g;
const RUN = /[\p{L}\p{N}\p{M}_$]+(?:[./\\:@#+~-]+[\p{L}\p{N}\p{M}_$]+)*/gu;
const SEPARATORS = /[./\\:@#+~_$-]+/;
const HAS_STRUCTURE = /[./\\:@#+~_$-]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]/;
const HUMPS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
/** Scripts without spaces between words. */
const UNSPACED_SCRIPTS = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]+`, "gu");
/** Two characters that are not inside one word. */
const SEAM = new RegExp(
  String.raw`^(?:.?[^\p{L}\p{N}\p{M}]|.?[${UNSPACED_SCRIPTS}]|[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z][0-9]|[0-9][A-Za-z])`,
  "su",
);
/** Longer words are truncated to this length. */
export const LONGEST_WORD = 64;
/** Of longer unbroken runs (encoded data) only the beginning is read. */
const LONGEST_RUN = 2000;

/**
 * The words of a text as indexed, in order and with repetitions: lower case, compatibility forms folded,
 * English plurals stripped. An identifier or path produces itself, its parts and their parts (`camelCase`,
 * `snake_case`); scripts without spaces produce characters and pairs of characters.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  const ascii = ASCII.test(text);
  const folded = ascii ? text : text.normalize("NFKC");
  for (const [whole] of folded.matchAll(ascii ? ASCII_RUN : RUN)) {
    const run = whole.length > LONGEST_RUN && ASCII.test(whole) ? whole.slice(0, LONGEST_RUN) : whole;
    if (ascii || ASCII.test(run)) addRun(run, words);
    else addMixed(run, words);
  }
  return words;
}

/** True where a word of `wordsOf` may begin or end. */
export function isSeam(text: string, index: number): boolean {
  return index <= 0 || index >= text.length || SEAM.test(text.slice(index - 1, index + 2));
}

function addRun(run: string, words: string[]): void {
  if (!HAS_STRUCTURE.test(run)) {
    words.push(plain(run.toLowerCase()));
    return;
  }
  const whole = run.toLowerCase().slice(0, LONGEST_WORD);
  const added = new Set([whole]);
  const slash = Math.max(run.lastIndexOf("/"), run.lastIndexOf("\\"));
  // A file is searched by its name more often than by its path.
  if (slash >= 0) added.add(run.slice(slash + 1, slash + 1 + LONGEST_WORD).toLowerCase());
  for (const part of run.split(SEPARATORS)) {
    if (part === "") continue;
    added.add(plain(part.toLowerCase()));
    const humps = part.match(HUMPS) ?? [];
    if (humps.length > 1) for (const hump of humps) added.add(plain(hump.toLowerCase()));
  }
  words.push(...added);
}

function addMixed(run: string, words: string[]): void {
  let from = 0;
  for (const match of run.matchAll(UNSPACED)) {
    addSpaced(run.slice(from, match.index), words);
    addPairs(match[0], words);
    from = match.index + match[0].length;
  }
  addSpaced(run.slice(from), words);
}

function addSpaced(text: string, words: string[]): void {
  for (const part of text.split(SEPARATORS)) {
    if (part === "") continue;
    if (ASCII.test(part)) addRun(part, words);
    else words.push(part.toLowerCase().slice(0, LONGEST_WORD));
  }
}

function addPairs(text: string, words: string[]): void {
  const characters = [...text];
  characters.forEach((character, index) => {
    words.push(character);
    const next = characters[index + 1];
    if (next !== undefined) words.push(character + next);
  });
}

const PLURAL = /^[a-z]{3,}s$/;
const NO_PLURAL = /(?:ss|us|is)$/;

function plain(word: string): string {
  if (!PLURAL.test(word) || NO_PLURAL.test(word)) return word.slice(0, LONGEST_WORD);
  return (word.endsWith("ies") && word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1)).slice(
    0,
    LONGEST_WORD,
  );
}

const PLAIN = /^[!-$&-~]*$/;
const ODD = /[^!-$&-~]/g;

/** A term of an index, of a word or an id, without spaces. All ASCII: other strings take twice the memory. */
export function escaped(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(ODD, (character) => `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Terms of ids begin with a character that no word begins with. */
export function archiveIdTerm(id: string): string {
  return `@${escaped(id)}`;
}

/** The message's own id. */
export function ownIdTerm(id: string): string {
  return `=${escaped(id)}`;
}

/** The searchable text of a message: texts, readable reasoning, calls with their arguments, results, names of media. */
export function searchableText(message: Message): string {
  const summary = message.meta?.summaryVersion === undefined ? undefined : readSummary(messageText(message));
  // The tag around a summary is not part of it: quoted in a list, it would look like a real tag.
  if (summary !== undefined) return summary.text;
  const texts: string[] = [];
  for (const part of message.parts) {
    if (part.type === "text" || part.type === "reasoning") texts.push(part.text);
    else if (part.type === "toolCall") texts.push(`${part.name} ${readable(argumentsText(part))}`);
    else if (part.type === "toolResult") texts.push(resultText(part));
    else texts.push(part.name ?? part.url ?? "");
  }
  return texts.filter((text) => text !== "").join("\n");
}

/** Escaped line breaks in JSON text would stick to the next word. */
function readable(json: string): string {
  return json.replace(/\\[nrt]/g, " ").replaceAll('\\"', '"');
}

/** A search query: any of the words ranks a message; every phrase must occur in it. */
export interface Query {
  /** Unique. */
  readonly words: readonly string[];
  readonly phrases: readonly Phrase[];
  /** The query as normalized by `foldedText`; "" for a single word or a query with phrases. */
  readonly whole: string;
}

export interface Phrase {
  /** Normalized by `foldedText`. */
  readonly text: string;
  readonly words: readonly string[];
}

const QUOTED = /"([^"]+)"/g;

/** Parses a query; text in double quotes is a phrase, and so is a query without any words. */
export function readQuery(text: string): Query {
  const phrases = [...text.matchAll(QUOTED)].map(([, quoted = ""]) => phrase(quoted));
  const words = wordsOf(text.replace(QUOTED, " "));
  if (words.length === 0 && phrases.length === 0) phrases.push(phrase(text));
  const all = [...words, ...phrases.flatMap((one) => one.words)];
  const whole = words.length > 1 && phrases.length === 0 ? foldedText(text).trim() : "";
  return { words: [...new Set(all)], phrases: phrases.filter((one) => one.text !== ""), whole };
}

function phrase(text: string): Phrase {
  return { text: foldedText(text).trim(), words: [...new Set(wordsOf(text))] };
}

/** Text normalized for comparing phrases: ignores case, compatibility forms and kinds of white space. */
export function foldedText(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ");
}
