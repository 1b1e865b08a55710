import { copyWith, filled } from "../codecs/native.ts";
import { type Format, jsonText, textHash } from "../core/message.ts";
import { isItemFormat } from "../core/units.ts";
import {
  type Entry,
  isSealed,
  lacksCallId,
  lacksResultId,
  type ReadList,
  typeOf,
  wireFields,
  withCallId,
  withFields,
  withResultId,
} from "./entries.ts";
import { type PlacedCall, type PlacedResult, pairCalls, type Spot } from "./pairs.ts";
import {
  at,
  atEntry,
  atSpot,
  type Done,
  drop,
  dropEntry,
  type Editor,
  type Finding,
  type Fix,
  spotsIn,
} from "./rule.ts";

// Ids of calls, results and entries: those that are missing, refused, or used twice, and how they are mended.

/** Results of calls that are not in the list. */
export function orphans(list: ReadList): Finding[] {
  const { orphans: all } = pairCalls(list);
  const calls = onlyOpenCalls(list);
  const fixOf = (result: PlacedResult): Fix | undefined => {
    const call = calls.get(result);
    // The others may find their call once these are answered.
    if (call === undefined) return calls.size === 0 ? drop(result) : undefined;
    return renamedResult(list, result, call, `the result answers "${call.part.id}", the only open call`);
  };
  return all.map((result) =>
    atSpot(result, `the result answers call "${result.part.id}", which is not in the list`, fixOf(result)),
  );
}

/** Orphans that name an id, each with the only open call if no other of them can answer it. */
function onlyOpenCalls(list: ReadList): ReadonlyMap<PlacedResult, PlacedCall> {
  const pairs = pairCalls(list);
  const open = pairs.calls.filter((call) => call.result === undefined && !call.excused);
  const found = namedOrphans(list).flatMap((result) => {
    const [call, ...others] = open.filter(({ entry }) => mayAnswer(list, entry, result));
    return call === undefined || others.length > 0 ? [] : [{ result, call }];
  });
  const isOnly = ({ call }: { call: PlacedCall }): boolean =>
    list.format !== "gemini" && found.filter((one) => one.call === call).length === 1;
  return new Map(found.filter(isOnly).map(({ result, call }) => [result, call]));
}

function namedOrphans(list: ReadList): PlacedResult[] {
  return pairCalls(list).orphans.filter(({ entry }) => !lacksResultId(list.format, entry));
}

/** True if only the assistant and its tools speak between the call and the result. */
function mayAnswer({ entries }: ReadList, caller: Entry, { entry, part }: PlacedResult): boolean {
  if (entry.position <= caller.position || part.id === "") return false;
  return entries
    .slice(entries.indexOf(caller) + 1, entries.indexOf(entry))
    .every(({ message }) => message.role === "assistant" || message.role === "tool");
}

function renamedResult(list: ReadList, result: PlacedResult, call: PlacedCall, explanation: string): Fix {
  return (editor) => {
    editor.swap(result, withResultId(list.format, result.cell.value, call.part.id));
    return { action: "rewritten", explanation };
  };
}

/** Calls without the id that their format requires: they get that of a result, or the one that paired them. */
export function callsWithoutId(list: ReadList): Finding[] {
  const { format } = list;
  const free = namedOrphans(list);
  const fill = (spot: Spot, editor: Editor): Done => {
    const adopted = free.findIndex((result) => mayAnswer(list, spot.entry, result));
    const [result] = adopted === -1 ? [] : free.splice(adopted, 1);
    if (result === undefined && isItemFormat(format))
      return { ...drop(spot)(editor), explanation: "a call without an id that nothing answers" };
    const call = spot.cell.parts.find((part) => part.type === "toolCall");
    const id = result?.part.id ?? call?.id ?? "";
    editor.swap(spot, withCallId(format, spot.cell.value, id));
    return { action: "rewritten", explanation: `the call has the id "${id}" now` };
  };
  return spotsIn(list, (cell) => lacksCallId(format, cell)).map((spot) =>
    atSpot(spot, undefined, (editor) => fill(spot, editor)),
  );
}

/** Results without the id that their format requires: they get that of the call that they were paired with. */
export function resultsWithoutId(list: ReadList): Finding[] {
  const callOf = new Map(pairCalls(list).calls.map((call) => [call.result?.entry, call]));
  return list.entries
    .filter((entry) => lacksResultId(list.format, entry))
    .map((entry) => {
      const call = callOf.get(entry);
      // Without a call it is an orphan, which goes.
      if (call?.result === undefined) return atEntry(entry);
      const explanation = `the result answers call "${call.part.id}"`;
      return atEntry(entry, undefined, renamedResult(list, call.result, call, explanation));
    });
}

/** Calls whose id was used before, by a call that is answered. */
export function reusedIds(list: ReadList): Finding[] {
  const { calls } = pairCalls(list);
  const taken = new Set(calls.map((call) => call.part.id));
  const seen = new Set<string>();
  return calls.flatMap((call) => {
    const { id } = call.part;
    if (seen.has(id))
      return [
        atSpot(
          call,
          undefined,
          renamed(list, call, () => freshId(id, taken)),
        ),
      ];
    seen.add(id);
    return [];
  });
}

/** Calls and items whose id the provider refuses; a call and its result get the same id. */
export function refusedIds(list: ReadList): Finding[] {
  const { format, entries } = list;
  const { calls } = pairCalls(list);
  const taken = new Set(calls.map((call) => call.part.id));
  const given = new Map<string, string>();
  const acceptedFor = (id: string): string => {
    const accepted = acceptedId(format, id);
    const own = given.get(id) ?? (taken.has(accepted) ? freshId(accepted, taken) : accepted);
    given.set(id, own);
    taken.add(own);
    return own;
  };
  const refused = calls.filter(({ part }) => acceptedId(format, part.id) !== part.id);
  const items = isItemFormat(format) ? entries : [];
  return [
    ...refused.map((call) => {
      const { id } = call.part;
      return atSpot(
        call,
        `the id "${id}" is refused`,
        renamed(list, call, () => acceptedFor(id)),
      );
    }),
    ...items
      .filter((entry) => acceptedId(format, idOf(list, entry)) !== idOf(list, entry))
      .map((entry) => {
        // A renamed call may be the same entry: its own id is for the next round.
        const fix = refused.length === 0 ? withAcceptedId(list, entry) : undefined;
        return at(entry, `messages[${entry.position}].id`, undefined, fix);
      }),
  ];
}

/** Reasoning that is not sealed goes: only its refused id names its content. */
function withAcceptedId(list: ReadList, entry: Entry): Fix {
  const id = idOf(list, entry);
  if (typeOf(entry.native) === "reasoning" && !isSealed(entry.native)) return dropEntry(entry);
  return (editor) => {
    const accepted = acceptedId(list.format, id);
    editor.replace(entry, copyWith(entry.native, { id: accepted }));
    return { action: "rewritten", explanation: `the id "${id}" is "${accepted}" now` };
  };
}

function renamed(list: ReadList, call: PlacedCall, newId: () => string): Fix {
  const { format } = list;
  return (editor) => {
    const id = newId();
    const { result } = call;
    editor.swap(call, withCallId(format, call.cell.value, id));
    if (result !== undefined) editor.swap(result, withResultId(format, result.cell.value, id));
    return { action: "rewritten", explanation: `the id "${call.part.id}" is "${id}" now` };
  };
}

function freshId(base: string, taken: Set<string>): string {
  let number = 2;
  while (taken.has(`${base}_${number}`)) number++;
  taken.add(`${base}_${number}`);
  return `${base}_${number}`;
}

/** Maximum length of ids of calls and items: 64 in the Responses API, 40 in Chat Completions. */
const MOST_ID_CHARACTERS: Partial<Record<Format, number>> = {
  "openai-chat": 40,
  "openai-responses": 64,
  "openai-agents": 64,
};

/** The id, rewritten if the provider would refuse it. */
function acceptedId(format: Format, id: string): string {
  const clean = format === "anthropic" ? id.replaceAll(/[^a-zA-Z0-9_-]/g, "_") : id;
  const most = MOST_ID_CHARACTERS[format] ?? Number.POSITIVE_INFINITY;
  if (clean.length <= most) return clean;
  const mark = `_${textHash(id).toString(36).padStart(8, "0").slice(-8)}`;
  return clean.slice(0, most - mark.length) + mark;
}

/** Entries with the own id of an earlier entry: equal copies go, others lose the id. */
export function repeatedIds(list: ReadList): Finding[] {
  const { format, entries, removals } = list;
  const start = removals.at(-1)?.position ?? -1;
  const firsts = new Map<string, { readonly entry: Entry; text?: string }>();
  return entries.flatMap((entry) => {
    const name = entry.position > start ? uniqueName(format, entry) : undefined;
    if (name === undefined) return [];
    const first = firsts.get(name);
    if (first === undefined) {
      firsts.set(name, { entry });
      return [];
    }
    const fix = (editor: Editor): Done => {
      first.text ??= jsonText(first.entry.native);
      if (first.text === jsonText(entry.native)) return dropEntry(entry)(editor);
      editor.replace(entry, withFields(format, entry.native, { id: undefined }));
      return { action: "rewritten" };
    };
    return [atEntry(entry, `the id "${idOf(list, entry)}" is taken`, fix)];
  });
}

/**
 * What only one entry may have: its id. The items of one Chat Completions answer share an id in the Agents SDK, or have
 * its placeholder; the SDK sends neither.
 */
export function uniqueName(format: Format, entry: Entry): string | undefined {
  const id = entryId(format, entry);
  if (format !== "openai-agents" || id === undefined) return id;
  const { type, callId } = entry.native;
  return id === "FAKE_ID" ? undefined : jsonText([id, type, callId]);
}

function entryId(format: Format, { native }: Entry): string | undefined {
  return filled(wireFields(format, native).id);
}

function idOf({ format }: ReadList, entry: Entry): string {
  return entryId(format, entry) ?? "";
}
