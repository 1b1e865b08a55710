import { type Finder, type Finding, REDACTED, type Span } from "./finding.ts";

// Private keys, complete or truncated, and text that arrives in parts, where a key or another secret may
// continue in the next part.

const LABEL = "(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)";
const BEGIN = new RegExp(`-----BEGIN ${LABEL}-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----`, "g");
const END = new RegExp(`-----END ${LABEL}-----|---- END SSH2 ENCRYPTED PRIVATE KEY ----`, "g");
const LINE_END =
  "(?:\\s|\\\\{1,4}[nrt]|\\\\\\r?\\n|[\"'],?\\s{0,20}\\+?\\s{0,20}[\"']|[>|#*+-] |(?<=\\n)(?:[\\w./-]{1,120}[:-])?[ ]{0,8}\\d{1,6}(?:[:|→-]|\\t)[ ]?){0,12}";
// The body of a key without an end: header lines, then base64 lines, with real or escaped line ends.
const CUT_OFF = new RegExp(
  `(?:${LINE_END}(?:[A-Za-z-]{4,20}: [^\\n\\\\]{1,80}|[A-Za-z0-9+/=]{16,5000}))*(?:${LINE_END}[A-Za-z0-9+/=]{1,80}$)?`,
  "y",
);
const PUTTY = /Private-Lines: \d{1,4}\r?\n((?:[A-Za-z0-9+/=]{1,100}\r?\n?)+)/g;
const KIND = "private-key";
const LONGEST_HEAD = 16_384;
const LONGEST_BODY = 65_536;

/** Bodies of PEM, SSH2 and PuTTY private keys, even without begin or end line; frame lines are kept. */
export function findPrivateKeys(text: string): Finding[] {
  const putty = [...text.matchAll(PUTTY)].map(({ index, 0: whole, 1: body = "" }) => ({
    start: index + whole.length - body.length,
    end: index + whole.length,
    kind: KIND,
  }));
  if (!text.includes("----")) return putty;
  const begins = positionsOf(BEGIN, text);
  const ends = positionsOf(END, text);
  return [...putty, ...bodies(text, begins, ends), ...headless(text, begins, ends)];
}

/** True if a key begins in the text and does not end. */
function endsInsideKey(text: string): boolean {
  if (!text.includes("----")) return false;
  const begin = positionsOf(BEGIN, text).at(-1);
  const end = positionsOf(END, text).at(-1);
  return begin !== undefined && (end === undefined || end.start < begin.start);
}

/** Characters at the start that continue a key from the preceding text; 0 if none do. */
function continuedKey(text: string): number {
  END.lastIndex = 0;
  const end = END.exec(text);
  if (end !== null && /^[A-Za-z0-9+/=\s\\]*$/.test(text.slice(0, end.index))) return end.index;
  // The rest of the truncated line comes first; if the text is a single word, it may be prose.
  const rest = /^[A-Za-z0-9+/=]{1,80}(?=\s|\\|$)/.exec(text)?.[0].length ?? 0;
  const length = cutOffEnd(text, rest, text.length);
  return length > rest || rest >= 16 ? length : 0;
}

function bodies(text: string, begins: readonly Span[], ends: readonly Span[]): Finding[] {
  let nextEnd = 0;
  return begins.flatMap((begin, index) => {
    while ((ends[nextEnd]?.start ?? Number.POSITIVE_INFINITY) < begin.end) nextEnd++;
    const end = ends[nextEnd]?.start ?? text.length + 1;
    const nextBegin = begins[index + 1]?.start ?? text.length;
    const bodyEnd = end <= nextBegin ? end : cutOffEnd(text, begin.end, nextBegin);
    const body = text.slice(begin.end, bodyEnd);
    // Manuals show a frame with dots in it.
    if (!/[A-Za-z0-9+/]{8}/.test(body) || body.trim() === REDACTED) return [];
    return [{ start: begin.end, end: bodyEnd, kind: KIND }];
  });
}

/** Keys whose beginning is missing: base64 lines before an end line that has no begin line. */
function headless(text: string, begins: readonly Span[], ends: readonly Span[]): Finding[] {
  let nextBegin = 0;
  let floor = 0;
  return ends.flatMap((end) => {
    let opened = false;
    for (; (begins[nextBegin]?.start ?? Number.POSITIVE_INFINITY) < end.start; nextBegin++) opened = true;
    const start = opened ? end.start : headStart(text, end.start, Math.max(floor, end.start - LONGEST_HEAD));
    floor = end.end;
    return end.start - start < 16 ? [] : [{ start, end: end.start, kind: KIND }];
  });
}

function headStart(text: string, end: number, floor: number): number {
  let at = end;
  while (at > floor && /[A-Za-z0-9+/=\s\\]/.test(text.charAt(at - 1))) at--;
  const run = text.slice(at, end);
  // Excludes the words of a sentence before the key.
  const first = /[A-Za-z0-9+/=]{24,}|[A-Za-z0-9+/=]{4,}\s*$/.exec(run);
  return first === null ? end : at + first.index;
}

function cutOffEnd(text: string, start: number, limit: number): number {
  CUT_OFF.lastIndex = 0;
  const rest = text.slice(start, Math.min(limit, start + LONGEST_BODY));
  return start + (CUT_OFF.exec(rest)?.[0].length ?? 0);
}

function positionsOf(pattern: RegExp, text: string): Span[] {
  return [...text.matchAll(pattern)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}

const BLOCK = 262_144;
/** A longer line or a longer unterminated key is split. */
const LONGEST_BLOCK = 16_777_216;

/** Redacts a long text that arrives in chunks, with bounded memory. */
export interface BlockRedactor {
  /** Returns the text that is final so far; the rest is buffered. */
  push(chunk: string): string;
  end(): string;
}

/**
 * Processes blocks of whole lines, about 256 K characters each, never split inside a private key. Does not
 * find a secret whose name is on the last line of one block and whose value is on the first line of the next.
 * Text shorter than a block is redacted as a whole.
 */
export function createBlockRedactor(redactText: (text: string) => string): BlockRedactor {
  let waiting = "";
  return {
    push(chunk) {
      waiting += chunk;
      if (waiting.length < BLOCK) return "";
      const cut = waiting.length > LONGEST_BLOCK ? waiting.length : waiting.lastIndexOf("\n") + 1;
      const block = waiting.slice(0, cut);
      if (cut === 0 || (endsInsideKey(block) && waiting.length <= LONGEST_BLOCK)) return "";
      waiting = waiting.slice(cut);
      return redactText(block);
    },
    end() {
      const rest = waiting;
      waiting = "";
      return rest === "" ? "" : redactText(rest);
    },
  };
}

// Longer words are split; private keys are followed at any length.
const WINDOW = 4096;
/** Characters around a split word that are searched for its name or quotes. */
const NEARBY = 400;

/**
 * Redacts secrets that span two adjacent items, as in a stream split into parts: strings, or objects with a
 * `text` or `thinking` string. Only checked if the split is inside a word or a private key continues.
 */
export function withoutSplitSecrets(items: readonly unknown[], find: Finder): readonly unknown[] {
  const texts = items.map(textOf);
  const changed = new Map<number, string>();
  let inside = false;
  for (const [index, text] of texts.entries()) {
    if (text === undefined) continue;
    const continued: number = inside ? continuedKey(text) : 0;
    if (continued > 0) changed.set(index, REDACTED + text.slice(continued));
    inside = goesOn(text, continued);
    if (!inside) cutShared(changed, texts, index, find);
  }
  return changed.size === 0 ? items : items.map((item, index) => withText(item, changed.get(index)));
}

/** True if a key is still open after this text, whose first `continued` characters belong to one. */
function goesOn(text: string, continued: number): boolean {
  return (continued > 0 && continued >= text.trimEnd().length) || endsInsideKey(text);
}

/** Takes out a secret that stands in both the text at `index` and the next one. */
function cutShared(
  changed: Map<number, string>,
  texts: readonly (string | undefined)[],
  index: number,
  find: Finder,
): void {
  const text = texts[index] ?? "";
  const next = texts[index + 1] ?? "";
  const first = text.slice(-WINDOW).split(/\s/).at(-1) ?? "";
  const [second = ""] = /^\S{1,4096}/.exec(next) ?? [];
  if (first === "" || second === "") return;
  const tail = text.slice(-first.length - NEARBY);
  const cut = tail.length;
  for (const { start, end } of find(tail + next.slice(0, second.length + NEARBY))) {
    if (start > cut || end <= cut) continue;
    const before = changed.get(index) ?? text;
    if (start < cut && before.endsWith(tail))
      changed.set(index, before.slice(0, before.length - (cut - start)) + REDACTED);
    changed.set(index + 1, REDACTED + next.slice(end - cut));
    return;
  }
}

function textOf(item: unknown): string | undefined {
  if (typeof item === "string") return item;
  if (typeof item !== "object" || item === null) return undefined;
  if ("text" in item && typeof item.text === "string") return item.text;
  return "thinking" in item && typeof item.thinking === "string" ? item.thinking : undefined;
}

function withText(item: unknown, text: string | undefined): unknown {
  if (text === undefined) return item;
  if (typeof item === "string") return text;
  const held = item as { readonly text?: unknown };
  return typeof held.text === "string" ? { ...held, text } : { ...held, thinking: text };
}
