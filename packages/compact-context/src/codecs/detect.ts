import { type Format, jsonText } from "../core/message.ts";
import { isObject } from "../errors.ts";
import { filled, isRole, type NativeObject, ROLES } from "./native.ts";

// How a format is recognised: every entry of a list votes for or against it. The votes are weighed against each other, so
// those of all formats stand here together.

/** An entry's vote on a format: -1 excludes it, 0 is neutral, 1 excludes all others. */
type Vote = number;
type EntryVote = (entry: NativeObject) => Vote;

/** Likelihood of the format: 0 excludes it, 1 excludes all others. */
export function likelihood(list: readonly unknown[], format: Format): number {
  return weighVotes(list, VOTES[format]);
}

/**
 * The first entry that matches no format together with the entries before it; `alone`: it matches none by
 * itself either.
 */
export interface Misfit {
  readonly index: number;
  readonly alone: boolean;
}

/** The first entry at which no format remains; undefined if at least one does. */
export function firstMisfit(list: readonly unknown[]): Misfit | undefined {
  const votes = Object.values(VOTES);
  let fitting = votes;
  for (const [index, entry] of list.entries()) {
    const fits = (vote: EntryVote): boolean => voteOn(entry, vote) >= 0;
    fitting = fitting.filter(fits);
    if (fitting.length === 0) return { index, alone: !votes.some(fits) };
  }
  return undefined;
}

const VOTES: Readonly<Record<Format, EntryVote>> = {
  "openai-chat": voteForChat,
  "openai-responses": voteForResponses,
  "openai-agents": voteForAgents,
  anthropic: voteForAnthropic,
  gemini: voteForGemini,
  "ai-sdk": voteForAiSdk,
  langchain: voteForLangchain,
  pi: voteForPi,
};

const LOOKED_AT = 256;

/** The strongest vote among a bounded number of entries; 0 if any vote is negative. */
export function weighVotes(list: readonly unknown[], vote: EntryVote): number {
  let strongest = 0;
  for (const entry of sample(list)) {
    const said = voteOn(entry, vote);
    if (said < 0) return 0;
    strongest = Math.max(strongest, said);
  }
  return strongest;
}

/** Values that are no objects, or that throw when read, match no format. */
function voteOn(entry: unknown, vote: EntryVote): Vote {
  try {
    return isObject(entry) ? vote(entry) : -1;
  } catch {
    return -1;
  }
}

/** A short list as a whole; of a long list the start, the end, and entries spread evenly between. */
function sample(list: readonly unknown[]): readonly unknown[] {
  if (list.length <= LOOKED_AT) return list;
  const edge = LOOKED_AT / 4;
  const middle = LOOKED_AT / 2;
  const step = (list.length - 2 * edge) / middle;
  const spread = Array.from({ length: middle }, (_, index) => list[edge + Math.floor(index * step)]);
  return [...list.slice(0, edge), ...spread, ...list.slice(-edge)];
}

/** The strongest vote of a message's content blocks; -1 if any block is foreign. */
function voteOnBlocks(content: unknown, vote: (block: NativeObject, type: string) => Vote): Vote {
  if (!Array.isArray(content)) return 0;
  let strongest = 0;
  for (const block of (content as unknown[]).slice(0, 32)) {
    if (!isObject(block)) continue;
    const said = vote(block, typeof block.type === "string" ? block.type : "");
    if (said < 0) return -1;
    strongest = Math.max(strongest, said);
  }
  return strongest;
}

/** True if `value` is a list whose first entry is an object with these keys. */
function firstHas(value: unknown, ...keys: readonly string[]): boolean {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isObject(first) && keys.every((key) => key in first);
}

// ---- OpenAI: chat completions

const CHAT_BLOCKS = new Set(["image_url", "input_audio", "refusal", "video_url"]);

function voteForChat(entry: NativeObject): Vote {
  const role = entry.role;
  if (!isRole(role, ROLES["openai-chat"]) || "type" in entry || "parts" in entry) return -1;
  if (firstHas(entry.tool_calls, "name", "args") || typeof entry.getType === "function") return -1;
  const blocks = voteOnBlocks(entry.content, (block, type) => {
    if (CHAT_BLOCKS.has(type)) return 0.9;
    if (type === "file") return isObject(block.file) ? 0.9 : -1;
    return type === "text" ? 0.5 : -1;
  });
  if (blocks < 0) return -1;
  const calls = firstHas(entry.tool_calls, "id") || firstHas(entry.tool_calls, "function");
  if (calls || isObject(entry.function_call) || role === "function") return 1;
  if (role === "tool") return "tool_call_id" in entry || typeof entry.content === "string" ? 0.95 : -1;
  return Math.max(0.5, blocks);
}

// ---- OpenAI: responses

function voteForResponses(item: NativeObject): Vote {
  const { type } = item;
  if ("callId" in item || "providerData" in item || "rawContent" in item) return -1;
  if (type === undefined || type === "message") return voteOnResponsesMessage(item);
  if (typeof type !== "string" || "content" in item === false) return voteOnResponsesItem(item);
  return type === "reasoning" ? 0.8 : -1;
}

function voteOnResponsesItem(item: NativeObject): Vote {
  const type = String(item.type);
  if ("role" in item || "lc" in item || "data" in item || type === "function_call_result") return -1;
  if ("call_id" in item) return 1;
  return /_(call|output)$|^reasoning$|compaction|^item_reference$|^mcp_/.test(type) ? 0.9 : 0.1;
}

function voteOnResponsesMessage(item: NativeObject): Vote {
  if (!isRole(item.role, ROLES.items) || "tool_calls" in item || "parts" in item) return -1;
  const blocks = voteOnBlocks(item.content, (_block, type) =>
    /^(input|output)_/.test(type) ? 0.85 : type === "refusal" ? 0.3 : -1,
  );
  if (blocks < 0) return -1;
  return Math.max(blocks, item.type === "message" ? 0.6 : 0.3);
}

// ---- OpenAI: Agents SDK

function voteForAgents(item: NativeObject): Vote {
  if ("call_id" in item || "tool_calls" in item || "parts" in item || "lc" in item) return -1;
  const { type } = item;
  if (type === undefined || type === "message") return voteOnAgentsMessage(item);
  if (typeof type !== "string" || "role" in item) return -1;
  if ("callId" in item || "providerData" in item || "rawContent" in item) return 1;
  if (type === "reasoning") return "summary" in item ? -1 : 0.85;
  return /_(call|output|result)$|compaction/.test(type) ? 0.5 : -1;
}

function voteOnAgentsMessage(item: NativeObject): Vote {
  if (!isRole(item.role, ROLES.items) || item.role === "developer") return -1;
  const blocks = voteOnBlocks(item.content, agentsBlock);
  if (blocks < 0) return -1;
  if ("providerData" in item) return 1;
  const isOutput = item.role === "assistant" && "status" in item && blocks > 0;
  const base = item.type === "message" ? 0.55 : 0.25;
  return Math.max(blocks, isOutput ? 0.87 : base);
}

/** Output texts of the wire have annotations; the SDK stores these in `providerData`. */
function agentsBlock(block: NativeObject, type: string): Vote {
  if ("providerData" in block) return 1;
  if (/^(input|output)_/.test(type)) return "image_url" in block || "annotations" in block ? -1 : 0.8;
  return type === "refusal" || type === "audio" || type === "image" ? 0.4 : -1;
}

// ---- Anthropic

/** Types that only Anthropic has, whatever the block holds. */
const OWN_BLOCKS =
  /^(redacted_thinking|container_upload|mcp_tool_listing|tool_addition|tool_removal|fallback)$/;

/** Types that other providers have too are weak evidence. */
function anthropicBlock(block: NativeObject, type: string): Vote {
  if (/tool_(use|result)$/.test(type)) return 1;
  if (OWN_BLOCKS.test(type)) return 0.9;
  if (/^(text|compaction)$/.test(type)) return 0.45;
  if (type === "thinking") return "thinkingSignature" in block ? -1 : 0.9;
  if (/^(image|document)$/.test(type)) return isObject(block.source) ? 0.95 : -1;
  if (type === "search_result") return typeof block.source === "string" ? 0.9 : -1;
  return type === "file" && typeof block.content === "string" ? 0.9 : -1;
}

const NOT_ANTHROPIC = ["tool_calls", "parts", "getType", "_getType"];

function voteForAnthropic(entry: NativeObject): Vote {
  const { role, type } = entry;
  if (!isRole(role, ROLES.anthropic) || (type !== undefined && type !== "message")) return -1;
  if (NOT_ANTHROPIC.some((field) => field in entry)) return -1;
  const blocks = voteOnBlocks(entry.content, anthropicBlock);
  return blocks < 0 ? -1 : Math.max(blocks, type === "message" ? 0.45 : 0.4);
}

// ---- Gemini

function voteForGemini(entry: NativeObject): Vote {
  if (!Array.isArray(entry.parts) || "content" in entry) return -1;
  const { role } = entry;
  if (role !== undefined && !isRole(role, ROLES.gemini)) return -1;
  const blocks = voteOnBlocks(entry.parts, (block, type) => (type === "" && !("type" in block) ? 1 : -1));
  return blocks === 0 ? 0.5 : blocks;
}

// ---- AI SDK

const NOT_AI_SDK = ["type", "tool_calls", "tool_call_id", "lc", "getType", "_getType", "timestamp"];

function voteForAiSdk(entry: NativeObject): Vote {
  const { role } = entry;
  if (!isRole(role, ROLES["ai-sdk"]) || NOT_AI_SDK.some((field) => field in entry)) return -1;
  if (Array.isArray(entry.parts))
    return voteOnBlocks(entry.parts, (_part, type) => (type === "" ? -1 : 1)) || 0.4;
  if (role === "tool" && !Array.isArray(entry.content)) return -1;
  const blocks = voteOnBlocks(entry.content, aiSdkBlock);
  if (blocks < 0) return -1;
  return Math.max(blocks, isObject(entry.providerOptions) ? 0.9 : 0.2);
}

function aiSdkBlock(block: NativeObject, type: string): Vote {
  if (/^tool-(call|result|approval)/.test(type)) return 1;
  if (type === "file") return isObject(block.file) || "content" in block ? -1 : 0.9;
  if (type === "image") return "image" in block ? 0.9 : -1;
  if (type === "reasoning") return typeof block.text === "string" ? 0.9 : -1;
  if (type === "reasoning-file" || type === "custom") return 0.9;
  return type === "text" ? 0.3 : -1;
}

// ---- LangChain

const LANGCHAIN_KINDS =
  /^(human|ai|system|tool|function|generic|chat|(Human|AI|System|Tool|Function|Chat)Message(Chunk)?)$/;

function voteForLangchain(entry: NativeObject): Vote {
  if (entry.lc === 1) return isObject(entry.kwargs) ? 1 : -1;
  if (instanceKind(entry) !== undefined) return 1;
  if (typeof entry.type !== "string") return voteOnPlainLangchain(entry);
  return LANGCHAIN_KINDS.test(entry.type) && ("content" in entry || isObject(entry.data)) ? 1 : -1;
}

/** Accepts plain `{role, content}`, which matches other formats equally well. */
function voteOnPlainLangchain(entry: NativeObject): Vote {
  const role = jsonText(entry.role);
  if (!/^(user|assistant|system|developer|tool|human|ai)$/.test(role)) return -1;
  if ("parts" in entry || "timestamp" in entry) return -1;
  if (firstHas(entry.tool_calls, "name", "args")) return 1;
  if (firstHas(entry.tool_calls) || (role === "tool" && !("tool_call_id" in entry))) return -1;
  const blocks = voteOnBlocks(entry.content, plainLangchainBlock);
  if (blocks < 0) return -1;
  return /^(human|ai)$/.test(role) || isObject(entry.additional_kwargs) ? 1 : 0.15;
}

function plainLangchainBlock(block: NativeObject, type: string): Vote {
  if (/^(server_tool_call(_result)?|non_standard|text-plain)$/.test(type)) return 0.9;
  const isShared = /^(text|image_url|image|audio|video|file|reasoning)$/.test(type);
  return isShared && !("source" in block) ? 0.15 : -1;
}

/** The result of a message instance's `getType()`; undefined for plain objects. */
export function instanceKind(entry: NativeObject): string | undefined {
  for (const name of ["getType", "_getType"]) {
    const method = entry[name];
    if (typeof method === "function") return jsonText((method as () => unknown).call(entry));
  }
  return undefined;
}

// ---- pi

/** Roles that only pi has. */
export const PI_OWN_ROLES: ReadonlySet<unknown> = new Set([
  "toolResult",
  "bashExecution",
  "branchSummary",
  "compactionSummary",
]);

function voteForPi(entry: NativeObject): Vote {
  const role = filled(entry.role);
  if (role === undefined || role === "tool" || role === "developer" || role === "function") return -1;
  if (["type", "tool_calls", "parts", "getType", "_getType"].some((key) => key in entry)) return -1;
  if (PI_OWN_ROLES.has(role)) return 1;
  const blocks = voteOnBlocks(entry.content, (block, type) => {
    if (type === "toolCall" || "thinkingSignature" in block) return 1;
    if (type === "image") return typeof block.mimeType === "string" && "data" in block ? 0.95 : -1;
    return type === "text" || type === "thinking" ? 0.2 : -1;
  });
  if (blocks < 0) return -1;
  const timed = typeof entry.timestamp === "number";
  if (!isRole(role, ROLES.pi)) return timed ? 0.8 : -1;
  return Math.max(blocks, timed ? ("stopReason" in entry ? 1 : 0.8) : 0.15);
}
