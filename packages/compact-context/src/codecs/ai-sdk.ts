import type { Codec } from "../core/ports.ts";
import { isObject } from "../errors.ts";
import {
  buildModelMessages,
  MODEL_ROLES,
  readModelMessage,
  rewriteModelMessage,
} from "./ai-model-messages.ts";
import { buildUiMessages, readUiMessage, rewriteUiMessage } from "./ai-ui-messages.ts";
import { createCodec, type Vote, voteOnBlocks } from "./create-codec.ts";
import type { NativeObject } from "./native.ts";

/**
 * AI SDK messages, both the model's (`content`) and the interface's (`parts`), decided entry by entry; `protected` is
 * read from `providerOptions.compact` of the first and `metadata` of the second.
 */
export const aiSdkCodec: Codec = createCodec({
  format: "ai-sdk",
  read: (entry, place) => (isUi(entry) ? readUiMessage(entry, place) : readModelMessage(entry, place)),
  rewrite: (native, parts) =>
    isUi(native) ? rewriteUiMessage(native, parts) : rewriteModelMessage(native, parts),
  build: (run, context) => (isUi(context.sample) ? buildUiMessages(run) : buildModelMessages(run, context)),
  vote,
});

function isUi(entry: unknown): boolean {
  return isObject(entry) && Array.isArray(entry.parts);
}

const FOREIGN_FIELDS = ["type", "tool_calls", "tool_call_id", "lc", "getType", "_getType", "timestamp"];

function vote(entry: NativeObject): Vote {
  const role = String(entry.role);
  if (!Object.hasOwn(MODEL_ROLES, role) || FOREIGN_FIELDS.some((field) => field in entry)) return -1;
  if (isUi(entry)) return voteOnBlocks(entry.parts, (_part, type) => (type === "" ? -1 : 1)) || 0.4;
  if (role === "tool" && !Array.isArray(entry.content)) return -1;
  const blocks = voteOnBlocks(entry.content, blockVote);
  if (blocks < 0) return -1;
  return Math.max(blocks, isObject(entry.providerOptions) ? 0.9 : 0.2);
}

function blockVote(block: NativeObject, type: string): Vote {
  if (/^tool-(call|result|approval)/.test(type)) return 1;
  if (type === "file") return isObject(block.file) || "content" in block ? -1 : 0.9;
  if (type === "image") return "image" in block ? 0.9 : -1;
  if (type === "reasoning") return typeof block.text === "string" ? 0.9 : -1;
  return type === "text" ? 0.3 : -1;
}
