import { codecFor } from "../codecs/formats.ts";
import { copyWith, filled, type NativeObject, objectOf } from "../codecs/native.ts";
import type { Format, Message } from "../core/message.ts";
import { isItemFormat } from "../core/units.ts";
import { defined } from "../errors.ts";
import { type Cell, type Entry, type ReadList, typeOf } from "./entries.ts";
import { type Batch, type PlacedCall, pairCalls } from "./pairs.ts";
import { at, atEntry, atSpot, type Done, drop, type Editor, type Finding } from "./rule.ts";

// Where results stand: those missing, those in another place than their format expects, and how they get there.

/** The synthetic result of an unanswered call; it claims nothing else. */
const NO_RESULT = "[no result was recorded: the call was interrupted]";

/** Calls without a result after which the conversation went on. */
export const deadCalls = (list: ReadList): Finding[] =>
  pairCalls(list)
    .calls.filter((call) => isDead(call, list.options.pendingAllowed))
    .map((call) =>
      atSpot(call, `call "${call.part.id}" (${call.part.name}) has no result`, (editor) =>
        answer(list, editor, call),
      ),
    );

export const earlyResults = (list: ReadList): Finding[] =>
  pairCalls(list).calls.flatMap((call) =>
    call.early ? movedResult(list, call, "stands before the call") : [],
  );

/** Results outside the place that their format requires. */
export const misplacedResults = (list: ReadList): Finding[] =>
  pairCalls(list).calls.flatMap((call) =>
    isAstray(call) && !call.early ? movedResult(list, call, "does not follow its call") : [],
  );

/** Content before the results of a batch. */
export const interlopers = (list: ReadList, results: string): Finding[] =>
  pairCalls(list).batches.flatMap((batch) => {
    const cells = [...batch.hosts].flatMap((entry) => entry.cells.map((cell) => ({ entry, cell })));
    const own = new Set(batch.calls.flatMap((call) => call.result?.cell ?? []));
    const last = cells.findLastIndex(({ cell }) => own.has(cell));
    const found = cells.slice(0, Math.max(last, 0)).find(({ cell }) => !own.has(cell));
    return found === undefined
      ? []
      : [atSpot(found, `stands before ${results}`, gathered(list, batch, "moved"))];
  });

/** Results of one batch in several entries: those after the first. */
export const splitResults = (list: ReadList, problem?: string): Finding[] =>
  pairCalls(list)
    .batches.filter(isSplit)
    .flatMap((batch) =>
      holdersOf(batch)
        .slice(1)
        .map((entry) => atEntry(entry, problem, gathered(list, batch, "merged"))),
    );

/** Batches whose results are in a different order than their calls. */
export const unorderedResults = (list: ReadList): Finding[] =>
  pairCalls(list).batches.flatMap((batch) => {
    const [host] = batch.hosts;
    const cells = [...batch.hosts].flatMap((entry) => entry.cells);
    const places = batch.calls.filter(isInPlace).map((call) => cells.indexOf(cellIn(call)));
    const isOutOfOrder = places.some((place, index) => place < (places[index - 1] ?? 0));
    const problem = "the responses stand in another order than their calls";
    return host !== undefined && isOutOfOrder ? [atEntry(host, problem, gathered(list, batch, "moved"))] : [];
  });

/** True for a call without a result after which the conversation went on. */
export function isDead(call: PlacedCall, pendingAllowed = true): boolean {
  return call.result === undefined && !call.excused && !(pendingAllowed && call.pending);
}

function isInPlace({ batch, result }: PlacedCall): boolean {
  return result !== undefined && batch?.hosts.has(result.entry) === true;
}

function isAstray(call: PlacedCall): boolean {
  if (call.excused || call.result === undefined) return false;
  return call.early || (call.batch !== undefined && !isInPlace(call));
}

/** The entries with results of the batch that are in place. */
function holdersOf({ calls, hosts }: Batch): Entry[] {
  const holding = new Set(calls.map((call) => call.result?.entry));
  return [...hosts].filter((entry) => holding.has(entry));
}

/** True if the results of one calling entry are in several entries. */
function isSplit({ callers, calls }: Batch): boolean {
  return callers.some((caller) => {
    const own = calls.filter((call) => call.entry === caller && isInPlace(call));
    return new Set(own.map((call) => call.result?.entry)).size > 1;
  });
}

/** Formats whose results are blocks in the message after the calls; in others they are entries. */
function isGathering(format: Format): boolean {
  return format === "anthropic" || format === "gemini";
}

// ---- moving

function movedResult(list: ReadList, call: PlacedCall, problem: string): Finding[] {
  const { result, part, batch } = call;
  if (result === undefined) return [];
  const { entry, cell } = result;
  const move = (editor: Editor): Done => {
    if (batch !== undefined && isGathering(list.format))
      editor.once(batch, () => gather(list, editor, batch));
    else editor.once(entry, () => moveResults(list, editor, entry));
    return { action: "moved" };
  };
  return [
    at(entry, cell.path, `the result of call "${part.id}" ${problem}`, isAstray(call) ? move : undefined),
  ];
}

/** Moves an entry of results unchanged if it belongs to one caller only, otherwise its misplaced blocks. */
function moveResults(list: ReadList, editor: Editor, entry: Entry): void {
  const { format } = list;
  const calls = pairCalls(list).calls.filter((call) => call.result?.entry === entry && isAstray(call));
  const moved = calls.map(cellIn);
  const rest = entry.cells.filter((cell) => !moved.includes(cell));
  const callers = new Set(calls.map((call) => call.entry));
  editor.keep(entry, rest);
  for (const caller of callers) {
    const own = calls.filter((call) => call.entry === caller).map(cellIn);
    const isWhole = callers.size === 1 && rest.length === 0;
    const native = isWhole ? entry.native : entryOf(format, entry, own);
    editor.insertAfter(anchorOf(list, caller), native, entry);
  }
}

/** Position after the calls made together and the results that already follow them. */
function anchorOf({ format, entries }: ReadList, caller: Entry): number {
  let index = entries.indexOf(caller);
  const follows = (entry: Entry | undefined): boolean => {
    if (entry === undefined) return false;
    return entry.message.role === "tool" || (isItemFormat(format) && typeOf(entry.native).endsWith("_call"));
  };
  while (follows(entries[index + 1])) index++;
  return entries[index]?.position ?? caller.position;
}

function entryOf(format: Format, entry: Entry, cells: readonly Cell[]): unknown {
  if (!["anthropic", "gemini", "ai-sdk"].includes(format)) return entry.native;
  const blocks = cells.map((cell) => cell.value);
  if (format === "gemini") return { role: "user", parts: blocks };
  return { role: format === "ai-sdk" ? "tool" : "user", content: blocks };
}

// ---- gathering

function gathered(list: ReadList, batch: Batch, action: Done["action"]) {
  return (editor: Editor): Done => {
    editor.once(batch, () => gather(list, editor, batch));
    return { action };
  };
}

/** Puts all results of a batch, in order, where they belong; gives the answers made up for dead calls. */
function gather(
  { format, options }: ReadList,
  editor: Editor,
  batch: Batch,
): ReadonlyMap<PlacedCall, unknown> {
  const dead = batch.calls.filter((call) => isDead(call, options.pendingAllowed));
  const answers = new Map(dead.map((call) => [call, answerBlock(format, call)]));
  const cells = inOrder(format, batch).flatMap((call): Cell[] => {
    if (call.result !== undefined) return [call.result.cell];
    return answers.has(call) ? [{ value: answers.get(call), path: call.cell.path, parts: [] }] : [];
  });
  const holders = new Set(batch.calls.flatMap((call) => call.result?.entry ?? []));
  for (const entry of holders)
    editor.keep(
      entry,
      editor.cellsOf(entry).filter((cell) => !cells.includes(cell)),
    );
  const [first] = batch.hosts;
  const last = batch.callers.at(-1);
  if (first !== undefined && holders.has(first)) editor.keep(first, [...cells, ...editor.cellsOf(first)]);
  else if (last !== undefined) {
    const whole = [...holders].find(
      (entry) =>
        entry.cells.length === cells.length && entry.cells.every((cell, index) => cell === cells[index]),
    );
    const native = whole?.native ?? entryOf(format, last, cells);
    editor.insertAfter(last.position, native, whole ?? [...holders][0] ?? last);
  }
  return answers;
}

/** The calls in the order of their results: Gemini's is that of the calls; others keep the results' own order. */
function inOrder(format: Format, { calls, hosts }: Batch): PlacedCall[] {
  if (format === "gemini") return [...calls];
  const order = [...hosts].flatMap((entry) => entry.cells);
  const present = calls.filter(isInPlace);
  present.sort((a, b) => order.indexOf(cellIn(a)) - order.indexOf(cellIn(b)));
  return [...present, ...calls.filter((call) => !present.includes(call))];
}

function cellIn({ result, cell }: PlacedCall): Cell {
  return (result ?? { cell }).cell;
}

// ---- answering

function answer(list: ReadList, editor: Editor, call: PlacedCall): Done {
  const { format } = list;
  const { entry, cell, batch } = call;
  if (batch !== undefined && isGathering(format)) {
    const answers = editor.once(batch, () => gather(list, editor, batch));
    return { action: "answered", added: answers.get(call) };
  }
  if (format === "ai-sdk" && Array.isArray(entry.native.parts)) {
    const block = objectOf(cell.value);
    const input = block.input ?? block.rawInput ?? {};
    const added = copyWith(block, { state: "output-error", input, errorText: NO_RESULT });
    editor.swap(call, added);
    return { action: "answered", added };
  }
  const added = answerEntry(format, call);
  // Nobody can make up the output of some hosted tools.
  if (added === undefined) return drop(call)(editor);
  editor.insertAfter(anchorOf(list, entry), added, entry);
  return { action: "answered", added };
}

/** An entry that answers the call; undefined for calls that have no synthetic answer. */
function answerEntry(format: Format, call: PlacedCall): unknown {
  const { value } = call.cell;
  if (isItemFormat(format)) return answerItem(format, objectOf(value));
  const { name } = call.part;
  // The legacy API pairs by name: its calls and results have no id.
  if (call.cell.path.endsWith(".function_call")) return { role: "function", name, content: NO_RESULT };
  const { timestamp } = call.entry.message.meta ?? {};
  // Gemini's calls need no id: a generated id is not sent.
  const { functionCall, function_call: snake } = objectOf(value);
  const id = format === "gemini" ? (filled(objectOf(functionCall ?? snake).id) ?? "") : call.part.id;
  const result: Message = defined({
    id: `answer_${id}`,
    role: "tool",
    parts: [{ type: "toolResult", id, name, content: NO_RESULT, isError: true }],
    meta: timestamp === undefined ? undefined : { timestamp },
  });
  return codecFor(format).encode([call.entry.message, result]).at(-1);
}

/** The result block of that entry, for formats in which results are blocks. */
function answerBlock(format: Format, call: PlacedCall): unknown {
  const { content, parts } = objectOf(answerEntry(format, call));
  return [content, parts].find(Array.isArray)?.[0];
}

function answerItem(format: Format, value: NativeObject): unknown {
  const type = typeOf(value);
  const isAgents = format === "openai-agents";
  if (isAgents && type === "function_call") {
    const output = { type: "text", text: NO_RESULT };
    const { callId, name } = value;
    return { type: "function_call_result", callId, name, status: "incomplete", output };
  }
  const field = isAgents ? "callId" : "call_id";
  const answered = (kind: string, fields: NativeObject): object => {
    return { type: `${kind}_output`, [field]: value[field], ...fields };
  };
  switch (type) {
    case "function_call":
    case "custom_tool_call":
      return answered(type, { output: NO_RESULT });
    case "local_shell_call":
      return answered("function_call", { output: NO_RESULT });
    case "apply_patch_call":
      return answered(type, { status: "failed", output: NO_RESULT });
    case "shell_call": {
      const outcome = { type: "exit", [isAgents ? "exitCode" : "exit_code"]: 1 };
      return answered(type, { output: [{ stdout: "", stderr: NO_RESULT, outcome }] });
    }
    default:
      return undefined;
  }
}
