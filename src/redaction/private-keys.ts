import { REDACTED } from "./secret-names.ts";

const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
// What a key without its end is made of: header lines, then lines of base64, with real or escaped line ends.
const CUT_OFF = /(?:(?:\s|\\[nr]){0,8}(?:[A-Za-z-]{4,20}: [^\n\\]{1,80}|[A-Za-z0-9+/=]{16,100}))*/y;

/** Replaces the body of PEM private keys, also of keys whose end is missing; the BEGIN and END lines stay. */
export function redactPrivateKeys(text: string): string {
  const begins = positionsOf(BEGIN, text);
  if (begins.length === 0) return text;
  const ends = positionsOf(END, text);
  const pieces: string[] = [];
  let copied = 0;
  let nextEnd = 0;
  begins.forEach((begin, index) => {
    while ((ends[nextEnd]?.start ?? Number.POSITIVE_INFINITY) < begin.end) nextEnd++;
    const end = ends[nextEnd]?.start ?? text.length + 1;
    const nextBegin = begins[index + 1]?.start ?? text.length;
    const bodyEnd = end <= nextBegin ? end : cutOffEnd(text, begin.end, nextBegin);
    const body = text.slice(begin.end, bodyEnd);
    if (body.trim() === "" || body === REDACTED) return;
    pieces.push(text.slice(copied, begin.end), REDACTED);
    copied = bodyEnd;
  });
  return pieces.join("") + text.slice(copied);
}

function cutOffEnd(text: string, start: number, limit: number): number {
  CUT_OFF.lastIndex = start;
  return Math.min(limit, start + (CUT_OFF.exec(text)?.[0].length ?? 0));
}

function positionsOf(pattern: RegExp, text: string): { start: number; end: number }[] {
  return [...text.matchAll(pattern)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}
