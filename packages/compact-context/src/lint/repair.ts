import { codecFor } from "../codecs/formats.ts";
import { copyWith, filled, type NativeObject, readNative } from "../codecs/native.ts";
import { type Format, jsonText } from "../core/message.ts";
import { isObject, requireList, requireOptions } from "../errors.ts";
import { type Change, createEditor, type Editor, type Step, type Workbench, type Working } from "./edit.ts";
import { type Cell, type Entry, type Fault, readEntries, wordsOf } from "./entries.ts";
import {
  alternate,
  fillIds,
  liftSystem,
  mendIds,
  mergeSystem,
  openWithUser,
  partTwins,
  renameReusedCalls,
} from "./identities.ts";
import { rulesFor } from "./lint.ts";
import { dropPartnerless, gatherResults, placeResultEntries } from "./results.ts";
import type { CheckOptions, LintOptions, Mend, Repaired, Rule } from "./rule.ts";

/** Ordered so that each step prepares for the next. */
const STEPS: readonly Step[] = [
  dropUnreadable,
  partTwins,
  fillIds,
  dropPartnerless,
  mendIds,
  renameReusedCalls,
  placeResultEntries,
  gatherResults,
  fixEach,
  liftSystem,
  mergeSystem,
  openWithUser,
  alternate,
];

/** Far more rounds than any list has needed; a guard against mends that undo each other. */
const MOST_ROUNDS = 100;

/**
 * Mends everything that can be mended without inventing content, and reports the mends. A valid list returns
 * the same objects and no mends. Throws `UnknownFormat` for an unknown format.
 */
export function repair(list: readonly unknown[], format: Format, options: LintOptions = {}): Repaired {
  codecFor(format);
  requireList(list);
  requireOptions(options);
  return readNative("messages", () => mended(list, format, options));
}

/** `repair` without checks of its arguments. */
export function mended(list: readonly unknown[], format: Format, options: CheckOptions): Repaired {
  let bench = workbench(
    format,
    options,
    list.map((native, index) => ({ native, index })),
  );
  const mends: Mend[] = [];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const change = firstChange(bench);
    if (change === undefined) break;
    mends.push(...change.mends);
    bench = workbench(format, options, change.working);
  }
  return {
    messages: bench.working.map((one) => one.native),
    mends: mends.toSorted((a, b) => a.index - b.index),
  };
}

function workbench(format: Format, options: CheckOptions, working: readonly Working[]): Workbench {
  return {
    list: readEntries(
      working.map((one) => one.native),
      format,
    ),
    working,
    options,
  };
}

function firstChange(bench: Workbench): Change | undefined {
  for (const step of STEPS) {
    const change = step(bench);
    if (change !== undefined) return change;
  }
  return undefined;
}

/** Applies the fix of the first broken rule that has one. */
function fixEach(bench: Workbench): Change | undefined {
  for (const rule of rulesFor(bench.list.format)) {
    const change = rule.fix === undefined ? undefined : fixed(bench, rule, rule.fix);
    if (change !== undefined) return change;
  }
  return undefined;
}

function fixed(bench: Workbench, rule: Rule, fix: NonNullable<Rule["fix"]>): Change | undefined {
  const { list, options } = bench;
  const editor = createEditor(bench);
  for (const finding of rule.check(list, options)) {
    const { entry, cell, problem } = finding;
    if (entry === undefined) continue;
    const spot = cell && { entry, cell };
    // Several images of one result are separate findings.
    const before = spot === undefined ? entry.native : editor.valueOf(spot);
    const after = fix(before as NativeObject, finding, list.format);
    if (spot === undefined) editor.replace(entry, after);
    else editor.swap(spot, after);
    const reason = {
      rule: rule.id,
      explanation: problem ?? rule.explanation,
      ...blockPath(editor, entry, cell),
    };
    if (after !== undefined) editor.note(entry, { ...reason, action: "rewritten" });
    else
      editor.note(entry, { ...reason, action: "dropped", removed: wordsOf((cell ?? entry.message).parts) });
  }
  return editor.finish();
}

/** The block's path in the input list; empty for a whole entry. */
function blockPath(editor: Editor, entry: Entry, cell: Cell | undefined): Pick<Mend, "path"> {
  if (cell === undefined) return {};
  return { path: cell.path.replace(/^messages\[\d+\]/, `messages[${editor.indexOf(entry)}]`) };
}

/** Drops unreadable content: the block that the path names, otherwise the whole entry. */
function dropUnreadable(bench: Workbench): Change | undefined {
  const editor = createEditor(bench);
  for (const fault of bench.list.faults) {
    const { path, problem } = fault;
    const rest = withoutBlock(fault);
    editor.note(fault, {
      rule: path.endsWith(".role") ? "generic/unknown-role" : "generic/unreadable-entry",
      action: "dropped",
      explanation: `${path} ${problem}`,
      removed: jsonText(rest === undefined ? fault.native : rest.block),
    });
    editor.replace(fault, rest?.native);
  }
  return editor.finish();
}

/** The entry without its unreadable block, and the block. */
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
