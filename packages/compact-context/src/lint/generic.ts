import { codecFor, FORMATS } from "../codecs/formats.ts";
import { copyWith, filled, type NativeObject, objectOf } from "../codecs/native.ts";
import type { Malformation } from "../core/lists.ts";
import { type Format, jsonText, type Message } from "../core/message.ts";
import { isObject, runAtOnce, type Steps } from "../errors.ts";
import { type Cell, type Entry, type Fault, isSystem, type ReadList } from "./entries.ts";
import { callsWithoutId, orphans, refusedIds, repeatedIds, resultsWithoutId } from "./identities.ts";
import { pairCalls, pairInSteps, type Spot } from "./pairs.ts";
import { deadCalls, earlyResults, isDead } from "./placing.ts";
import { atSpot, badCells, drop, type Finding, type Fix, type Rule, rewrite, rulesOf } from "./rule.ts";

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
    check: (list) =>
      isEmptyList(list) ? [{ position: 0, path: "messages", fix: openAt(list.format, list.length) }] : [],
  },
  {
    id: "generic/orphan-result",
    explanation: "A tool result answers a call that is not in the list.",
    link: PAIRING,
    mend: "It gets the id of the call before it where just one is open; else it is dropped, its text is in `removed`.",
    check: orphans,
  },
  {
    id: "generic/duplicate-result",
    explanation: "A call is answered more than once.",
    link: PAIRING,
    mend: "The first result stays; the text of the others is in `removed`.",
    check: (list) =>
      pairCalls(list).duplicates.map((result) =>
        atSpot(result, `call "${result.part.id}" is answered already`, drop(result)),
      ),
  },
  {
    id: "generic/duplicate-call",
    explanation: "A call has the id of another one that is still open.",
    link: PAIRING,
    mend: "The second call is dropped; its text is in `removed`.",
    check: (list) => pairCalls(list).doubles.map((call) => atSpot(call, undefined, drop(call))),
  },
  {
    id: "generic/result-before-call",
    explanation: "A result stands before the call that it answers.",
    link: PAIRING,
    mend: "The result is moved behind its call.",
    check: earlyResults,
  },
  {
    id: "generic/dead-call",
    explanation: "A call has no result although the conversation went on.",
    link: PAIRING,
    mend: "A synthetic error result says that none was recorded.",
    check: deadCalls,
  },
  {
    id: "generic/call-without-id",
    formats: BY_ID,
    explanation: "A call has no id that a result could name.",
    link: PAIRING,
    mend: "It gets the id that its result names, or a made-up one; an item without either is dropped.",
    check: callsWithoutId,
  },
  {
    id: "generic/result-without-id",
    formats: BY_ID,
    explanation: "A result does not say which call it answers.",
    link: PAIRING,
    mend: "It gets the id of the first open call; a result without one is dropped.",
    check: resultsWithoutId,
  },
  {
    id: "generic/input-object",
    formats: ["anthropic", "gemini", "langchain", "pi", "ai-sdk"],
    explanation: "The input of a call is no object: the answer that made it was aborted.",
    link: 'Claude API reference: "Create a Message", tool_use; Gemini API reference: FunctionCall.args',
    mend: "It becomes the object that the text holds, or one that holds the text under `INVALID_JSON`.",
    check: unreadableInputs,
  },
  {
    id: "generic/arguments-json",
    formats: ["openai-chat", "openai-responses", "openai-agents"],
    explanation:
      "The arguments of a call are no JSON object: the answer that made it was aborted, and servers that parse them refuse the list.",
    link: "vLLM and others parse `arguments` for the chat template; OpenAI takes any text",
    mend: "They become an object that holds the text under `INVALID_JSON`.",
    check: unreadableInputs,
  },
  {
    id: "generic/refused-id",
    formats: ["anthropic", "openai-chat", "openai-responses", "openai-agents"],
    explanation: "An id has characters or a length that the provider refuses.",
    link: "Claude API reference: tool_use.id matches ^[a-zA-Z0-9_-]+$; OpenAI: ids of calls have at most 40 characters in Chat Completions, those of calls and items 64 in Responses (string_above_max_length)",
    mend: "Other characters become `_`, and an id that is too long ends in its fingerprint: the same in the call and its result. Reasoning without its content is dropped.",
    check: refusedIds,
  },
  {
    id: "generic/duplicate-entry-id",
    formats: ["openai-responses", "openai-agents", "langchain", "ai-sdk"],
    explanation: "Two entries have the same id: the provider refuses them, or one replaces the other.",
    link: 'OpenAI: "Duplicate item found with id"; LangGraph: messages with one id replace each other',
    mend: "An equal copy is dropped; any other later entry loses its id.",
    check: repeatedIds,
  },
]);

// ---- lists and entries

function faultsOf({ faults }: ReadList): Finding[] {
  return faults.map((fault) => {
    const { position, path, problem } = fault;
    return { position, path, problem: `${path} ${problem}`, fix: dropFault(fault) };
  });
}

/** Drops the block that the path names, otherwise the whole entry. */
function dropFault(fault: Fault): Fix {
  return (editor) => {
    const rest = withoutBlock(fault);
    editor.replace(fault, rest?.native);
    return { action: "dropped", removed: jsonText(rest === undefined ? fault.native : rest.block) };
  };
}

/** The entry without its unreadable block, and the block. */
function withoutBlock({ native, path }: Fault): { native: unknown; block: unknown } | undefined {
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

function isEmptyList({ format, entries, length }: ReadList): boolean {
  const isLifted = format === "anthropic" || format === "gemini";
  return length === 0 || (isLifted && entries.length === length && entries.every(isSystem));
}

/** The user entry that opens a conversation where the provider requires one. */
export function openingEntry(format: Format): unknown {
  const parts = [{ type: "text", text: "[conversation continues]" }] as const;
  return codecFor(format).encode([{ id: "opening", role: "user", parts }])[0];
}

/** The fix that inserts an opening before this position. */
export function openAt(format: Format, position: number): Fix {
  return (editor) => {
    const added = openingEntry(format);
    editor.insertAfter(position - 1, added, { position });
    return { action: "added", added };
  };
}

// ---- inputs of calls: an object, or its JSON text; aborted answers may have neither

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

function unreadableInputs(list: ReadList): Finding[] {
  const { format } = list;
  return badCells(
    list,
    (cell) => lacksReadableInput(format, cell),
    rewrite((value) => withReadableInput(format, value)),
  );
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

const ROLES: ReadonlySet<string> = new Set(["system", "developer", "user", "assistant", "tool"]);

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
  const pairing = yield* pairingFaults(messages);
  return [...identities, ...pairing].toSorted((a, b) => a.index - b.index);
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

function* pairingFaults(messages: readonly Message[]): Steps<Malformation[]> {
  const entries = messages.map((message, position): Entry => {
    return { native: {}, position, message, cells: [{ value: message, path: "", parts: message.parts }] };
  });
  yield;
  const pairs = yield* pairInSteps({ entries });
  const fault = (kind: Malformation["kind"], { entry }: Spot, explanation: string): Malformation => {
    return { kind, index: entry.position, explanation };
  };
  const early = pairs.calls.flatMap(({ early, excused, result }) =>
    early && !excused && result !== undefined ? [result] : [],
  );
  return [
    ...pairs.doubles
      .filter(({ part }) => part.providerExecuted !== true)
      .map((one) => fault("duplicate call", one, `call id "${one.part.id}" is open already`)),
    ...pairs.duplicates.map((one) =>
      fault("duplicate result", one, `call "${one.part.id}" is answered twice`),
    ),
    ...[...pairs.orphans, ...early].map((one) =>
      fault("orphan result", one, `no call before it has the id "${one.part.id}"`),
    ),
    ...pairs.calls
      .filter((call) => isDead(call))
      .map((one) => fault("unanswered call", one, `call "${one.part.id}" (${one.part.name}) has no result`)),
  ];
}
