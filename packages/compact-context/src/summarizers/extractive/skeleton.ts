import { type Kept, keepLine, type Purse, type Selection } from "./select.ts";

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Keeps the newest texts and calls, newest part first, each up to `characters`; tool output is passed over. Stops when the purse is empty. */
export function keepSkeleton(selection: Selection, kept: Kept, purse: Purse, characters: number): void {
  for (let end = selection.lines.length; end > 0; ) {
    const span = partBefore(selection, end);
    const source = selection.lines[span.start]?.source;
    const told = selection.lines[span.start]?.stays !== true;
    const speaks = source === "assistant" || source === "user" || source === "call";
    if (told && speaks && !keepPart(span, selection, kept, { purse, characters })) return;
    end = span.start;
  }
}

function partBefore(selection: Selection, end: number): Span {
  const part = selection.lines[end - 1]?.part;
  let start = end - 1;
  while (start > 0 && selection.lines[start - 1]?.part === part) start -= 1;
  return { start, end };
}

function keepPart(
  span: Span,
  selection: Selection,
  kept: Kept,
  limit: { readonly purse: Purse; readonly characters: number },
): boolean {
  let read = 0;
  for (let position = span.start; position < span.end; position += 1) {
    const text = selection.lines[position]?.text ?? "";
    read += text.length + 1;
    if (read > limit.characters && position > span.start) return true;
    if (kept.texts.has(text)) continue;
    if (!keepLine(position, selection, kept, limit.purse)) return false;
  }
  return true;
}
