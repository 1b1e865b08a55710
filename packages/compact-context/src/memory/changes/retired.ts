import { topicTerms } from "../learning/terms.ts";
import { analyze } from "../ranking/units.ts";
import { fingerprint, itemIdOf } from "./document.ts";

/** The file in a channel that lists what its memory must not learn again. */
export const RETIRED_FILE = "RETIRED.md";

export type RetiredAs = "superseded" | "invalidated" | "forgotten";

/** What the memory held until a day, and the item that took its place. */
export interface Superseded {
  /** Empty for what was forgotten. */
  readonly text: string;
  readonly date: string;
  readonly by?: string;
  readonly id: string;
}

/** A line of the list. */
export interface Retired extends Superseded {
  readonly as: RetiredAs;
  /** The same for texts of the same words, in any order and form. */
  readonly words: string;
  /** Of what was forgotten, short fingerprints of its words: many words have the same. */
  readonly traces: readonly string[];
}

const HEAD = `# Retired

<!-- What the memory held once and must not learn again. A line that is taken out may come back. -->

`;
const ENTRY =
  /^(.*?)<!-- (m-[a-z0-9-]+) (w-[a-z0-9]+) (superseded|invalidated|forgotten)(?: ([0-9a-v.]+))? -->[ \t]*$/gm;
/** The day, the item that took its place, and the text. */
const TOLD = /^- (\d{4}-\d\d-\d\d) [a-z]+(?: \((?:by (m-[a-z0-9-]+))?[^)]*\))?: (.*) $/;
const NEGATIONS = /\b(?:not?|never|none|without|cannot|\w+n['’]t|isnt|dont|doesnt|wont)\b/giu;

/** The entries of the file's text. */
function readRetired(text: string): readonly Retired[] {
  return [...text.matchAll(ENTRY)].map(([, line = "", id = "", words = "", as = "", traces = ""]) => {
    const [, date = "", by, said = ""] = TOLD.exec(line) ?? [];
    return {
      id,
      words,
      as: as as RetiredAs,
      traces: traces === "" ? [] : traces.split("."),
      date,
      by,
      text: said,
    };
  });
}

/** What was superseded or taken back; the text of what was forgotten is not in the file. */
export function supersededIn(text: string): readonly Superseded[] {
  return readRetired(text).filter((entry) => entry.text !== "");
}

/** The file's text with one more entry; the text of what was forgotten is not in it. */
export function withRetired(
  file: string,
  text: string,
  { as, time, note }: { readonly as: RetiredAs; readonly time: string; readonly note: string },
): string {
  const said = as === "forgotten" ? "" : `: ${text.replace(/\s+/g, " ")}`;
  const because = note === "" ? "" : ` (${note})`;
  const traces = as === "forgotten" ? ` ${tracesOf(text).join(".")}` : "";
  const entry = `- ${time.slice(0, 10)} ${as}${because}${said} <!-- ${itemIdOf(text)} ${wordsOf(text)} ${as}${traces} -->\n`;
  const before = file.trim() === "" ? HEAD : file.endsWith("\n") ? file : `${file}\n`;
  return bounded(`${before}${entry}`);
}

/** So many entries of what was superseded or invalidated are kept; what was forgotten stays forgotten. */
const MOST_ENTRIES = 500;

function bounded(file: string): string {
  const lines = file.split("\n");
  const old = lines.filter((line) => / (?:superseded|invalidated) -->$/.test(line));
  const gone = new Set(old.slice(0, Math.max(0, old.length - MOST_ENTRIES)));
  return gone.size === 0 ? file : lines.filter((line) => !gone.has(line)).join("\n");
}

/** Share of a forgotten statement's words, by their fingerprints, that tells it again. */
const TOLD_AGAIN = 0.75;

/** Tells statements again that were forgotten, by the list alone. */
export function isForgottenBy(file: string): (text: string) => boolean {
  const all = readRetired(file).filter(({ as, traces }) => as === "forgotten" && traces.length > 0);
  if (all.length === 0) return () => false;
  return (text) => {
    const traces = new Set(tracesOf(text));
    return all.some((entry) => {
      const held = entry.traces.filter((trace) => traces.has(trace)).length;
      return held / entry.traces.length >= (entry.traces.length < 3 ? 1 : TOLD_AGAIN);
    });
  };
}

function tracesOf(text: string): string[] {
  return [...topicTerms(text)].map((term) => fingerprint(term, 3)).sort();
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
