import { shareIn, topicTerms } from "../learning/terms.ts";
import { analyze } from "../ranking/units.ts";
import { fingerprint, itemIdOf } from "./document.ts";

// The channel's list of what its memory must not learn again, and what repeats something of it.

export type RetiredAs = "superseded" | "invalidated" | "forgotten";

/** A text that the memory held until a date, and the item that replaced it. */
export interface Superseded {
  /** Empty for forgotten text. */
  readonly text: string;
  readonly date: string;
  readonly by?: string;
  readonly id: string;
}

/** An entry of the list. */
export interface Retired extends Superseded {
  readonly as: RetiredAs;
  /** Equal for texts with the same words, in any order and form. */
  readonly words: string;
  /** For forgotten text, short fingerprints of its words; many words share one. */
  readonly traces: readonly string[];
}

const HEAD = `# Retired

<!-- What the memory held once and must not learn again. A line that is taken out may come back. -->

`;
const ENTRY =
  /^(.*?)<!-- (m-[a-z0-9-]+) (w-[a-z0-9]+) (superseded|invalidated|forgotten)(?: ([0-9a-v.]+))? -->[ \t]*$/gm;
/** The date, the replacing item, and the text. */
const TOLD = /^- (\d{4}-\d\d-\d\d) [a-z]+(?: \((?:by (m-[a-z0-9-]+))?[^)]*\))?: (.*) $/;
const NEGATIONS = /\b(?:not?|never|none|without|cannot|\w+n['’]t|isnt|dont|doesnt|wont)\b/giu;

/** The entries in the file's text. */
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

/** Superseded and invalidated entries; the file does not have the text of forgotten ones. */
export function supersededIn(text: string): readonly Superseded[] {
  return readRetired(text).filter((entry) => entry.text !== "");
}

/** The file's text with one more entry, which omits the text if it was forgotten. */
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

/** Maximum number of superseded and invalidated entries; forgotten ones are kept forever. */
const MOST_ENTRIES = 500;

function bounded(file: string): string {
  const lines = file.split("\n");
  const old = lines.filter((line) => / (?:superseded|invalidated) -->$/.test(line));
  const gone = new Set(old.slice(0, Math.max(0, old.length - MOST_ENTRIES)));
  return gone.size === 0 ? file : lines.filter((line) => !gone.has(line)).join("\n");
}

/** Share of a forgotten statement's fingerprints from which a text repeats it. */
const TRACED_AGAIN = 0.75;

/** True for texts about what is forgotten. */
export type IsForgotten = (text: string) => boolean;

/** A test for texts that repeat something forgotten, by the list alone. */
export function isForgottenBy(file: string): IsForgotten {
  const all = readRetired(file).filter(({ as, traces }) => as === "forgotten" && traces.length > 0);
  if (all.length === 0) return () => false;
  return (text) => {
    const traces = new Set(tracesOf(text));
    return all.some((entry) => {
      const held = entry.traces.filter((trace) => traces.has(trace)).length;
      return held / entry.traces.length >= (entry.traces.length < 3 ? 1 : TRACED_AGAIN);
    });
  };
}

function tracesOf(text: string): string[] {
  return [...topicTerms(text)].map((term) => fingerprint(term, 3)).sort();
}

/** The file's text without the entries for a text, so that it can be learned again. */
export function withoutRetired(file: string, text: string): string {
  const words = wordsOf(text);
  const isEntry = (line: string): boolean => readRetired(line).some((entry) => entry.words === words);
  return file
    .split("\n")
    .filter((line) => !isEntry(line))
    .join("\n");
}

/** The entry that a text would revive. */
export function retiredAs(file: string, text: string): Retired | undefined {
  const words = wordsOf(text);
  return readRetired(file).findLast((entry) => entry.words === words);
}

/** A fingerprint of the topic words and of negations, which the ranking ignores. */
function wordsOf(text: string): string {
  const negations = (text.match(NEGATIONS) ?? []).length % 2 === 1 ? ["not"] : [];
  const terms = [...new Set([...analyze(text), ...negations])].sort();
  return `w-${fingerprint(terms.length > 1 ? terms.join(" ") : text.toLowerCase().trim(), 12)}`;
}

/** Minimum share of a forgotten statement's words for another text to repeat it. */
const TOLD_AGAIN = 0.6;

/** A test for texts that repeat one of the `statements` or contain all words of one of the `topics`. */
export function forgottenBy(statements: readonly string[], topics: readonly string[]): IsForgotten {
  // Ids of sections contain the words of their headings without punctuation: `tilda-fernhill-example`.
  const told = statements
    .flatMap((text) => [topicTerms(text), topicTerms(text.replace(/[^\p{L}\p{N}]+/gu, " "))])
    .filter(({ size }) => size > 0);
  const named = topics.map(topicTerms).filter(({ size }) => size > 0);
  return (text) => {
    const terms = topicTerms(text);
    return (
      named.some((topic) => shareIn(topic, terms) === 1) ||
      told.some((statement) => shareIn(statement, terms) >= (statement.size < 3 ? 1 : TOLD_AGAIN))
    );
  };
}
