import {
  type Message,
  type Part,
  type ToolResultPart,
  toolResults,
} from "compact-context/internal/core/message";
import type { Codec } from "compact-context/internal/core/ports";

/** A codec's faults on a list of its own format; empty if it meets the contract. */
export type CodecCheck = (codec: Codec, list: readonly unknown[]) => string[];

/** One message per entry, in order, each with the caller's object; encoding returns the same objects. */
export const checkIdentity: CodecCheck = (codec, list) => {
  const messages = codec.decode(list);
  const problems: string[] = [];
  if (messages.length !== list.length) problems.push(`${list.length} entries became ${messages.length}`);
  messages.forEach((message, index) => {
    if (message.native !== list[index]) problems.push(`messages[${index}].native is another object`);
    if (message.format !== codec.format) problems.push(`messages[${index}].format is ${message.format}`);
  });
  const encoded = codec.encode(messages);
  if (encoded.length !== list.length) problems.push(`encode gave ${encoded.length} of ${list.length}`);
  encoded.forEach((entry, index) => {
    if (entry !== list[index]) problems.push(`encode gave another object at ${index}`);
  });
  return problems;
};

/** Ids are unique, equal for copies of the list, and independent of later entries. */
export const checkIds: CodecCheck = (codec, list) => {
  const whole = codec.decode(list);
  const ids = whole.map((message) => message.id);
  const problems = new Set(ids).size === ids.length ? [] : ["ids are not unique"];
  if (ids.some((id) => id === "")) problems.push("an id is empty");
  for (const cut of cutsOf(list.length)) {
    const prefix = codec.decode(list.slice(0, cut).map(copyOf));
    if (prefix.some((message, index) => message.id !== ids[index])) problems.push(`ids change at cut ${cut}`);
  }
  return problems;
};

/** The end of a list, decoded with its preceding messages, equals the end of the list decoded as a whole. */
export const checkSuffixes: CodecCheck = (codec, list) => {
  const whole = codec.decode(list);
  return cutsOf(list.length).flatMap((cut) => {
    const suffix = codec.decode(list.slice(cut), whole.slice(0, cut));
    return same(suffix.map(visible), whole.slice(cut).map(visible)) ? [] : [`the suffix from ${cut} differs`];
  });
};

function copyOf(entry: unknown): unknown {
  if (typeof entry !== "object" || entry === null) return entry;
  return Object.assign(Object.create(Object.getPrototypeOf(entry) as object | null) as object, entry);
}

/** The ids of results without a preceding call. */
export function orphanResults(messages: readonly Message[]): string[] {
  const called = new Set<string>();
  return messages.flatMap((message) =>
    message.parts.flatMap((part) => {
      if (part.type === "toolCall") called.add(part.id);
      return part.type === "toolResult" && !called.has(part.id) ? [part.id] : [];
    }),
  );
}

/** Clearing a result changes only that result, not the native object, and survives another decode. */
export const checkEditedResults: CodecCheck = (codec, list) => {
  const messages = codec.decode(list);
  const before = JSON.stringify(list);
  const served = new Set(
    messages.flatMap((message) =>
      message.parts.flatMap((part) => (part.type === "toolCall" && part.providerExecuted ? [part.id] : [])),
    ),
  );
  const problems = messages.flatMap((message, index) => {
    const results = toolResults(message).filter((part) => !served.has(part.id));
    return results.slice(0, 2).flatMap((result) => editOne(codec, messages, { index, result }));
  });
  if (JSON.stringify(list) !== before) problems.push("a native was changed in place");
  return problems;
};

const STUB = "[cleared: 12 lines]";

interface Edit {
  readonly index: number;
  readonly result: ToolResultPart;
}

function editOne(codec: Codec, messages: readonly Message[], { index, result }: Edit): string[] {
  const parts = (messages[index]?.parts ?? []).map((part) =>
    part === result ? { ...result, content: STUB } : part,
  );
  const edited = messages.map((message, at) =>
    at === index ? { ...message, parts, edited: true } : message,
  );
  const list = codec.encode(edited);
  const problems: string[] = [];
  messages.forEach((message, at) => {
    if (at !== index && list[at] !== message.native) problems.push(`editing ${index} touched ${at}`);
  });
  const again = codec.decode(list)[index];
  if (!same(again?.parts.map(plain), parts.map(plain))) problems.push(`the edit of ${index} did not survive`);
  if (again?.role !== messages[index]?.role) problems.push(`the edit of ${index} changed the role`);
  return [
    ...problems,
    ...lostFields(messages[index]?.native, list[index]).map((field) => `${index}: ${field}`),
  ];
}

/** Names of fields that the copy has lost. */
function lostFields(native: unknown, copy: unknown): string[] {
  if (typeof native !== "object" || native === null || typeof copy !== "object" || copy === null) return [];
  return Object.keys(native)
    .filter((key) => !(key in copy))
    .map((key) => `${key} was lost`);
}

/** A result of one text block equals that text; generated ids depend on the content and can change. */
function plain(part: Part): unknown {
  if (part.type !== "toolResult" || typeof part.content === "string") return part;
  const only = part.content.length === 1 ? part.content[0] : undefined;
  return only?.type === "text" ? { ...part, content: only.text } : part;
}

function visible({ native: _native, ...rest }: Message): unknown {
  return rest;
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Up to eight cut positions, including both ends. */
function cutsOf(length: number): number[] {
  const cuts = Array.from({ length: 7 }, (_, index) => Math.floor((length * index) / 7));
  return [...new Set([...cuts, Math.max(0, length - 1), length])];
}
