import { copyWith, filled } from "../../codecs/native.ts";
import { jsonText } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import {
  type Change,
  createEditor,
  type Removal,
  removeCells,
  replaceCells,
  type Step,
  type Workbench,
} from "../edit.ts";
import { type Cell, type Entry, type Fault, isBlankText, typeOf, wordsOf } from "../entries.ts";
import {
  isEmptyMessage,
  isLateThinking,
  isUnsigned,
  lacksServerPartner,
  spacedEnd,
  surplusMarks,
} from "../rules/anthropic.ts";
import { isBound, lacksInputObject, lacksReadableArguments, withReadableInput } from "../rules/generic.ts";
import { isForeignInTool, lonelyApprovals } from "../rules/hosts.ts";
import { danglingReasoning, isEmptyCompaction, saysNothing } from "../rules/openai.ts";

type Reason = Pick<Removal, "rule" | "explanation">;

/** Drops blocks that are refused for themselves. */
export const dropRefusedBlocks: Step = (bench) => {
  const reasonFor = REFUSED[bench.list.format];
  if (reasonFor === undefined) return undefined;
  const reason = reasonFor(bench);
  return removeCells(
    bench,
    bench.list.entries.flatMap((entry) =>
      entry.cells.flatMap((cell) => {
        const found = reason(cell, entry);
        return found === undefined ? [] : [{ entry, cell, ...found }];
      }),
    ),
  );
};

type ReasonFor = (bench: Workbench) => (cell: Cell, entry: Entry) => Reason | undefined;

const REFUSED: Partial<Record<Workbench["list"]["format"], ReasonFor>> = {
  anthropic:
    ({ list }) =>
    (cell, entry) => {
      if (typeOf(cell.value) === "text" && isBlankText(cell.value))
        return { rule: "anthropic/empty-text", explanation: "an empty text block" };
      if (isUnsigned(cell))
        return { rule: "anthropic/thinking-signature", explanation: "thinking without its signature" };
      if (isLateThinking(cell, entry))
        return { rule: "anthropic/thinking-first", explanation: "thinking behind what it led to" };
      return lacksServerPartner(list, entry, cell)
        ? { rule: "anthropic/server-tool-pair", explanation: "half of a server tool's work" }
        : undefined;
    },
  "ai-sdk": ({ list }) => {
    const lonely = new Set(lonelyApprovals(list));
    return (cell, entry) => {
      if (lonely.has(cell))
        return { rule: "ai-sdk/approval-pair", explanation: "an approval without its partner" };
      return isForeignInTool(cell, entry)
        ? { rule: "ai-sdk/tool-message-holds-results", explanation: "a part that is no result" }
        : undefined;
    };
  },
};

/** Drops entries that say nothing, or that lead to nothing. */
export const dropEmptyEntries: Step = (bench) => {
  const { list } = bench;
  const editor = createEditor(bench);
  const dangling = new Set(/^openai-(responses|agents)$/.test(list.format) ? danglingReasoning(list) : []);
  for (const entry of list.entries) {
    const reason = emptyReason(bench, entry, dangling);
    if (reason === undefined) continue;
    const removed = wordsOf(entry.message.parts);
    editor.mends.push({ ...reason, index: editor.indexAt(entry.position), action: "dropped", removed });
    editor.drop(entry.position);
  }
  return editor.finish();
};

function emptyReason({ list }: Workbench, entry: Entry, dangling: ReadonlySet<Entry>): Reason | undefined {
  const { format } = list;
  if (format === "openai-chat" && saysNothing(entry))
    return { rule: "openai-chat/null-content", explanation: "a message without content" };
  if (format === "anthropic" && isEmptyMessage(entry, list))
    return { rule: "anthropic/empty-message", explanation: "an empty message" };
  if (format === "gemini" && entry.cells.length === 0)
    return { rule: "gemini/empty-parts", explanation: "a content without parts" };
  if (dangling.has(entry))
    return { rule: "items/reasoning-followed", explanation: "reasoning without what it led to" };
  const isItem = format === "openai-responses" || format === "openai-agents";
  return isItem && isEmptyCompaction(entry.native)
    ? { rule: "items/compaction-sealed", explanation: "a compaction without content" }
    : undefined;
}

/** Gives calls of aborted answers an input that can be read. */
export const mendInputs: Step = (bench) => {
  const { format, entries } = bench.list;
  const editor = createEditor(bench);
  for (const entry of entries) {
    const swaps = new Map<unknown, unknown>();
    for (const cell of entry.cells) {
      const isText = lacksReadableArguments(cell) && OPENAI.test(format);
      if (!isText && !lacksInputObject(format, cell)) continue;
      swaps.set(cell.value, withReadableInput(format, cell.value));
      const rule = isText ? "generic/arguments-json" : "generic/input-object";
      const index = editor.indexAt(entry.position);
      editor.mends.push({ rule, index, action: "rewritten", explanation: "an input that can be read" });
    }
    if (swaps.size > 0) replaceCells(editor, format, entry, swaps);
  }
  return editor.finish();
};

const OPENAI = /^openai-/;

/** Takes surplus cache marks off, oldest first, and whitespace off the end. */
export const trimBlocks: Step = (bench) => {
  const { list } = bench;
  if (list.format !== "anthropic") return undefined;
  const editor = createEditor(bench);
  const byEntry = new Map<Entry, Map<unknown, unknown>>();
  const put = (entry: Entry, cell: Cell, value: unknown, reason: Reason): void => {
    const swaps = byEntry.get(entry) ?? new Map<unknown, unknown>();
    byEntry.set(entry, swaps.set(cell.value, value));
    editor.mends.push({ ...reason, index: editor.indexAt(entry.position), action: "rewritten" });
  };
  for (const { entry, cell } of surplusMarks(list)) {
    const value = isObject(cell.value) ? copyWith(cell.value, { cache_control: undefined }) : cell.value;
    put(entry, cell, value, { rule: "anthropic/cache-marks", explanation: "a cache mark too many" });
  }
  const spaced = spacedEnd(list);
  if (spaced !== undefined && byEntry.size === 0)
    put(spaced.entry, spaced.cell, withoutTrailingSpace(spaced.cell.value), {
      rule: "anthropic/trailing-whitespace",
      explanation: "whitespace at the end of the last message",
    });
  for (const [entry, swaps] of byEntry) replaceCells(editor, list.format, entry, swaps);
  return editor.finish();
};

function withoutTrailingSpace(value: unknown): unknown {
  if (typeof value === "string") return value.trimEnd();
  return isObject(value) && typeof value.text === "string" ? { ...value, text: value.text.trimEnd() } : value;
}

/** Drops bound reasoning in and behind the entry at `from`. */
export function dropBound(bench: Workbench, from: number): Change | undefined {
  const behind = bench.list.entries.filter((entry) => entry.position >= from);
  return removeCells(
    bench,
    behind.flatMap((entry) =>
      entry.cells.filter(isBound).map((cell) => {
        const explanation = "reasoning behind an edited prefix";
        return { entry, cell, rule: "reasoning/edited-prefix", explanation };
      }),
    ),
  );
}

/** Drops what cannot be read: the one block where the path names it, else the whole entry. */
export const dropUnreadable: Step = (bench: Workbench): Change | undefined => {
  const editor = createEditor(bench);
  for (const fault of bench.list.faults) {
    const { position, path, problem } = fault;
    const rest = withoutBlock(fault);
    editor.mends.push({
      rule: path.endsWith(".role") ? "generic/unknown-role" : "generic/unreadable-entry",
      index: editor.indexAt(position),
      action: "dropped",
      explanation: `${path} ${problem}`,
      removed: jsonText(rest === undefined ? fault.native : rest.block),
    });
    if (rest === undefined) editor.drop(position);
    else editor.replace(position, rest.native);
  }
  return editor.finish();
};

/** Blocks around the one that cannot be read are worth keeping. */
function withoutBlock({
  native,
  path,
}: Fault): { readonly native: unknown; readonly block: unknown } | undefined {
  const [, field, index] = /^messages\[\d+\]\.(content|parts|tool_calls)\[(\d+)\]/.exec(path) ?? [];
  if (field === undefined || !isObject(native)) return undefined;
  const blocks = native[field];
  if (!Array.isArray(blocks)) return undefined;
  const rest = blocks.toSpliced(Number(index), 1);
  const isSpoken = field === "tool_calls" && filled(native.content) !== undefined;
  if (rest.length === 0 && !isSpoken) return undefined;
  return {
    native: copyWith(native, { [field]: rest.length === 0 ? undefined : rest }),
    block: blocks[Number(index)],
  };
}
