import { FORMATS } from "../codecs/formats.ts";
import { copyWith, filled, type NativeObject, objectOf } from "../codecs/native.ts";
import {
  type Format,
  jsonText,
  type Message,
  type Role,
  textHash,
  toolCalls,
  toolResults,
} from "../core/message.ts";
import type { Malformation } from "../core/report.ts";
import { clientCalls, groupInSteps, isUnderWay, type Unit } from "../core/units.ts";
import { isObject, runAtOnce, type Steps } from "../errors.ts";
import {
  type Cell,
  type Entry,
  isSystem,
  lacksCallId,
  lacksResultId,
  type ReadList,
  wireFields,
} from "./entries.ts";
import { isDead, pairCalls } from "./pairs.ts";
import { at, atEntry, badCells, type Finding, type Rule, rulesOf } from "./rule.ts";

const PAIRING = "Every provider: the answer to a tool call names the call it answers";

const BY_ID: readonly Format[] = ["openai-chat", "openai-responses", "openai-agents", "langchain", "pi"];

const EMPTY_REFUSED: readonly Format[] = ["openai-chat", "anthropic", "gemini", "ai-sdk"];

/** Rules that hold for every provider. */
export const GENERIC_RULES: readonly Rule[] = rulesOf(FORMATS, [
  {
    id: "generic/unreadable-entry",
    explanation: "An entry is not of the format: no object, or a field that every entry needs is missing.",
    link: "The message types of the format's own SDK",
    mend: "The block is dropped, or the whole entry; what it held is in `removed`.",
    check: (list) => faultsOf(list).filter(({ path }) => !path.endsWith(".role")),
  },
  {
    id: "generic/unknown-role",
    explanation: "The format has no such role.",
    link: "The message types of the format's own SDK",
    mend: "The entry is dropped; what it held is in `removed`.",
    check: (list) => faultsOf(list).filter(({ path }) => path.endsWith(".role")),
  },
  {
    id: "generic/empty-list",
    formats: EMPTY_REFUSED,
    explanation: "A list without messages is refused; for Anthropic and Gemini, system text is none.",
    link: "The request reference of the provider: messages must not be empty",
    mend: "A synthetic user message opens the conversation.",
    check: (list) => (isEmptyList(list) ? [{ position: 0, path: "messages" }] : []),
  },
  {
    id: "generic/orphan-result",
    explanation: "A tool result answers a call that is not in the list.",
    link: PAIRING,
    mend: "It gets the id of the call before it where just one is open; else it is dropped, its text is in `removed`.",
    check: (list) =>
      pairCalls(list).orphans.map(({ entry, cell, part }) =>
        at(entry, cell.path, `the result answers call "${part.id}", which is not in the list`),
      ),
  },
  {
    id: "generic/duplicate-result",
    explanation: "A call is answered more than once.",
    link: PAIRING,
    mend: "The first result stays; the text of the others is in `removed`.",
    check: (list) =>
      pairCalls(list).duplicates.map(({ entry, cell, part }) =>
        at(entry, cell.path, `call "${part.id}" is answered already`),
      ),
  },
  {
    id: "generic/duplicate-call",
    explanation: "A call has the id of another one that is still open.",
    link: PAIRING,
    mend: "The second call is dropped; its text is in `removed`.",
    check: (list) => pairCalls(list).doubles.map(({ entry, cell }) => at(entry, cell.path)),
  },
  {
    id: "generic/result-before-call",
    explanation: "A result stands before the call that it answers.",
    link: PAIRING,
    mend: "The result is moved behind its call.",
    check: (list) =>
      pairCalls(list).calls.flatMap(({ early, result, part }) =>
        early && result !== undefined
          ? [at(result.entry, result.cell.path, `the result of call "${part.id}" stands before the call`)]
          : [],
      ),
  },
  {
    id: "generic/dead-call",
    explanation: "A call has no result although the conversation went on.",
    link: PAIRING,
    mend: "A synthetic error result says that none was recorded.",
    check: (list, options) =>
      pairCalls(list)
        .calls.filter((call) => isDead(call, options))
        .map(({ entry, cell, part }) =>
          at(entry, cell.path, `call "${part.id}" (${part.name}) has no result`),
        ),
  },
  {
    id: "generic/call-without-id",
    formats: BY_ID,
    explanation: "A call has no id that a result could name.",
    link: PAIRING,
    mend: "It gets the id that its result names, or a made-up one; an item without either is dropped.",
    check: (list) => badCells(list, (cell) => lacksCallId(list.format, cell)),
  },
  {
    id: "generic/result-without-id",
    formats: BY_ID,
    explanation: "A result does not say which call it answers.",
    link: PAIRING,
    mend: "It gets the id of the first open call; a result without one is dropped.",
    check: (list) =>
      list.entries.filter((entry) => lacksResultId(list.format, entry)).map((entry) => atEntry(entry)),
  },
  {
    id: "generic/input-object",
    formats: ["anthropic", "gemini", "langchain", "pi", "ai-sdk"],
    explanation: "The input of a call is no object: the answer that made it was aborted.",
    link: 'Claude API reference: "Create a Message", tool_use; Gemini API reference: FunctionCall.args',
    mend: "It becomes the object that the text holds, or one that holds the text under `INVALID_JSON`.",
    check: (list) => badCells(list, (cell) => lacksReadableInput(list.format, cell)),
    fix: (value, _, format) => withReadableInput(format, value),
  },
  {
    id: "generic/arguments-json",
    formats: ["openai-chat", "openai-responses", "openai-agents"],
    explanation:
      "The arguments of a call are no JSON object: the answer that made it was aborted, and servers that parse them refuse the list.",
    link: "vLLM and others parse `arguments` for the chat template; OpenAI takes any text",
    mend: "They become an object that holds the text under `INVALID_JSON`.",
    check: (list) => badCells(list, (cell) => lacksReadableInput(list.format, cell)),
    fix: (value, _, format) => withReadableInput(format, value),
  },
  {
    id: "generic/refused-id",
    formats: ["anthropic", "openai-chat", "openai-responses", "openai-agents"],
    explanation: "An id has characters or a length that the provider refuses.",
    link: "Claude API reference: tool_use.id matches ^[a-zA-Z0-9_-]+$; OpenAI: ids of calls have at most 40 characters in Chat Completions, those of calls and items 64 in Responses (string_above_max_length)",
    mend: "Other characters become `_`, and an id that is too long ends in its fingerprint: the same in the call and its result. Reasoning without its content is dropped.",
    check: (list) => [
      ...pairCalls(list)
        .calls.filter(({ part }) => acceptedId(list.format, part.id) !== part.id)
        .map(({ entry, cell, part }) => at(entry, cell.path, `the id "${part.id}" is refused`)),
      ...refusedEntryIds(list).map((entry) => at(entry, `messages[${entry.position}].id`)),
    ],
  },
  {
    id: "generic/duplicate-entry-id",
    formats: ["openai-responses", "openai-agents", "langchain", "ai-sdk"],
    explanation: "Two entries have the same id: the provider refuses them, or one replaces the other.",
    link: 'OpenAI: "Duplicate item found with id"; LangGraph: messages with one id replace each other',
    mend: "An equal copy is dropped; any other later entry loses its id.",
    check: (list) =>
      repeatedIds(list).map((entry) => atEntry(entry, `the id "${entryId(list.format, entry)}" is taken`)),
  },
]);

function faultsOf({ faults }: ReadList): Finding[] {
  return faults.map(({ position, path, problem }) => ({ position, path, problem: `${path} ${problem}` }));
}

/** True for a list without a message. */
export function isEmptyList({ format, entries, length }: ReadList): boolean {
  if (!EMPTY_REFUSED.includes(format)) return false;
  const isLifted = format === "anthropic" || format === "gemini";
  return length === 0 || (isLifted && entries.length === length && entries.every(isSystem));
}

/** Maximum length of ids of calls and items: 64 in the Responses API, 40 in Chat Completions. */
const MOST_ID_CHARACTERS: Partial<Record<Format, number>> = {
  "openai-chat": 40,
  "openai-responses": 64,
  "openai-agents": 64,
};

/** The id, rewritten if the provider would refuse it. */
export function acceptedId(format: Format, id: string): string {
  const clean = format === "anthropic" ? id.replaceAll(/[^a-zA-Z0-9_-]/g, "_") : id;
  const most = MOST_ID_CHARACTERS[format] ?? Number.POSITIVE_INFINITY;
  if (clean.length <= most) return clean;
  const mark = `_${textHash(id).toString(36).padStart(8, "0").slice(-8)}`;
  return clean.slice(0, most - mark.length) + mark;
}

/** Entries with an own id that the provider refuses. */
export function refusedEntryIds({ format, entries }: ReadList): Entry[] {
  if (!/^openai-(responses|agents)$/.test(format)) return [];
  return entries.filter((entry) => {
    const id = entryId(format, entry) ?? "";
    return acceptedId(format, id) !== id;
  });
}

/** Entries with the own id of an earlier entry. */
export function repeatedIds({ format, entries, removals }: ReadList): Entry[] {
  if (!/^openai-(responses|agents)|langchain|ai-sdk/.test(format)) return [];
  const start = removals.at(-1)?.position ?? -1;
  const taken = new Set<string>();
  return entries.filter((entry) => {
    const id = entry.position > start ? entryId(format, entry) : undefined;
    const repeated = id !== undefined && taken.has(id);
    if (id !== undefined) taken.add(id);
    return repeated;
  });
}

/** The entry's id on the wire. */
export function entryId(format: Format, { native }: Entry): string | undefined {
  return filled(wireFields(format, native).id);
}

// Inputs of calls: an object, or its JSON text. Aborted answers may have neither.

/** Key for an input that is not an object; the name is from Anthropic's pages on streamed inputs. */
const UNREADABLE = "INVALID_JSON";

/** Formats in which a call's input is an object, and its field in the block. */
const OBJECT_FIELDS: Partial<Record<Format, string>> = {
  anthropic: "input",
  gemini: "args",
  langchain: "args",
  pi: "arguments",
  "ai-sdk": "input",
};

/** Gemini and LangChain accept calls without arguments; AI SDK UI parts have none until they arrive. */
const MAY_LACK_INPUT: ReadonlySet<Format> = new Set(["gemini", "langchain", "ai-sdk"]);

/** The object that holds the call's input: nested one level in Gemini's and Chat Completions' blocks. */
function inputHolder(format: Format, value: unknown): NativeObject | undefined {
  const block = objectOf(value);
  const inner = format === "gemini" ? (block.functionCall ?? block.function_call) : block.function;
  if (isObject(inner)) return inner;
  if (format in OBJECT_FIELDS) return format === "gemini" ? undefined : block;
  return block.type === "function_call" || block.type === undefined ? block : undefined;
}

/**
 * True for a call whose input is neither an object nor JSON text of one; most parsers read empty text as an
 * empty object.
 */
function lacksReadableInput(format: Format, { value, path, parts }: Cell): boolean {
  if (!parts.some((part) => part.type === "toolCall") || path.includes("invalid_tool_calls")) return false;
  const field = OBJECT_FIELDS[format];
  const input = inputHolder(format, value)?.[field ?? "arguments"];
  if (field === undefined)
    return typeof input === "string" && input.trim() !== "" && !isObject(parsed(input));
  return !isObject(input) && !(MAY_LACK_INPUT.has(format) && (input === undefined || input === null));
}

/** A copy of the call's block with an object as input: the parsed text, or the text under `INVALID_JSON`. */
function withReadableInput(format: Format, value: NativeObject): unknown {
  const holder = inputHolder(format, value);
  if (holder === undefined) return value;
  const field = OBJECT_FIELDS[format];
  const changed =
    field === undefined
      ? copyWith(holder, { arguments: JSON.stringify({ [UNREADABLE]: holder.arguments }) })
      : copyWith(holder, { [field]: objectFrom(holder[field]) });
  if (holder === value) return changed;
  const key = Object.keys(value).find((name) => value[name] === holder) ?? "";
  return copyWith(value, { [key]: changed });
}

function objectFrom(input: unknown): object {
  if (input === undefined || input === null || input === "") return {};
  const held = typeof input === "string" ? parsed(input) : undefined;
  return isObject(held) ? held : { [UNREADABLE]: jsonText(input) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

// ---- neutral messages

const ROLES: ReadonlySet<Role> = new Set(["system", "developer", "user", "assistant", "tool"]);

/**
 * What makes a list invalid for any provider: results without their call, calls without a result
 * (unless the list ends with them), ids used twice, roles that do not exist.
 */
export function findMalformations(messages: readonly Message[]): Malformation[] {
  return runAtOnce(malformationsInSteps(messages));
}

export function* malformationsInSteps(messages: readonly Message[]): Steps<Malformation[]> {
  const identities = identityFaults(messages);
  yield;
  const pairs = pairingFaults(messages);
  yield;
  const unanswered = unansweredCalls(messages, yield* groupInSteps(messages));
  return [...identities, ...pairs, ...unanswered].toSorted((a, b) => a.index - b.index);
}

function identityFaults(messages: readonly Message[]): Malformation[] {
  const found: Malformation[] = [];
  const ids = new Set<string>();
  for (const [index, { role, id }] of messages.entries()) {
    if (!ROLES.has(role))
      found.push({ kind: "unknown role", index, explanation: `there is no role "${String(role)}"` });
    if (ids.has(id))
      found.push({ kind: "duplicate id", index, explanation: `two messages have the id "${id}"` });
    ids.add(id);
  }
  return found;
}

function pairingFaults(messages: readonly Message[]): Malformation[] {
  const found: Malformation[] = [];
  const open = new Set<string>();
  const answered = new Set<string>();
  const byProvider = new Set(
    messages
      .flatMap(toolCalls)
      .filter(({ providerExecuted }) => providerExecuted === true)
      .map(({ id }) => id),
  );
  for (const [index, message] of messages.entries()) {
    for (const { id } of clientCalls(message)) {
      if (open.has(id))
        found.push({ kind: "duplicate call", index, explanation: `call id "${id}" is open already` });
      open.add(id);
      answered.delete(id);
    }
    for (const { id } of toolResults(message)) {
      if (open.delete(id)) answered.add(id);
      else if (!byProvider.has(id)) found.push(resultFault(id, index, answered.has(id)));
    }
  }
  return found;
}

function resultFault(id: string, index: number, isAnswered: boolean): Malformation {
  if (isAnswered) return { kind: "duplicate result", index, explanation: `call "${id}" is answered twice` };
  return { kind: "orphan result", index, explanation: `no call before it has the id "${id}"` };
}

/** Calls without a result; those of a final open exchange are not a fault. */
function unansweredCalls(messages: readonly Message[], all: readonly Unit[]): Malformation[] {
  const units = all.filter((unit) => unit.open > 0 && !isUnderWay(unit, messages.length - 1));
  return units.flatMap(({ indexes }) => {
    const members = indexes.map((index) => ({ index, message: messages[index] as Message }));
    const answered = new Set(members.flatMap(({ message }) => toolResults(message)).map(({ id }) => id));
    return members.flatMap(({ index, message }) =>
      clientCalls(message)
        .filter(({ id }) => !answered.has(id))
        .map(({ id, name }): Malformation => {
          return { kind: "unanswered call", index, explanation: `call "${id}" (${name}) has no result` };
        }),
    );
  });
}
