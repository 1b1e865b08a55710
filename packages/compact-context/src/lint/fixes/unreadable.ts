import { copyWith, filled } from "../../codecs/native.ts";
import { jsonText } from "../../core/message.ts";
import { isObject } from "../../errors.ts";
import { type Change, createEditor, type Step, type Workbench } from "../edit.ts";
import type { Fault } from "../entries.ts";

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
