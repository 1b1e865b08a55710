import type { Finding } from "./finding.ts";

/** Where a secret stands because of what is around it. */
export interface Place {
  readonly kind: string;
  /** Two groups: what stays, and the secret; every repetition bounded. */
  readonly source: string;
  readonly isSecret: (value: string, before: string) => boolean;
  /** Text without which the pattern has nothing to find. */
  readonly needs: string;
}

/**
 * A table of places: in each row, parted by `~>`, the sources of what stands before the secret, of the secret, of what stands
 * behind it, and text that is needed where no words begin the row. A space that does not open a class means one to
 * eight blanks. What is needed is ASCII: Bun turns other characters of a raw template into escapes, which only patterns read.
 */
export function places(kind: string, isSecret: Place["isSecret"], rows: string): Place[] {
  return rows
    .split("\n")
    .map((row) => row.trimStart())
    .filter((row) => row !== "" && !row.startsWith("// "))
    .map((row) => {
      const [before = "", value = "", behind = "", needs = ""] = row.split("~>");
      const source = `(${before})(${value})${behind}`.replace(/(?<!\[) /g, "[ \\t]{1,8}");
      return { kind, isSecret, needs, source };
    });
}

/** Finds the secrets of all places in one text; patterns are compiled when a text first has one of their words. */
export function createPlaceFinder(table: readonly Place[]): (text: string) => Finding[] {
  const patterns: RegExp[] = [];
  const gate = createWordGate(table.map(({ source }) => source.slice(1)));
  const free = table.flatMap((_, index) => (gate.isGated(index) ? [] : [index]));
  return (text) => {
    const found: Finding[] = [];
    for (const index of [...gate.open(text), ...free]) {
      const searched = table[index] as Place;
      if (!text.includes(searched.needs)) continue;
      const pattern = patterns[index] ?? new RegExp(searched.source, "gi");
      patterns[index] = pattern;
      found.push(...findingsOf(searched, pattern, text));
    }
    return found;
  };
}

function findingsOf(searched: Place, pattern: RegExp, text: string): Finding[] {
  // Most texts have none, and going through the matches begins with a copy of the pattern.
  if (text.search(pattern) < 0) return [];
  const findings = [...text.matchAll(pattern)].map((match) => findingOf(searched, match));
  return findings.filter((finding) => finding !== undefined);
}

/** The secret of a match, without the signs that end its sentence. */
function findingOf({ kind, isSecret }: Place, match: RegExpExecArray): Finding | undefined {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:)\]*]+$/, "") : found;
  const start = match.index + before.length;
  return value === "" || !isSecret(value, before) ? undefined : { start, end: start + value.length, kind };
}

// Which patterns may find something in a text, told from the words that it has: one pass over the text in place of one for
// each pattern, of which there are sixty, and most of them look for words that few texts have.

const ASCII = 128;
/** Letters in lower case, digits and `_` as they are; 0 for what is not part of a word. */
const FOLDED = new Uint8Array(ASCII);
for (const character of "abcdefghijklmnopqrstuvwxyz0123456789_") {
  FOLDED[character.charCodeAt(0)] = character.charCodeAt(0);
  FOLDED[character.toUpperCase().charCodeAt(0)] = character.charCodeAt(0);
}

function foldedAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < ASCII ? (FOLDED[code] as number) : 0;
}

/** Says which patterns may find something in a text. */
interface WordGate {
  /** False for a pattern that may begin with anything: it may always find something. */
  isGated(pattern: number): boolean;
  /** The numbers of the gated ones that may. */
  open(text: string): number[];
}

/** A beginning of a word, in lower case, and the patterns that can begin with it. */
interface Beginning {
  readonly letters: string;
  readonly patterns: number[];
}

/** `sources` are patterns that ignore case. */
export function createWordGate(sources: readonly string[]): WordGate {
  const words = sources.map(beginningsOf);
  /** By pattern: the text, counted, that opened it last. */
  const openedBy = new Float64Array(sources.length);
  let texts = 0;
  const byTwo: (Beginning[] | undefined)[] = new Array(ASCII * ASCII).fill(undefined);
  for (const [pattern, own = []] of words.entries()) {
    for (const letters of own) {
      const code = letters.charCodeAt(0) * ASCII + letters.charCodeAt(1);
      const known = byTwo[code] ?? [];
      byTwo[code] = known;
      const same = known.find((beginning) => beginning.letters === letters);
      if (same === undefined) known.push({ letters, patterns: [pattern] });
      else same.patterns.push(pattern);
    }
  }

  const openAt = (text: string, at: number, beginnings: readonly Beginning[], open: number[]): void => {
    for (const { letters, patterns } of beginnings) {
      if (!standsAt(text, at, letters)) continue;
      for (const pattern of patterns) if (openedBy[pattern] !== texts) open.push(pattern);
      for (const pattern of patterns) openedBy[pattern] = texts;
    }
  };

  return {
    isGated: (pattern) => words[pattern] !== undefined,
    open(text) {
      texts += 1;
      const open: number[] = [];
      let before = 0;
      let letter = foldedAt(text, 0);
      for (let at = 1; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        const next = code < ASCII ? (FOLDED[code] as number) : 0;
        if (before === 0 && letter !== 0) {
          const beginnings = byTwo[(letter << 7) | next];
          if (beginnings !== undefined) openAt(text, at - 1, beginnings, open);
        }
        before = letter;
        letter = next;
      }
      return open;
    },
  };
}

function standsAt(text: string, at: number, letters: string): boolean {
  if (at + letters.length > text.length) return false;
  for (let index = 2; index < letters.length; index += 1)
    if (foldedAt(text, at + index) !== letters.charCodeAt(index)) return false;
  return true;
}

/**
 * What each match of a pattern begins with, two characters or more of a word; undefined where one of its alternatives does
 * not begin with `\b` and a word. A bracket that closes none ends the pattern.
 */
export function beginningsOf(source: string): readonly string[] | undefined {
  if (!source.startsWith("\\b")) return undefined;
  const words = splitGroup(`(?:${source})`).alternatives.flatMap((alternative) =>
    alternative.startsWith("\\b") ? wordsOf(alternative.slice(2)) : [""],
  );
  return words.every((word) => word.length >= 2) ? words : undefined;
}

/** The same without the checks: an empty text stands for an alternative that says nothing. */
function wordsOf(source: string): readonly string[] {
  if (!source.startsWith("(?:")) return [literalOf(source)];
  const { alternatives, behind } = splitGroup(source);
  return /^[?*{]/.test(behind) ? [""] : alternatives.flatMap(wordsOf);
}

const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|./gs;

/** The alternatives of the group that a source begins with, and what stands behind the group. */
function splitGroup(source: string): { readonly alternatives: readonly string[]; readonly behind: string } {
  const alternatives: string[] = [];
  let depth = 0;
  let start = "(?:".length;
  let at = 0;
  for (const [token] of source.matchAll(TOKEN)) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    const ends = depth === 0;
    if (ends || (depth === 1 && token === "|")) {
      alternatives.push(source.slice(start, at));
      start = at + 1;
    }
    at += token.length;
    if (ends) break;
  }
  return { alternatives, behind: source.slice(at) };
}

/** The letters, digits and `_` that a pattern begins with, in lower case. */
function literalOf(source: string): string {
  const [literal = ""] = /^\w*/.exec(source) ?? [];
  const isOptional = /^[?*{]/.test(source.slice(literal.length));
  return literal.slice(0, isOptional ? -1 : undefined).toLowerCase();
}
