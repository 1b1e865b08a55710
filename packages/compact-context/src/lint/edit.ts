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
import type { PlacedCall } from "./pairs.ts";
import type { LintOptions, Mend } from "./rule.ts";

/** An entry on its way to the repaired list. */
export interface Working {
  readonly native: unknown;
  /** Index in the list that came in; of the entry that caused it, for one that was added. */
  readonly index: number;
}

/** What a step of the repair looks at. */
export interface Workbench {
  readonly list: ReadList;
  /** By position in `list`. */
  readonly working: readonly Working[];
  readonly options: LintOptions;
}

export interface Change {
  readonly working: readonly Working[];
  readonly mends: readonly Mend[];
}

/** One step of the repair; undefined when it finds nothing to mend. */
export type Step = (bench: Workbench) => Change | undefined;

/** Collects what a step does to a list: entries are replaced, dropped, or put in behind others. */
export interface Editor {
  readonly mends: Mend[];
  /** The index that an entry had in the list that came in. */
  indexAt(position: number): number;
  /** Undefined drops it. */
  replace(position: number, native: unknown): void;
  drop(position: number): void;
  /** Behind `position`, after what was put there before; -1 is the beginning. */
  insertAfter(position: number, working: Working): void;
  /** The entry as it is now, for moving it. */
  at(position: number): Working;
  finish(): Change | undefined;
}

export function createEditor({ working }: Workbench): Editor {
  const replaced = new Map<number, unknown>();
  const dropped = new Set<number>();
  const inserted = new Map<number, Working[]>();
  const mends: Mend[] = [];
  const indexAt = (position: number): number => working[position]?.index ?? 0;
  const at = (position: number): Working => {
    const native = replaced.has(position) ? replaced.get(position) : working[position]?.native;
    return { native, index: indexAt(position) };
  };
  return {
    mends,
    indexAt,
    at,
    replace(position, native) {
      if (native === undefined) dropped.add(position);
      else replaced.set(position, native);
    },
    drop: (position) => dropped.add(position),
    insertAfter(position, one) {
      inserted.set(position, [...(inserted.get(position) ?? []), one]);
    },
    finish() {
      if (mends.length === 0) return undefined;
      const result = [...(inserted.get(-1) ?? [])];
      working.forEach((one, position) => {
        if (!dropped.has(position)) result.push(replaced.has(position) ? at(position) : one);
        result.push(...(inserted.get(position) ?? []));
      });
      return { working: result, mends };
    },
  };
}

/** Which cells go, with the rule that says so and the reason. */
export interface Removal {
  readonly entry: Entry;
  readonly cell: Cell;
  readonly rule: string;
  readonly explanation: string;
}

/** Takes cells out of their entries; an entry of which nothing is left goes too. */
export function removeCells(bench: Workbench, removals: readonly Removal[]): Change | undefined {
  const editor = createEditor(bench);
  const gone = new Set(removals.map((removal) => removal.cell));
  for (const { entry, cell, rule, explanation } of removals) {
    const removed = wordsOf(cell.parts);
    editor.mends.push({
      rule,
      index: editor.indexAt(entry.position),
      action: "dropped",
      explanation,
      removed,
    });
  }
  for (const entry of new Set(removals.map((removal) => removal.entry))) {
    const kept = entry.cells.filter((cell) => !gone.has(cell));
    keepCells(editor, bench.list.format, entry, kept);
  }
  return editor.finish();
}

/** Leaves an entry with these cells only, or drops it when there are none. */
export function keepCells(editor: Editor, format: Format, entry: Entry, cells: readonly Cell[]): void {
  const native = cells.length === 0 ? undefined : entryWith(format, entry, cells);
  editor.replace(entry.position, native);
}

/** A copy of the entry that holds these cells. */
export function entryWith(format: Format, entry: Entry, cells: readonly Cell[]): unknown {
  const field = blockField(format, entry.native);
  if (field === undefined) {
    const parts = cells.flatMap((cell) => cell.parts);
    return codecFor(format).encode([{ ...entry.message, parts, edited: true }])[0];
  }
  const blocks = cells.map((cell) => (typeof cell.value === "string" ? textBlock(cell.value) : cell.value));
  return copyWith(entry.native, { [field]: blocks });
}

/** The formats that write a whole content as text and also keep blocks call a text block the same. */
function textBlock(text: string): unknown {
  return { type: "text", text };
}

/** Puts other blocks into the places of old ones. */
export function replaceCells(
  editor: Editor,
  format: Format,
  entry: Entry,
  replaced: ReadonlyMap<unknown, unknown>,
): void {
  editor.replace(entry.position, replaceBlocks(format, entry.native, replaced));
}

/** What a call is answered with that never was: it claims nothing but that. */
export const NO_RESULT = "[no result was recorded: the call was interrupted]";

/** What opens a conversation where the provider demands that the user begins. */
const OPENING = "[conversation continues]";

/** What stands between two user messages where the template wants the assistant to have spoken. */
export const NO_REPLY = "[no reply was recorded]";

/** A block that answers the call, for formats in which results are blocks of an entry. */
export function answerBlock(format: Format, call: PlacedCall): unknown {
  const { id, name } = call.part;
  if (format === "anthropic")
    return { type: "tool_result", tool_use_id: id, content: NO_RESULT, is_error: true };
  if (format === "ai-sdk")
    return {
      type: "tool-result",
      toolCallId: id,
      toolName: name,
      output: { type: "error-text", value: NO_RESULT },
    };
  const block = objectOf(call.cell.value);
  const own = filled(objectOf(block.functionCall ?? block.function_call).id);
  const named = own === undefined ? { name } : { id: own, name };
  return { functionResponse: { ...named, response: { error: NO_RESULT } } };
}

/** A whole entry that answers the call; undefined for calls whose answer nobody can make up. */
export function answerEntry(format: Format, call: PlacedCall): unknown {
  const { value } = call.cell;
  if (format === "openai-responses" || format === "openai-agents") return answerItem(format, value);
  const { timestamp } = call.entry.message.meta ?? {};
  const { id, name } = call.part;
  const answer: Message = defined({
    id: `answer_${id}`,
    role: "tool",
    parts: [{ type: "toolResult", id, name, content: NO_RESULT, isError: true }],
    meta: timestamp === undefined ? undefined : { timestamp },
  });
  return codecFor(format).encode([call.entry.message, answer]).at(-1);
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

/** A part of the interface's messages that failed instead of waiting on. */
export function failedUiCall(value: unknown): unknown {
  if (!isObject(value)) return value;
  const input = value.input ?? value.rawInput ?? {};
  return copyWith(value, { state: "output-error", input, errorText: NO_RESULT });
}

/** An entry in which results stand, without any yet. */
export function emptyHost(format: Format): NativeObject {
  if (format === "gemini") return { role: "user", parts: [] };
  return { role: format === "ai-sdk" ? "tool" : "user", content: [] };
}

/** A user entry that opens a conversation. */
export function openingEntry(format: Format): unknown {
  return format === "gemini"
    ? { role: "user", parts: [{ text: OPENING }] }
    : { role: "user", content: OPENING };
}
