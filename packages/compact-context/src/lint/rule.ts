import type { NativeObject } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import type { Cell, Entry, ReadList } from "./entries.ts";

// What a rule is, what it finds in a list, and what becomes of that.

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
  /** True unless said otherwise: the list may end with calls that are still being answered. */
  readonly pendingAllowed?: boolean;
}

/** One change that `repair` made. */
export interface Mend {
  /** The rule that was broken. */
  readonly rule: string;
  /** Index of the entry in the list that came in. */
  readonly index: number;
  /** Where one block of that entry was mended: `messages[1].content[0]`. */
  readonly path?: string;
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

/** One place where a rule is broken. */
export interface Finding {
  readonly position: number;
  readonly path: string;
  /** What is wrong at this place; the rule's own explanation when left out. */
  readonly problem?: string;
  readonly entry?: Entry;
  /** The block that is wrong; absent where it is the entry. */
  readonly cell?: Cell;
  /** Index of the block inside of a result that is wrong. */
  readonly inner?: number;
  /** What the type of the entry would have to be. */
  readonly wanted?: string;
}

export interface Rule extends RuleInfo {
  readonly check: (list: ReadList, options: LintOptions) => readonly Finding[];
  /**
   * What stands in the place of the block or entry from now on; undefined where it goes. Rules without it are mended by
   * a step of `repair` that looks at the whole list.
   */
  readonly fix?: (value: NativeObject, finding: Finding, format: Format) => unknown;
}

/** A rule of a table whose rules are all of the same formats; an error unless it says otherwise. */
type Row = Omit<Rule, "formats" | "severity"> & Partial<Pick<Rule, "formats" | "severity">>;

export function rulesOf(formats: readonly Format[], rows: readonly Row[]): Rule[] {
  return rows.map((row) => ({ formats, severity: "error", ...row }));
}

/** The fix of what has no place in a list. */
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

/** A finding for every cell that `isWrong`. */
export function badCells(
  list: ReadList,
  isWrong: (cell: Cell, entry: Entry, index: number) => boolean,
): Finding[] {
  return list.entries.flatMap((entry) =>
    entry.cells.filter((cell, index) => isWrong(cell, entry, index)).map((cell) => atCell(entry, cell)),
  );
}
