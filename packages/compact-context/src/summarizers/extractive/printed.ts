import { readConversation } from "./conversation.ts";
import type { Evidence } from "./evidence.ts";
import { factsIn } from "./facts.ts";
import { pieces, readLines } from "./lines.ts";
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

/** Counts what the reader sees beside the summary as kept: a fact that stands there is told again only where little else is. */
export function markStaying({ lines, index, cut }: Selection, kept: Kept, longest: number): void {
  const mention = (fact: Evidence): void => {
    kept.mentions.set(fact, (kept.mentions.get(fact) ?? 0) + 1);
  };
  lines.forEach((line, position) => {
    if (line.stays !== true) return;
    kept.texts.add(line.text);
    for (const fact of index.ofLine[position] ?? []) mention(fact);
  });
  for (const { text } of readLines(readConversation(cut), longest)) {
    kept.texts.add(text);
    for (const { key } of factsIn(text)) {
      const fact = index.byKey.get(key);
      if (fact !== undefined) mention(fact);
    }
  }
}
