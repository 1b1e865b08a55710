import { copyWith } from "../codecs/native.ts";
import type { Format } from "../core/message.ts";
import { startsWrong, trailingSystem } from "./anthropic.ts";
import { createEditor, NO_REPLY, openingEntry, type Step, type Workbench } from "./edit.ts";
import { type Entry, isSystem } from "./entries.ts";
import { isEmptyList } from "./generic.ts";
import { isSpeaker, unalternating } from "./openai.ts";

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
