import {
  argumentsValue,
  jsonText,
  type MediaPart,
  type Part,
  resultText,
  type ToolResultPart,
} from "../core/message.ts";
import { isObject } from "../errors.ts";
import { type BuildContext, createCodec, type NativeCodec } from "./create-codec.ts";
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
  objectOf,
  ROLES,
  readMeta,
  roleAt,
} from "./native.ts";
import {
  blockWriter,
  callPart,
  contentSlots,
  resultPart,
  rewriteField,
  type Slot,
  textPart,
  thought,
} from "./slots.ts";
import { piecesOf, type Step } from "./steps.ts";

/**
 * Gemini contents; `protected` is read from the content's `meta` or `metadata`. System and developer messages of other
 * formats become contents of role `system`, to be lifted into the request's `systemInstruction`.
 */
export const geminiCodec: NativeCodec = createCodec({
  format: "gemini",
  read: (entry, place) => ({
    role: entry.role === undefined ? "user" : roleAt(entry.role, ROLES.gemini, place),
    slots: partSlots(entry, place),
    id: filled(entry.id),
    meta: readMeta(entry),
  }),
  rewrite: (native, parts) => rewriteField(native, "parts", partSlots(native, "content"), parts, write),
  build: (steps, context) => steps.map((step) => buildStep(step, context)),
});

function partSlots(entry: NativeObject, place: string): Slot[] {
  const parts = arrayAt(entry.parts ?? [], `${place}.parts`);
  return contentSlots(
    parts,
    `${place}.parts`,
    (block) => readSpoken(block) ?? readCall(block) ?? readResult(block),
  );
}

/** A field's name in the spelling of the REST interface; the SDKs spell it in camelCase. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function field(block: NativeObject, name: string): NativeObject | undefined {
  const value = block[name] ?? block[snake(name)];
  return isObject(value) ? value : undefined;
}

function readSpoken(block: NativeObject): Part | undefined {
  if (typeof block.text !== "string") return readMedia(block);
  if (block.thought !== true) return textPart(block.text);
  return thought(block.text, filled(block.thoughtSignature) ?? block.thought_signature);
}

function readMedia(block: NativeObject): MediaPart | undefined {
  const inline = field(block, "inlineData");
  const source = inline ?? field(block, "fileData");
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
    const key = responseKey(response.response);
    const content = jsonText(key === undefined ? response.response : objectOf(response.response)[key]);
    const parts: unknown[] = Array.isArray(response.parts) ? response.parts : [];
    const media = parts.filter(isObject).flatMap((part) => readMedia(part) ?? []);
    const pieces = media.length === 0 ? content : [textPart(content), ...media];
    return resultPart(response.id, pieces, key === "error", response.name);
  }
  const served = field(block, "toolResponse");
  if (served !== undefined) return resultPart(served.id, jsonText(served.response), false, served.toolType);
  const result = field(block, "codeExecutionResult");
  if (result === undefined) return undefined;
  const failed = result.outcome !== undefined && result.outcome !== "OUTCOME_OK";
  return resultPart(result.id, jsonText(result.output), failed, CODE_TOOL);
}

/** `{output}`, `{result}` and `{error}` are conventions of Google's SDKs; other responses are shown whole. */
function responseKey(response: unknown): string | undefined {
  const [key, ...others] = isObject(response) ? Object.keys(response) : [];
  return key !== undefined && others.length === 0 && /^(output|result|error)$/.test(key) ? key : undefined;
}

const write = blockWriter({
  text: ({ text }) => ({ text }),
  media: buildMedia,
  reasoning: ({ text }) => ({ text, thought: true }),
  toolCall: (part, block = { functionCall: { id: part.id } }) =>
    withFields(block, "functionCall", { name: part.name, args: inputObject(argumentsValue(part)) }),
  toolResult: (part, block) => writeResult(part, part.name ?? "", block),
});

function writeResult(part: ToolResultPart, name: string, block?: NativeObject): unknown {
  const text = resultText(part);
  if (block !== undefined && field(block, "toolResponse") !== undefined) return block;
  if (block !== undefined && field(block, "codeExecutionResult") !== undefined)
    return withFields(block, "codeExecutionResult", { output: text });
  const fresh = { functionResponse: part.id === "" ? { name } : { id: part.id, name } };
  const key = responseKey(field(block ?? {}, "functionResponse")?.response) ?? "output";
  const media = piecesOf(part.content).filter((piece) => piece.type === "media");
  return withFields(block ?? fresh, "functionResponse", {
    response: { [part.isError === true ? "error" : key]: text },
    parts: media.length === 0 ? undefined : media.map(buildMedia),
  });
}

/** A copy of the block with changes in the object that one of its fields holds, in either spelling. */
function withFields(block: NativeObject, name: string, changes: NativeObject): unknown {
  return { ...block, [name in block ? name : snake(name)]: copyWith(field(block, name) ?? {}, changes) };
}

function buildMedia(part: MediaPart): unknown {
  if (part.data !== undefined) return { inlineData: { mimeType: part.mediaType, data: part.data } };
  const uri = mediaUrl(part);
  return uri === "" ? { text: mediaWords(part) } : { fileData: { mimeType: part.mediaType, fileUri: uri } };
}

function buildStep({ role, content, calls, results }: Step, context: BuildContext): unknown {
  const roles = { user: "user", tool: "user", assistant: "model", system: "system", developer: "system" };
  const answers = results.map((part) => writeResult(part, part.name ?? context.callName(part.id)));
  return { role: roles[role], parts: [...[...content, ...calls].map((part) => write(part)), ...answers] };
}
