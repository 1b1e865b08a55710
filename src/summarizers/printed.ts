import { pieces } from "./lines.ts";
import type { Kept, Selection } from "./select.ts";
import { sentences } from "./text.ts";

/** Counts lines of people's and the assistant's texts that the sections print already as kept, so that nothing is printed twice. */
export function markPrinted(
  selection: Selection,
  kept: Kept,
  sections: readonly string[],
  longest: number,
): void {
  const printed = new Set<string>();
  for (const line of sections) {
    const text = line.replace(/^(?:> |- )/, "");
    for (const piece of [text, ...sentences(text), ...pieces(text, longest)]) printed.add(piece);
  }
  selection.lines.forEach(({ text, source }, position) => {
    if (source === "call" || source === "read" || source === "output") return;
    if (!printed.has(text) && !sentences(text).every((sentence) => printed.has(sentence))) return;
    kept.texts.add(text);
    for (const fact of selection.index.ofLine[position] ?? []) {
      kept.mentions.set(fact, (kept.mentions.get(fact) ?? 0) + 1);
    }
  });
}
