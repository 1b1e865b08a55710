/** Maximum characters read from the beginning and the end of a text. */
const READ_HALF = 40_000;

/** Most texts contain nothing to fold. */
const UNTIDY = /[^\S ]|\s\s|^\s|\s$/;

/** The text without line breaks or runs of blanks. */
export function oneLine(text: string): string {
  return UNTIDY.test(text) ? text.replace(/\s+/g, " ").trim() : text;
}

/** The text as inline code, with delimiters that it does not contain. */
export function quotedCode(text: string): string {
  return text.includes("`") ? `"${text}"` : `\`${text}\``;
}

/**
 * At most `characters` from the start, cut after a whole word if one ends near the limit; ` …` marks the cut.
 */
export function clipEnd(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${wordHead(text, Math.max(0, characters - 2))} …`;
}

/** Same, on one line. */
export function clipLine(text: string, characters: number): string {
  return clipEnd(oneLine(text), characters);
}

/**
 * The longest prefix of `text` that ends with a word and has at most `tokens` tokens; empty if no word fits.
 */
export function clipToTokens(text: string, tokens: number, countText: (text: string) => number): string {
  if (tokens <= 0) return "";
  const most = Math.min(text.length, tokens * 16);
  if (most === text.length && countText(text) <= tokens) return text;
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (countText(clipEnd(text, middle)) <= tokens) low = middle;
    else high = middle - 1;
  }
  const clipped = low < 4 ? "" : clipEnd(text, low);
  return countText(clipped) <= tokens ? clipped : "";
}

const NEAR = 60;

function wordHead(text: string, length: number): string {
  let end = length;
  while (end > 0 && length - end < NEAR && /\S/.test(text.charAt(end)) && /\S/.test(text.charAt(end - 1)))
    end -= 1;
  if (end === 0 || length - end === NEAR) end = length;
  const code = text.charCodeAt(end - 1);
  if (code >= 0xd800 && code <= 0xdbff) end -= 1;
  return text.slice(0, end).trimEnd();
}

/** Groups values by key; keys and values keep the list's order. */
export function groupBy<Key, Value>(
  values: readonly Value[],
  keyFor: (value: Value) => Key,
): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const key = keyFor(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** The parsed value of a JSON text; undefined if it does not parse. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A text of usual length unchanged; beginning and end of a huge one, without partial lines. */
export function readable(text: string): string {
  if (text.length <= 2 * READ_HALF) return text;
  const head = text.slice(0, READ_HALF).replace(/\n[^\n]{0,500}$/, "");
  return `${head}\n${text.slice(-READ_HALF).replace(/^[^\n]{0,500}\n/, "")}`;
}

/** Pattern source of abbreviations before a name, which do not end a sentence: `Prof. Chen`. */
export const TITLES = "Prof|Dr|Mrs?|Ms|Messrs|Sra?|Srta|Dra|Mme|Mlle|Hr|Fr";
const SHORT_FORMS = `etc|approx|resp|bzw|usw|inkl|${TITLES}`;
// A sentence ends before a capital, a quote or another script, and after a longer word also before a small
// letter; `e.g. this` and `a.ts` do not end one.
const SENTENCE_END = new RegExp(
  `(?<=[.!?][)"'”’»*\`]{0,3})(?<!\\b(?:e\\.g|i\\.e|vs|cf|No|Nr|z\\.B|${SHORT_FORMS})\\.)\\s{1,4}(?=[^\\p{Ll}\\s])|(?<=\\p{Ll}{3}[.!?])(?<!\\b(?:${SHORT_FORMS})\\.)\\s{1,4}(?=\\p{Ll}{1,20}['’]?\\p{L}{0,3}[\\s,])|(?<=[。！？]["”」』]?)(?!["”」』])`,
  "u",
);
/** Without a match, no sentence ends within a line. */
const MAY_END = /[.!?][)"'”’»*`]{0,3}\s|[。！？]/;

/** The sentences of one line, with surrounding blanks. */
export function sentencesOfLine(line: string): string[] {
  return MAY_END.test(line) ? line.split(SENTENCE_END) : [line];
}

/** Non-empty sentences and lines of a text, trimmed. */
export function sentences(text: string): string[] {
  return readable(text)
    .split("\n")
    .flatMap(sentencesOfLine)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length > 1);
}

const MARKS = /^(?:(?:[-*+•]|#{1,6}|>{1,8}|\d{1,3}[.)])\s+)+/;

/** A sentence without a leading list, heading or quote marker. */
export function withoutMarks(sentence: string): string {
  return sentence.replace(MARKS, "");
}

/** The indentation of a list item; -1 for any other text. */
export function depthOf(text: string): number {
  return /^ *(?=(?:-|\d{1,3}[.)]) )/.exec(text)?.[0].length ?? -1;
}

const FENCE = /^\s{0,8}(?:```|~~~|<\/?(?:source|pre|code|codeblock|sourcecode)>)/;

/** A line of a text; `code` if it is inside a fence. */
export interface TextLine {
  readonly text: string;
  readonly code: boolean;
}

/** The non-empty lines of a text, without the fences. */
export function linesOf(text: string): TextLine[] {
  return paragraphsOf(text).flat();
}

/** The non-empty lines of each paragraph and each fenced block. */
export function paragraphsOf(text: string): TextLine[][] {
  const found: TextLine[][] = [];
  let code = false;
  let apart = true;
  for (const line of readable(text).split("\n")) {
    const fence = FENCE.test(line);
    if (fence) code = !code;
    if (fence || line.trim() === "") apart = true;
    else {
      if (apart) found.push([]);
      found.at(-1)?.push({ text: line.trimEnd(), code });
      apart = false;
    }
  }
  return found;
}

/** Longer sentences are not prose. */
export const MOST_UNWRAPPED = 700;

/** The lines of a paragraph, with wrapped sentences joined. */
export function unwrapped(lines: readonly TextLine[]): TextLine[] {
  const found: TextLine[] = [];
  for (const { text, code } of lines) {
    const above = found.at(-1)?.text ?? "";
    const goesOn = !code && above !== "" && above.length < MOST_UNWRAPPED && wraps(above, text);
    found.splice(goesOn ? -1 : found.length, 1, { text: goesOn ? `${above}\n${text}` : text, code });
  }
  return found;
}

/**
 * True if a sentence continues on the next line: this one is long and unfinished, and the next starts in
 * lower case.
 */
function wraps(above: string, below: string): boolean {
  if (above.length - above.lastIndexOf("\n") < 58) return false;
  return /[^.!?:;。！？`|{}]\s{0,2}$/.test(above.slice(-9)) && /^\s{0,12}[\p{Ll}(`"“]/u.test(below);
}

/** A line that introduces what follows. */
const LEADS = /^\s{0,3}#{1,6}\s|[:：]$/;

/**
 * Splits a long text into blocks of about `most` characters: a paragraph with its heading or introduction.
 * Longer ones are cut between lines, and lines between sentences.
 */
export function blocksOf(text: string, most: number): TextLine[] {
  const blocks: { text: string; code: boolean }[] = [];
  let leads = false;
  const parts = paragraphsOf(text).flatMap((lines) =>
    unwrapped(lines).flatMap((line, at) => partsOf(line, most, at === 0)),
  );
  for (const { part, code, begins, joint } of parts) {
    const last = blocks.at(-1);
    const alone = begins ? 0 : most - part.length;
    if (last !== undefined && last.text.length < (leads ? 2 * most : alone)) last.text += `${joint}${part}`;
    else blocks.push({ text: part, code });
    leads = LEADS.test(part);
  }
  return blocks;
}

/** A line, or the sentences of a long one; `begins` marks the start of a paragraph or heading. */
function partsOf({ text, code }: TextLine, most: number, first: boolean) {
  const begins = first || /^\s{0,3}#{1,6}\s/.test(text);
  const parts = code || text.length <= most ? [text] : sentencesOfLine(text).map(oneLine);
  return parts.map((part, index) => ({
    part: clipEnd(part, 2 * most),
    code,
    begins: begins && index === 0,
    joint: index > 0 ? " " : "\n",
  }));
}

/** Moves texts that occur verbatim in the given text to the end; otherwise the order is kept. */
export function unsaidFirst(rows: readonly string[], text: string): string[] {
  if (text === "") return [...rows];
  const said = runOfWords(text);
  const isSaid = (row: string): boolean => {
    const words = runOfWords(row.replace(/^\[[^\]]{0,40}\] /, ""));
    return words.length > 2 && said.includes(words);
  };
  return [...rows.filter((row) => !isSaid(row)), ...rows.filter(isSaid)];
}

/** The words of a text in lower case, separated by blanks, so that a run of them can be searched. */
export function runOfWords(text: string): string {
  return ` ${(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).join(" ")} `;
}

/** Words of at least four letters; pairs of characters in scripts without blanks. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{2}|\p{L}{4,}/gu;
const FACT_WEIGHT = 1.6;
const NUMBER_WEIGHT = 0.6;
/** Weight of a plain word; names weigh more. */
export const WORD_WEIGHT = 0.5;

/** Visits the terms of a text, names and numbers before words, each with its weight; terms may repeat. */
export function eachTerm(
  text: string,
  visit: (term: string, weight: number) => void,
  factsOf: typeof factsOfRun = factsOfRun,
): void {
  eachRun(text, (run) => {
    for (const { key, kind } of factsOf(run)) visit(key, kind === "number" ? NUMBER_WEIGHT : FACT_WEIGHT);
  });
  for (const word of text.toLowerCase().match(WORD) ?? []) visit(word, WORD_WEIGHT);
}

export function termsOf(text: string): Map<string, number> {
  const terms = new Map<string, number>();
  eachTerm(text, (term, weight) => {
    if (!terms.has(term)) terms.set(term, weight);
  });
  return terms;
}

// ---- names and values

/**
 * Kinds of hard tokens that an agent may need verbatim; a name is a file, a flag, an error, an id or an
 * identifier.
 */
export type FactKind = "url" | "path" | "name" | "number";

export interface Fact {
  /** The text that identifies it; a path is identified by its last two parts. */
  readonly key: string;
  readonly kind: FactKind;
}

const EXTENSIONS =
  "ts tsx js jsx mjs cjs py go rs java kt rb php c h cc cpp hpp cs swift sh bash zsh sql md mdx txt json jsonl yaml yml toml ini cfg conf env lock html css scss vue svelte xml csv log proto ipynb rst mod sum tf gradle lua dart ex exs scala pl r";
const FILE_EXTENSIONS: ReadonlySet<string> = new Set(EXTENSIONS.split(" "));
const URL = /https?:\/\/[^\s"'`<>)\]}\\|]{4,300}/g;
const TRAILING = /[.,;:!?'"*_-]+$/;
/** A flag, a ticket or a UUID. */
const WHOLE_NAME =
  /^(?:--[a-z][a-z0-9-]+|#[A-Z]?\d{2,9}|[A-Z]{2,6}-\d{1,6}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/;
const DECIMAL = /^\d[\d,]*\.\d+(?:\.\d+)*$/;
const INTEGER = /^\d{3,}$/;
const COMMON_NUMBER = /^(?:(?:19|20)\d\d|100|200|404|500|1000|0\.0|1\.0)$/;
/** An error class, a hash or a code in capitals; a longer word in camel or snake case, or behind an acronym. */
const WORD_NAMES: readonly RegExp[] = [
  /^[A-Z]\w*(?:Error|Exception|Warning|Failure)$/,
  /^(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}$/,
  /^(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{5,12}$/,
  /^(?=.{6})(?:[A-Za-z][a-z0-9]+[A-Z][A-Za-z0-9]*|[A-Za-z][A-Za-z0-9]*_\w+|[A-Z]{2,}[a-z]\w+)$/,
];
const LONGEST = 200;

/** The distinct hard tokens of a text, in order; linear in the length of the text. */
export function factsIn(text: string): Fact[] {
  const found = new Map<string, Fact>();
  eachRun(text, (run) => {
    for (const fact of factsOfRun(run)) found.set(fact.key, fact);
  });
  return [...found.values()];
}

/** A run without blanks, quotes and brackets. */
const RUN = /[\w@+~:#=?&%$./-]{3,}/g;
/**
 * Required by every pattern below: digits, `_` and `/`; a capital within a word; a dot or hyphen followed by
 * more.
 */
const TELLING = /[\d_/]|[A-Za-z][A-Z]|\.[\w@+~:#=?&%$./-]|--/;

/** Visits the pieces of a text that may contain facts: whole URLs, then runs that are not plain words. */
export function eachRun(text: string, visit: (run: string) => void): void {
  let rest = text;
  if (text.includes("://"))
    rest = text.replace(URL, (url) => {
      visit(url);
      return " ";
    });
  for (const run of rest.match(RUN) ?? []) if (TELLING.test(run)) visit(run);
}

const JOINT = /[:=?&%$]+/;
const WORD_JOINT = /[.+@~#/-]+/;
const NONE: readonly Fact[] = [];

/** The facts in one run of `eachRun`. */
export function factsOfRun(run: string): readonly Fact[] {
  if (run.startsWith("http") && run.includes("://")) return alone(run.replace(TRAILING, ""), "url");
  return JOINT.test(run) ? run.split(JOINT).flatMap(factsOfPiece) : factsOfPiece(run);
}

function factsOfPiece(raw: string): readonly Fact[] {
  if (raw.length < 3) return NONE;
  const piece = trimEnd(raw);
  const path = piece.includes("/") ? pathKey(piece) : undefined;
  if (path !== undefined) return alone(path, "path");
  const whole = wholeKind(piece);
  if (whole !== undefined) return alone(piece, whole);
  return WORD_JOINT.test(piece) ? piece.split(WORD_JOINT).flatMap(factsOfWord) : factsOfWord(piece);
}

function factsOfWord(word: string): readonly Fact[] {
  const kind = word.length >= 3 ? wordKind(word) : undefined;
  return kind === undefined ? NONE : alone(word, kind);
}

function alone(key: string, kind: FactKind): readonly Fact[] {
  return key.length >= 3 && key.length <= LONGEST ? [{ key, kind }] : NONE;
}

// The pattern alone is quadratic on a long run of dots followed by something else.
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ".,;:!?'\"*-".includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The last two parts of a path; undefined if it has one part or no letter. */
export function pathKey(path: string): string | undefined {
  const [first, last] = path
    .split("/")
    .filter((part) => part.length > 2 || !/^(?:\.{0,2}|~)$/.test(part))
    .slice(-2);
  const key = `${first}/${last}`;
  return last !== undefined && /[A-Za-z]/.test(key) ? key : undefined;
}

function wholeKind(piece: string): FactKind | undefined {
  if (piece.length > 64) return undefined;
  const dot = piece.lastIndexOf(".");
  const isFile = dot > 0 && (FILE_EXTENSIONS.has(piece.slice(dot + 1)) || piece.includes("@"));
  if (isFile || WHOLE_NAME.test(piece)) return "name";
  const isNumber = DECIMAL.test(piece) || INTEGER.test(piece);
  return isNumber && !COMMON_NUMBER.test(piece) ? "number" : undefined;
}

function wordKind(word: string): FactKind | undefined {
  if (INTEGER.test(word)) return COMMON_NUMBER.test(word) ? undefined : "number";
  return WORD_NAMES.some((name) => name.test(word)) ? "name" : undefined;
}
