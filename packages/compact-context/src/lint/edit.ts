import { codecFor } from "../codecs/formats.ts";
import { copyWith, filled, type NativeObject, objectOf } from "../codecs/native.ts";
import type { Format, Message } from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import {
  blockField,
  type Cell,
  type Entry,
  type ReadList,
  replaceBlocks,
  typeOf,
  wordsOf,
} from "./entries.ts";
import type { PlacedCall, Spot } from "./pairs.ts";
import type { CheckOptions, Mend } from "./rule.ts";

/** An entry of the list under repair. */
export interface Working {
  readonly native: unknown;
  /** Index in the input list; for an added entry, of the entry that caused it. */
  readonly index: number;
}

/** Input of a repair step. */
export interface Workbench {
  readonly list: ReadList;
  /** By position in `list`. */
  readonly working: readonly Working[];
  readonly options: CheckOptions;
}

export interface Change {
  readonly working: readonly Working[];
  readonly mends: readonly Mend[];
}

/** One step of the repair; undefined if there is nothing to mend. */
export type Step = (bench: Workbench) => Change | undefined;

type Placed = Pick<Entry, "position">;

/** Collects a step's changes: entries and blocks that are replaced, dropped, or inserted. */
export interface Editor {
  /** Records a mend of an entry. */
  note(entry: Placed, mend: Omit<Mend, "index">): void;
  /** The entry's index in the input list. */
  indexOf(entry: Placed): number;
  /** Undefined drops it. */
  replace(entry: Placed, native: unknown): void;
  /** Reduces an entry to these cells; drops it if there are none. */
  keep(entry: Entry, cells: readonly Cell[]): void;
  /** Replaces a block; undefined removes it. */
  swap(spot: Spot, value: unknown): void;
  /** The block's current value. */
  valueOf(spot: Spot): unknown;
  /**
   * Inserts after `position` and after earlier insertions there; -1 inserts at the start. `source` is the
   * entry it derives from.
   */
  insertAfter(position: number, native: unknown, source: Placed | undefined): void;
  /** Undefined if nothing was recorded. */
  finish(): Change | undefined;
}

export function createEditor({ working, list: { format } }: Workbench): Editor {
  const replaced = new Map<number, unknown>();
  const inserted = new Map<number, Working[]>();
  const swaps = new Map<Entry, Map<Cell, unknown>>();
  const mends: Mend[] = [];
  const indexOf = (entry: Placed | undefined): number => working[entry?.position ?? -1]?.index ?? 0;
  const replace = (entry: Placed, native: unknown): void => void replaced.set(entry.position, native);
  const keep = (entry: Entry, cells: readonly Cell[]): void =>
    replace(entry, cells.length === 0 ? undefined : entryWith(format, entry, cells));
  return {
    note: (entry, mend) => void mends.push({ ...mend, index: indexOf(entry) }),
    indexOf,
    replace,
    keep,
    swap({ entry, cell }, value) {
      const own = swaps.get(entry) ?? new Map<Cell, unknown>();
      swaps.set(entry, own.set(cell, value));
    },
    valueOf: ({ entry, cell }) => swaps.get(entry)?.get(cell) ?? cell.value,
    insertAfter(position, native, source) {
      const one = { native, index: indexOf(source) };
      inserted.set(position, [...(inserted.get(position) ?? []), one]);
    },
    finish() {
      if (mends.length === 0) return undefined;
      for (const [entry, own] of swaps) {
        const kept = entry.cells.filter((cell) => !own.has(cell) || own.get(cell) !== undefined);
        const values = new Map([...own].map(([cell, value]) => [cell.value, value]));
        if (kept.length < entry.cells.length) keep(entry, kept);
        else replace(entry, replaceBlocks(format, entry.native, values));
      }
      const result = [...(inserted.get(-1) ?? [])];
      for (const [position, one] of working.entries()) {
        const native = replaced.get(position);
        if (!replaced.has(position)) result.push(one);
        else if (native !== undefined) result.push({ ...one, native });
        result.push(...(inserted.get(position) ?? []));
      }
      return { working: result, mends };
    },
  };
}

/** Removes a block from its entry; an empty entry is dropped. */
export function takeOut(editor: Editor, spot: Spot, reason: Pick<Mend, "rule" | "explanation">): void {
  editor.note(spot.entry, { ...reason, action: "dropped", removed: wordsOf(spot.cell.parts) });
  editor.swap(spot, undefined);
}

/** A copy of the entry with these cells. */
export function entryWith(format: Format, entry: Entry, cells: readonly Cell[]): unknown {
  const field = blockField(format, entry.native);
  if (field === undefined) {
    const parts = cells.flatMap((cell) => cell.parts);
    return codecFor(format).encode([{ ...entry.message, parts, edited: true }])[0];
  }
  // Formats that allow both a string and blocks as content use the same type for text blocks.
  const blocks = cells.map(({ value }) =>
    typeof value === "string" ? { type: "text", text: value } : value,
  );
  return copyWith(entry.native, { [field]: blocks });
}

/** The synthetic result of an unanswered call; it claims nothing else. */
export const NO_RESULT = "[no result was recorded: the call was interrupted]";

/** The synthetic opening if the provider requires a user message first. */
const OPENING = "[conversation continues]";

/** The synthetic assistant message between two user messages, for templates that require one. */
export const NO_REPLY = "[no reply was recorded]";

/** An entry that answers the call; undefined for calls that have no synthetic answer. */
export function answerEntry(format: Format, call: PlacedCall): unknown {
  const { value } = call.cell;
  if (format === "openai-responses" || format === "openai-agents") return answerItem(format, value);
  const { name } = call.part;
  // The legacy API pairs by name: its calls and results have no id.
  if (call.cell.path.endsWith(".function_call")) return { role: "function", name, content: NO_RESULT };
  const { timestamp } = call.entry.message.meta ?? {};
  // Gemini's calls need no id: a generated id is not sent.
  const { functionCall, function_call: snake } = objectOf(value);
  const id = format === "gemini" ? (filled(objectOf(functionCall ?? snake).id) ?? "") : call.part.id;
  const answer: Message = defined({
    id: `answer_${id}`,
    role: "tool",
    parts: [{ type: "toolResult", id, name, content: NO_RESULT, isError: true }],
    meta: timestamp === undefined ? undefined : { timestamp },
  });
  return codecFor(format).encode([call.entry.message, answer]).at(-1);
}

/** The result block of that entry, for formats in which results are blocks. */
export function answerBlock(format: Format, call: PlacedCall): unknown {
  const { content, parts } = objectOf(answerEntry(format, call));
  return [content, parts].find(Array.isArray)?.[0];
}

function answerItem(format: Format, value: unknown): unknown {
  if (!isObject(value)) return undefined;
  const type = typeOf(value);
  if (format === "openai-agents" && type === "function_call") {
    const output = { type: "text", text: NO_RESULT };
    const { callId, name } = value;
    return { type: "function_call_result", callId, name, status: "incomplete", output };
  }
  const field = format === "openai-agents" ? "callId" : "call_id";
  const answer = { type: `${type}_output`, [field]: value[field] };
  switch (type) {
    case "function_call":
    case "custom_tool_call":
      return { ...answer, output: NO_RESULT };
    case "local_shell_call":
      return { type: "function_call_output", [field]: value[field], output: NO_RESULT };
    case "apply_patch_call":
      return { ...answer, status: "failed", output: NO_RESULT };
    case "shell_call": {
      const exit = format === "openai-agents" ? { exitCode: 1 } : { exit_code: 1 };
      const outcome = { type: "exit", ...exit };
      return { ...answer, output: [{ stdout: "", stderr: NO_RESULT, outcome }] };
    }
    default:
      return undefined;
  }
}

/** A UI tool part changed from pending to failed. */
export function failedUiCall(value: unknown): unknown {
  if (!isObject(value)) return value;
  const input = value.input ?? value.rawInput ?? {};
  return copyWith(value, { state: "output-error", input, errorText: NO_RESULT });
}

/** An entry for results, still empty. */
export function emptyHost(format: Format): NativeObject {
  if (format === "gemini") return { role: "user", parts: [] };
  return { role: format === "ai-sdk" ? "tool" : "user", content: [] };
}

/** A user entry that opens a conversation. */
export function openingEntry(format: Format): unknown {
  const opening: Message = { id: "opening", role: "user", parts: [{ type: "text", text: OPENING }] };
  return codecFor(format).encode([opening])[0];
}
