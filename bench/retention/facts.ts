/** Kinds of things that a text names, the longest and most specific first: a place belongs to the first that matches. */
const PATTERNS = {
  url: /https?:\/\/[^\s"'`<>)\]}\\|]{4,300}/,
  email: /[A-Za-z0-9._%+-]{2,}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/,
  path: /(?:~|\.{1,2})?\/?(?:[\w@.+-]+\/)+[\w@.+-]+/,
  file: /\w[\w.+-]*\.(?:tsx?|jsx?|[mc]js|py|go|rs|java|kts?|rb|php|hpp|[chm]|cc|cpp|cs|swift|sh|bash|sql|mdx?|txt|jsonl?|ya?ml|toml|ini|cfg|conf|env|lock|html|s?css|vue|svelte|xml|csv|log|proto|ipynb|traj|rst|mod|sum)\b/,
  uuid: /\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b/,
  error: /\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b/,
  flag: /(?<![\w-])--[a-z][a-z0-9]+(?:-[a-z0-9]+)*\b/,
  ticket: /#[A-Z]?\d{2,}|\b[A-Z]{2,6}-\d{1,6}\b/,
  code: /\b(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{5,12}\b/,
  hash: /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/,
  identifier: /\b(?:[A-Za-z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Za-z]\w*_\w+|[A-Z]{2,}[a-z]\w+)\b/,
  number: /(?<![\w.])[$€£]?\d[\d,]*\.\d+(?:\.\d+)*%?(?!\w)|(?<![\w.])[$€£]?\d{3,}(?:,\d{3})*(?![\w.])/,
} as const;

export type FactKind = keyof typeof PATTERNS | "phrase";

const NAMES = Object.keys(PATTERNS) as (keyof typeof PATTERNS)[];
const ANY = new RegExp(NAMES.map((name) => `(?<${name}>${PATTERNS[name].source})`).join("|"), "g");
/** Backtracking stays short within a piece; what is cut at its edge is lost to every method alike. */
const PIECE = 60_000;

export interface NamedFact {
  readonly kind: FactKind;
  readonly times: number;
}

/** Everything that a text names, by its value. */
export function factsIn(text: string, into: Map<string, NamedFact> = new Map()): Map<string, NamedFact> {
  for (let start = 0; start < text.length; start += PIECE) {
    for (const match of text.slice(start, start + PIECE).matchAll(ANY)) {
      const kind = NAMES.find((name) => match.groups?.[name] !== undefined);
      const value = kind === undefined ? undefined : normal(kind, match[0]);
      if (kind !== undefined && value !== undefined) add(into, value, kind);
    }
  }
  return into;
}

function add(into: Map<string, NamedFact>, value: string, kind: FactKind): void {
  const known = into.get(value);
  into.set(value, { kind: known?.kind ?? kind, times: (known?.times ?? 0) + 1 });
}

const YEAR = /^(?:19|20)\d\d$/;
const ROUND = new Set(["100", "200", "404", "500", "1000", "0.0", "1.0"]);

/** The value as it is compared; undefined for what is too common to count. */
function normal(kind: FactKind, found: string): string | undefined {
  let value = found;
  if (kind === "url" || kind === "path") value = value.replace(/[.,;:!?'"*_-]+$/, "");
  if (kind === "path") {
    const segments = value
      .replace(/^(?:~|\.{1,2})?\//, "")
      .split("/")
      .filter(Boolean);
    value = segments.slice(-2).join("/");
    if (segments.length < 2 || !/[A-Za-z]/.test(value)) return undefined;
  }
  if (kind === "number") {
    value = value.replace(/^[$€£]/, "").replace(/%$/, "");
    if (YEAR.test(value) || ROUND.has(value)) return undefined;
  }
  if (kind === "identifier" && value.length < 6) return undefined;
  return value.length < 3 || value.length > 200 ? undefined : value;
}

const DIRECTIVE =
  /\b(?:must|don'?t|do not|never|always|only|should|instead|make sure|prefer|want|need|keep|avoid|use|please|without|except|rather|let'?s|add|remove|rename|change)\b/i;

/** English function words: they carry no fact. */
export const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  (
    "a an the and or but if then of to in on at by for with from as is are was were be been it its this that these " +
    "those i you we they he she me my your our their there here so do does did not no yes can could would should will " +
    "just have has had what which who when where how why about into out up down over all any some more most other than " +
    "too very also only own same such let us please want need use using make sure get got go going like"
  ).split(" "),
);

/** Three words in a row out of what a user asks for: wishes and prohibitions leave no identifier. */
export function phrasesIn(text: string, into: Map<string, NamedFact>): void {
  for (const sentence of text.split(/[\n.!?;]+/)) {
    if (sentence.length > 400 || !DIRECTIVE.test(sentence)) continue;
    const words = wordsIn(sentence);
    for (let at = 0; at + 2 < words.length; at++) {
      const [first = "", middle = "", last = ""] = words.slice(at, at + 3);
      if (FUNCTION_WORDS.has(first) || FUNCTION_WORDS.has(last)) continue;
      if (![first, middle, last].some((word) => word.length >= 5)) continue;
      add(into, `${first} ${middle} ${last}`, "phrase");
    }
  }
}

export function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[a-z][a-z'-]+/g) ?? [];
}

/** A text of words only, for finding phrases. */
export function phraseText(text: string): string {
  return ` ${wordsIn(text).join(" ")} `;
}

/** The text with everything that it names blanked out: names are no context for each other. */
export function withoutFacts(text: string): string {
  return text.replace(ANY, " ");
}
