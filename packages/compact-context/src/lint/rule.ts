import type { NativeObject } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import type { Cell, Entry, ReadList } from "./entries.ts";

// Rules, their findings, and the mends.

export type Severity = "error" | "warning";

/** One violation of a provider's rule. */
export interface Violation {
  /** Stable id, such as `anthropic/result-in-next-message`. */
  readonly rule: string;
  /**
   * `error`: the provider refuses the list or loses content; `warning`: it is accepted, at a cost or with a
   * side effect.
   */
  readonly severity: Severity;
  /** Index of the native entry. */
  readonly index: number;
  /** Path in the list, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly explanation: string;
  /** Page or title of the provider's documentation. */
  readonly link: string;
}

export interface LintOptions {
  /** The model that receives the list; sealed reasoning of other models is then reported. */
  readonly model?: string;
  /**
   * Applies the rules of strict chat templates: alternating roles, one system message first, a user message.
   */
  readonly strict?: boolean;
  /** The list may end with calls that are still being answered. Default: true. */
  readonly pendingAllowed?: boolean;
}

/** Options of a check. */
export interface CheckOptions extends LintOptions {
  /** Surplus images stay: a session removes them itself, after it has archived them. */
  readonly imagesStay?: true;
}

/** One change made by `repair`. */
export interface Mend {
  /** The rule that was broken. */
  readonly rule: string;
  /** Index of the entry in the input list. */
  readonly index: number;
  /** Path of the mended block: `messages[1].content[0]`. */
  readonly path?: string;
  readonly action: "moved" | "merged" | "dropped" | "answered" | "rewritten" | "added";
  readonly explanation: string;
  /** The removed text, so that it is not lost. */
  readonly removed?: string;
  /** The added synthetic result or opening. */
  readonly added?: unknown;
}

export interface Repaired {
  /** A new array; unchanged entries are the caller's own objects. */
  readonly messages: unknown[];
  readonly mends: readonly Mend[];
}

/** A row of the public table of rules. */
export interface RuleInfo {
  readonly id: string;
  readonly formats: readonly Format[];
  readonly severity: Severity;
  readonly explanation: string;
  readonly link: string;
  /** What `repair` does; absent if the rule is only reported. */
  readonly mend?: string;
}

/** One violation of a rule. */
export interface Finding {
  readonly position: number;
  readonly path: string;
  /** The problem at this place. Default: the rule's explanation. */
  readonly problem?: string;
  readonly entry?: Entry;
  /** The invalid block; absent if the whole entry is invalid. */
  readonly cell?: Cell;
  /** Index of the invalid block inside a result. */
  readonly inner?: number;
  /** The type that the entry should have. */
  readonly wanted?: string;
}

export interface Rule extends RuleInfo {
  readonly check: (list: ReadList, options: CheckOptions) => readonly Finding[];
  /**
   * Returns the replacement of the block or entry; undefined drops it. Rules without `fix` are mended by a
   * step of `repair` that reads the whole list.
   */
  readonly fix?: (value: NativeObject, finding: Finding, format: Format) => unknown;
}

/** A rule in a table of rules for the same formats. Default severity: error. */
type Row = Omit<Rule, "formats" | "severity"> & Partial<Pick<Rule, "formats" | "severity">>;

export function rulesOf(formats: readonly Format[], rows: readonly Row[]): Rule[] {
  return rows.map((row) => ({ formats, severity: "error", ...row }));
}

/** The fix for content that is not allowed. */
export const drop = (): undefined => undefined;

/** A finding at an entry. */
export function atEntry(entry: Entry, problem?: string): Finding {
  return at(entry, `messages[${entry.position}]`, problem);
}

/** A finding at a path within an entry. */
export function at(entry: Entry, path: string, problem?: string): Finding {
  return { position: entry.position, path, problem, entry };
}

/** A finding at a block. */
export function atCell(entry: Entry, cell: Cell, problem?: string): Finding {
  return { ...at(entry, cell.path, problem), cell };
}

/** A finding for every cell that matches. */
export function badCells(
  list: ReadList,
  isWrong: (cell: Cell, entry: Entry, index: number) => boolean,
): Finding[] {
  return list.entries.flatMap((entry) =>
    entry.cells.filter((cell, index) => isWrong(cell, entry, index)).map((cell) => atCell(entry, cell)),
  );
}
