import { type FactKind, FUNCTION_WORDS, factsIn, phraseText, withoutFacts, wordsIn } from "./facts.ts";

export interface Fact {
  readonly value: string;
  readonly kind: FactKind;
}

/** A text in which facts are looked up as whole words. */
export interface TextIndex {
  readonly text: string;
  has(fact: Fact): boolean;
  /** Offsets of a value, at most so many. */
  find(value: string, most: number): number[];
}

const WORD = /[A-Za-z0-9_]+/g;
const WORD_END = /[A-Za-z0-9_]/;

export function indexText(text: string): TextIndex {
  const places = new Map<string, number[]>();
  for (const match of text.matchAll(WORD)) {
    const known = places.get(match[0]);
    if (known === undefined) places.set(match[0], [match.index]);
    else if (known.length < 4000) known.push(match.index);
  }
  let phrases: string | undefined;
  function find(value: string, most: number): number[] {
    const first = /[A-Za-z0-9_]+/.exec(value);
    if (first === null) return text.includes(value) ? [text.indexOf(value)] : [];
    const found: number[] = [];
    for (const place of places.get(first[0]) ?? []) {
      const start = place - first.index;
      const next = text[start + value.length] ?? "";
      if (!text.startsWith(value, start)) continue;
      if (WORD_END.test(next) && WORD_END.test(value.at(-1) ?? "")) continue;
      found.push(start);
      if (found.length >= most) break;
    }
    return found;
  }
  return {
    text,
    find,
    has({ value, kind }) {
      if (kind !== "phrase") return find(value, 1).length > 0;
      phrases ??= phraseText(text);
      return phrases.includes(` ${value} `);
    },
  };
}

/** What stands around a fact: its own line, at most so many characters to each side. */
interface Statement {
  /** Pairs of words in their order, other facts left out: a list of names has none of its source's. */
  readonly pairs: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
}

const REACH = 120;
const OUTPUT_REACH = 160;

function statementAt(text: string, value: string, at: number, reach: number): Statement {
  const own = around(text, { from: at, to: at + value.length }, { reach, lines: 1 });
  return own.pairs.size >= 2 ? own : around(text, { from: at, to: at + value.length }, { reach, lines: 2 });
}

function around(
  text: string,
  fact: { readonly from: number; readonly to: number },
  { reach, lines }: { readonly reach: number; readonly lines: number },
): Statement {
  let [from, to] = [fact.from, fact.to];
  for (let line = 0; line < lines; line++) {
    from = text.lastIndexOf("\n", from - (line === 0 ? 1 : 2)) + 1;
    const end = text.indexOf("\n", to + (line === 0 ? 0 : 1));
    to = end < 0 ? text.length : end;
  }
  const before = text.slice(Math.max(from, fact.from - reach), fact.from);
  const after = text.slice(fact.to, Math.min(to, fact.to + reach));
  const sides = [before, after].map((side) => wordsIn(withoutFacts(side)));
  const pairs = new Set<string>();
  for (const words of sides) {
    for (let index = 0; index + 1 < words.length; index++) pairs.add(`${words[index]} ${words[index + 1]}`);
  }
  const telling = sides.flat().filter((word) => word.length >= 4 && !FUNCTION_WORDS.has(word));
  return { pairs, words: new Set(telling) };
}

/** The words of a text that say something. */
export function tellingWords(text: string): Set<string> {
  return new Set(wordsIn(text).filter((word) => word.length >= 4 && !FUNCTION_WORDS.has(word)));
}

/** Looks facts of one source up in what a method made of it. */
export interface Judge {
  /** C: the fact is there among at least 30 % (and two) of the word pairs of one of its statements. Undefined for bare data. */
  inContext(fact: Fact, output: TextIndex): boolean | undefined;
  /** F: the words of the fact's later use lead to it among the three best of its kind. Undefined where they say too little. */
  lookedUp(fact: Fact, useWords: ReadonlySet<string>, output: PreparedOutput): boolean | undefined;
  prepare(output: TextIndex): PreparedOutput;
}

export interface PreparedOutput {
  readonly index: TextIndex;
  readonly byKind: ReadonlyMap<FactKind, readonly string[]>;
  /** The statements around a value that come from its source. */
  statements(value: string): readonly Statement[];
}

const CONTEXT_SHARE = 0.3;
const LEAST_PAIRS = 2;
const BEST = 3;
/** Rivals of one kind that are compared. */
const MOST_RIVALS = 250;

export function createJudge(source: TextIndex): Judge {
  const frequency = new Map<string, number>();
  const lines = source.text.split("\n");
  for (const line of lines) {
    for (const word of tellingWords(line)) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  const rarity = (word: string): number => Math.log(1 + lines.length / (1 + (frequency.get(word) ?? 0)));
  const known = new Map<string, readonly Statement[]>();
  const original = (value: string): readonly Statement[] => {
    const found =
      known.get(value) ?? source.find(value, 6).map((at) => statementAt(source.text, value, at, REACH));
    known.set(value, found);
    return found;
  };
  /** Whether enough of a source's statement stands around the value, or there was none to tell it by. */
  const isFromSource = (value: string, shown: Statement): boolean => {
    const statements = original(value).filter(({ pairs }) => pairs.size >= LEAST_PAIRS);
    return statements.length === 0 || statements.some((statement) => carries(shown, statement));
  };

  return {
    inContext(fact, output) {
      if (fact.kind === "phrase") return output.has(fact);
      const statements = original(fact.value).filter(({ pairs }) => pairs.size >= LEAST_PAIRS);
      if (statements.length === 0) return undefined;
      const shown = output
        .find(fact.value, 8)
        .map((at) => statementAt(output.text, fact.value, at, OUTPUT_REACH));
      return statements.some((statement) => shown.some((one) => carries(one, statement)));
    },
    prepare(index) {
      const byKind = new Map<FactKind, string[]>();
      for (const [value, { kind }] of factsIn(index.text)) {
        const values = byKind.get(kind);
        if (values === undefined) byKind.set(kind, [value]);
        else values.push(value);
      }
      for (const [kind, values] of byKind) byKind.set(kind, spread(values, MOST_RIVALS));
      const shown = new Map<string, readonly Statement[]>();
      return {
        index,
        byKind,
        statements(value) {
          const found =
            shown.get(value) ??
            index
              .find(value, 3)
              .map((at) => statementAt(index.text, value, at, OUTPUT_REACH))
              .filter((statement) => isFromSource(value, statement));
          shown.set(value, found);
          return found;
        },
      };
    },
    lookedUp(fact, useWords, { index, byKind, statements }) {
      if (fact.kind === "phrase") return undefined;
      const own = tellingWords(fact.value);
      const query = [...useWords].filter((word) => !own.has(word));
      if (query.length < 2) return undefined;
      if (!index.has(fact)) return false;
      const score = (value: string): number =>
        Math.max(
          0,
          ...statements(value).map(({ words }) =>
            query.reduce((sum, word) => sum + (words.has(word) ? rarity(word) : 0), 0),
          ),
        );
      const mine = score(fact.value);
      if (mine <= 0) return false;
      const rivals = (byKind.get(fact.kind) ?? []).filter((value) => value !== fact.value).map(score);
      const better = rivals.filter((rival) => rival > mine + 1e-9).length;
      const equal = rivals.filter((rival) => Math.abs(rival - mine) <= 1e-9).length;
      return 1 + better + equal / 2 <= BEST;
    },
  };
}

function carries(shown: Statement, { pairs }: Statement): boolean {
  return shared(pairs, shown.pairs) >= Math.max(LEAST_PAIRS, Math.ceil(pairs.size * CONTEXT_SHARE));
}

function shared(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let count = 0;
  for (const pair of one) if (other.has(pair)) count += 1;
  return count;
}

/** At most so many, evenly out of all. */
function spread<T>(values: T[], most: number): T[] {
  if (values.length <= most) return values;
  return Array.from({ length: most }, (_, n) => values[Math.floor((n * values.length) / most)] as T);
}
