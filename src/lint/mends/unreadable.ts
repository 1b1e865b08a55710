import { copyWith, isObject, jsonText } from "../../messages/native.ts";
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
  if (!Array.isArray(blocks) || blocks.length < 2) return undefined;
  return {
    native: copyWith(native, { [field]: blocks.toSpliced(Number(index), 1) }),
    block: blocks[Number(index)],
  };
}
