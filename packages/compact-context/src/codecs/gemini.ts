import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Part,
  resultText,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import { type BuildContext, createCodec, type NativeCodec, type Reading } from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  inputObject,
  mediaFromData,
  mediaFromUrl,
  mediaUrl,
  mediaWords,
  type NativeObject,
  ROLES,
  readMeta,
  roleAt,
} from "./native.ts";
import {
  callPart,
  contentSlots,
  holdsOnlyResults,
  resultPart,
  rewriteBlocks,
  type Slot,
  textPart,
  thought,
} from "./slots.ts";
import { piecesOf, type Step, toSteps } from "./steps.ts";

/**
 * Gemini contents; `protected` is read from the content's `meta` or `metadata`. System and developer messages of other
 * formats become contents of role `system`, to be lifted into the request's `systemInstruction`.
 */
export const geminiCodec: NativeCodec = createCodec({
  format: "gemini",
  read,
  rewrite: (native, parts) =>
    copyWith(native, { parts: rewriteBlocks(partSlots(native, "content"), parts, { patch, build }) }),
  build: (run, context) => toSteps(run).map((step) => buildStep(step, context)),
});

function read(entry: NativeObject, place: string): Reading {
  const role = entry.role === undefined ? "user" : roleAt(entry.role, ROLES.gemini, place);
  const slots = partSlots(entry, place);
  return {
    role: role === "user" && holdsOnlyResults(slots) ? "tool" : role,
    slots,
    id: filled(entry.id),
    meta: readMeta(entry),
  };
}

function partSlots(entry: NativeObject, place: string): Slot[] {
  const parts = arrayAt(entry.parts ?? [], `${place}.parts`);
  return contentSlots(
    parts,
    `${place}.parts`,
    (block) => readSpoken(block) ?? readCall(block) ?? readResult(block),
  );
}

/** A field in the spelling of the SDKs (camelCase) or of the REST interface (snake_case). */
function field(block: NativeObject, name: string): NativeObject | undefined {
  const value = block[name] ?? block[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
  return isObject(value) ? value : undefined;
}

function readSpoken(block: NativeObject): Part | undefined {
  if (typeof block.text !== "string") return readMedia(block);
  if (block.thought !== true) return textPart(block.text);
  return thought(block.text, filled(block.thoughtSignature) ?? block.thought_signature);
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

function readCall(block: NativeObject): Part | undefined {
  const call = field(block, "functionCall");
  if (call !== undefined) return callPart(call.id, jsonText(call.name), call.args ?? {});
  const served = field(block, "toolCall");
  if (served !== undefined) return callPart(served.id, jsonText(served.toolType), served.args ?? {}, true);
  const code = field(block, "executableCode");
  return code && callPart(code.id, CODE_TOOL, code, true);
}

const CODE_TOOL = "code_execution";

function readResult(block: NativeObject): Part | undefined {
  const response = field(block, "functionResponse");
  if (response !== undefined) {
    const { content, failed } = readResponse(response.response);
    const media = (Array.isArray(response.parts) ? response.parts : []).flatMap((part: unknown) =>
      isObject(part) ? (readMedia(part) ?? []) : [],
    );
    const pieces = media.length === 0 ? content : [textPart(content), ...media];
    return resultPart(response.id, pieces, failed, response.name);
  }
  const served = field(block, "toolResponse");
  if (served !== undefined) return resultPart(served.id, jsonText(served.response), false, served.toolType);
  const result = field(block, "codeExecutionResult");
  if (result === undefined) return undefined;
  const failed = result.outcome !== undefined && result.outcome !== "OUTCOME_OK";
  return resultPart(result.id, jsonText(result.output), failed, CODE_TOOL);
}

/** `{output}`, `{result}` and `{error}` are conventions of Google's SDKs; other responses are shown whole. */
function readResponse(response: unknown): { content: string; failed: boolean } {
  const key = isObject(response) ? responseKey(response) : undefined;
  if (!isObject(response) || key === undefined) return { content: jsonText(response), failed: false };
  return { content: jsonText(response[key]), failed: key === "error" };
}

function responseKey(response: NativeObject): string | undefined {
  const keys = Object.keys(response);
  return keys.length === 1 && /^(output|result|error)$/.test(keys[0] ?? "") ? keys[0] : undefined;
}

function patch(block: NativeObject, part: Part): unknown {
  if (part.type === "toolCall") return patchField(block, "functionCall", callFields(part));
  if (part.type !== "toolResult") return undefined;
  if (field(block, "toolResponse") !== undefined) return block;
  if (field(block, "codeExecutionResult") !== undefined)
    return patchField(block, "codeExecutionResult", { output: resultText(part) });
  const old = field(block, "functionResponse")?.response;
  const key = (isObject(old) ? responseKey(old) : undefined) ?? "output";
  return patchField(block, "functionResponse", {
    response: { [part.isError === true ? "error" : key]: resultText(part) },
    parts: mediaParts(part),
  });
}

function patchField(block: NativeObject, name: string, changes: NativeObject): unknown {
  const spelled = name in block ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { ...block, [spelled]: copyWith(field(block, name) ?? {}, changes) };
}

function callFields(part: ToolCallPart): NativeObject {
  return { name: part.name, args: inputObject(argumentsValue(part)) };
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
  const response = { [part.isError === true ? "error" : "output"]: resultText(part) };
  return { functionResponse: defined({ id: part.id || undefined, name, response, parts: mediaParts(part) }) };
}

function buildStep(step: Step, context: BuildContext): unknown {
  if (step.type === "results") {
    const parts = step.results.map((part) => buildResult(part, part.name ?? context.callName(part.id)));
    return { role: "user", parts };
  }
  if (step.type === "assistant") return { role: "model", parts: [...step.content, ...step.calls].map(build) };
  return { role: step.role === "user" ? "user" : "system", parts: step.content.map(build) };
}
