import { answerBlock, emptyHost } from "../answers.ts";
import type { Cell } from "../cells.ts";
import { createEditor, type Editor, entryWith, keepCells, type Step, type Workbench } from "../edit.ts";
import type { Entry } from "../entries.ts";
import { isDead, type PlacedCall } from "../pairs.ts";
import { type Batch, batchesOf, firstInterloper, isInPlace, isOutOfOrder, isSplit } from "../placement.ts";
import { noteAnswered, noteMoved } from "./results.ts";

interface Gathering {
  readonly bench: Workbench;
  readonly editor: Editor;
  /** The cells that every entry holds by now. */
  readonly cells: Map<Entry, readonly Cell[]>;
}

/** For formats whose results stand together in the next message: gathers them there, and answers dead calls. */
export const gatherResults: Step = (bench) => {
  const { format, entries } = bench.list;
  if (format !== "anthropic" && format !== "gemini") return undefined;
  const editor = createEditor(bench);
  const gathering: Gathering = { bench, editor, cells: new Map() };
  for (const batch of batchesOf(bench.list)) {
    const problem = problemOf(bench, batch);
    if (problem !== undefined) gather(gathering, batch, problem);
  }
  for (const entry of entries) {
    const cells = gathering.cells.get(entry);
    if (cells !== undefined) keepCells(editor, format, entry, cells);
  }
  return editor.finish();
};

interface Problem {
  readonly rule: string;
  readonly action: "moved" | "merged";
  /** Absent where single results are moved or answered, each with its own mend. */
  readonly explanation?: string;
}

function problemOf(bench: Workbench, batch: Batch): Problem | undefined {
  const { format } = bench.list;
  const rule = format === "gemini" ? "gemini/responses-match" : "anthropic/result-in-next-message";
  if (batch.calls.some((call) => isDead(call, bench.options) || isAstray(batch, call)))
    return { rule, action: "moved" };
  if (firstInterloper(batch) !== undefined)
    return {
      rule: format === "gemini" ? rule : "anthropic/results-first",
      action: "moved",
      explanation: "the results stand first now",
    };
  if (format === "gemini" && isOutOfOrder(batch))
    return { rule, action: "moved", explanation: "the responses stand in the order of their calls now" };
  if (isSplit(batch))
    return {
      rule: format === "gemini" ? rule : "anthropic/results-split",
      action: "merged",
      explanation: "the results of one message stand together now",
    };
  return undefined;
}

function isAstray(batch: Batch, call: PlacedCall): boolean {
  return call.result !== undefined && !isInPlace(batch, call);
}

function gather(gathering: Gathering, batch: Batch, problem: Problem): void {
  const { bench, editor } = gathering;
  const { format } = bench.list;
  const gathered = collect(gathering, batch, problem);
  const holders = new Set(batch.calls.flatMap((call) => call.result?.entry ?? []));
  for (const entry of holders)
    setCells(
      gathering,
      entry,
      cellsOf(gathering, entry).filter((cell) => !gathered.includes(cell)),
    );
  const [first] = batch.hosts;
  if (problem.explanation !== undefined && first !== undefined) {
    const { rule, action, explanation } = problem;
    editor.mends.push({ rule, index: editor.indexAt(first.position), action, explanation });
  }
  if (first !== undefined && holders.has(first)) {
    setCells(gathering, first, [...gathered, ...cellsOf(gathering, first)]);
    return;
  }
  const whole = wholeEntry(gathered, holders);
  const last = batch.callers.at(-1);
  if (last === undefined) return;
  const host = { ...last, native: emptyHost(format) };
  const native = whole?.native ?? entryWith(format, host, gathered);
  const source = whole ?? [...holders][0] ?? last;
  editor.insertAfter(last.position, { native, index: editor.indexAt(source.position) });
}

/** The results in the order in which they are to stand, made-up ones where there is none. */
function collect({ bench, editor }: Gathering, batch: Batch, problem: Problem): Cell[] {
  const { format } = bench.list;
  const cellOf = (call: PlacedCall): Cell[] => {
    const { result } = call;
    if (result !== undefined) {
      if (isAstray(batch, call))
        noteMoved(editor, call.early ? "generic/result-before-call" : problem.rule, result);
      return [result.cell];
    }
    if (!isDead(call, bench.options)) return [];
    const value = answerBlock(format, call);
    noteAnswered(editor, call, value);
    return [{ value, path: call.cell.path, parts: [] }];
  };
  if (format === "gemini") return batch.calls.flatMap(cellOf);
  const present = batch.calls.filter((call) => isInPlace(batch, call));
  const order = batch.hosts.flatMap((entry) => entry.cells);
  present.sort((a, b) => order.indexOf(cellIn(a)) - order.indexOf(cellIn(b)));
  return [...present, ...batch.calls.filter((call) => !present.includes(call))].flatMap(cellOf);
}

function cellIn(call: PlacedCall): Cell {
  return call.result?.cell ?? call.cell;
}

/** An entry that holds just these results and can be moved as it is. */
function wholeEntry(gathered: readonly Cell[], holders: ReadonlySet<Entry>): Entry | undefined {
  return [...holders].find(
    (entry) =>
      entry.cells.length === gathered.length && entry.cells.every((cell, index) => cell === gathered[index]),
  );
}

function cellsOf({ cells }: Gathering, entry: Entry): readonly Cell[] {
  return cells.get(entry) ?? entry.cells;
}

function setCells({ cells }: Gathering, entry: Entry, own: readonly Cell[]): void {
  cells.set(entry, own);
}
