import { viewMessage } from "../codecs/langchain-instances.ts";
import { copyWith } from "../codecs/native.ts";
import { type Format, jsonText } from "../core/message.ts";
import { reusedCalls, startsWrong, trailingSystem } from "./anthropic.ts";
import {
  type Change,
  createEditor,
  type Editor,
  keepCells,
  NO_REPLY,
  openingEntry,
  replaceCells,
  type Step,
  type Workbench,
} from "./edit.ts";
import {
  type Entry,
  isSystem,
  lacksCallId,
  lacksResultId,
  type ReadList,
  typeOf,
  withCallId,
  withResultId,
  wordsOf,
} from "./entries.ts";
import { acceptedId, entryId, isEmptyList, refusedEntryIds, repeatedIds } from "./generic.ts";
import { isSealed, isSpeaker, unalternating } from "./openai.ts";
import { type PlacedCall, type PlacedResult, pairCalls, type Spot } from "./pairs.ts";

/** Blocks to put into the places of old ones, by entry. */
type Swaps = Map<Entry, Map<unknown, unknown>>;

function swap(swaps: Swaps, { entry, cell }: Spot, value: unknown): void {
  const own = swaps.get(entry) ?? new Map<unknown, unknown>();
  swaps.set(entry, own.set(cell.value, value));
}

/** Writes ids where the wire needs them: those by which calls and results were paired, or the id a lone result names. */
export const fillIds: Step = (bench) => {
  const { list } = bench;
  const editor = createEditor(bench);
  const swaps: Swaps = new Map();
  const pairs = pairCalls(list);
  const free = pairs.orphans.filter(({ entry }) => !lacksResultId(list.format, entry));
  for (const { result, call } of onlyOpenCalls(list, free)) {
    swap(swaps, result, withResultId(list.format, result.cell.value, call.part.id));
    note(
      editor,
      result.entry,
      "generic/orphan-result",
      `the result answers "${call.part.id}", the only open call`,
    );
  }
  if (editor.mends.length > 0) return finish(bench, editor, swaps);
  for (const entry of list.entries) {
    for (const cell of entry.cells.filter((one) => lacksCallId(list.format, one)))
      fillCall(bench, editor, swaps, { spot: { entry, cell }, free });
  }
  for (const { part, result } of pairs.calls) {
    if (result === undefined || !lacksResultId(list.format, result.entry)) continue;
    swap(swaps, result, withResultId(list.format, result.cell.value, part.id));
    note(editor, result.entry, "generic/result-without-id", `the result answers call "${part.id}"`);
  }
  return finish(bench, editor, swaps);
};

function finish({ list }: Workbench, editor: Editor, swaps: Swaps): Change | undefined {
  for (const [entry, values] of swaps) replaceCells(editor, list.format, entry, values);
  return editor.finish();
}

/** Results of unknown calls, with the call where just one is open and just one of them may answer it. */
function onlyOpenCalls(
  list: ReadList,
  orphans: readonly PlacedResult[],
): { readonly result: PlacedResult; readonly call: PlacedCall }[] {
  if (orphans.length === 0 || list.format === "gemini") return [];
  const open = pairCalls(list).calls.filter((call) => call.result === undefined && !call.excused);
  const found = orphans.flatMap((result) => {
    const [call, ...others] = open.filter(({ entry }) => mayAnswer(list, entry, result));
    return call === undefined || others.length > 0 ? [] : [{ result, call }];
  });
  return found.filter(({ call }) => found.filter((one) => one.call === call).length === 1);
}

interface Nameless {
  readonly spot: Spot;
  /** Results whose call is not known yet; the one that is taken is removed. */
  readonly free: PlacedResult[];
}

function fillCall(bench: Workbench, editor: Editor, swaps: Swaps, { spot, free }: Nameless): void {
  const { format } = bench.list;
  const { entry, cell } = spot;
  const call = cell.parts.find((part) => part.type === "toolCall");
  const adopted = free.findIndex((result) => mayAnswer(bench.list, entry, result));
  const id = adopted === -1 ? call?.id : free.splice(adopted, 1)[0]?.part.id;
  const isItem = format === "openai-responses" || format === "openai-agents";
  if (isItem && adopted === -1) {
    const removed = wordsOf(cell.parts);
    const rule = "generic/call-without-id";
    const explanation = "a call without an id that nothing answers";
    editor.mends.push({
      rule,
      index: editor.indexAt(entry.position),
      action: "dropped",
      explanation,
      removed,
    });
    keepCells(editor, format, entry, []);
    return;
  }
  swap(swaps, spot, withCallId(format, cell.value, id ?? ""));
  note(editor, entry, "generic/call-without-id", `the call has the id "${id}" now`);
}

/** Nobody but the assistant and its tools speaks between the call and the result. */
function mayAnswer({ entries }: ReadList, caller: Entry, { entry, part }: PlacedResult): boolean {
  if (entry.position <= caller.position || part.id === "") return false;
  const start = entries.indexOf(caller) + 1;
  return entries
    .slice(start, entries.indexOf(entry))
    .every(({ message }) => message.role === "assistant" || message.role === "tool");
}

function note(editor: Editor, entry: Entry, rule: string, explanation: string): void {
  editor.mends.push({ rule, index: editor.indexAt(entry.position), action: "rewritten", explanation });
}

/** Drops equal copies of entries; other entries whose id is taken lose it. */
export const partTwins: Step = (bench) => {
  const { list } = bench;
  const editor = createEditor(bench);
  const textOfFirst = firstTexts(list);
  for (const entry of repeatedIds(list)) {
    const id = entryId(list.format, entry) ?? "";
    const index = editor.indexAt(entry.position);
    const rule = "generic/duplicate-entry-id";
    if (textOfFirst(id) === jsonText(entry.native)) {
      const removed = wordsOf(entry.message.parts);
      editor.mends.push({ rule, index, action: "dropped", explanation: `a copy of "${id}"`, removed });
      editor.drop(entry.position);
    } else {
      editor.mends.push({ rule, index, action: "rewritten", explanation: `the id "${id}" is taken` });
      editor.replace(entry.position, withoutId(list, entry));
    }
  }
  return editor.finish();
};

/** Gives the text of the first entry of an id, however often it is asked for. */
function firstTexts({ format, entries }: ReadList): (id: string) => string | undefined {
  const firsts = new Map<string, Entry>();
  for (const entry of entries) {
    const id = entryId(format, entry);
    if (id !== undefined && !firsts.has(id)) firsts.set(id, entry);
  }
  const texts = new Map<string, string>();
  return (id) => {
    const first = firsts.get(id);
    const text = texts.get(id) ?? (first && jsonText(first.native));
    if (text !== undefined) texts.set(id, text);
    return text;
  };
}

function withoutId({ format }: ReadList, { native }: Entry): unknown {
  return format === "langchain"
    ? viewMessage(native, "message").write({ id: undefined })
    : copyWith(native, { id: undefined });
}

/** Gives calls whose id was used before, and their results, an id of their own. */
export const renameReusedCalls: Step = (bench) => {
  const { list } = bench;
  if (list.format !== "anthropic") return undefined;
  const editor = createEditor(bench);
  const swaps: Swaps = new Map();
  const taken = new Set(pairCalls(list).calls.map((call) => call.part.id));
  for (const call of reusedCalls(list)) {
    const id = freshId(call.part.id, taken);
    swap(swaps, call, withCallId(list.format, call.cell.value, id));
    if (call.result !== undefined) {
      swap(swaps, call.result, withResultId(list.format, call.result.cell.value, id));
    }
    note(editor, call.entry, "anthropic/unique-call-ids", `the id "${call.part.id}" is taken: "${id}" now`);
  }
  return finish(bench, editor, swaps);
};

/** Gives calls and items whose id the provider refuses another one, in the call and its result alike. */
export const mendIds: Step = (bench) => {
  const { list } = bench;
  const { format } = list;
  const editor = createEditor(bench);
  const swaps: Swaps = new Map();
  const rule = "generic/refused-id";
  const { calls } = pairCalls(list);
  const taken = new Set(calls.map((call) => call.part.id));
  const renamed = new Map<string, string>();
  for (const call of calls) {
    const { id } = call.part;
    const accepted = acceptedId(format, id);
    if (accepted === id) continue;
    const own = renamed.get(id) ?? (taken.has(accepted) ? freshId(accepted, taken) : accepted);
    renamed.set(id, own);
    taken.add(own);
    swap(swaps, call, withCallId(format, call.cell.value, own));
    if (call.result !== undefined)
      swap(swaps, call.result, withResultId(format, call.result.cell.value, own));
    note(editor, call.entry, rule, `the id "${id}" is "${own}" now`);
  }
  if (editor.mends.length > 0) return finish(bench, editor, swaps);
  for (const entry of refusedEntryIds(list)) {
    const id = entryId(format, entry) ?? "";
    if (typeOf(entry.native) === "reasoning" && !isSealed(entry.native)) {
      const explanation = `reasoning that only its refused id "${id}" names`;
      const removed = wordsOf(entry.message.parts);
      editor.mends.push({
        rule,
        index: editor.indexAt(entry.position),
        action: "dropped",
        explanation,
        removed,
      });
      editor.drop(entry.position);
    } else {
      editor.replace(entry.position, copyWith(entry.native, { id: acceptedId(format, id) }));
      note(editor, entry, rule, `the id "${id}" is "${acceptedId(format, id)}" now`);
    }
  }
  return editor.finish();
};

function freshId(base: string, taken: Set<string>): string {
  let number = 2;
  while (taken.has(`${base}_${number}`)) number++;
  taken.add(`${base}_${number}`);
  return `${base}_${number}`;
}

/** Moves system entries to the front where the format wants them lifted out of the list. */
export const liftSystem: Step = (bench) => {
  const { list } = bench;
  if (list.format !== "anthropic" && list.format !== "gemini") return undefined;
  const editor = createEditor(bench);
  const start = list.entries.findIndex((entry) => !isSystem(entry));
  const before = list.entries[start - 1]?.position ?? -1;
  for (const { position } of trailingSystem(list)) {
    const index = editor.indexAt(position);
    const rule = `${list.format}/system-leads`;
    editor.mends.push({ rule, index, action: "moved", explanation: "the system text leads the list now" });
    editor.drop(position);
    editor.insertAfter(before, editor.at(position));
  }
  return editor.finish();
};

/** Lets the user begin where the provider demands it. */
export const openWithUser: Step = (bench) => {
  const { format } = bench.list;
  const position = openingPlace(bench);
  if (position === undefined) return undefined;
  const editor = createEditor(bench);
  const added = openingEntry(format);
  const index = editor.indexAt(position);
  const rule = isEmptyList(bench.list) ? "generic/empty-list" : (OPENING_RULES[format] ?? "");
  editor.mends.push({ rule, index, action: "added", explanation: "a synthetic opening of the user", added });
  editor.insertAfter(position - 1, { native: added, index });
  return editor.finish();
};

const OPENING_RULES: Partial<Record<Format, string>> = {
  anthropic: "anthropic/first-user",
  gemini: "gemini/starts-with-user",
  "openai-chat": "openai-chat/strict-needs-user",
};

function openingPlace({ list, options }: Workbench): number | undefined {
  if (isEmptyList(list)) return list.length;
  if (list.format === "anthropic" || list.format === "gemini") return startsWrong(list)[0]?.position;
  if (list.format !== "openai-chat" || options.strict !== true || list.length === 0) return undefined;
  if (list.entries.some((entry) => entry.message.role === "user")) return undefined;
  return list.entries.find((entry) => !isSystem(entry))?.position ?? list.length;
}

/** For strict templates: one system message first. */
export const mergeSystem: Step = (bench) => {
  const { list, options } = bench;
  if (list.format !== "openai-chat" || options.strict !== true) return undefined;
  const systems = list.entries.filter(isSystem);
  const [first] = systems;
  if (first === undefined || systems.every((entry) => entry === list.entries[0])) return undefined;
  const editor = createEditor(bench);
  for (const entry of systems) editor.drop(entry.position);
  for (const { position } of systems.filter((entry) => entry !== list.entries[0])) {
    const action = systems.length > 1 ? "merged" : "moved";
    const rule = "openai-chat/strict-system-first";
    editor.mends.push({
      rule,
      index: editor.indexAt(position),
      action,
      explanation: "one system message leads",
    });
  }
  const native = systems.length > 1 ? merged(systems) : first.native;
  editor.insertAfter(-1, { native, index: editor.indexAt(first.position) });
  return editor.finish();
};

/**
 * For strict templates: merges what one role says twice in a row; where calls lie between, a synthetic message of the
 * other role keeps the order.
 */
export const alternate: Step = (bench) => {
  const { list, options } = bench;
  if (list.format !== "openai-chat" || options.strict !== true) return undefined;
  const rule = "openai-chat/strict-alternation";
  const repeated = new Set(unalternating(list.entries));
  const editor = createEditor(bench);
  for (const run of neighbours(list.entries, repeated)) {
    const [first, ...rest] = run;
    if (first === undefined) continue;
    if (repeated.has(first)) {
      const index = editor.indexAt(first.position);
      const added = otherSpeaker(first);
      editor.mends.push({
        rule,
        index,
        action: "added",
        explanation: "a synthetic message in between",
        added,
      });
      editor.insertAfter(first.position - 1, { native: added, index });
    }
    if (rest.length > 0) editor.replace(first.position, merged(run));
    for (const { position } of rest) {
      const index = editor.indexAt(position);
      editor.mends.push({ rule, index, action: "merged", explanation: "said together with the one before" });
      editor.drop(position);
    }
  }
  return editor.finish();
};

/** Speakers with the repetitions that stand right behind them. */
function neighbours(entries: readonly Entry[], repeated: ReadonlySet<Entry>): Entry[][] {
  const runs: Entry[][] = [];
  let before: Entry | undefined;
  for (const entry of entries) {
    const run = runs.at(-1);
    if (repeated.has(entry) && before !== undefined && run?.at(-1) === before) run.push(entry);
    else if (isSpeaker(entry)) runs.push([entry]);
    before = entry;
  }
  return runs;
}

function otherSpeaker({ message }: Entry): unknown {
  return message.role === "user" ? { role: "assistant", content: NO_REPLY } : openingEntry("openai-chat");
}

/** The first entry with the contents of all. */
function merged(entries: readonly Entry[]): unknown {
  const [first] = entries;
  const contents = entries.map((entry) => entry.native.content ?? "");
  const content = contents.every((one) => typeof one === "string")
    ? contents.join("\n\n")
    : contents.flatMap((one) => (typeof one === "string" ? [{ type: "text", text: one }] : one));
  return copyWith(first?.native ?? {}, { content });
}
