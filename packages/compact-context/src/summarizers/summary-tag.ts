const OPENING = /^\s*<COMPACT-SUMMARY v(\d{1,9})>[ \t]*\r?\n?/;
const CLOSING = "</COMPACT-SUMMARY>";
const FORGED = /<(?=\s{0,8}\/?\s{0,8}COMPACT-SUMMARY)/gi;

/** The line that a summary message starts with, such as `<COMPACT-SUMMARY v3>`. */
export function summaryTag(version: number): string {
  return `<COMPACT-SUMMARY v${version}>`;
}

/** Text in which no summary tag can open or close: `<COMPACT-SUMMARY` becomes `<\COMPACT-SUMMARY`; applying it twice changes nothing. */
export function escapeSummaryTags(text: string): string {
  return text.replace(FORGED, "<\\");
}

/** The whole text of a summary message; tags inside `text` are escaped first. */
export function wrapSummary(text: string, version: number): string {
  return `${summaryTag(version)}\n${escapeSummaryTags(text)}\n${CLOSING}`;
}

/** Version and inner text of a message that starts with a summary tag; undefined for every other text. */
export function readSummary(messageText: string): { version: number; text: string } | undefined {
  const opening = OPENING.exec(messageText);
  if (opening === null) return undefined;
  const body = messageText.slice(opening[0].length).trimEnd();
  const text = body.endsWith(CLOSING) ? body.slice(0, -CLOSING.length).trimEnd() : body;
  return { version: Number(opening[1]), text };
}
