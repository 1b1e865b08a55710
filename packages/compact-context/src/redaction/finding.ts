import { continuedKey, endsInsideKey } from "./private-keys.ts";
import { type Finding, REDACTED } from "./secrets.ts";

/** Characters `start` to `end` of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A layer of redaction: what it finds in a text, in any order, overlaps allowed. */
export type Finder = (text: string) => Iterable<Finding>;

/** In order of place, overlapping ones joined under the kind of the first. */
export function joinFindings(findings: readonly Finding[]): Finding[] {
  const joined: Finding[] = [];
  for (const finding of findings.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    const last = joined.at(-1);
    if (last === undefined || finding.start >= last.end) joined.push(finding);
    else if (finding.end > last.end) joined[joined.length - 1] = { ...last, end: finding.end };
  }
  return joined;
}

/** The text with every finding replaced; `findings` as `joinFindings` gives them. */
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

/** Where `replaceFindings` put something, in the text that it gives. */
export function replacements(findings: readonly Finding[]): Span[] {
  let shift = 0;
  return findings.map(({ start, end }) => {
    const at = start + shift;
    shift += REDACTED.length - (end - start);
    return { start: at, end: at + REDACTED.length };
  });
}

// Tokens and passwords are shorter; private keys are followed however long they are.
const WINDOW = 4096;

/**
 * The items with secrets taken out that two neighbours share, as when a stream was cut into parts: strings, and
 * objects with a `text` or `thinking` string. Only where the cut is inside a word, or a private key goes on.
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
    if (!inside) cutShared(changed, { index, text, next: texts[index + 1] ?? "" }, find);
  }
  return changed.size === 0 ? items : items.map((item, index) => withText(item, changed.get(index)));
}

/** A key is still open behind this text, of which the first `continued` characters belong to one. */
function goesOn(text: string, continued: number): boolean {
  return (continued > 0 && continued >= text.trimEnd().length) || endsInsideKey(text);
}

interface Neighbours {
  readonly index: number;
  readonly text: string;
  readonly next: string;
}

function cutShared(changed: Map<number, string>, { index, text, next }: Neighbours, find: Finder): void {
  if (!/\S$/.test(text.slice(-1)) || !/^\S/.test(next)) return;
  const tail = text.slice(-WINDOW);
  const cut = tail.length;
  for (const { start, end } of find(tail + next.slice(0, WINDOW))) {
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

/** Characters on either side: more than any bounded pattern reaches. */
const REACH = 10_000;

/**
 * What `find` finds in the lines around places of a text, of which all else was searched before. Undefined where a
 * finding may go on beyond those lines: the whole has to be searched then.
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

/** Whole lines that hold every place with its surroundings, in order, none twice; `places` are in order too. */
function linesAround(text: string, places: readonly Span[]): Span[] {
  const parts: { start: number; end: number }[] = [];
  for (const place of places) {
    const last = parts.at(-1);
    if (last !== undefined && place.end + REACH <= last.end) continue;
    const newline = text.indexOf("\n", place.end + REACH);
    const end = newline === -1 ? text.length : newline;
    if (last !== undefined && place.start - REACH <= last.end) last.end = end;
    else parts.push({ start: lineStart(text, place.start - REACH), end });
  }
  return parts;
}

function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf("\n", at) + 1;
}
