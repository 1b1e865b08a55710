import type { Finder } from "./finding.ts";
import { continuedKey, endsInsideKey } from "./private-keys.ts";
import { REDACTED } from "./secret-names.ts";

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
