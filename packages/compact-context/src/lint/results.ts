import {
  answerBlock,
  answerEntry,
  createEditor,
  type Editor,
  emptyHost,
  entryWith,
  failedUiCall,
  NO_RESULT,
  type Step,
  takeOut,
  type Workbench,
} from "./edit.ts";
import { type Cell, type Entry, typeOf } from "./entries.ts";
import {
  type Batch,
  batchesOf,
  firstInterloper,
  isDead,
  isInPlace,
  isOutOfOrder,
  isSplit,
  type PlacedCall,
  type PlacedResult,
  pairCalls,
  type Spot,
} from "./pairs.ts";

/** Drops results without a call, results of answered calls, and calls with the id of an open one. */
export const dropPartnerless: Step = (bench) => {
  const { orphans, duplicates, doubles } = pairCalls(bench.list);
  const editor = createEditor(bench);
  const takeAll = (spots: readonly Spot[], rule: string, explanation: string): void => {
    for (const spot of spots) takeOut(editor, spot, { rule, explanation });
  };
  takeAll(orphans, "generic/orphan-result", "a result without its call");
  takeAll(duplicates, "generic/duplicate-result", "a second result of one call");
  takeAll(doubles, "generic/duplicate-call", "a second call of one id");
  return editor.finish();
};

/** Records that a result was moved. */
function noteMoved(editor: Editor, rule: string, { entry, part }: PlacedResult): void {
  const explanation = `the result of call "${part.id}" stands behind its call now`;
  editor.note(entry, { rule, action: "moved", explanation });
}

/** Records a synthetic answer to a call. */
function noteAnswered(editor: Editor, { entry, part }: PlacedCall, added: unknown): void {
  const explanation = `call "${part.id}" (${part.name}): ${NO_RESULT}`;
  editor.note(entry, { rule: "generic/dead-call", action: "answered", explanation, added });
}

const MISPLACED: Partial<Record<Workbench["list"]["format"], string>> = {
  "openai-chat": "openai-chat/results-follow-call",
  "ai-sdk": "ai-sdk/results-before-next-ask",
};

/** For formats whose results are entries: moves results behind their calls and answers dead calls. */
export const placeResultEntries: Step = (bench) => {
  const { list } = bench;
  const editor = createEditor(bench);
  if (list.format === "anthropic" || list.format === "gemini") return undefined;
  const batches = new Map(
    batchesOf(list).flatMap((batch) => batch.calls.map((call) => [call, batch] as const)),
  );
  const astray = new Map<Entry, Astray[]>();
  for (const call of pairCalls(list).calls) {
    const { result } = call;
    const batch = batches.get(call);
    const isAstray = call.early || (batch !== undefined && !isInPlace(batch, call));
    if (isDead(call, bench.options)) answer(bench, editor, call);
    else if (result !== undefined && !call.excused && isAstray)
      astray.set(result.entry, [...(astray.get(result.entry) ?? []), { ...call, result }]);
  }
  for (const [entry, calls] of astray) moveResults(bench, editor, entry, calls);
  return editor.finish();
};

type Astray = PlacedCall & { readonly result: PlacedResult };

/** Position after the calls made together and the results that already follow them. */
function anchorOf({ list }: Workbench, caller: Entry): number {
  let index = list.entries.indexOf(caller);
  const isItem = list.format === "openai-responses" || list.format === "openai-agents";
  const follows = (entry: Entry | undefined): boolean => {
    if (entry === undefined) return false;
    return entry.message.role === "tool" || (isItem && typeOf(entry.native).endsWith("_call"));
  };
  while (follows(list.entries[index + 1])) index++;
  return list.entries[index]?.position ?? caller.position;
}

/** Moves the entry unchanged if it belongs to one caller only, otherwise the misplaced blocks. */
function moveResults(bench: Workbench, editor: Editor, entry: Entry, calls: readonly Astray[]): void {
  const { format } = bench.list;
  for (const call of calls)
    noteMoved(editor, call.early ? "generic/result-before-call" : (MISPLACED[format] ?? ""), call.result);
  const moved = new Set(calls.map((call) => call.result.cell));
  const rest = entry.cells.filter((cell) => !moved.has(cell));
  const callers = new Set(calls.map((call) => call.entry));
  editor.keep(entry, rest);
  for (const caller of callers) {
    const own = calls.filter((call) => call.entry === caller).map((call) => call.result.cell);
    const isWhole = callers.size === 1 && rest.length === 0;
    const native = isWhole ? entry.native : entryWith(format, { ...entry, native: emptyHost(format) }, own);
    editor.insertAfter(anchorOf(bench, caller), native, entry);
  }
}

function answer(bench: Workbench, editor: Editor, call: PlacedCall): void {
  const { format } = bench.list;
  const { entry, cell } = call;
  if (format === "ai-sdk" && Array.isArray(entry.native.parts)) {
    const failed = failedUiCall(cell.value);
    noteAnswered(editor, call, failed);
    editor.swap(call, failed);
    return;
  }
  const native = answerEntry(format, call);
  if (native === undefined) {
    const explanation = "a call without a result that nobody can make up";
    takeOut(editor, call, { rule: "generic/dead-call", explanation });
    return;
  }
  noteAnswered(editor, call, native);
  editor.insertAfter(anchorOf(bench, entry), native, entry);
}

interface Gathering {
  readonly bench: Workbench;
  readonly editor: Editor;
  /** The current cells of each changed entry. */
  readonly cells: Map<Entry, readonly Cell[]>;
}

/** For formats whose results are together in the next message: gathers them there, and answers dead calls. */
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
    if (cells !== undefined) editor.keep(entry, cells);
  }
  return editor.finish();
};

interface Problem {
  readonly rule: string;
  readonly action: "moved" | "merged";
  /** Absent if single results are moved or answered, each with its own mend. */
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
  for (const entry of holders) {
    const rest = cellsOf(gathering, entry).filter((cell) => !gathered.includes(cell));
    gathering.cells.set(entry, rest);
  }
  const [first] = batch.hosts;
  if (problem.explanation !== undefined && first !== undefined) {
    const { rule, action, explanation } = problem;
    editor.note(first, { rule, action, explanation });
  }
  if (first !== undefined && holders.has(first)) {
    gathering.cells.set(first, [...gathered, ...cellsOf(gathering, first)]);
    return;
  }
  const whole = wholeEntry(gathered, holders);
  const last = batch.callers.at(-1);
  if (last === undefined) return;
  const host = { ...last, native: emptyHost(format) };
  const native = whole?.native ?? entryWith(format, host, gathered);
  const source = whole ?? [...holders][0] ?? last;
  editor.insertAfter(last.position, native, source);
}

/** The results in the required order, with synthetic ones for dead calls. */
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

/** An entry that holds exactly these results and can be moved unchanged. */
function wholeEntry(gathered: readonly Cell[], holders: ReadonlySet<Entry>): Entry | undefined {
  return [...holders].find(
    (entry) =>
      entry.cells.length === gathered.length && entry.cells.every((cell, index) => cell === gathered[index]),
  );
}

function cellsOf({ cells }: Gathering, entry: Entry): readonly Cell[] {
  return cells.get(entry) ?? entry.cells;
}
