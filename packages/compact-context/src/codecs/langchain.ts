import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Part,
  type Role,
  type ToolCallPart,
} from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import {
  type BuildContext,
  type Content,
  createCodec,
  type NativeCodec,
  onlyText,
  type Reading,
  type Step,
} from "./create-codec.ts";
import { instanceKind } from "./detect.ts";
import {
  copyWith,
  filled,
  inputObject,
  invalidMessages,
  mediaFromUrl,
  mediaFromValue,
  mediaUrl,
  mediaWords,
  type NativeObject,
  objectAt,
  objectOf,
  readMeta,
  stringAt,
} from "./native.ts";
import {
  blockWriter,
  callPart,
  contentSlots,
  joinedContent,
  partsOf,
  resultContent,
  resultPart,
  rewriteBlocks,
  type Slot,
  slot,
  textPart,
  thought,
} from "./slots.ts";

/**
 * LangChain messages as instances, serialized, or plain. `protected` is read from `metadata`, or from
 * `additional_kwargs` or `response_metadata` or a `meta` in them.
 */
export const langchainCodec: NativeCodec = createCodec({
  format: "langchain",
  read,
  rewrite,
  build,
});

function read(entry: NativeObject, place: string): Reading {
  const role = roleOf(entry, place);
  const fields = fieldsOf(entry);
  const { meta, metadata, additional_kwargs: extra, response_metadata: response } = fields;
  const { model_name: name, model } = objectOf(response);
  const slots =
    role === "tool"
      ? [resultSlot(entry, fields, place)]
      : [
          ...reasoningSlots(fields, place),
          ...spokenSlots(fields.content, callIds(fields), `${place}.content`),
          ...callSlots(fields, place),
        ];
  return {
    role,
    slots,
    id: filled(fields.id),
    meta: readMeta({ meta, metadata, model: name ?? model }, extra, response),
  };
}

/** Some providers repeat calls as content blocks; the repetitions are skipped. */
function spokenSlots(content: unknown, known: ReadonlySet<string>, place: string): Slot[] {
  if (content === undefined || content === null) return [];
  const read = (block: NativeObject, at: string): Part | readonly Part[] | undefined => {
    const type =
      filled(block.type) ?? ("functionCall" in block ? "function_call" : stringAt(block.type, `${at}.type`));
    if (isCallBlock(type)) return readCallBlock(block, known);
    return readPiece(block, type) ?? readThought(block, type);
  };
  return contentSlots(content, place, read, true);
}

function isCallBlock(type: string): boolean {
  return /^(tool_use|tool_call|function_call|functionCall|input_json_delta|tool_call_chunk)$/.test(type);
}

function readCallBlock(block: NativeObject, known: ReadonlySet<string>): Part | readonly Part[] {
  const name = filled(block.name);
  if (name === undefined || known.size > 0) return [];
  const args = block.input ?? block.args ?? block.arguments ?? {};
  return callPart(filled(block.id) ?? block.call_id, name, args);
}

function readPiece(block: NativeObject, type: string): Content | undefined {
  if (typeof block.text === "string" && /^(text|text-plain|input_text|output_text)$/.test(type))
    return textPart(block.text);
  if (type === "image_url") {
    const image = isObject(block.image_url) ? block.image_url : { url: block.image_url };
    return mediaFromUrl(jsonText(image.url), "image/*", image);
  }
  return /^(image|audio|video|file|document)$/.test(type) ? readMedia(block, type) : undefined;
}

/** Standard blocks of both versions, and Anthropic's with `source`. */
function readMedia(block: NativeObject, type: string): MediaPart {
  const holder = isObject(block.source) ? block.source : block;
  const { mimeType, mime_type: old, media_type: oldest } = holder;
  const fallback = type === "file" || type === "document" ? "application/pdf" : `${type}/*`;
  const mediaType = filled(mimeType) ?? filled(old) ?? filled(oldest) ?? fallback;
  const extra = isObject(block.metadata) ? { name: block.metadata.filename } : {};
  return mediaFromValue(holder.data ?? holder.url ?? holder.file, mediaType, extra);
}

function readThought(block: NativeObject, type: string): Part | undefined {
  if (!/^(thinking|redacted_thinking|reasoning|reasoning_content)$/.test(type)) return undefined;
  const text = [block.thinking, block.reasoning, block.text].find((value) => typeof value === "string");
  const seal = filled(block.signature) ?? filled(block.data) ?? block.encrypted_content;
  return thought(jsonText(text ?? block.summary), seal);
}

function reasoningSlots(fields: NativeObject, place: string): Slot[] {
  const text = filled(objectOf(fields.additional_kwargs).reasoning_content);
  return text === undefined ? [] : [slot(undefined, thought(text), place)];
}

/** The fields with calls, and these: the message's own lists, otherwise the provider's raw calls. */
function callLists(fields: NativeObject): { field: string; calls: readonly unknown[] }[] {
  const own = ["tool_calls", "invalid_tool_calls"].flatMap((field) => {
    const calls = fields[field];
    return Array.isArray(calls) && calls.length > 0 ? [{ field, calls }] : [];
  });
  if (own.length > 0) return own;
  const { tool_calls: raw } = objectOf(fields.additional_kwargs);
  return Array.isArray(raw) ? [{ field: "additional_kwargs", calls: raw }] : [];
}

function callIds(fields: NativeObject): ReadonlySet<string> {
  const calls = callLists(fields).flatMap((list) => list.calls);
  return new Set(calls.flatMap((call) => (isObject(call) ? jsonText(call.id) : [])));
}

function callSlots(fields: NativeObject, place: string): Slot[] {
  return callLists(fields).flatMap(({ field, calls }) =>
    calls.map((value, index) => {
      const path = `${place}.${field}[${index}]`;
      const call = objectAt(value, path);
      return slot(call, readCall(call, path), path);
    }),
  );
}

function readCall(call: NativeObject, place: string): ToolCallPart {
  const raw = isObject(call.function) ? call.function : call;
  return callPart(call.id, stringAt(raw.name ?? "", `${place}.name`), raw.args ?? raw.arguments ?? {});
}

function resultSlot(entry: NativeObject, fields: NativeObject, place: string): Slot {
  const read = (blocks: unknown): Slot[] => spokenSlots(blocks, new Set(), `${place}.content`);
  const content = resultContent(fields.content, read);
  return slot(entry, resultPart(fields.tool_call_id, content, fields.status === "error", fields.name), place);
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const fields = fieldsOf(native);
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined) {
    const status = result.isError === true ? "error" : fields.status;
    return copyWithFields(native, { content: writeContent(result.content), status });
  }
  const calls = parts.filter((part) => part.type === "toolCall");
  const gone = [...callIds(fields)].filter((id) => id !== "" && !calls.some((call) => call.id === id));
  const slots = spokenSlots(fields.content, callIds(fields), "content").filter(
    (one) => !(isObject(one.block) && gone.includes(jsonText(one.block.id))),
  );
  const said = parts.filter((part) => part.type !== "toolCall");
  const aside = reasoningSlots(fields, "message")[0]?.parts[0];
  const spoken = said.filter((part) => !sameText(part, aside));
  const blocks = rewriteBlocks(slots, spoken, (part) => write(part));
  const isEmpty = blocks.length === 0 && !Array.isArray(fields.content);
  return copyWithFields(native, {
    content: isEmpty ? "" : joinedContent(fields.content, blocks),
    ...rewriteExtra(fields, spoken.length < said.length),
    ...rewriteCalls(fields, calls),
  });
}

function sameText(part: Part, other: Part | undefined): boolean {
  return part.type === "reasoning" && other?.type === "reasoning" && part.text === other.text;
}

function rewriteExtra(fields: NativeObject, thoughtKept: boolean): NativeObject {
  const extra = fields.additional_kwargs;
  if (thoughtKept || !isObject(extra) || !("reasoning_content" in extra)) return {};
  const { reasoning_content: _dropped, ...rest } = extra;
  return { additional_kwargs: rest };
}

function rewriteCalls(fields: NativeObject, calls: readonly ToolCallPart[]): NativeObject {
  const changes: Record<string, unknown> = {};
  const lists = callLists(fields);
  if (lists.length === 0 && calls.length > 0) return { tool_calls: calls.map((call) => write(call)) };
  for (const { field, calls: old } of lists) {
    const slots = old.filter(isObject).map((call) => slot(call, readCall(call, field), field));
    const ids = new Set(partsOf(slots).map((part) => ("id" in part ? part.id : "")));
    const mine = calls.filter((call) => ids.has(call.id) || (ids.has("") && lists.length === 1));
    const blocks = rewriteBlocks(slots, mine, write);
    if (field === "additional_kwargs") changes[field] = { ...inputObject(fields[field]), tool_calls: blocks };
    else changes[field] = blocks;
  }
  return changes;
}

const write = blockWriter({
  media: buildMedia,
  reasoning: ({ text }) => ({ type: "reasoning", reasoning: text }),
  toolCall: (part, block) => {
    if (block === undefined)
      return { type: "tool_call", id: part.id, name: part.name, args: inputObject(argumentsValue(part)) };
    if (!isObject(block.function)) return { ...block, name: part.name, args: argumentsValue(part) };
    const called = { ...block.function, name: part.name, arguments: jsonText(part.arguments) };
    return { ...block, function: called };
  },
});

function buildMedia(part: MediaPart): unknown {
  const url = mediaUrl(part);
  if (url === "") return textPart(mediaWords(part));
  if (part.mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } };
  const kind = /^(audio|video)\//.exec(part.mediaType)?.[1] ?? "file";
  const source = part.data === undefined ? { url } : { data: part.data };
  return { type: kind, mimeType: part.mediaType, ...source };
}

function writeContent(content: readonly Content[] | string): unknown {
  if (typeof content === "string") return content;
  return onlyText({ content }) ?? content.map((piece) => write(piece));
}

// ---- new messages

const DEVELOPER = { __openai_role__: "developer" };
/** LangChain's mark for a message that replaces others. */
const SUMMARY = { lc_source: "summarization" };

/** Follows the list: serialized messages, instances, or plain `{role, content}`. */
function build(steps: readonly Step[], context: BuildContext): unknown[] {
  const natives = context.natives();
  const isSerialised = objectOf(natives[0]).lc === 1;
  const beside = isInstance(natives[0]) ? natives.filter(isInstance) : [];
  const used = new Set<string>();
  const built = steps.flatMap((step) => buildStep(step, context));
  return built.map(({ role, id: wished, ...rest }, index) => {
    const id = used.has(wished) ? `${wished}-${index}` : wished;
    used.add(id);
    const fields = { id, ...rest };
    if (!isSerialised) return buildInstance(role, fields, beside) ?? { role, ...fields };
    const path = ["langchain_core", "messages", `${KINDS[role][1]}Message`];
    return { lc: 1, type: "constructor", id: path, kwargs: fields };
  });
}

function isInstance(native: unknown): native is NativeObject {
  return isObject(native) && instanceKind(native) !== undefined;
}

interface BuiltMessage extends NativeObject {
  readonly role: keyof typeof KINDS;
  readonly id: string;
}

function buildStep(
  { role, content: said, calls, results, message }: Step,
  context: BuildContext,
): BuiltMessage[] {
  const { id } = message;
  if (role === "tool") {
    return results.map((result) =>
      defined({
        role,
        id,
        tool_call_id: result.id,
        name: filled(result.name ?? context.callName(result.id)),
        content: writeContent(result.content),
        status: result.isError === true ? "error" : undefined,
      }),
    );
  }
  const summary = message.meta?.summaryVersion === undefined ? undefined : SUMMARY;
  const extra = role === "developer" ? { ...DEVELOPER, ...summary } : summary;
  return [
    defined({
      role: role === "developer" ? "system" : role,
      id,
      content: said.length === 0 ? "" : writeContent(said),
      tool_calls: calls.length === 0 ? undefined : calls.map((call) => write(call)),
      additional_kwargs: extra,
    }),
  ];
}

// ---- instances of LangChain's classes

type MessageClass = new (fields: object) => object;

/** Results of `getType()` and prefixes of `lc_name()`, by role. */
const KINDS = {
  system: ["system", "System"],
  user: ["human", "Human"],
  assistant: ["ai", "AI"],
  tool: ["tool", "Tool"],
} as const;

/**
 * A message as an instance of LangChain's classes, derived from neighbouring instances so that LangChain is
 * not imported. If none has the class, a class of the same name extends their base class and serializes like
 * LangChain's own. Undefined if no base class is found.
 */
function buildInstance(
  role: keyof typeof KINDS,
  fields: NativeObject,
  beside: readonly NativeObject[],
): object | undefined {
  const [kind, name] = KINDS[role];
  const known = beside.find(
    (native) => instanceKind(native) === kind && !classOf(native).name.endsWith("Chunk"),
  );
  const Class = known === undefined ? derivedClass(beside[0], kind, `${name}Message`) : classOf(known);
  return Class && new Class({ ...fields });
}

function classOf(native: object): MessageClass {
  return native.constructor as MessageClass;
}

/** By base class, then by name. */
const derived = new WeakMap<MessageClass, Map<string, MessageClass>>();

function derivedClass(native: object | undefined, kind: string, name: string): MessageClass | undefined {
  const Base = native && baseClass(classOf(native));
  if (Base === undefined) return undefined;
  const classes = derived.get(Base) ?? new Map<string, MessageClass>();
  derived.set(Base, classes);
  const Class = classes.get(name) ?? deriveFrom(Base, kind, name);
  classes.set(name, Class);
  return Class;
}

/** `BaseMessage`, detected by its own members: bundlers rename classes. */
function baseClass(Class: MessageClass): MessageClass | undefined {
  let current: unknown = Class;
  while (typeof current === "function") {
    const prototype: unknown = current.prototype;
    if (typeof prototype === "object" && prototype !== null && Object.hasOwn(prototype, "toDict"))
      return current as MessageClass;
    current = Object.getPrototypeOf(current);
  }
  return undefined;
}

function deriveFrom(Base: MessageClass, kind: string, name: string): MessageClass {
  const Class = class extends Base {
    readonly type = kind;
    static lc_name(): string {
      return name;
    }
    _getType(): string {
      return kind;
    }
  };
  Object.defineProperty(Class, "name", { value: name });
  return Class;
}

// ---- the representations of a message

const ROLES: ReadonlyMap<string, Role> = new Map([
  ["human", "user"],
  ["user", "user"],
  ["ai", "assistant"],
  ["assistant", "assistant"],
  ["system", "system"],
  ["developer", "developer"],
  ["tool", "tool"],
  ["function", "tool"],
  ["generic", "user"],
  ["chat", "user"],
]);

/** The fields of a message; a serialized message has them in a nested object. */
export function fieldsOf(entry: NativeObject): NativeObject {
  if (isObject(entry.kwargs)) return entry.kwargs;
  return isObject(entry.data) && typeof entry.type === "string" ? entry.data : entry;
}

/** A copy of a message with changed fields; undefined removes one. */
export function copyWithFields(entry: NativeObject, changes: NativeObject): unknown {
  const fields = fieldsOf(entry);
  if (fields !== entry)
    return { ...entry, [fields === entry.kwargs ? "kwargs" : "data"]: copyWith(fields, changes) };
  // Instances are serialized from `lc_kwargs`, so a copy changes these too.
  const kwargs = isInstance(entry) ? entry.lc_kwargs : undefined;
  return copyWith(entry, isObject(kwargs) ? { ...changes, lc_kwargs: copyWith(kwargs, changes) } : changes);
}

/** What names the kind of a message, and where it stands: an id of `lc: 1`, `getType()`, `type` or `role`. */
function kindIn(entry: NativeObject): [word: string, place: string] {
  if (entry.lc === 1 && isObject(entry.kwargs))
    return [jsonText(Array.isArray(entry.id) ? entry.id.at(-1) : undefined), "id"];
  const kind = instanceKind(entry);
  if (kind !== undefined) return [kind, "getType()"];
  const word = filled(entry.type) ?? filled(entry.role) ?? "";
  return [word, typeof entry.type === "string" ? "type" : "role"];
}

/** `AIMessageChunk`, `AIMessage` and `ai` are the same kind; throws `InvalidMessages` for an unknown one. */
function roleOf(entry: NativeObject, place: string): Role {
  const [word, field] = kindIn(entry);
  const kind = word.replace(/Message(Chunk)?$/, "").toLowerCase();
  const role = ROLES.get(kind);
  if (role === undefined) {
    const problem = `is ${JSON.stringify(word)}, which is no kind of message`;
    throw invalidMessages(`${place}.${field}`, problem, `Use one of ${[...ROLES.keys()].join(", ")}.`);
  }
  const fields = fieldsOf(entry);
  if (kind === "chat" || kind === "generic") return ROLES.get(jsonText(fields.role).toLowerCase()) ?? "user";
  const isDeveloper = objectOf(fields.additional_kwargs).__openai_role__ === "developer";
  return role === "system" && isDeveloper ? "developer" : role;
}
