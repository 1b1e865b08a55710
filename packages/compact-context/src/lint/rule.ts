import { jsonText, type Part } from "../core/message.ts";
import { isObject } from "../errors.ts";
import type { Cell } from "./cells.ts";
import type { Entry, ReadList } from "./entries.ts";
import type { LintOptions, RuleInfo } from "./violation.ts";

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
