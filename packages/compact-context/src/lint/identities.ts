import { copyWith } from "../codecs/native.ts";
import { type Format, jsonText } from "../core/message.ts";
import { reusedCalls, startsWrong, strandedSystem, trailingSystem } from "./anthropic.ts";
import {
  createEditor,
  type Editor,
  NO_REPLY,
  openingEntry,
  type Step,
  takeOut,
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
  withFields,
  withResultId,
  wordsOf,
} from "./entries.ts";
import { acceptedId, entryId, isEmptyList, refusedEntryIds, repeatedIds } from "./generic.ts";
import { isSealed, isSpeaker, unalternating } from "./openai.ts";
import { type PlacedCall, type PlacedResult, pairCalls, type Spot } from "./pairs.ts";
import type { Mend } from "./rule.ts";

/**
 * Adds ids that the wire requires: those that paired calls with results, or the id that a lone result names.
 */
export const fillIds: Step = (bench) => {
  const { list } = bench;
  const { format } = list;
  const editor = createEditor(bench);
  const pairs = pairCalls(list);
  const free = pairs.orphans.filter(({ entry }) => !lacksResultId(format, entry));
  for (const { result, call } of onlyOpenCalls(list, free)) {
    const { id } = call.part;
    editor.swap(result, withResultId(format, result.cell.value, id));
    const explanation = `the result answers "${id}", the only open call`;
    editor.note(result.entry, { rule: "generic/orphan-result", action: "rewritten", explanation });
  }
  const adopted = editor.finish();
  if (adopted !== undefined) return adopted;
  for (const entry of list.entries) {
    for (const cell of entry.cells)
      if (lacksCallId(format, cell)) fillCall(list, editor, { entry, cell }, free);
  }
  for (const { part, result } of pairs.calls) {
    if (result === undefined || !lacksResultId(format, result.entry)) continue;
    editor.swap(result, withResultId(format, result.cell.value, part.id));
    const explanation = `the result answers call "${part.id}"`;
    editor.note(result.entry, { rule: "generic/result-without-id", action: "rewritten", explanation });
  }
  return editor.finish();
};

/** Results of unknown calls, each with the only open call if exactly one result can answer it. */
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

/** `free`: results without a known call; the chosen one is removed. */
function fillCall(list: ReadList, editor: Editor, spot: Spot, free: PlacedResult[]): void {
  const { format } = list;
  const { entry, cell } = spot;
  const rule = "generic/call-without-id";
  const call = cell.parts.find((part) => part.type === "toolCall");
  const adopted = free.findIndex((result) => mayAnswer(list, entry, result));
  const id = adopted === -1 ? call?.id : free.splice(adopted, 1)[0]?.part.id;
  const isItem = format === "openai-responses" || format === "openai-agents";
  if (isItem && adopted === -1) {
    takeOut(editor, spot, { rule, explanation: "a call without an id that nothing answers" });
    return;
  }
  editor.swap(spot, withCallId(format, cell.value, id ?? ""));
  editor.note(entry, { rule, action: "rewritten", explanation: `the call has the id "${id}" now` });
}

/** True if only the assistant and its tools speak between the call and the result. */
function mayAnswer({ entries }: ReadList, caller: Entry, { entry, part }: PlacedResult): boolean {
  if (entry.position <= caller.position || part.id === "") return false;
  const start = entries.indexOf(caller) + 1;
  return entries
    .slice(start, entries.indexOf(entry))
    .every(({ message }) => message.role === "assistant" || message.role === "tool");
}

/** Drops equal copies of entries; other entries with a duplicate id lose the id. */
export const partTwins: Step = (bench) => {
  const { list } = bench;
  const editor = createEditor(bench);
  const textOfFirst = firstTexts(list);
  const rule = "generic/duplicate-entry-id";
  for (const entry of repeatedIds(list)) {
    const id = entryId(list.format, entry) ?? "";
    if (textOfFirst(id) === jsonText(entry.native)) {
      dropEntry(editor, entry, { rule, explanation: `a copy of "${id}"` });
    } else {
      editor.note(entry, { rule, action: "rewritten", explanation: `the id "${id}" is taken` });
      editor.replace(entry, withFields(list.format, entry.native, { id: undefined }));
    }
  }
  return editor.finish();
};

function dropEntry(editor: Editor, entry: Entry, reason: Pick<Mend, "rule" | "explanation">): void {
  editor.note(entry, { ...reason, action: "dropped", removed: wordsOf(entry.message.parts) });
  editor.replace(entry, undefined);
}

/** Returns the text of the first entry with an id, cached. */
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

/** Renames a call and its result. */
function rename(editor: Editor, format: Format, call: PlacedCall, id: string): void {
  editor.swap(call, withCallId(format, call.cell.value, id));
  if (call.result !== undefined) editor.swap(call.result, withResultId(format, call.result.cell.value, id));
}

/** Renames calls whose id was used before, and their results. */
export const renameReusedCalls: Step = (bench) => {
  const { list } = bench;
  if (list.format !== "anthropic") return undefined;
  const editor = createEditor(bench);
  const taken = new Set(pairCalls(list).calls.map((call) => call.part.id));
  for (const call of reusedCalls(list)) {
    const id = freshId(call.part.id, taken);
    rename(editor, list.format, call, id);
    const explanation = `the id "${call.part.id}" is taken: "${id}" now`;
    editor.note(call.entry, { rule: "anthropic/unique-call-ids", action: "rewritten", explanation });
  }
  return editor.finish();
};

/** Renames calls and items whose id the provider refuses; a call and its result get the same id. */
export const mendIds: Step = (bench) => {
  const { list } = bench;
  const { format } = list;
  const editor = createEditor(bench);
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
    rename(editor, format, call, own);
    editor.note(call.entry, { rule, action: "rewritten", explanation: `the id "${id}" is "${own}" now` });
  }
  const changed = editor.finish();
  if (changed !== undefined) return changed;
  for (const entry of refusedEntryIds(list)) {
    const id = entryId(format, entry) ?? "";
    const accepted = acceptedId(format, id);
    if (typeOf(entry.native) === "reasoning" && !isSealed(entry.native)) {
      dropEntry(editor, entry, { rule, explanation: `reasoning that only its refused id "${id}" names` });
    } else {
      editor.replace(entry, copyWith(entry.native, { id: accepted }));
      editor.note(entry, { rule, action: "rewritten", explanation: `the id "${id}" is "${accepted}" now` });
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

/** Moves system entries to the front for formats that lift them out of the list. */
export const liftSystem: Step = (bench) => {
  const { list } = bench;
  if (list.format !== "anthropic" && list.format !== "gemini") return undefined;
  const editor = createEditor(bench);
  const start = list.entries.findIndex((entry) => !isSystem(entry));
  const before = list.entries[start - 1]?.position ?? -1;
  const rule = `${list.format}/system-leads`;
  const astray = list.format === "anthropic" ? strandedSystem(list) : trailingSystem(list);
  for (const entry of astray) {
    editor.note(entry, { rule, action: "moved", explanation: "the system text leads the list now" });
    editor.replace(entry, undefined);
    editor.insertAfter(before, entry.native, entry);
  }
  return editor.finish();
};

/** Adds a user opening if the provider requires one. */
export const openWithUser: Step = (bench) => {
  const { format } = bench.list;
  const position = openingPlace(bench);
  if (position === undefined) return undefined;
  const editor = createEditor(bench);
  const added = openingEntry(format);
  const rule = isEmptyList(bench.list) ? "generic/empty-list" : (OPENING_RULES[format] ?? "");
  const explanation = "a synthetic opening of the user";
  editor.note({ position }, { rule, action: "added", explanation, added });
  editor.insertAfter(position - 1, added, { position });
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
  for (const entry of systems) editor.replace(entry, undefined);
  const rule = "openai-chat/strict-system-first";
  const action = systems.length > 1 ? "merged" : "moved";
  for (const entry of systems.filter((one) => one !== list.entries[0]))
    editor.note(entry, { rule, action, explanation: "one system message leads" });
  editor.insertAfter(-1, systems.length > 1 ? merged(systems) : first.native, first);
  return editor.finish();
};

/**
 * For strict templates: merges consecutive messages of one role; if calls lie between them, a synthetic
 * message of the other role keeps the order.
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
      const added = otherSpeaker(first);
      editor.note(first, { rule, action: "added", explanation: "a synthetic message in between", added });
      editor.insertAfter(first.position - 1, added, first);
    }
    if (rest.length > 0) editor.replace(first, merged(run));
    for (const entry of rest) {
      editor.note(entry, { rule, action: "merged", explanation: "said together with the one before" });
      editor.replace(entry, undefined);
    }
  }
  return editor.finish();
};

/** Speakers, each with the repetitions that directly follow. */
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

/** The first entry with the contents of all entries. */
function merged(entries: readonly Entry[]): unknown {
  const [first] = entries;
  const contents = entries.map((entry) => entry.native.content ?? "");
  const content = contents.every((one) => typeof one === "string")
    ? contents.join("\n\n")
    : contents.flatMap((one) => (typeof one === "string" ? [{ type: "text", text: one }] : one));
  return copyWith(first?.native ?? {}, { content });
}
