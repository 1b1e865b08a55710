import {
  argumentsText,
  callNames,
  contentHash,
  type Format,
  keepHashes,
  type MediaPart,
  type Message,
  type MessageMeta,
  type Part,
  type Role,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { requireList } from "../errors.ts";
import { likelihood } from "./detect.ts";
import { arrayAt, mediaWords, type NativeObject, objectAt, readNative, requireMessages } from "./native.ts";
import { holdsOnlyResults, partsOf, type Slot, textPart } from "./slots.ts";

/** What a codec reads from one native entry. Calls and results without a native id have the id "". */
export interface Reading {
  readonly role: Role;
  readonly slots: readonly Slot[];
  readonly id?: string;
  readonly meta?: MessageMeta;
}

/** Context for building new entries. */
export interface BuildContext {
  /** The native entries of this format; new ones follow the style of the first if the format has several. */
  natives(): readonly unknown[];
  /** The name of the call with this id, from anywhere in the list; "" if there is none. */
  callName(id: string): string;
}

/** The parts of a codec that differ from format to format. */
interface CodecSpec {
  readonly format: Format;
  /** `place` is the entry's path, such as `messages[3]`, for errors. */
  readonly read: (entry: NativeObject, place: string) => Reading;
  /** A copy of `native` with these parts, everything else unchanged; never called without parts. */
  readonly rewrite: (native: NativeObject, parts: readonly Part[]) => unknown;
  /** An entry that is valid without the removed reasoning before it. */
  readonly withoutReasoning?: (entry: unknown) => unknown;
  /** Entries for the steps of consecutive messages that have no native of this format. */
  readonly build: (steps: readonly Step[], context: BuildContext) => readonly unknown[];
}

/** A codec that also reports where in an entry each part was read. */
export interface NativeCodec extends Codec {
  /**
   * Decodes, and adds the slots of each message to `slots`. Slots have the parts as on the wire; the
   * message's parts may have generated ids. `placeOf` returns an entry's path by its index, for errors.
   */
  read(
    list: readonly unknown[],
    previous: readonly Message[],
    placeOf: (index: number) => string,
    slots: (readonly Slot[])[],
  ): Message[];
}

/** The codec for a spec; ids, pairing, reuse of unchanged natives and detection are the same for all formats. */
export function createCodec(spec: CodecSpec): NativeCodec {
  return {
    format: spec.format,
    decode: (list, previous = []) => {
      requireList(list);
      requireList(previous, "previous", "Pass what decode gave back for the entries before these.");
      const placeOf = (index: number): string => `messages[${previous.length + index}]`;
      return readNative("messages", () => decodeList(spec, list, previous, placeOf));
    },
    read: (list, previous, placeOf, slots) => decodeList(spec, list, previous, placeOf, slots),
    encode: (messages) => {
      requireMessages(messages);
      return readNative("messages", () => encodeList(spec, messages));
    },
    detect: (list) => {
      requireList(list);
      return likelihood(list, spec.format);
    },
  };
}

/** `kept` collects the slots of each message; without it they are freed with the message. */
function decodeList(
  spec: CodecSpec,
  list: readonly unknown[],
  previous: readonly Message[],
  placeOf: (index: number) => string,
  kept?: (readonly Slot[])[],
): Message[] {
  const ids = createIds(previous);
  const hashes: (string | undefined)[] = [];
  const messages = arrayAt(list, "messages").map((native, index): Message => {
    const place = placeOf(index);
    const { slots, id: nativeId, meta, role: own } = spec.read(objectAt(native, place), place);
    const role = own === "user" && holdsOnlyResults(slots) ? "tool" : own;
    kept?.push(slots);
    const wire = partsOf(slots);
    const hash = nativeId === undefined ? contentHash({ role, parts: wire }) : undefined;
    hashes.push(hash);
    const id = ids.unique(nativeId ?? hash ?? "");
    const parts = ids.identify({ id, role, parts: wire });
    const { format } = spec;
    const message: Message =
      meta === undefined ? { id, role, parts, native, format } : { id, role, parts, meta, native, format };
    return nativeId === undefined || nativeId === id ? message : { ...message, callerId: nativeId };
  });
  keepHashes(messages, hashes);
  return messages;
}

function encodeList(spec: CodecSpec, messages: readonly Message[]): unknown[] {
  const isNative = ({ native, format }: Message): boolean => native !== undefined && format === spec.format;
  let natives: readonly unknown[] | undefined;
  let names: Map<string, string> | undefined;
  const context: BuildContext = {
    natives() {
      natives ??= messages.filter(isNative).map(({ native }) => native);
      return natives;
    },
    callName(id) {
      names ??= callNames(messages);
      return names.get(id) ?? "";
    },
  };
  const list: unknown[] = [];
  let run: Message[] = [];
  const flush = (): void => {
    if (run.length === 0) return;
    for (const entry of spec.build(toSteps(run), context)) list.push(entry);
    run = [];
  };
  // True after removed reasoning, until another role or new reasoning follows.
  let isBare = false;
  for (const message of messages) {
    if (isBare)
      isBare = message.role === "assistant" && !message.parts.some(({ type }) => type === "reasoning");
    if (!isNative(message)) {
      run.push(message);
      continue;
    }
    flush();
    const entry = nativeOf(message, spec);
    // A message that lost all its parts has no entry.
    if (entry === undefined) isBare = message.role === "assistant";
    else list.push(isBare && spec.withoutReasoning !== undefined ? spec.withoutReasoning(entry) : entry);
  }
  flush();
  return list;
}

function nativeOf({ native, parts, edited, id }: Message, { rewrite }: CodecSpec): unknown {
  if (edited !== true) return native;
  return parts.length === 0 ? undefined : rewrite(objectAt(native, id), parts);
}

// ---- the steps of new entries

/** What a result or a person says. */
export type Content = TextPart | MediaPart;

/**
 * The common denominator of providers for newly built lists: someone speaks, the assistant speaks and calls
 * (role `assistant`), or results arrive (role `tool`). Results directly follow the step that called for them.
 * Reasoning is bound to its provider and is omitted.
 */
export interface Step {
  readonly role: Role;
  readonly content: readonly Content[];
  readonly calls: readonly ToolCallPart[];
  readonly results: readonly ToolResultPart[];
  readonly message: Message;
}

/** The steps of a run of messages. A provider-executed call without a result becomes assistant text. */
export function toSteps(run: readonly Message[]): Step[] {
  return gatherResults(joinAssistants(run.flatMap(splitMessage)));
}

/** Splits a message at boundaries between results and other parts. */
function splitMessage(message: Message): Step[] {
  const groups: Part[][] = [];
  let inResults: boolean | undefined;
  for (const part of message.parts) {
    if (part.type === "reasoning") continue;
    const isResult = part.type === "toolResult";
    if (isResult !== inResults) groups.push([]);
    inResults = isResult;
    groups.at(-1)?.push(part);
  }
  if (message.parts.length === 0) groups.push([]);
  return groups.map((group) => toStep(message, group));
}

/** The parts are all results, or none of them is one. */
function toStep(message: Message, parts: readonly Part[]): Step {
  const results = parts.filter((part) => part.type === "toolResult");
  if (results.length > 0) return { role: "tool", content: [], calls: [], results, message };
  const content = parts.filter((part) => part.type === "text" || part.type === "media");
  const calls = parts.filter((part) => part.type === "toolCall");
  // A tool message without a result can only be a user message.
  const speaker = message.role === "tool" ? "user" : message.role;
  return { role: calls.length > 0 ? "assistant" : speaker, content, calls, results, message };
}

/** A summary stays a separate message so that it can be found and replaced. */
function joinAssistants(steps: readonly Step[]): Step[] {
  const isJoinable = (step: Step | undefined): step is Step =>
    step?.role === "assistant" && step.message.meta?.summaryVersion === undefined;
  const joined: Step[] = [];
  for (const step of steps) {
    const last = joined.at(-1);
    if (isJoinable(step) && isJoinable(last)) {
      const content = [...last.content, ...step.content];
      joined[joined.length - 1] = { ...last, content, calls: [...last.calls, ...step.calls] };
    } else joined.push(step);
  }
  return joined;
}

function gatherResults(steps: readonly Step[]): Step[] {
  const unplaced = new Set(steps.flatMap((step) => step.results));
  const byId = new Map<string, ToolResultPart[]>();
  for (const result of unplaced) {
    const same = byId.get(result.id);
    if (same === undefined) byId.set(result.id, [result]);
    else same.push(result);
  }
  const gathered: Step[] = [];
  const place = (step: Step, results: readonly ToolResultPart[]): void => {
    const fresh = results.filter((result) => unplaced.delete(result));
    const last = gathered.at(-1);
    if (last?.role === "tool")
      gathered[gathered.length - 1] = { ...last, results: [...last.results, ...fresh] };
    else if (fresh.length > 0) gathered.push(toStep(step.message, fresh));
  };
  for (const step of steps) {
    if (step.role === "tool") place(step, step.results);
    else if (step.calls.length === 0) gathered.push(step);
    else {
      const answers = step.calls.map((call) => byId.get(call.id)?.find((result) => unplaced.has(result)));
      gathered.push(withoutUnanswered(step, answers));
      const found = answers.filter((answer) => answer !== undefined);
      place(step, found);
    }
  }
  return gathered;
}

function withoutUnanswered(step: Step, answers: readonly unknown[]): Step {
  const isUnanswered = (call: ToolCallPart, index: number): boolean =>
    call.providerExecuted === true && answers[index] === undefined;
  if (!step.calls.some(isUnanswered)) return step;
  const words = step.calls
    .filter(isUnanswered)
    .map((call) => textPart(`[${call.name} ${argumentsText(call)}]`));
  const calls = step.calls.filter((call, index) => !isUnanswered(call, index));
  return { ...step, content: [...step.content, ...words], calls };
}

/** A result's content as a list of parts. */
export function piecesOf(content: ToolResultPart["content"]): readonly Content[] {
  return typeof content === "string" ? [textPart(content)] : content;
}

/** The text of a step that calls nothing and says nothing else. */
export function onlyText({ content, calls }: Pick<Step, "content"> & Partial<Step>): string | undefined {
  const [only, ...others] = content;
  return only?.type === "text" && others.length === 0 && !calls?.length ? only.text : undefined;
}

/** A content in words, for formats that take only texts here. */
export function spoken(part: Content): string {
  return part.type === "text" ? part.text : mediaWords(part);
}

/** Generates the ids of a list for messages and calls without one. */
export interface Ids {
  /** The wished id, or the next free variant: `-2`, `-3`. */
  unique(wished: string): string;
  /**
   * The parts, with ids for calls and results that have none. A call's id derives from its message's id; a
   * result takes the id of the first open call: same name first, newer turns first.
   */
  identify(message: Pick<Message, "id" | "role" | "parts">): readonly Part[];
}

/** `previous` are the messages before the list. */
export function createIds(previous: readonly Message[]): Ids {
  const { ids, open: known } = knownOf(previous);
  const open: OpenCalls = { ...known, calls: [...known.calls], left: [...known.left] };
  /** Every id issued, with the highest number appended to it. */
  const taken = new Map<string, number>();
  const isTaken = (id: string): boolean => taken.has(id) || ids.has(id);
  return {
    unique(wished) {
      if (!isTaken(wished)) {
        taken.set(wished, 1);
        return wished;
      }
      let number = (taken.get(wished) ?? lastNumber(ids, wished)) + 1;
      while (isTaken(`${wished}-${number}`)) number++;
      const id = `${wished}-${number}`;
      taken.set(wished, number);
      taken.set(id, 1);
      return id;
    },
    identify(message) {
      const { id, parts } = message;
      if (!parts.some(lacksId)) {
        add(open, message);
        return parts;
      }
      leaveBehind(open, message);
      return parts.map((part, index) => {
        const identified = lacksId(part) ? withId(part, `${id}_${index + 1}`, open) : part;
        note(open, identified);
        return identified;
      });
    },
  };
}

interface Known {
  /** By id: the number up to which all numbered variants are known to be taken. */
  readonly ids: Map<string, number>;
  readonly open: OpenCalls;
  upTo: number;
}

/** Conversations are append-only and their end is decoded before every call: each message is processed once. */
const knownByList = new WeakMap<readonly Message[], Known>();

function knownOf(previous: readonly Message[]): Known {
  let known = knownByList.get(previous);
  if (known === undefined || known.upTo > previous.length) {
    const open: OpenCalls = { calls: [], left: [], answered: false };
    known = { ids: new Map(), open, upTo: 0 };
    knownByList.set(previous, known);
  }
  for (const message of previous.slice(known.upTo)) {
    if (!known.ids.has(message.id)) known.ids.set(message.id, 1);
    add(known.open, message);
  }
  known.upTo = previous.length;
  return known;
}

/** Cached: a repeated text would otherwise be counted from 1 each time. */
function lastNumber(ids: Map<string, number>, base: string): number {
  let number = ids.get(base) ?? 1;
  while (ids.has(`${base}-${number + 1}`)) number++;
  ids.set(base, number);
  return number;
}

interface OpenCalls {
  calls: ToolCallPart[];
  /** Calls still open when the user went on; a result is assigned to them only if no newer call matches. */
  left: ToolCallPart[];
  /** True once a result followed the calls: the next call starts a new step. */
  answered: boolean;
}

function add(open: OpenCalls, message: Pick<Message, "role" | "parts">): void {
  leaveBehind(open, message);
  for (const part of message.parts) note(open, part);
}

/** A user who goes on leaves the open calls behind. */
function leaveBehind(open: OpenCalls, { role, parts }: Pick<Message, "role" | "parts">): void {
  if (role !== "user" || parts.length === 0 || parts.some((part) => part.type === "toolResult")) return;
  open.left.push(...open.calls);
  open.calls = [];
}

function lacksId(part: Part): part is ToolCallPart | ToolResultPart {
  return (part.type === "toolCall" || part.type === "toolResult") && part.id === "";
}

function withId(part: ToolCallPart | ToolResultPart, suffix: string, open: OpenCalls): Part {
  if (part.type === "toolCall") return { ...part, id: `call_${suffix}` };
  const isNamed = (call: ToolCallPart): boolean => part.name !== undefined && call.name === part.name;
  const call = open.calls.find(isNamed) ?? open.left.find(isNamed) ?? open.calls[0] ?? open.left[0];
  return { ...part, id: call?.id ?? `result_${suffix}` };
}

function note(open: OpenCalls, part: Part): void {
  if (part.type === "toolCall") {
    if (open.answered) Object.assign(open, { calls: [], left: [], answered: false });
    open.calls.push(part);
  } else if (part.type === "toolResult") {
    open.answered = true;
    for (const calls of [open.calls, open.left]) {
      const index = calls.findIndex((call) => call.id === part.id);
      if (index !== -1) calls.splice(index, 1);
    }
  }
}
