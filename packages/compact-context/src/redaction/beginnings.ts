// Where patterns can match: one pass over a text finds the words that their matches begin with.

const BUCKETS = 128;
const SMALL = 8192;

/** By character what it is without its case; 0 for one that has not been met. */
const FOLDED = new Uint8Array(SMALL);
const fold = (code: number): number =>
  code < SMALL ? (FOLDED[code] as number) || learnedOf(code) : 65 + (code % 26);

/** A character of ASCII as a lower-case one, another one as one of the capitals, which are free. */
function learnedOf(code: number): number {
  const character = String.fromCharCode(code);
  const upper = character.toUpperCase();
  const other = upper.length === 1 && upper.charCodeAt(0) >= BUCKETS ? upper.charCodeAt(0) : code;
  FOLDED[code] = code < BUCKETS ? character.toLowerCase().charCodeAt(0) : 65 + (other % 26);
  return FOLDED[code] as number;
}

const WORD = Uint8Array.from({ length: BUCKETS }, (_, code) =>
  /\w/.test(String.fromCharCode(code)) ? 1 : 0,
);
const isWord = (code: number): boolean => code < BUCKETS && WORD[code] === 1;

/** Marks a word that stands only where a match of `\b` is. */
const EDGE = "\b";

/** A word, or its beginning, and the pattern whose matches can start with it. */
interface Beginning {
  readonly codes: readonly number[];
  readonly isAtEdge: boolean;
  readonly pattern: number;
}

const AT_EDGE = 1;
const ANYWHERE = 2;

type Visit = (pattern: number, at: number) => void;

/** Calls `visit` wherever a match of a pattern can start, in order; a pattern with no beginnings is left out. */
export function createScan(
  patterns: readonly (readonly string[] | undefined)[],
): (text: string, visit: Visit) => void {
  /** By the first two characters of a word: whether there is one, and whether one stands inside other words. */
  const pairs = new Uint8Array(BUCKETS * BUCKETS);
  /** A bit for each third character, by its code modulo 32. */
  const thirds = new Int32Array(BUCKETS * BUCKETS);
  const words = new Map<number, Beginning[]>();
  const add = (beginning: Beginning, first: number, second: number): void => {
    const key = first * BUCKETS + second;
    const third = beginning.codes[2];
    pairs[key] = Math.max(pairs[key] as number, beginning.isAtEdge ? AT_EDGE : ANYWHERE);
    thirds[key] = (thirds[key] as number) | (third === undefined ? -1 : 1 << third);
    words.set(key, [...(words.get(key) ?? []), beginning]);
  };
  for (const [pattern, list = []] of patterns.entries()) {
    for (const word of list) {
      const isAtEdge = word.startsWith(EDGE);
      const codes = [...word.slice(isAtEdge ? 1 : 0)].map((character) => fold(character.charCodeAt(0)));
      const [first = 0, second] = codes;
      if (second !== undefined) add({ codes, isAtEdge, pattern }, first, second);
      else for (let any = 0; any < BUCKETS; any += 1) add({ codes, isAtEdge, pattern }, first, any);
    }
  }
  const visitAt = (text: string, at: number, key: number, visit: Visit): void => {
    const third = at + 2 < text.length ? fold(text.charCodeAt(at + 2)) : 0;
    if ((((thirds[key] as number) >>> third) & 1) === 0) return;
    const isEdge = isAtEdge(text, at);
    if (!isEdge && pairs[key] === AT_EDGE) return;
    for (const beginning of words.get(key) ?? [])
      if ((isEdge || !beginning.isAtEdge) && standsAt(text, at, beginning.codes))
        visit(beginning.pattern, at);
  };
  return (text, visit) => {
    let key = 0;
    for (let at = 0; at <= text.length; at += 1) {
      const code = at < text.length ? fold(text.charCodeAt(at)) : 0;
      key = (key % BUCKETS) * BUCKETS + code;
      if (pairs[key] !== 0 && at > 0) visitAt(text, at - 1, key, visit);
    }
  };
}

const isAtEdge = (text: string, at: number): boolean =>
  at === 0 || isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));

function standsAt(text: string, at: number, codes: readonly number[]): boolean {
  for (let index = 2; index < codes.length; index += 1)
    if (fold(text.charCodeAt(at + index) | 0) !== codes[index]) return false;
  return true;
}

/** What is made of the parts of a regular expression. */
export interface Grammar<Part> {
  readonly empty: Part;
  /** True if nothing can be added: the rest is only read over. */
  readonly isFull: (part: Part) => boolean;
  /** Of a character, an escape, a class or an assertion. */
  readonly item: (source: string) => Part;
  /** Of a lookahead or lookbehind, before it is read. */
  readonly around: () => Part;
  readonly joined: (before: Part, behind: Part) => Part;
  readonly either: (one: Part, other: Part) => Part;
  /** `most` is undefined if there is no limit. */
  readonly repeated: (part: Part, least: number, most: number | undefined, isLazy: boolean) => Part;
}

const ITEM =
  /\\(?:u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|k<|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?:<?[=!]|:|<[^>]*>))?|[\s\S]/y;
const ITEM_OF_CODE_POINTS = new RegExp(ITEM, "uy");
const REPETITION = /(?:[*+?]|\{(\d+)(?:(,)(\d+)?)?\})(\?)?/y;

/** Reads a regular expression that V8 accepts. */
export function readExpression<Part>(source: string, codePoints: boolean, grammar: Grammar<Part>): Part {
  const { empty, isFull, item, around, joined, either, repeated } = grammar;
  let at = 0;
  let readOver = false;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const taken = pattern.exec(source);
    at += taken?.[0].length ?? 0;
    return taken;
  };
  const readEither = (): Part => {
    const all = [readSequence()];
    while (source[at] === "|") {
      at += 1;
      all.push(readSequence());
    }
    at += 1;
    return eitherOf(all);
  };
  /** By halves: thousands of words are not copied with each word. */
  const eitherOf = (parts: readonly Part[]): Part => {
    const half = parts.length >> 1;
    return half === 0
      ? (parts[0] as Part)
      : either(eitherOf(parts.slice(0, half)), eitherOf(parts.slice(half)));
  };
  const readSequence = (): Part => {
    let all = empty;
    const before = readOver;
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      readOver ||= isFull(all);
      const part = readRepeated();
      if (!readOver) all = joined(all, part);
    }
    readOver = before;
    return all;
  };
  const readItem = (): Part => {
    const taken = take(codePoints ? ITEM_OF_CODE_POINTS : ITEM)?.[0] ?? "";
    if (taken === "(" && source[at] === "?") throw new RangeError("it sets flags: (?i:");
    if (!taken.startsWith("(")) return readOver ? empty : item(taken);
    const replaced = /[=!]$/.test(taken) ? around() : undefined;
    const inner = readEither();
    return replaced ?? inner;
  };
  const readRepeated = (): Part => {
    const part = readItem();
    const sign = take(REPETITION);
    if (sign === null || readOver) return part;
    const [whole, least = whole[0] === "+" ? "1" : "0", comma, most, lazy] = sign;
    const counted = comma === undefined ? least : most;
    const limit = whole.startsWith("{") ? counted : whole[0] === "?" ? "1" : undefined;
    return repeated(part, Number(least), limit === undefined ? undefined : Number(limit), lazy === "?");
  };
  return readEither();
}

/** What the matches of a part of a pattern begin with: whole matches, and beginnings of longer ones. */
interface Prefixes {
  readonly whole: readonly string[];
  readonly cut: readonly string[];
}

const LONGEST = 5;
const MOST = 64;
const EMPTY: Prefixes = { whole: [""], cut: [] };
const ANYTHING: Prefixes = { whole: [], cut: [""] };
/**
 * Words one of which starts every match of a pattern that ignores case; behind `EDGE` where a `\b` stands before.
 * Undefined if a match can start with anything.
 */
export function beginningsOf(source: string): readonly string[] | undefined {
  const { whole, cut } = readExpression(source, false, PREFIXES);
  const words = [...new Set([...whole, ...cut])];
  return words.some((word) => word === "" || word === EDGE)
    ? undefined
    : words.filter((word) => !words.some((other) => other !== word && word.startsWith(other)));
}

const either = (one: Prefixes, other: Prefixes): Prefixes => ({
  whole: [...one.whole, ...other.whole],
  cut: [...one.cut, ...other.cut],
});

/** What a part and the part behind it begin with. */
function joined(before: Prefixes, behind: Prefixes): Prefixes {
  if (before === EMPTY) return behind;
  if (before.whole.length * (behind.whole.length + behind.cut.length) > MOST) return unfinished(before);
  const whole = new Set<string>();
  const cut = new Set(before.cut);
  for (const start of before.whole) {
    // An edge inside a word says nothing.
    const join = (end: string): string => (start === "" ? end : start + end.replace(EDGE, ""));
    for (const end of behind.cut) cut.add(join(end));
    for (const end of behind.whole) (start.length + end.length < LONGEST ? whole : cut).add(join(end));
  }
  return { whole: [...whole], cut: [...cut] };
}

function repeated(item: Prefixes, least: number, most: number | undefined): Prefixes {
  let all = EMPTY;
  for (let times = 0; times < Math.min(least, LONGEST); times += 1) all = joined(all, item);
  if (most === least) return all;
  return least > 0 ? unfinished(all) : either(EMPTY, most === 1 ? item : unfinished(item));
}

const unfinished = ({ whole, cut }: Prefixes): Prefixes => ({ whole: [], cut: [...whole, ...cut] });

const NAMED_CHARACTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: EDGE };
const MOST_OF_CLASS = 12;

/** Of a character, an escape, a class or an edge. */
function prefixesOf(item: string): Prefixes {
  if (item === "^" || item === "$") return EMPTY;
  if (item.startsWith("[")) return ofClass(item.slice(1, -1));
  const character = item === "." ? undefined : characterOf(item);
  return character === undefined ? ANYTHING : { whole: [character], cut: [] };
}

/** The character that an escape stands for; undefined if it stands for several. */
function characterOf(item: string): string | undefined {
  if (/^\\[xu]/.test(item)) return String.fromCharCode(Number.parseInt(item.slice(2), 16));
  if (/^\\\w/.test(item)) return NAMED_CHARACTERS[item.slice(1)];
  return item.slice(-1);
}

function ofClass(inner: string): Prefixes {
  const items = inner.match(/\\(?:x[\da-f]{2}|u[\da-f]{4}|.)|./gis) ?? [];
  const characters = items.map(characterOf);
  const isList = items[0] !== "^" && !items.slice(1, -1).includes("-") && items.length <= MOST_OF_CLASS;
  return isList && !characters.includes(undefined) ? { whole: characters as string[], cut: [] } : ANYTHING;
}

const PREFIXES: Grammar<Prefixes> = {
  empty: EMPTY,
  isFull: ({ whole }) => whole.length === 0,
  item: prefixesOf,
  around: () => EMPTY,
  joined,
  either,
  repeated,
};
