import type { UnfoundClaim } from "../../core/ports.ts";
import { clipEnd, oneLine } from "../extractive/text.ts";

/** Heads the claims of a summary that its source does not hold. */
export const UNFOUND_HEADING = "## Not found in the records";

const MOST = 16;
const LONGEST = 160;

/** The lines that warn the reader of claims that were not found, in at most `room` tokens. */
export function unfoundLines(
  unfound: readonly UnfoundClaim[],
  room: number,
  countText: (text: string) => number,
): string[] {
  const texts = [...new Set(unfound.map((claim) => clipEnd(oneLine(claim.text), LONGEST)))].slice(0, MOST);
  const lines: string[] = [];
  let left = room - countText(`${UNFOUND_HEADING}\n`);
  for (const text of texts) {
    const cost = countText(`- ${text}\n`);
    if (cost > left) break;
    left -= cost;
    lines.push(`- ${text}`);
  }
  return lines.length === 0 ? [] : [UNFOUND_HEADING, ...lines];
}
