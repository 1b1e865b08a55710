/** Characters `start` to `end` of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A secret in a text: characters `start` to `end`, and its kind, such as `private-key` or `token:GitHub`. */
export interface Finding extends Span {
  readonly kind: string;
}

/** The replacement for a secret. */
export const REDACTED = "<REDACTED>";

/** A redaction layer: its findings in a text, in any order, possibly overlapping. */
export type Finder = (text: string) => Iterable<Finding>;

/** Sorts findings by position and merges overlapping ones; a merged finding has the kind of the first. */
export function joinFindings(findings: readonly Finding[]): Finding[] {
  const joined: Finding[] = [];
  for (const finding of findings.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = joined.at(-1);
    if (last === undefined || finding.start >= last.end) joined.push(finding);
    else if (finding.end > last.end) joined[joined.length - 1] = { ...last, end: finding.end };
  }
  return joined;
}

/** Replaces every finding in the text; `findings` must come from `joinFindings`. */
export function replaceFindings(text: string, findings: readonly Finding[]): string {
  if (findings.length === 0) return text;
  const pieces: string[] = [];
  let copied = 0;
  for (const { start, end } of findings) {
    pieces.push(text.slice(copied, start), REDACTED);
    copied = end;
  }
  pieces.push(text.slice(copied));
  return pieces.join("");
}

/** The positions of the replacements in the output of `replaceFindings`. */
export function replacements(findings: readonly Finding[]): Span[] {
  let shift = 0;
  return findings.map(({ start, end }) => {
    const at = start + shift;
    shift += REDACTED.length - (end - start);
    return { start: at, end: at + REDACTED.length };
  });
}

/** Context characters on either side; longer than any bounded pattern can match. */
const REACH = 10_000;

/**
 * The findings in the lines around some places of a text whose other parts were searched before. Undefined if
 * a finding may extend beyond those lines: the whole text must then be searched.
 */
export function findAround(
  text: string,
  places: readonly Span[],
  find: (part: string) => readonly Finding[],
): Finding[] | undefined {
  const found: Finding[] = [];
  for (const { start, end } of linesAround(text, places)) {
    for (const finding of find(text.slice(start, end))) {
      const moved = { ...finding, start: finding.start + start, end: finding.end + start };
      const goesOn = (moved.start === start && start > 0) || (moved.end === end && end < text.length);
      if (goesOn) return undefined;
      found.push(moved);
    }
  }
  return found;
}

/** Whole lines that contain each place and its context, in order and merged; `places` must be sorted. */
function linesAround(text: string, places: readonly Span[]): Span[] {
  const parts: { start: number; end: number }[] = [];
  for (const place of places) {
    const last = parts.at(-1);
    if (last !== undefined && place.end + REACH <= last.end) continue;
    const newline = text.indexOf("\n", place.end + REACH);
    const end = newline === -1 ? text.length : newline;
    if (last !== undefined && place.start - REACH <= last.end) last.end = end;
    else
      parts.push({ start: place.start <= REACH ? 0 : text.lastIndexOf("\n", place.start - REACH) + 1, end });
  }
  return parts;
}

// Findings from a table of places.

/** A secret identified by the text around it. */
export interface Place {
  readonly kind: string;
  /** Two capture groups: the text to keep, and the secret; every repetition is bounded. */
  readonly source: string;
  readonly isSecret: (value: string, before: string) => boolean;
  /** Text that must occur, otherwise the pattern cannot match. */
  readonly needs: string;
}

/** Finds the secrets of all places; a pattern is compiled when a text first contains one of its words. */
export function createPlaceFinder(table: readonly Place[]): Finder {
  const patterns: RegExp[] = [];
  const select = createWordGate(table.map(({ source }) => source.slice(1)));
  return (text) =>
    [...select(text)].flatMap((index) => {
      const place = table[index] as Place;
      if (!text.includes(place.needs)) return [];
      patterns[index] ??= new RegExp(place.source, "gi");
      const pattern = patterns[index];
      // Most texts have no match, and `matchAll` starts by copying the pattern.
      return text.search(pattern) < 0
        ? []
        : [...text.matchAll(pattern)].flatMap((match) => findingOf(place, match));
    });
}

/** The secret of a match, without sentence-ending punctuation. */
function findingOf({ kind, isSecret }: Place, match: RegExpExecArray): Finding[] {
  const [, before = "", found = ""] = match;
  const value = kind === "prose" ? found.replace(/[.,;:)\]*]+$/, "") : found;
  const start = match.index + before.length;
  return value === "" || !isSecret(value, before) ? [] : [{ start, end: start + value.length, kind }];
}

const ASCII = 128;
/** Lower-case letters, digits and `_`; 0 for characters outside of words. */
const FOLDED = Uint8Array.from({ length: ASCII }, (_, code) => {
  const character = String.fromCharCode(code);
  return /\w/.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

/** A word, or its beginning, and a pattern whose matches can start with it. */
interface Beginning {
  readonly word: string;
  readonly pattern: number;
}

/**
 * Selects the patterns that can match a text by the words it contains: one pass over the text instead of one
 * per pattern (there are over a hundred, and most start with rare words). Gives their indexes, with those of
 * the patterns that can start with anything.
 */
export function createWordGate(sources: readonly string[]): (text: string) => ReadonlySet<number> {
  const free: number[] = [];
  /** By the first two characters of a word: the words, and the patterns that can start with them. */
  const byTwo: Beginning[][] = [];
  for (const [pattern, source] of sources.entries()) {
    const words = beginningsOf(source);
    if (words === undefined) free.push(pattern);
    for (const word of words ?? []) {
      const code = word.charCodeAt(0) * ASCII + word.charCodeAt(1);
      byTwo[code] = [...(byTwo[code] ?? []), { word, pattern }];
    }
  }
  return (text) => {
    const open = new Set<number>();
    let before = 0;
    let letter = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      const next = code < ASCII ? (FOLDED[code] as number) : 0;
      const words = before === 0 && letter !== 0 ? byTwo[letter * ASCII + next] : undefined;
      if (words !== undefined) addOpened(open, words, text, at - 1);
      before = letter;
      letter = next;
    }
    for (const pattern of free) open.add(pattern);
    return open;
  };
}

function addOpened(open: Set<number>, words: readonly Beginning[], text: string, at: number): void {
  for (const { word, pattern } of words)
    if (!open.has(pattern) && standsAt(text, at, word)) open.add(pattern);
}

function standsAt(text: string, at: number, word: string): boolean {
  for (let index = 2; index < word.length; index += 1) {
    const code = text.charCodeAt(at + index);
    if (code >= ASCII || FOLDED[code] !== word.charCodeAt(index)) return false;
  }
  return true;
}

/**
 * Word prefixes of at least two characters, in lower case, one of which starts every match of a pattern that
 * ignores case; undefined if an alternative does not start with `\b` and a word. An unmatched closing bracket
 * ends the pattern.
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
