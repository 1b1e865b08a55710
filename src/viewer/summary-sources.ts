import type { SourceView, SummaryPiece } from "./session-view.ts";

/** A message that a summary may speak of. */
export interface SourceText {
  readonly message?: number;
  readonly archiveId?: string;
  readonly role: string;
  /** Its readable text. */
  readonly text: string;
}

/** Words in a row that are looked up together: three tell most sentences apart. */
const ROW = 3;
/** Shares of a piece's rows that one message must hold. */
const EXACT = 0.9;
const LIKELY = 0.3;
const MOST_SOURCES = 4;
/** Rows that a further message must add: four words of its own in a row. */
const LEAST_GAIN = 2;

/** The summary cut into sentences and lines, each with the messages whose words it repeats. */
export function summaryPieces(summary: string, sources: readonly SourceText[]): SummaryPiece[] {
  const pieces = cut(summary).map((text) => ({ text, kind: kindOf(text), rows: rowsOf(text) }));
  const wanted = new Map<number, number[]>();
  pieces.forEach(({ kind, rows }, index) => {
    if (kind !== "line") return;
    for (const row of rows) wanted.set(row, [...(wanted.get(row) ?? []), index]);
  });
  const found = lookUp(sources, wanted, pieces.length);
  return pieces.map(({ text, kind, rows }, index) => ({
    text,
    kind,
    sources: kind === "line" ? chosen(found[index] ?? new Map(), { rows, text, sources }) : [],
  }));
}

/** Lines, and the sentences in long ones; all together they are the text again. */
function cut(summary: string): string[] {
  return summary.split(/(?<=\n)/).flatMap((line) => {
    if (line.length < 160) return [line];
    return line.split(/(?<=[.!?。！？;][)"'\]]?\s)(?=\S)/u);
  });
}

function kindOf(text: string): SummaryPiece["kind"] {
  if (text.trim() === "") return "blank";
  return /^\s{0,3}#{1,6}\s/.test(text) ? "heading" : "line";
}

/** Who the summary says spoke, and the marks of a quotation: no words of the message itself. */
const OPENING = /^\s*(?:>\s?|[-*]\s|\d+\.\s|\[[^\]]{1,120}\]\s?)*/;

/** Hashes of the words in a row; an ellipsis ends a row, for something was left out there. */
function rowsOf(text: string): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const stretch of text.replace(OPENING, "").split("…")) {
    const words = hashedWords(stretch);
    const length = Math.min(ROW, words.length);
    for (let at = 0; length > 0 && at + length <= words.length; at += 1) {
      rows.add(combined(words, at, length));
    }
  }
  return rows;
}

function hashedWords(text: string): number[] {
  const hashes: number[] = [];
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) hashes.push(hashOf(word));
  return hashes;
}

/** FNV-1a, 32 bits: a row that is taken for another by chance weighs little among many. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function combined(words: readonly number[], at: number, length: number): number {
  let hash = length;
  for (let step = 0; step < length; step += 1) hash = Math.imul(hash ^ (words[at + step] ?? 0), 0x01000193);
  return hash >>> 0;
}

/** For each piece, the rows that each message holds. */
type Found = Map<number, Set<number>>;

function lookUp(
  sources: readonly SourceText[],
  wanted: ReadonlyMap<number, number[]>,
  pieces: number,
): Found[] {
  const found: Found[] = Array.from({ length: pieces }, () => new Map());
  if (wanted.size === 0) return found;
  sources.forEach(({ text }, source) => {
    const words = hashedWords(text);
    for (let at = 0; at < words.length; at += 1) {
      for (let length = 1; length <= ROW && at + length <= words.length; length += 1) {
        const row = combined(words, at, length);
        for (const piece of wanted.get(row) ?? []) {
          const held = found[piece]?.get(source) ?? new Set();
          found[piece]?.set(source, held.add(row));
        }
      }
    }
  });
  return found;
}

interface Piece {
  readonly rows: ReadonlySet<number>;
  readonly text: string;
  readonly sources: readonly SourceText[];
}

/** The message that holds most of it, then those that hold what is missing: a list may come from several. */
function chosen(found: Found, piece: Piece): SourceView[] {
  const candidates = new Map(found);
  const missing = new Set(piece.rows);
  const views: SourceView[] = [];
  while (views.length < MOST_SOURCES) {
    const best = bestOf(candidates, missing, piece);
    if (best === undefined) break;
    const held = candidates.get(best) ?? new Set();
    const share = held.size / piece.rows.size;
    const enough =
      views.length === 0 ? share >= LIKELY : gain(held, missing) >= Math.min(LEAST_GAIN, missing.size);
    if (!enough) break;
    views.push(sourceView(piece.sources[best], share >= EXACT ? "exact" : "likely"));
    candidates.delete(best);
    for (const row of held) missing.delete(row);
  }
  return views;
}

function sourceView(source: SourceText | undefined, match: SourceView["match"]): SourceView {
  const { message, archiveId } = source ?? {};
  return {
    ...(message === undefined ? {} : { message }),
    ...(archiveId === undefined ? {} : { archiveId }),
    match,
  };
}

function gain(held: ReadonlySet<number>, missing: ReadonlySet<number>): number {
  let count = 0;
  for (const row of held) if (missing.has(row)) count += 1;
  return count;
}

/** Most of what is missing; among equals the speaker that the summary names, then the first who said it. */
function bestOf(
  candidates: Found,
  missing: ReadonlySet<number>,
  { text, sources }: Piece,
): number | undefined {
  const speaker = speakerOf(text);
  let best: { readonly source: number; readonly score: number } | undefined;
  for (const [source, held] of candidates) {
    const rows = gain(held, missing);
    const score = rows + (sources[source]?.role === speaker ? 0.5 : 0);
    if (rows > 0 && (best === undefined || score > best.score)) best = { source, score };
  }
  return best?.source;
}

function speakerOf(text: string): string | undefined {
  const [, mark = ""] = /^\s*(>|\[[a-z]+)/.exec(text) ?? [];
  if (mark === ">" || mark === "[user") return "user";
  if (mark === "[assistant" || mark === "[call") return "assistant";
  return mark === "[output" ? "tool" : undefined;
}
