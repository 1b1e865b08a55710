import {
  argumentsValue,
  jsonText,
  type Message,
  type Part,
  type Role,
  resultText,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { isObject } from "../errors.ts";
import { type Reading, rewriteBlocks, type Slot, slot } from "./create-codec.ts";
import {
  arrayAt,
  copyWith,
  filled,
  mediaFromUrl,
  mediaUrl,
  mediaWords,
  metaBags,
  type NativeObject,
  objectAt,
  readMeta,
  roleAt,
  stringAt,
} from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

const ROLES: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant" };

/** Reads a `UIMessage`: a call and its result share one native part and become two neutral ones. */
export function readUiMessage(entry: NativeObject, place: string): Reading {
  return {
    role: roleAt(entry.role, ROLES, place),
    slots: partSlots(entry, place),
    id: filled(entry.id),
    meta: readMeta(entry, metaBags(entry)),
  };
}

function partSlots(entry: NativeObject, place: string): Slot[] {
  return arrayAt(entry.parts, `${place}.parts`).map((value, index) => {
    const at = `${place}.parts[${index}]`;
    const part = objectAt(value, at);
    return readPart(part, stringAt(part.type, `${at}.type`), at);
  });
}

/** Step marks, sources and application data are not sent to a model: they travel along without parts. */
function readPart(part: NativeObject, type: string, place: string): Slot {
  if (type === "text") return slot(part, { type: "text", text: jsonText(part.text) });
  if (type === "reasoning") {
    const signed = isObject(part.providerMetadata) ? { signed: true } : {};
    return slot(part, { type: "reasoning", text: jsonText(part.text), ...signed });
  }
  if (type === "file") {
    const mediaType = filled(part.mediaType) ?? "application/*";
    return slot(part, mediaFromUrl(jsonText(part.url), mediaType, { name: part.filename }));
  }
  const isTool = type.startsWith("tool-") || type === "dynamic-tool";
  return { block: part, parts: isTool ? readTool(part, type, place) : [] };
}

function readTool(part: NativeObject, type: string, place: string): Part[] {
  const id = stringAt(part.toolCallId, `${place}.toolCallId`);
  const name = type === "dynamic-tool" ? jsonText(part.toolName) : type.slice("tool-".length);
  const served = part.providerExecuted === true ? { providerExecuted: true } : {};
  const call: ToolCallPart = {
    type: "toolCall",
    id,
    name,
    arguments: part.input ?? part.rawInput,
    ...served,
  };
  const result = readResult(part, id, name);
  return result === undefined ? [call] : [call, result];
}

function readResult(part: NativeObject, id: string, name: string): ToolResultPart | undefined {
  switch (part.state) {
    case "output-available":
      return { type: "toolResult", id, name, content: jsonText(part.output) };
    case "output-error":
      return { type: "toolResult", id, name, content: jsonText(part.errorText), isError: true };
    case "output-denied": {
      const { approval } = part;
      const reason = isObject(approval) ? filled(approval.reason) : undefined;
      return { type: "toolResult", id, name, content: reason ?? "Execution denied.", isError: true };
    }
    default:
      return undefined;
  }
}

/** A copy of a UI message with these parts. */
export function rewriteUiMessage(native: NativeObject, parts: readonly Part[]): unknown {
  const slots = partSlots(native, "message");
  return copyWith(native, { parts: rewriteBlocks(slots, parts, { patch, build }) });
}

function patch(block: unknown, part: Part): unknown {
  if (!isObject(block)) return build(part);
  if (part.type === "text") return { ...block, text: part.text };
  if (part.type === "toolCall") return { ...block, input: argumentsValue(part) };
  return part.type === "toolResult" ? copyWith(block, resultFields(part)) : build(part);
}

function resultFields(part: ToolResultPart | undefined): NativeObject {
  if (part === undefined) return { state: "input-available" };
  const output = typeof part.content === "string" ? part.content : contentText(part);
  return part.isError === true
    ? { state: "output-error", errorText: output, output: undefined }
    : { state: "output-available", output, errorText: undefined };
}

/** A UI part has one output value: what is shown there is told in words. */
function contentText(part: ToolResultPart): string {
  const media = typeof part.content === "string" ? [] : part.content.filter((one) => one.type === "media");
  return [resultText(part), ...media.map(mediaWords)].filter((text) => text !== "").join("\n");
}

function build(part: Part): NativeObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media": {
      const url = mediaUrl(part);
      return url === ""
        ? { type: "text", text: mediaWords(part) }
        : { type: "file", mediaType: part.mediaType, url };
    }
    case "reasoning":
      return { type: "reasoning", text: part.text };
    case "toolCall":
      return buildTool(part, undefined);
    case "toolResult":
      return buildTool({ type: "toolCall", id: part.id, name: part.name ?? "tool", arguments: {} }, part);
  }
}

function buildTool(call: ToolCallPart, result: ToolResultPart | undefined): NativeObject {
  const tool = { type: "dynamic-tool", toolName: call.name, toolCallId: call.id };
  return copyWith({ ...tool, input: argumentsValue(call) ?? {} }, resultFields(result));
}

/** UI messages for neutral ones: results stand in the parts of their calls. */
export function buildUiMessages(run: readonly Message[]): unknown[] {
  const messages: unknown[] = [];
  const used = new Set<string>();
  const steps = toSteps(run);
  steps.forEach((step, index) => {
    if (step.type === "results" && steps[index - 1]?.type === "assistant") return;
    const wished = step.message.id;
    const id = used.has(wished) ? `${wished}-${index}` : wished;
    used.add(id);
    messages.push(buildStep(step, steps[index + 1], id));
  });
  return messages;
}

function buildStep(step: Step, next: Step | undefined, id: string): unknown {
  if (step.type === "results") return { id, role: "assistant", parts: step.results.map(build) };
  const content = step.content.map(build);
  if (step.type === "input") return { id, role: step.role === "user" ? "user" : "system", parts: content };
  const results = next?.type === "results" ? next.results : [];
  const tools = step.calls.map((call) =>
    buildTool(
      call,
      results.find((result) => result.id === call.id),
    ),
  );
  return { id, role: "assistant", parts: [...content, ...tools] };
}
