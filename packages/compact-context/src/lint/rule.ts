import { copyWith, type NativeObject } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { type Cell, type Entry, entryWith, type ReadList, replaceBlocks, wordsOf } from "./entries.ts";
import type { Spot } from "./pairs.ts";

// Rules, what they find, and the edits that mend it.

/** One violation of a provider's rule. */
export interface Violation {
  /** Stable id, such as `anthropic/result-in-next-message`. */
  readonly rule: string;
  /**
   * `error`: the provider refuses the list or loses content; `warning`: it is accepted, at a cost or with a
   * side effect.
   */
  readonly severity: "error" | "warning";
  /** Index of the native entry. */
  readonly index: number;
  /** Path in the list, such as `messages[3].content[0]`. */
  readonly path: string;
  readonly explanation: string;
  /** Page or title of the provider's documentation. */
  readonly link: string;
}

/** What was done about a finding. */
export interface Done {
  readonly action: "moved" | "merged" | "dropped" | "answered" | "rewritten" | "added";
  /** Default: what was wrong. */
  readonly explanation?: string;
  /** The removed text, or the JSON of a removed image, so that it is not lost. */
  readonly removed?: string;
  /** The added synthetic result or opening. */
  readonly added?: unknown;
}

/** One change made by `repair`. */
export interface Mend extends Done {
  /** The rule that was broken. */
  readonly rule: string;
  /** Index of the entry in the input list. */
  readonly index: number;
  /** Path of the mended block: `messages[1].content[0]`. */
  readonly path?: string;
  readonly explanation: string;
}

/** A row of the public table of rules. */
export interface RuleInfo {
  readonly id: string;
  readonly formats: readonly Format[];
  readonly severity: Violation["severity"];
  readonly explanation: string;
  readonly link: string;
  /** What `repair` does; absent if the rule is only reported. */
  readonly mend?: string;
}

export type Fix = (editor: Editor) => Done;

/** One violation of a rule. */
export interface Finding {
  readonly position: number;
  readonly path: string;
  /** The problem at this place. Default: the rule's explanation. */
  readonly problem?: string;
  /** Absent if it is only reported, or if it may disappear with the mend of another finding. */
  readonly fix?: Fix;
}

export interface Rule extends RuleInfo {
  readonly check: (list: ReadList) => readonly Finding[];
}

/** A rule in a table of rules for the same formats. Default severity: error. */
type Row = Omit<Rule, "formats" | "severity"> & Partial<Pick<Rule, "formats" | "severity">>;

export function rulesOf(formats: readonly Format[], rows: readonly Row[]): Rule[] {
  return rows.map((row) => ({ formats, severity: "error", ...row }));
}

// ---- findings

export function atEntry(entry: Entry, problem?: string, fix?: Fix): Finding {
  return at(entry, `messages[${entry.position}]`, problem, fix);
}

/** A finding at a path within an entry. */
export function at({ position }: Entry, path: string, problem?: string, fix?: Fix): Finding {
  return { position, path, problem, fix };
}

export function atSpot({ entry, cell }: Spot, problem?: string, fix?: Fix): Finding {
  return at(entry, cell.path, problem, fix);
}

/** Whether a block is wrong, by its entry, its index in it, and the next entry. */
type IsWrong = (cell: Cell, entry: Entry, index: number, next: Entry | undefined) => boolean;

export function spotsIn({ entries }: ReadList, isWrong: IsWrong): Spot[] {
  return entries.flatMap((entry, at) =>
    entry.cells
      .filter((cell, index) => isWrong(cell, entry, index, entries[at + 1]))
      .map((cell) => ({ entry, cell })),
  );
}

export function badCells(list: ReadList, isWrong: IsWrong, fixOf?: (spot: Spot) => Fix): Finding[] {
  return spotsIn(list, isWrong).map((spot) => atSpot(spot, undefined, fixOf?.(spot)));
}

/** A finding for every entry that matches, by itself and the next one. */
export function badEntries(
  { entries }: ReadList,
  isWrong: (entry: Entry, next: Entry | undefined) => boolean,
  fixOf?: (entry: Entry) => Fix,
): Finding[] {
  return entries
    .filter((entry, index) => isWrong(entry, entries[index + 1]))
    .map((entry) => atEntry(entry, undefined, fixOf?.(entry)));
}

/** The fix that removes a block; an empty entry is dropped. */
export function drop(spot: Spot): Fix {
  return rewrite(() => undefined)(spot);
}

export function dropEntry(entry: Entry): Fix {
  return (editor) => {
    editor.replace(entry, undefined);
    return { action: "dropped", removed: wordsOf(entry.message.parts) };
  };
}

/** The fix that changes a block; undefined removes it. */
export function rewrite(change: (value: NativeObject) => unknown): (spot: Spot) => Fix {
  return (spot) => (editor) => {
    // Several images of one result are separate findings.
    const value = change(editor.valueOf(spot) as NativeObject);
    editor.swap(spot, value);
    return value === undefined
      ? { action: "dropped", removed: wordsOf(spot.cell.parts) }
      : { action: "rewritten" };
  };
}

export function changeFields(entry: Entry, changes: NativeObject): Fix {
  return (editor) => {
    editor.replace(entry, copyWith(entry.native, changes));
    return { action: "rewritten" };
  };
}

// ---- edits

type Placed = Pick<Entry, "position">;

export interface Working {
  readonly native: unknown;
  /** Index in the input list; for an added entry, of the entry that caused it. */
  readonly index: number;
}

/** The edits of one step: entries and blocks that are replaced, dropped, or inserted. */
export class Editor {
  readonly #format: Format;
  readonly #replaced = new Map<number, unknown>();
  readonly #inserted = new Map<number, { native: unknown; source: Placed }[]>();
  readonly #kept = new Map<Entry, readonly Cell[]>();
  readonly #swaps = new Map<Entry, Map<unknown, unknown>>();
  readonly #done = new Map<object, unknown>();

  constructor(format: Format) {
    this.#format = format;
  }

  /** Undefined drops it. */
  replace(entry: Placed, native: unknown): void {
    this.#replaced.set(entry.position, native);
  }

  /** The entry's blocks, as far as they are kept. */
  cellsOf(entry: Entry): readonly Cell[] {
    return this.#kept.get(entry) ?? entry.cells;
  }

  /** Reduces an entry to these blocks; drops it if there are none. */
  keep(entry: Entry, cells: readonly Cell[]): void {
    this.#kept.set(entry, cells);
  }

  /** The block's current value. */
  valueOf({ entry, cell }: Spot): unknown {
    return this.#swaps.get(entry)?.get(cell.value) ?? cell.value;
  }

  /** Replaces a block; undefined removes it. */
  swap({ entry, cell }: Spot, value: unknown): void {
    if (value === undefined) {
      const rest = this.cellsOf(entry).filter((one) => one !== cell);
      this.keep(entry, rest);
    } else {
      const own = this.#swaps.get(entry) ?? new Map<unknown, unknown>();
      this.#swaps.set(entry, own.set(cell.value, value));
    }
  }

  /**
   * Inserts after `position` and after earlier insertions there; -1 inserts at the start. `source` is the
   * entry it derives from.
   */
  insertAfter(position: number, native: unknown, source: Placed): void {
    this.#inserted.set(position, [...(this.#inserted.get(position) ?? []), { native, source }]);
  }

  /** The result of work that several findings share. */
  once<T>(key: object, work: () => T): T {
    if (!this.#done.has(key)) this.#done.set(key, work());
    return this.#done.get(key) as T;
  }

  apply(working: readonly Working[]): Working[] {
    for (const [entry, values] of this.#swaps)
      this.replace(entry, replaceBlocks(this.#format, entry.native, values));
    for (const [entry, cells] of this.#kept)
      this.replace(entry, cells.length === 0 ? undefined : entryWith(this.#format, entry, cells));
    const insertedAt = (position: number): Working[] =>
      (this.#inserted.get(position) ?? []).map(({ native, source }) => {
        return { native, index: working[source.position]?.index ?? 0 };
      });
    const edited = working.flatMap((one, position) => {
      const native = this.#replaced.get(position);
      if (!this.#replaced.has(position)) return [one, ...insertedAt(position)];
      return [...(native === undefined ? [] : [{ ...one, native }]), ...insertedAt(position)];
    });
    return [...insertedAt(-1), ...edited];
  }
}
