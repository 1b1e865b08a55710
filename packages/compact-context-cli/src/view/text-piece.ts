import type { ExpandedView } from "./session-view.ts";

/** Most characters that one answer carries. */
const PIECE = 20_000;

/** The stretch of a text from an offset on, and where to go on; no character is cut in two. */
export function expandedPiece(
  text: string,
  offset: number,
): Pick<ExpandedView, "text" | "offset" | "characters" | "next"> {
  const from = Math.min(offset, text.length);
  const piece = text.slice(from, from + PIECE).replace(/(?<=.)[\ud800-\udbff]$/s, "");
  const end = from + piece.length;
  return { text: piece, offset: from, characters: text.length, next: end < text.length ? end : undefined };
}
