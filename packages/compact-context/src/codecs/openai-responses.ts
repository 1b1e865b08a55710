import { argumentsText } from "../core/message.ts";
import type { Codec } from "../core/ports.ts";
import { createCodec, type Vote, voteOnBlocks } from "./create-codec.ts";
import { buildPiece, type ItemDialect, readItem, rewriteItem, writeOutput } from "./items.ts";
import { metaBags, type NativeObject } from "./native.ts";
import { type Step, toSteps } from "./steps.ts";

const DIALECT: ItemDialect = { callId: "call_id", bags: metaBags };

/** Items of the Responses API; `protected` is read from the item's `meta` or `metadata`. */
export const openaiResponsesCodec: Codec = createCodec({
  format: "openai-responses",
  read: (item, place) => readItem(item, place, DIALECT),
  rewrite: (native, parts) => rewriteItem(native, parts, DIALECT),
  build: (run) => toSteps(run).flatMap(buildStep),
  vote,
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

const ROLES = new Set(["system", "developer", "user", "assistant"]);

function vote(item: NativeObject): Vote {
  const { type } = item;
  if ("callId" in item || "providerData" in item || "rawContent" in item) return -1;
  if (type === undefined || type === "message") return voteOnMessage(item);
  if (typeof type !== "string" || "content" in item === false) return voteOnItem(item);
  return type === "reasoning" ? 0.8 : -1;
}

function voteOnItem(item: NativeObject): Vote {
  const type = String(item.type);
  if ("role" in item || "lc" in item || "data" in item || type === "function_call_result") return -1;
  if ("call_id" in item) return 1;
  return /_(call|output)$|^reasoning$|compaction|^item_reference$|^mcp_/.test(type) ? 0.9 : 0.1;
}

function voteOnMessage(item: NativeObject): Vote {
  if (!ROLES.has(String(item.role)) || "tool_calls" in item || "parts" in item) return -1;
  const blocks = voteOnBlocks(item.content, (_block, type) =>
    /^(input|output)_/.test(type) ? 0.85 : type === "refusal" ? 0.3 : -1,
  );
  if (blocks < 0) return -1;
  return Math.max(blocks, item.type === "message" ? 0.6 : 0.3);
}
