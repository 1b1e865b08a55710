import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Part,
  type Role,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { defined, isObject } from "../errors.ts";
import {
  type BuildContext,
  createCodec,
  opaqueSlot,
  type Reading,
  rewriteBlocks,
  type Slot,
  slot,
} from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  inputObject,
  mediaFromData,
  mediaFromUrl,
  mediaUrl,
  mediaWords,
  metaBags,
  type NativeObject,
  objectAt,
  readMeta,
  roleAt,
} from "./native.ts";
import { piecesOf, type Step, toSteps } from "./steps.ts";

/**
 * Gemini contents; `protected` is read from the content's `meta` or `metadata`. System and developer messages of other
 * formats become contents of role `system`, to be lifted into the request's `systemInstruction`.
 */
export const geminiCodec: Codec = createCodec({
  format: "gemini",
  read,
  rewrite: (native, parts) =>
    copyWith(native, { parts: rewriteBlocks(partSlots(native, "content"), parts, { patch, build }) }),
  build: (run, context) => toSteps(run).map((step) => buildStep(step, context)),
});

const ROLES: Readonly<Record<string, Role>> = {
  user: "user",
  model: "assistant",
  function: "tool",
  system: "system",
};

function read(entry: NativeObject, place: string): Reading {
  const role = entry.role === undefined ? "user" : roleAt(entry.role, ROLES, place);
  const slots = partSlots(entry, place);
  const onlyResults = slots.length > 0 && slots.every((one) => one.parts[0]?.type === "toolResult");
  return {
    role: role === "user" && onlyResults ? "tool" : role,
    slots,
    id: filled(entry.id),
    meta: readMeta(entry, metaBags(entry)),
  };
}

function partSlots(entry: NativeObject, place: string): Slot[] {
  const parts = arrayAt(entry.parts ?? [], `${place}.parts`);
  return parts.map((value, index) => {
    const block = objectAt(value, `${place}.parts[${index}]`);
    const part = readSpoken(block) ?? readCall(block) ?? readResult(block);
    return part === undefined ? opaqueSlot(block) : slot(block, part);
  });
}

/** A field in the spelling of the SDKs or of the REST interface. */
function field(block: NativeObject, name: string): NativeObject | undefined {
  const value = block[name] ?? block[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
  return isObject(value) ? value : undefined;
}

function readSpoken(block: NativeObject): Part | undefined {
  if (typeof block.text === "string") {
    if (block.thought !== true) return { type: "text", text: block.text };
    const seal = filled(block.thoughtSignature) ?? filled(block.thought_signature);
    const signed = seal === undefined ? {} : { opaqueLength: seal.length, signed: true };
    return { type: "reasoning", text: block.text, ...signed };
  }
  return readMedia(block);
}

function readMedia(block: NativeObject): MediaPart | undefined {
  const inline = field(block, "inlineData");
  const file = field(block, "fileData");
  const source = inline ?? file;
  if (source === undefined) return undefined;
  const mediaType = filled(source.mimeType) ?? filled(source.mime_type) ?? "application/*";
  const extra = { name: source.displayName };
  if (inline !== undefined) return mediaFromData(jsonText(inline.data), mediaType, extra);
  return mediaFromUrl(jsonText(source.fileUri ?? source.file_uri), mediaType, extra);
}

function readCall(block: NativeObject): ToolCallPart | undefined {
  const call = field(block, "functionCall");
  if (call !== undefined)
    return {
      type: "toolCall",
      id: filled(call.id) ?? "",
      name: jsonText(call.name),
      arguments: call.args ?? {},
    };
  const code = field(block, "executableCode");
  if (code === undefined) return undefined;
  return {
    type: "toolCall",
    id: filled(code.id) ?? "",
    name: "code_execution",
    arguments: code,
    providerExecuted: true,
  };
}

function readResult(block: NativeObject): ToolResultPart | undefined {
  const response = field(block, "functionResponse");
  if (response !== undefined) {
    const name = filled(response.name);
    const body = readResponse(response.response);
    const media = (Array.isArray(response.parts) ? response.parts : []).flatMap((part: unknown) =>
      isObject(part) ? (readMedia(part) ?? []) : [],
    );
    const content =
      media.length === 0 ? body.content : [{ type: "text" as const, text: body.content }, ...media];
    const named = name === undefined ? {} : { name };
    return { ...body, type: "toolResult", id: filled(response.id) ?? "", ...named, content };
  }
  const result = field(block, "codeExecutionResult");
  if (result === undefined) return undefined;
  const failed = result.outcome !== undefined && result.outcome !== "OUTCOME_OK";
  return defined({
    type: "toolResult",
    id: filled(result.id) ?? "",
    name: "code_execution",
    content: jsonText(result.output),
    isError: failed || undefined,
  });
}

/** `{output}`, `{result}` and `{error}` are the conventions of Google's SDKs; anything else is shown whole. */
function readResponse(response: unknown): { content: string; isError?: boolean } {
  const key = isObject(response) ? responseKey(response) : undefined;
  if (!isObject(response) || key === undefined) return { content: jsonText(response) };
  const isError = key === "error" ? { isError: true } : {};
  return { content: jsonText(response[key]), ...isError };
}

function responseKey(response: NativeObject): string | undefined {
  const keys = Object.keys(response);
  return keys.length === 1 && /^(output|result|error)$/.test(keys[0] ?? "") ? keys[0] : undefined;
}

function patch(block: unknown, part: Part): unknown {
  if (!isObject(block)) return build(part);
  if (part.type === "text") return "text" in block ? { ...block, text: part.text } : build(part);
  if (part.type === "toolCall") return patchField(block, "functionCall", callFields(part));
  if (part.type !== "toolResult") return build(part);
  if (field(block, "codeExecutionResult") !== undefined)
    return patchField(block, "codeExecutionResult", { output: textOf(part) });
  const old = field(block, "functionResponse")?.response;
  const key = isObject(old) ? responseKey(old) : undefined;
  const response = part.isError === true ? { error: textOf(part) } : { [key ?? "output"]: textOf(part) };
  return patchField(block, "functionResponse", { response, parts: mediaParts(part) });
}

function patchField(block: NativeObject, name: string, changes: NativeObject): unknown {
  const spelled = name in block ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { ...block, [spelled]: copyWith(field(block, name) ?? {}, changes) };
}

function callFields(part: ToolCallPart): NativeObject {
  return { name: part.name, args: inputObject(argumentsValue(part)) };
}

function textOf(part: ToolResultPart): string {
  return piecesOf(part.content)
    .flatMap((piece) => (piece.type === "text" ? [piece.text] : []))
    .join("\n");
}

function mediaParts(part: ToolResultPart): unknown[] | undefined {
  const media = piecesOf(part.content).filter((piece) => piece.type === "media");
  return media.length === 0 ? undefined : media.map(buildMedia);
}

function build(part: Part): unknown {
  switch (part.type) {
    case "text":
      return { text: part.text };
    case "media":
      return buildMedia(part);
    case "reasoning":
      return { text: part.text, thought: true };
    case "toolCall":
      return { functionCall: { id: part.id, ...callFields(part) } };
    case "toolResult":
      return buildResult(part, part.name ?? "");
  }
}

function buildMedia(part: MediaPart): unknown {
  if (part.data !== undefined) return { inlineData: { mimeType: part.mediaType, data: part.data } };
  const uri = mediaUrl(part);
  return uri === "" ? { text: mediaWords(part) } : { fileData: { mimeType: part.mediaType, fileUri: uri } };
}

function buildResult(part: ToolResultPart, name: string): unknown {
  const response = part.isError === true ? { error: textOf(part) } : { output: textOf(part) };
  const parts = mediaParts(part);
  return {
    functionResponse: defined({ id: part.id, name, response, parts }),
  };
}

function buildStep(step: Step, context: BuildContext): unknown {
  if (step.type === "results") {
    const parts = step.results.map((part) => buildResult(part, part.name ?? context.callName(part.id)));
    return { role: "user", parts };
  }
  if (step.type === "assistant") return { role: "model", parts: [...step.content, ...step.calls].map(build) };
  return { role: step.role === "user" ? "user" : "system", parts: step.content.map(build) };
}
