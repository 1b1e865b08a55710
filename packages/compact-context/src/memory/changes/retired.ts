import { analyze } from "../ranking/analyze.ts";
import { fingerprint, itemIdOf } from "./mark.ts";

/** The file in a channel that lists what its memory must not learn again. */
export const RETIRED_FILE = "RETIRED.md";

export type RetiredAs = "superseded" | "invalidated" | "forgotten";

export interface Retired {
  readonly id: string;
  /** The same for texts of the same words, in any order and form. */
  readonly words: string;
  readonly as: RetiredAs;
}

const HEAD = `# Retired

<!-- What the memory held once and must not learn again. A line that is taken out may come back. -->

`;
const ENTRY = /<!-- (m-[a-z0-9-]+) (w-[a-z0-9]+) (superseded|invalidated|forgotten) -->[ \t]*$/gm;
const NEGATIONS = /\b(?:not?|never|none|without|cannot|\w+n['’]t|isnt|dont|doesnt|wont)\b/giu;

/** The entries of the file's text. */
function readRetired(text: string): readonly Retired[] {
  return [...text.matchAll(ENTRY)].map(([, id = "", words = "", as = ""]) => ({
    id,
    words,
    as: as as RetiredAs,
  }));
}

/** The file's text with one more entry; the text of what was forgotten is not in it. */
export function withRetired(
  file: string,
  item: { readonly text: string; readonly as: RetiredAs; readonly date: string; readonly note: string },
): string {
  const { text, as, date, note } = item;
  const said = as === "forgotten" ? "" : `: ${text.replace(/\s+/g, " ")}`;
  const because = note === "" ? "" : ` (${note})`;
  const entry = `- ${date} ${as}${because}${said} <!-- ${itemIdOf(text)} ${wordsOf(text)} ${as} -->\n`;
  const before = file.trim() === "" ? HEAD : file.endsWith("\n") ? file : `${file}\n`;
  return `${before}${entry}`;
}

/** The file's text without the entries for a text: it may be learned again. */
export function withoutRetired(file: string, text: string): string {
  const words = wordsOf(text);
  const isEntry = (line: string): boolean => readRetired(line).some((entry) => entry.words === words);
  return file
    .split("\n")
    .filter((line) => !isEntry(line))
    .join("\n");
}

/** The entry that a text would bring back. */
export function retiredAs(file: string, text: string): Retired | undefined {
  const words = wordsOf(text);
  return readRetired(file).findLast((entry) => entry.words === words);
}

/** A fingerprint of the words that carry a topic and of negations, which the ranking leaves out. */
function wordsOf(text: string): string {
  const negations = (text.match(NEGATIONS) ?? []).length % 2 === 1 ? ["not"] : [];
  const terms = [...new Set([...analyze(text), ...negations])].sort();
  return `w-${fingerprint(terms.length > 1 ? terms.join(" ") : text.toLowerCase().trim(), 12)}`;
}
