/** Texts that a summary may draw on, indexed once for many look-ups. */
export interface KnownText {
  /** True where the text stands somewhere, not as a part of a longer word. */
  has(text: string): boolean;
  /** True where the text stands and no path goes on before it. */
  startsPath(text: string): boolean;
  /** True where the number stands somewhere, with or without thousands separators. */
  hasNumber(digits: string): boolean;
  /** True where the words stand somewhere in this order, whatever blanks, case and quotes are between them. */
  hasWords(text: string): boolean;
  /** True where a word begins like this one, case aside. */
  hasStem(word: string): boolean;
}

const STEM = 5;
const NUMBER = /\d[\d,_]*(?:\.\d+)*/g;

/** Indexes texts; linear in their length. */
export function knownText(texts: readonly string[]): KnownText {
  const all = texts.join("\n");
  const lower = once(() => all.toLowerCase());
  const numbers = once(() => numbersIn(all));
  const words = once(() => ` ${wordsOf(all).join(" ")} `);
  const stems = once(
    () =>
      new Set(
        all
          .toLowerCase()
          .match(/[\p{L}\p{N}]{4,}/gu)
          ?.map(stemOf),
      ),
  );
  return {
    has: (text) => standsIn(all, text) || standsIn(lower(), text.toLowerCase()),
    startsPath: (text) => standsIn(all, text, startsThere),
    hasNumber: (digits) => numbers().has(normalizedNumber(digits)),
    hasWords(text) {
      const wanted = wordsOf(text).join(" ");
      return wanted === "" || words().includes(` ${wanted} `);
    },
    hasStem: (word) => stems().has(stemOf(word.toLowerCase())),
  };
}

/** Every number of a text, as `hasNumber` knows it. */
function numbersIn(text: string): Set<string> {
  const found = new Set<string>();
  for (const [number] of text.matchAll(NUMBER)) {
    found.add(normalizedNumber(number));
    for (const digits of number.split(/[.,_]/)) found.add(normalizedNumber(digits));
  }
  return found;
}

function normalizedNumber(digits: string): string {
  return digits.replace(/[,_]/g, "").replace(/^0+(?=\d)/, "");
}

/** Words in lower case: letters, digits, and what holds names together. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function stemOf(word: string): string {
  return [...word].slice(0, STEM).join("");
}

function standsIn(all: string, text: string, startsHere: (before: string) => boolean = anywhere): boolean {
  if (text === "") return true;
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) {
    const before = all.charAt(at - 1);
    const behind = all.charAt(at + text.length);
    const whole = !joins(before, text.charAt(0)) && !joins(text.charAt(text.length - 1), behind);
    if (whole && startsHere(before)) return true;
  }
  return false;
}

const anywhere = (): boolean => true;
const startsThere = (before: string): boolean => !/[\w/\\~.-]/.test(before);

/** True where two characters belong to one word. */
function joins(left: string, right: string): boolean {
  return /[\p{L}\p{N}_]/u.test(left) && /[\p{L}\p{N}_]/u.test(right);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
