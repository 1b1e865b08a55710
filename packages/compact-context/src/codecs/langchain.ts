import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Message,
  type MessageMeta,
  type Part,
  type TextPart,
  type ToolCallPart,
} from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import { type BuildContext, createCodec, type NativeCodec, type Reading } from "./create-codec.ts";
import { instanceKind } from "./detect.ts";
import { buildInstance, viewMessage } from "./langchain-instances.ts";
import {
  filled,
  inputObject,
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
import { type Step, toSteps } from "./steps.ts";

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
  const { role, fields } = viewMessage(entry, place);
  return {
    role,
    id: filled(fields.id),
    meta: metaOf(fields),
    slots:
      role === "tool"
        ? [resultSlot(entry, fields, place)]
        : [
            ...reasoningSlots(fields, place),
            ...spokenSlots(fields.content, callIds(fields), `${place}.content`),
            ...callSlots(fields, place),
          ],
  };
}

function metaOf({
  meta,
  metadata,
  additional_kwargs,
  response_metadata,
}: NativeObject): MessageMeta | undefined {
  const { model_name: name, model } = objectOf(response_metadata);
  return readMeta({ meta, metadata, model: name ?? model }, additional_kwargs, response_metadata);
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
  return callPart(
    filled(block.id) ?? block.call_id,
    name,
    block.input ?? block.args ?? block.arguments ?? {},
  );
}

function readPiece(block: NativeObject, type: string): TextPart | MediaPart | undefined {
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

interface CallList {
  readonly field: "tool_calls" | "invalid_tool_calls" | "additional_kwargs";
  readonly calls: readonly unknown[];
}

/** Locations of the calls: the message's own lists, otherwise the provider's raw calls. */
function callLists(fields: NativeObject): CallList[] {
  const own = (["tool_calls", "invalid_tool_calls"] as const).map((field) => {
    const calls: readonly unknown[] = Array.isArray(fields[field]) ? fields[field] : [];
    return { field, calls };
  });
  if (own.some((list) => list.calls.length > 0)) return own.filter((list) => list.calls.length > 0);
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
  const content = resultContent(fields.content, (blocks) =>
    spokenSlots(blocks, new Set(), `${place}.content`),
  );
  const failed = fields.status === "error";
  return slot(entry, resultPart(fields.tool_call_id, content, failed, fields.name), place);
}

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const { fields, write } = viewMessage(native, "message");
  const result = parts.find((part) => part.type === "toolResult");
  if (result !== undefined) {
    const status = result.isError === true ? "error" : fields.status;
    return write({ content: writeContent(result.content), status });
  }
  const calls = parts.filter((part) => part.type === "toolCall");
  const gone = [...callIds(fields)].filter((id) => id !== "" && !calls.some((call) => call.id === id));
  const slots = spokenSlots(fields.content, callIds(fields), "content").filter(
    (one) => !(isObject(one.block) && gone.includes(jsonText(one.block.id))),
  );
  const said = parts.filter((part) => part.type !== "toolCall");
  const aside = reasoningSlots(fields, "message")[0]?.parts[0];
  const spoken = said.filter((part) => !sameText(part, aside));
  const blocks = rewriteBlocks(slots, spoken, { patch: () => undefined, build: buildBlock });
  const isEmpty = blocks.length === 0 && !Array.isArray(fields.content);
  return write({
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
  if (lists.length === 0 && calls.length > 0) return { tool_calls: calls.map(buildCall) };
  for (const { field, calls: old } of lists) {
    const slots = old.filter(isObject).map((call) => slot(call, readCall(call, field), field));
    const ids = new Set(partsOf(slots).map((part) => ("id" in part ? part.id : "")));
    const mine = calls.filter((call) => ids.has(call.id) || (ids.has("") && lists.length === 1));
    const blocks = rewriteBlocks(slots, mine, { patch: patchCall, build: buildCall });
    if (field === "additional_kwargs") changes[field] = { ...inputObject(fields[field]), tool_calls: blocks };
    else changes[field] = blocks;
  }
  return changes;
}

function patchCall(block: NativeObject, part: Part): unknown {
  if (part.type !== "toolCall") return block;
  if (isObject(block.function)) {
    const text = jsonText(part.arguments);
    return { ...block, function: { ...block.function, name: part.name, arguments: text } };
  }
  return { ...block, name: part.name, args: argumentsValue(part) };
}

function buildBlock(part: Part): unknown {
  if (part.type === "text") return textPart(part.text);
  if (part.type === "reasoning") return { type: "reasoning", reasoning: part.text };
  if (part.type !== "media") return textPart(jsonText(part));
  const url = mediaUrl(part);
  if (url === "") return textPart(mediaWords(part));
  if (part.mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } };
  const kind = /^(audio|video)\//.exec(part.mediaType)?.[1] ?? "file";
  const source = part.data === undefined ? { url } : { data: part.data };
  return { type: kind, mimeType: part.mediaType, ...source };
}

function buildCall(part: Part): unknown {
  if (part.type !== "toolCall") return part;
  return { type: "tool_call", id: part.id, name: part.name, args: inputObject(argumentsValue(part)) };
}

function writeContent(content: readonly (TextPart | MediaPart)[] | string): unknown {
  if (typeof content === "string") return content;
  const only = content.length === 1 ? content[0] : undefined;
  return only?.type === "text" ? only.text : content.map(buildBlock);
}

const CLASSES = { system: "System", user: "Human", assistant: "AI", tool: "Tool" } as const;
const DEVELOPER = { __openai_role__: "developer" };
/** LangChain's mark for a message that replaces others. */
const SUMMARY = { lc_source: "summarization" };

/** Follows the list: serialized messages, instances, or plain `{role, content}`. */
function build(run: readonly Message[], context: BuildContext): unknown[] {
  const isSerialised = isObject(context.sample) && context.sample.lc === 1;
  const beside = isInstance(context.sample) ? context.natives().filter(isInstance) : [];
  const used = new Set<string>();
  return toSteps(run)
    .flatMap((step) => buildStep(step, context))
    .map(({ role, id: wished, ...fields }, index) => {
      const id = used.has(wished) ? `${wished}-${index}` : wished;
      used.add(id);
      if (!isSerialised) return buildInstance(role, { id, ...fields }, beside) ?? { role, id, ...fields };
      const path = ["langchain_core", "messages", `${CLASSES[role]}Message`];
      return { lc: 1, type: "constructor", id: path, kwargs: { id, ...fields } };
    });
}

function isInstance(native: unknown): native is object {
  return isObject(native) && instanceKind(native) !== undefined;
}

interface BuiltMessage extends NativeObject {
  readonly role: keyof typeof CLASSES;
  readonly id: string;
}

function buildStep(step: Step, context: BuildContext): BuiltMessage[] {
  const { id } = step.message;
  if (step.type === "results") {
    return step.results.map((result) => {
      const name = result.name ?? context.callName(result.id);
      return defined({
        role: "tool",
        id,
        tool_call_id: result.id,
        name: name || undefined,
        content: writeContent(result.content),
        status: result.isError === true ? "error" : undefined,
      });
    });
  }
  const content = step.content.length === 0 ? "" : writeContent(step.content);
  const extra = step.message.meta?.summaryVersion === undefined ? undefined : SUMMARY;
  if (step.type === "assistant") {
    const calls = step.calls.length === 0 ? undefined : step.calls.map(buildCall);
    return [defined({ role: "assistant", id, content, tool_calls: calls, additional_kwargs: extra })];
  }
  const additional_kwargs = step.role === "developer" ? { ...DEVELOPER, ...extra } : extra;
  return [defined({ role: step.role === "user" ? "user" : "system", id, content, additional_kwargs })];
}
