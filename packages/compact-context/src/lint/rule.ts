import { type Format, jsonText, type Part } from "../core/message.ts";
import { isObject } from "../errors.ts";
import type { Cell, Entry, ReadList } from "./entries.ts";

/** One place where a rule is broken. */
export interface Finding {
  readonly position: number;
  readonly path: string;
  /** What is wrong at this place; the rule's own explanation when left out. */
  readonly problem?: string;
}

export interface Rule extends RuleInfo {
  readonly check: (list: ReadList, options: LintOptions) => readonly Finding[];
}

/** A finding at an entry. */
export function atEntry(entry: Entry, problem?: string): Finding {
  return at(entry, `messages[${entry.position}]`, problem);
}

/** A finding at a path within an entry. */
export function at(entry: Entry, path: string, problem?: string): Finding {
  return { position: entry.position, path, problem };
}

/** A finding for every cell that `isWrong`. */
export function badCells(
  list: ReadList,
  isWrong: (cell: Cell, entry: Entry, index: number) => boolean,
): Finding[] {
  return list.entries.flatMap((entry) =>
    entry.cells.filter((cell, index) => isWrong(cell, entry, index)).map((cell) => at(entry, cell.path)),
  );
}

/** The `type` of a block, or "" when it has none. */
export function typeOf(value: unknown): string {
  return isObject(value) && typeof value.type === "string" ? value.type : "";
}

/** True for an entry of system text. */
export function isSystem({ message }: Entry): boolean {
  return message.role === "system" || message.role === "developer";
}

/** True for a string, or a text block, that says nothing. */
export function isBlankText(value: unknown): boolean {
  const text = isObject(value) ? (value.type === "text" ? value.text : undefined) : value;
  return typeof text === "string" && text.trim() === "";
}

/** The words of parts, for the record of what was taken out. */
export function wordsOf(parts: readonly Part[]): string {
  return parts.map(words).join("\n");
}

function words(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "toolCall":
      return `${part.name}(${jsonText(part.arguments)})`;
    case "media":
      return `[${part.mediaType}]`;
    case "toolResult":
      return jsonText(part.content);
  }
}

export type Severity = "error" | "warning";

/** One rule of a provider that a list breaks. */
export interface Violation {
  /** Stable id, such as `anthropic/result-in-next-message`. */
  readonly rule: string;
  /** `error`: the provider refuses the list or loses something; `warning`: it is accepted, but costs or surprises. */
  readonly severity: Severity;
  /** Index of the native entry. */
  readonly index: number;
  /** Where in the list, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly explanation: string;
  /** Page or title of the provider's own document. */
  readonly link: string;
}

export interface LintOptions {
  /** The model that the list is to be sent to; sealed reasoning of another one is then reported. */
  readonly model?: string;
  /** Hold to what strict chat templates demand: alternating roles, one system message first, a user message. */
  readonly strict?: boolean;
  /** The model checks that reasoning comes back behind the very prefix it was made for. */
  readonly thinkingBound?: boolean;
  /** Index of the first entry that differs from what the provider saw; for `thinkingBound`. */
  readonly editedAt?: number;
  /** True unless said otherwise: the list may end with calls that are still being answered. */
  readonly pendingAllowed?: boolean;
}

/** One change that `repair` made. */
export interface Mend {
  /** The rule that was broken. */
  readonly rule: string;
  /** Index of the entry in the list that came in. */
  readonly index: number;
  readonly action: "moved" | "merged" | "dropped" | "answered" | "rewritten" | "added";
  readonly explanation: string;
  /** The text of what was taken out, so that it is not lost. */
  readonly removed?: string;
  /** What was put in and nobody said: a synthetic result or opening. */
  readonly added?: unknown;
}

export interface Repaired {
  /** A new array; entries that needed no change are the caller's own objects. */
  readonly messages: unknown[];
  readonly mends: readonly Mend[];
  /** Index in `messages` from which on they differ from the list that came in; for `LintOptions.editedAt`. */
  readonly editedAt?: number;
}

/** What the table of rules says of one. */
export interface RuleInfo {
  readonly id: string;
  readonly formats: readonly Format[];
  readonly severity: Severity;
  readonly explanation: string;
  readonly link: string;
  /** What `repair` does about it; absent when it can only be reported. */
  readonly mend?: string;
}
