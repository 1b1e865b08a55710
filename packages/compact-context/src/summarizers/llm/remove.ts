import type { Unfound } from "./verify.ts";

const PREFIX = /^(\s*(?:[-*>]\s+|\d{1,3}[.)]\s+)?(?:[^,;.`"]{1,40}:\s+)?)(.*)$/;
const SENTENCE_END = /(?<=[.!?。！？])\s+/;
const ITEM_END = /(?<=[,;])\s+/;
const FEWEST_ITEMS = 3;

/**
 * The text without the phrases that make unfound claims: the item of a list, else the sentence, else the line.
 * Headings with nothing left below them go too.
 */
export function removeUnfound(text: string, unfound: readonly Unfound[]): string {
  const byLine = new Map<number, string[]>();
  for (const claim of unfound) byLine.set(claim.line, [...(byLine.get(claim.line) ?? []), claim.text]);
  const lines = text.split("\n").flatMap((line, index) => {
    const claims = byLine.get(index);
    if (claims === undefined) return [line];
    const kept = withoutClaims(line, claims);
    return kept === undefined ? [] : [kept];
  });
  return withoutBareHeadings(lines).join("\n").trim();
}

function withoutClaims(line: string, claims: readonly string[]): string | undefined {
  const [, prefix = "", body = ""] = PREFIX.exec(line) ?? [];
  if (claims.some((claim) => prefix.includes(claim))) return undefined;
  const items = body.split(ITEM_END);
  const isList = items.length >= FEWEST_ITEMS && body.split(SENTENCE_END).length === 1;
  const pieces = isList ? items : body.split(SENTENCE_END);
  const kept = pieces.filter((piece) => !claims.some((claim) => piece.includes(claim)));
  // A claim that spans pieces cannot be cut out of them.
  if (kept.length === 0 || kept.length === pieces.length) return undefined;
  return `${prefix}${kept.join(" ").replace(/[,;]$/, "")}`;
}

function withoutBareHeadings(lines: readonly string[]): string[] {
  return lines.filter((line, index) => {
    const level = headingLevel(line);
    if (level === 0) return true;
    const next = lines.slice(index + 1).find((other) => other.trim() !== "");
    return next !== undefined && (headingLevel(next) === 0 || headingLevel(next) > level);
  });
}

function headingLevel(line: string): number {
  return /^(#{1,6})\s/.exec(line)?.[1]?.length ?? 0;
}
