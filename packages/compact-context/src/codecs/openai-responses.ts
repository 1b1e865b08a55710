import { argumentsText } from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { createCodec } from "./create-codec.ts";
import { buildPiece, type ItemDialect, readItem, rewriteItem, withoutId, writeOutput } from "./items.ts";
import { metaBags } from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

const DIALECT: ItemDialect = { callId: "call_id", bags: metaBags };

/** Items of the Responses API; `protected` is read from the item's `meta` or `metadata`. */
export const openaiResponsesCodec: Codec = createCodec({
  format: "openai-responses",
  read: (item, place) => readItem(item, place, DIALECT),
  rewrite: (native, parts) => rewriteItem(native, parts, DIALECT),
  withoutReasoning: withoutId,
  build: (run) => toSteps(run).flatMap(buildStep),
});

function buildStep(step: Step): unknown[] {
  if (step.type === "results") {
    return step.results.map((result) => {
      return { type: "function_call_output", call_id: result.id, output: writeOutput(result.content) };
    });
  }
  const role = step.type === "assistant" ? "assistant" : step.role;
  const side = role === "assistant" ? "output" : "input";
  const content = step.content.map((part) => buildPiece(part, side));
  const calls = step.type === "assistant" ? step.calls : [];
  const items: unknown[] = calls.map((call) => {
    return {
      type: "function_call",
      call_id: call.id,
      name: call.name,
      arguments: argumentsText(call) || "{}",
    };
  });
  if (content.length > 0 || calls.length === 0) items.unshift({ type: "message", role, content });
  return items;
}
