import { argumentsText, type Part, type ToolResultPart } from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { isObject } from "../errors.ts";
import { type BuildContext, createCodec } from "./create-codec.ts";
import { buildPiece, type ItemDialect, readItem, rewriteItem, withoutId } from "./items.ts";
import { mediaUrl, metaBags, type NativeObject } from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

const DIALECT: ItemDialect = {
  callId: "callId",
  bags: (item) => [item.providerData, ...metaBags(item)],
};

/** Items of the OpenAI Agents SDK; `protected` is read from `providerData` or its `meta`, or the item's own `meta`. */
export const openaiAgentsCodec: Codec = createCodec({
  format: "openai-agents",
  read: (item, place) => readItem(item, place, DIALECT),
  rewrite,
  withoutReasoning: withoutId,
  build: (run, context) => toSteps(run).flatMap((step) => buildStep(step, context)),
});

function rewrite(native: NativeObject, parts: readonly Part[]): unknown {
  const rewritten = rewriteItem(native, parts, DIALECT);
  if (!isObject(rewritten)) return rewritten;
  const field = Array.isArray(rewritten.content) ? "content" : "output";
  const blocks = rewritten[field];
  return Array.isArray(blocks) ? { ...rewritten, [field]: blocks.map(inSdkSpelling) } : rewritten;
}

/** The SDK says `image` where the wire says `image_url`, and `file` for both ways of giving a file. */
function inSdkSpelling(block: unknown): unknown {
  if (!isObject(block)) return block;
  if (block.type === "input_image" && "image_url" in block)
    return { type: "input_image", image: block.image_url, detail: block.detail };
  if (block.type !== "input_file" || !("file_data" in block || "file_url" in block)) return block;
  return "file_url" in block
    ? { type: "input_file", file: { url: block.file_url } }
    : { type: "input_file", file: block.file_data, filename: block.filename };
}

function buildStep(step: Step, context: BuildContext): unknown[] {
  if (step.type === "results") {
    return step.results.map((result) => {
      return {
        type: "function_call_result",
        callId: result.id,
        name: result.name ?? context.callName(result.id),
        status: "completed",
        output: writeOutput(result),
      };
    });
  }
  if (step.type === "input") {
    const isSystem = step.role !== "user";
    const content = step.content.map((part) => inSdkSpelling(buildPiece(part, "input")));
    const words = step.content.map((part) => (part.type === "text" ? part.text : mediaUrl(part))).join("\n");
    return [{ type: "message", role: isSystem ? "system" : "user", content: isSystem ? words : content }];
  }
  const items: unknown[] = step.calls.map((call) => {
    const args = argumentsText(call) || "{}";
    return { type: "function_call", callId: call.id, name: call.name, status: "completed", arguments: args };
  });
  const content = step.content.map((part) => buildPiece(part, "output"));
  if (content.length > 0 || items.length === 0)
    items.unshift({ type: "message", role: "assistant", status: "completed", content });
  return items;
}

function writeOutput(result: ToolResultPart): unknown {
  if (typeof result.content === "string") return { type: "text", text: result.content };
  return result.content.map((piece) => inSdkSpelling(buildPiece(piece, "input")));
}
