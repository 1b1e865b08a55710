import type { Finding } from "./finding.ts";

/** A secret identified by the text around it. */
export interface Place {
  readonly kind: string;
  /** Two capture groups: the text to keep, and the secret; every repetition is bounded. */
  readonly source: string;
  readonly isSecret: (value: string, before: string) => boolean;
  /** Text that must occur, otherwise the pattern cannot match. */
  readonly needs: string;
}

/**
 * A table of places. Each row has, separated by `~>`, the pattern sources of the text before the secret, the
 * secret, and the text after it, then the required text if the row does not start with literal words. A space
 * that does not open a character class means one to eight blanks. Required text must be ASCII: Bun turns
 * other characters of a raw template into escapes, which only patterns interpret.
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

/** Finds the secrets of all places; a pattern is compiled when a text first contains one of its words. */
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
  // Most texts have no match, and `matchAll` starts by copying the pattern.
  if (text.search(pattern) < 0) return [];
  const findings = [...text.matchAll(pattern)].map((match) => findingOf(searched, match));
  return findings.filter((finding) => finding !== undefined);
}

/** The secret of a match, without sentence-ending punctuation. */
function findingOf({ kind, isSecret }: Place, match: RegExpExecArray): Finding | undefined {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:)\]*]+$/, "") : found;
  const start = match.index + before.length;
  return value === "" || !isSecret(value, before) ? undefined : { start, end: start + value.length, kind };
}

// Selects the patterns that can match a text by the words it contains: one pass over the text instead of one
// per pattern (there are sixty, and most start with rare words).

const ASCII = 128;
/** Lower-case letters, digits and `_`; 0 for characters outside of words. */
const FOLDED = new Uint8Array(ASCII);
for (const character of "abcdefghijklmnopqrstuvwxyz0123456789_") {
  FOLDED[character.charCodeAt(0)] = character.charCodeAt(0);
  FOLDED[character.toUpperCase().charCodeAt(0)] = character.charCodeAt(0);
}

function foldedAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < ASCII ? (FOLDED[code] as number) : 0;
}

/** Determines which patterns can match a text. */
interface WordGate {
  /** False for a pattern that can start with anything: it must always be tried. */
  isGated(pattern: number): boolean;
  /** Indexes of the gated patterns that can match. */
  open(text: string): number[];
}

/** A word prefix in lower case, and the patterns that can start with it. */
interface Beginning {
  readonly letters: string;
  readonly patterns: number[];
}

/** `sources` are case-insensitive patterns. */
export function createWordGate(sources: readonly string[]): WordGate {
  const words = sources.map(beginningsOf);
  /** By pattern: the number of the last text that opened it. */
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
 * Word prefixes of at least two characters, one of which starts every match; undefined if an alternative does
 * not start with `\b` and a word. An unmatched closing bracket ends the pattern.
 */
export function beginningsOf(source: string): readonly string[] | undefined {
  if (!source.startsWith("\\b")) return undefined;
  const words = splitGroup(`(?:${source})`).alternatives.flatMap((alternative) =>
    alternative.startsWith("\\b") ? wordsOf(alternative.slice(2)) : [""],
  );
  return words.every((word) => word.length >= 2) ? words : undefined;
}

/** The same without checks; an empty string is an alternative without a literal. */
function wordsOf(source: string): readonly string[] {
  if (!source.startsWith("(?:")) return [literalOf(source)];
  const { alternatives, behind } = splitGroup(source);
  return /^[?*{]/.test(behind) ? [""] : alternatives.flatMap(wordsOf);
}

const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|./gs;

/** The alternatives of the group at the start of a source, and the rest of the source. */
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

/** The leading letters, digits and `_` of a pattern, in lower case. */
function literalOf(source: string): string {
  const [literal = ""] = /^\w*/.exec(source) ?? [];
  const isOptional = /^[?*{]/.test(source.slice(literal.length));
  return literal.slice(0, isOptional ? -1 : undefined).toLowerCase();
}
