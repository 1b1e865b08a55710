import type { SourceView, SummaryPiece } from "./session-view.ts";
import { rowsOf, type Source, type SourceIndex } from "./source-index.ts";

/** Shares of a piece's rows that one message must hold. */
const EXACT = 0.9;
const LIKELY = 0.3;
const MOST_SOURCES = 4;
/** Rows that a further message must add: four words of its own in a row. */
const LEAST_GAIN = 2;

/** What a summary may speak of. */
interface Speakable {
  readonly index: SourceIndex;
  /** False for what stands in the index and was never replaced by this summary. */
  has(place: number): boolean;
}

/** The summary cut into sentences and lines, each with the messages whose words it repeats. */
export function summaryPieces(summary: string, speakable: Speakable): SummaryPiece[] {
  return cut(summary).map((text) => {
    const kind = kindOf(text);
    if (kind !== "line") return { text, kind, sources: [] };
    const rows = rowsOf(text.replace(OPENING, ""));
    const { sources } = speakable.index;
    return { text, kind, sources: chosen(lookUp(rows, speakable), { rows, text, sources }) };
  });
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

/** For each message, by its place, the rows that it holds. */
type Found = Map<number, Set<number>>;

function lookUp(rows: ReadonlySet<number>, { index, has }: Speakable): Found {
  const found: Found = new Map();
  for (const row of rows) {
    for (const place of index.holders(row)) {
      if (has(place)) found.set(place, (found.get(place) ?? new Set()).add(row));
    }
  }
  return found;
}

interface Piece {
  readonly rows: ReadonlySet<number>;
  readonly text: string;
  readonly sources: readonly Source[];
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

function sourceView(source: Source | undefined, match: SourceView["match"]): SourceView {
  const { message, archiveId } = source ?? {};
  return { message, archiveId, match };
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
