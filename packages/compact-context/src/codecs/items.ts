import {
  argumentsText,
  jsonText,
  type MediaPart,
  type Part,
  type Role,
  type ToolResultPart,
} from "../core/message.ts";
import { isObject } from "../errors.ts";
import {
  type BuildContext,
  type Content,
  createCodec,
  type NativeCodec,
  type Reading,
  type Step,
} from "./create-codec.ts";
import {
  copyWith,
  filled,
  invalidMessages,
  isBlockList,
  isRole,
  mediaFromValue,
  mediaUrl,
  mediaWords,
  type NativeObject,
  objectOf,
  ROLES,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import {
  callPart,
  contentSlots,
  joinedContent,
  resultPart,
  rewriteBlocks,
  type Slot,
  textPart,
} from "./slots.ts";

/** Differences between the items of the Responses API and of the OpenAI Agents SDK. */
interface Dialect {
  readonly callId: "call_id" | "callId";
  spelled(block: NativeObject): NativeObject;
  /** Fields of new items: calls and messages of the assistant have a status. */
  readonly status: NativeObject;
  buildResult(result: ToolResultPart, context: BuildContext): NativeObject;
}

const RESPONSES: Dialect = {
  callId: "call_id",
  spelled: (block) => block,
  status: {},
  buildResult: (result) => {
    return { type: "function_call_output", call_id: result.id, output: writeOutput(result, RESPONSES) };
  },
};

const AGENTS: Dialect = {
  callId: "callId",
  spelled: inSdkSpelling,
  status: { status: "completed" },
  buildResult: (result, context) => {
    const name = result.name ?? context.callName(result.id);
    const output =
      typeof result.content === "string" ? textPart(result.content) : writeOutput(result, AGENTS);
    return { type: "function_call_result", callId: result.id, name, status: "completed", output };
  },
};

/** Items of the Responses API; `protected` is read from the item's `meta` or `metadata`. */
export const openaiResponsesCodec: NativeCodec = itemCodec("openai-responses", RESPONSES);

/** Items of the OpenAI Agents SDK; `protected` is read from `providerData` or its `meta`, or the item's own `meta`. */
export const openaiAgentsCodec: NativeCodec = itemCodec("openai-agents", AGENTS);

function itemCodec(format: "openai-responses" | "openai-agents", dialect: Dialect): NativeCodec {
  return createCodec({
    format,
    read: (item, place) => readItem(item, place, dialect),
    rewrite: (native, parts) => rewriteItem(native, parts, dialect),
    withoutReasoning: withoutId,
    build: (steps, context) => steps.flatMap((step) => buildStep(step, context, dialect)),
  });
}

function readItem(item: NativeObject, place: string, dialect: Dialect): Reading {
  const { role, slots } = readBody(item, place, dialect);
  const meta = dialect === AGENTS ? readMeta(item, item.providerData) : readMeta(item);
  return { role, slots, id: filled(item.id), meta };
}

function readBody(item: NativeObject, place: string, { callId }: Dialect): Pick<Reading, "role" | "slots"> {
  const type = filled(item.type) ?? ("role" in item ? "message" : "");
  if (type === "") throw invalidMessages(`${place}.type`, "is missing", "Give every item a type or a role.");
  if (type === "message") {
    const role = roleAt(item.role, ROLES.items, place);
    return { role, slots: spokenSlots(item.content, `${place}.content`) };
  }
  const of = (role: Role, ...parts: readonly Part[]) => ({
    role,
    slots: [{ block: item, parts, path: place }],
  });
  if (type === "reasoning" || type.includes("compaction")) return of("assistant", readReasoning(item));
  // What a provider's own search found names no call.
  if (/_(?:output|result)$/.test(type) && item.execution !== "server") {
    const content = readOutput(item.output ?? item.result ?? item.tools, `${place}.output`);
    return of("tool", resultPart(item[callId], content, false, item.name));
  }
  if (type.endsWith("_call") || type === "program")
    return of("assistant", ...readCall(item, type, filled(item[callId])));
  // Other items, such as the tools that Codex adds as developer.
  const role = isRole(item.role, ROLES.items) ? roleAt(item.role, ROLES.items, place) : "assistant";
  return of(role, textPart(jsonText(item)));
}

function spokenSlots(content: unknown, place: string): Slot[] {
  return contentSlots(content, place, readPiece);
}

function readPiece(block: NativeObject, place: string): Content | undefined {
  const type = stringAt(block.type, `${place}.type`);
  const text = type === "refusal" ? block.refusal : block.text;
  if (typeof text === "string") return textPart(text);
  const kind = /^(?:input_|output_)?(image|file|audio)$|^computer_screenshot$/.exec(type);
  return kind === null ? undefined : readMedia(block, kind[1] ?? "image");
}

const MEDIA_FIELDS = ["image_url", "imageUrl", "file_data", "file_url", "image", "file", "audio", "data"];

const ANY_TYPE: Readonly<Record<string, string>> = {
  image: "image/*",
  file: "application/pdf",
  audio: "audio/*",
};

function readMedia(block: NativeObject, kind: string): MediaPart {
  const source = firstOf(block, MEDIA_FIELDS);
  const reference = firstOf(block, ["file_id", "fileId"]) ?? (isObject(source) ? source.id : undefined);
  const extra = { name: filled(block.filename) ?? reference, detail: block.detail };
  const mediaType = filled(block.mediaType) ?? ANY_TYPE[kind] ?? "application/*";
  if (!isObject(source)) return mediaFromValue(source, mediaType, extra);
  return mediaFromValue(firstOf(source, ["url", "data"]), filled(source.mediaType) ?? mediaType, extra);
}

function firstOf(object: NativeObject, keys: readonly string[]): unknown {
  return keys.map((key) => object[key]).find((value) => value !== undefined && value !== null);
}

function readReasoning(item: NativeObject): Part {
  const lists = [item.summary, item.content, item.rawContent].filter(isBlockList);
  const text = lists.flatMap((list) => list.map((block) => jsonText(block.text))).join("\n");
  const fields = { ...objectOf(item.providerData), ...item };
  const seal = firstOf(fields, ["encrypted_content", "encryptedContent"]);
  return { type: "reasoning", text, opaqueLength: jsonText(seal).length, signed: true };
}

const ARGUMENT_FIELDS = ["arguments", "input", "action", "operation", "queries", "code", "actions"];

/** Hosted calls, and calls without a call id, hold their result in the same item. */
function readCall(item: NativeObject, type: string, callId: string | undefined): readonly Part[] {
  const served = callId === undefined || type === "hosted_tool_call" || item.execution === "server";
  const name = filled(item.name) ?? type.replace(/_call$/, "");
  const call = callPart(callId ?? item.id, name, firstOf(item, ARGUMENT_FIELDS) ?? "", served);
  if (!served) return [call];
  if (type === "image_generation_call" && typeof item.result === "string")
    return [call, mediaFromValue(item.result, "image/png")];
  const found = firstOf(item, ["output", "outputs", "results", "error"]);
  return found === undefined ? [call] : [call, resultPart(call.id, jsonText(found), false, name)];
}

function readOutput(output: unknown, place: string): ToolResultPart["content"] {
  const blocks = isObject(output) && typeof output.type === "string" ? [output] : output;
  if (!isBlockList(blocks)) return jsonText(output);
  const pieces = blocks.map((block, index) => readPiece(block, `${place}[${index}]`));
  const known = pieces.filter((piece) => piece !== undefined);
  return known.length === pieces.length ? known : jsonText(output);
}

/** A copy of `item` with these parts; calls keep their ids and status. */
function rewriteItem(item: NativeObject, parts: readonly Part[], dialect: Dialect): unknown {
  const type = filled(item.type) ?? "message";
  if (type === "message") return rewriteMessage(item, parts, dialect);
  const { slots } = readBody(item, "item", dialect);
  const [block] = rewriteBlocks(slots, parts, (part, one) => one && patchItem(one, part, dialect));
  return block ?? item;
}

function patchItem(item: NativeObject, part: Part, dialect: Dialect): unknown {
  // A program's fingerprint is only valid for its unchanged code.
  if (item.type === "program") return item;
  if (part.type === "toolCall") {
    const field = ARGUMENT_FIELDS.find((key) => key in item) ?? "arguments";
    const value = typeof item[field] === "string" ? argumentsText(part) : part.arguments;
    return copyWith(item, { [field]: value });
  }
  if (part.type !== "toolResult") return item;
  const field = ["output", "outputs", "result", "results", "tools"].find((key) => key in item) ?? "output";
  return copyWith(item, { [field]: writeOutput(part, dialect) });
}

function rewriteMessage(item: NativeObject, parts: readonly Part[], dialect: Dialect): unknown {
  const side = item.role === "assistant" ? "output" : "input";
  const blocks = rewriteBlocks(spokenSlots(item.content, "content"), parts, (part) =>
    buildPiece(part, side, dialect),
  );
  return copyWith(item, { content: joinedContent(item.content, blocks, `${side}_text`) });
}

/** Items that are accepted without an id; hosted calls and approval requests need theirs. */
const MAY_LACK_ID: ReadonlySet<unknown> = new Set(["message", "function_call", "custom_tool_call"]);

/** The item without the id that links it to its reasoning, if the item is valid without one. */
function withoutId(item: unknown): unknown {
  if (!isObject(item) || item.id === undefined || !MAY_LACK_ID.has(item.type ?? "message")) return item;
  const { id: _, ...rest } = item;
  return rest;
}

function buildPiece(part: Part, side: "input" | "output", { spelled }: Dialect): NativeObject {
  const type = `${side}_text`;
  if (part.type === "text") return { type, text: part.text };
  if (part.type !== "media") return { type, text: jsonText(part) };
  const url = mediaUrl(part);
  if (url === "" || side === "output") return { type, text: mediaWords(part) };
  if (part.mediaType.startsWith("image/"))
    return spelled({ type: "input_image", image_url: url, detail: part.detail ?? "auto" });
  return spelled(
    part.url === undefined
      ? { type: "input_file", filename: part.name ?? "file", file_data: url }
      : { type: "input_file", file_url: url },
  );
}

/** The SDK uses `image` for the wire's `image_url`, and `file` for both ways to pass a file. */
function inSdkSpelling(block: NativeObject): NativeObject {
  const { type, image_url: image, detail, file_url: url, file_data: file, filename } = block;
  if (type === "input_image") return { type, image, detail };
  return url === undefined ? { type, file, filename } : { type, file: { url } };
}

/** A result's content for an item's `output`. */
function writeOutput({ content }: ToolResultPart, dialect: Dialect): unknown {
  return typeof content === "string" ? content : content.map((piece) => buildPiece(piece, "input", dialect));
}

function buildStep(step: Step, context: BuildContext, dialect: Dialect): unknown[] {
  const { content, calls, results } = step;
  if (step.role === "tool") return results.map((result) => dialect.buildResult(result, context));
  const isAssistant = step.role === "assistant";
  const items: unknown[] = calls.map((call) => ({
    type: "function_call",
    [dialect.callId]: call.id,
    ...dialect.status,
    name: call.name,
    arguments: argumentsText(call) || "{}",
  }));
  if (content.length === 0 && calls.length > 0) return items;
  const role = dialect === AGENTS && step.role === "developer" ? "system" : step.role;
  const isText = dialect === AGENTS && role === "system";
  const said = isText
    ? content.map((part) => (part.type === "text" ? part.text : mediaUrl(part))).join("\n")
    : content.map((part) => buildPiece(part, isAssistant ? "output" : "input", dialect));
  const status = isAssistant ? dialect.status : undefined;
  items.unshift({ type: "message", role, ...status, content: said });
  return items;
}
