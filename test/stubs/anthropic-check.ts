import type { Rejection } from "./answers.ts";
import { checkCompaction } from "./anthropic-compaction.ts";
import { isGenuine, prefixHash } from "./anthropic-thinking.ts";
import {
  firstOf,
  type Incoming,
  isObject,
  type Json,
  type ModelSettings,
  objectsIn,
  textOf,
} from "./wire.ts";

const PARAMETERS = new Set(
  `max_tokens messages model cache_control container diagnostics inference_geo metadata output_config service_tier speed
  stop_sequences stream system temperature thinking tool_choice tools top_k top_p user_profile_id workspace_id
  context_management compaction mcp_servers fallbacks betas thread`.split(/\s+/),
);

export function bad(message: string): Rejection {
  return { status: 400, type: "invalid_request_error", message };
}

/** A content as blocks, in either notation. */
export function blocksOf(content: unknown): Json[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return objectsIn(content);
}

const isThinking = (block: Json | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** Anthropic's validation of a request before counting. */
export function checkRequest({ body, headers }: Incoming, settings: ModelSettings): Rejection | undefined {
  const messages = objectsIn(body.messages);
  return firstOf([
    () =>
      headers["anthropic-version"] === undefined ? bad("anthropic-version: header is required") : undefined,
    () => checkParameters(body, settings),
    () => checkThread(body),
    () => checkCompaction(body, headers),
    () => checkRoles(messages, body.compaction !== undefined),
    () => firstOf(messages.map((message, index) => () => checkContent(message, index))),
    () => checkCacheMarks(body, messages),
    () => checkTools(messages),
    () => checkToolDefinitions(body, messages, settings),
    () => checkThinking(body, messages, settings),
  ]);
}

/** The stub stores no conversations, so none can be continued. */
function checkThread({ thread }: Json): Rejection | undefined {
  if (!isObject(thread) || thread.type !== "continue") return undefined;
  const message = `Thread not found: ${textOf(thread.previous_message_id)}`;
  return { status: 404, type: "not_found_error", message, code: "thread_not_found" };
}

function checkParameters(body: Json, { unsupported }: ModelSettings): Rejection | undefined {
  for (const name of ["model", "max_tokens", "messages"]) {
    if (body[name] === undefined) return bad(`${name}: Field required`);
  }
  const extra = Object.keys(body).find((key) => !PARAMETERS.has(key));
  if (extra !== undefined) return bad(`${extra}: Extra inputs are not permitted`);
  if (typeof body.max_tokens !== "number" || body.max_tokens < 1) {
    return bad("max_tokens: Input should be greater than or equal to 1");
  }
  if (typeof body.temperature === "number" && (body.temperature < 0 || body.temperature > 1)) {
    return bad("temperature: range: 0..1");
  }
  const refused = unsupported.find((name) => body[name] !== undefined && body[name] !== 1);
  if (refused !== undefined) return bad(`\`${refused}\` is deprecated for this model.`);
  const thinking = isObject(body.thinking) ? body.thinking : {};
  if (thinking.type !== "enabled") return undefined;
  const budget = Number(thinking.budget_tokens);
  if (!(budget >= 1024))
    return bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
  if (body.max_tokens <= budget) {
    return bad("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  return body.temperature === undefined || body.temperature === 1
    ? undefined
    : bad("`temperature` may only be set to 1 when thinking is enabled.");
}

function checkRoles(messages: readonly Json[], compacts: boolean): Rejection | undefined {
  if (messages.length === 0) return bad("messages: at least one message is required");
  const wrong = messages.findIndex(({ role }) => !["user", "assistant", "system"].includes(textOf(role)));
  if (wrong >= 0) return bad(`messages.${wrong}.role: Input should be 'user', 'assistant' or 'system'`);
  if (messages[0]?.role === "system") {
    return bad(
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    );
  }
  const opens = blocksOf(messages[0]?.content)[0]?.type === "compaction";
  if (messages[0]?.role !== "user" && !opens) return bad('messages: first message must use the "user" role');
  return !compacts && messages.at(-1)?.role === "assistant"
    ? bad(
        "This model does not support assistant message prefill. The conversation must end with a user message.",
      )
    : undefined;
}

function checkContent(message: Json, index: number): Rejection | undefined {
  const blocks = blocksOf(message.content);
  if (blocks.length === 0 || message.content === "") {
    return bad(
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  for (const block of blocks) {
    if (block.type !== "text") continue;
    if (textOf(block.text) === "") return bad("messages: text content blocks must be non-empty");
    if (textOf(block.text).trim() === "")
      return bad("messages: text content blocks must contain non-whitespace text");
  }
  return undefined;
}

function checkCacheMarks(body: Json, messages: readonly Json[]): Rejection | undefined {
  const blocks = [
    ...objectsIn(body.tools),
    ...objectsIn(body.system),
    ...messages.flatMap(({ content }) => objectsIn(content)),
  ];
  const marked = blocks.filter((block) => isObject(block.cache_control));
  if (marked.some(isThinking)) {
    return bad("messages: cache_control: Extra inputs are not permitted in thinking blocks");
  }
  const count = marked.length + (isObject(body.cache_control) ? 1 : 0);
  return count > 4
    ? bad(`A maximum of 4 blocks with cache_control may be provided. Found ${count}.`)
    : undefined;
}

/** The provider merges adjacent messages of one role. */
function mergedTurns(messages: readonly Json[]): { role: unknown; at: number; blocks: Json[] }[] {
  const turns: { role: unknown; at: number; blocks: Json[] }[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    const last = turns.at(-1);
    if (last !== undefined && last.role === role) last.blocks.push(...blocksOf(content));
    else turns.push({ role, at, blocks: [...blocksOf(content)] });
  }
  return turns;
}

function checkTools(messages: readonly Json[]): Rejection | undefined {
  const seen = new Set<string>();
  const turns = mergedTurns(messages.filter(({ role }) => role !== "system"));
  for (const [position, { at, role, blocks }] of turns.entries()) {
    const calls = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => textOf(id));
    for (const id of calls) {
      if (seen.has(id)) return bad("messages: `tool_use` ids must be unique");
      seen.add(id);
    }
    if (role === "user") {
      const before = turns[position - 1]?.blocks ?? [];
      const found = checkResults(blocks, before, at);
      if (found !== undefined) return found;
    }
    const open = unansweredIn(calls, turns[position + 1]?.blocks ?? []);
    if (open.length > 0) {
      return bad(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
  }
  return undefined;
}

/** Results count only at the start of their message. */
function unansweredIn(calls: readonly string[], next: readonly Json[]): string[] {
  const end = next.findIndex(({ type }) => type !== "tool_result");
  const leading = end < 0 ? next : next.slice(0, end);
  const answered = new Set(leading.map((block) => textOf(block.tool_use_id)));
  return calls.filter((id) => !answered.has(id));
}

function checkResults(blocks: readonly Json[], before: readonly Json[], at: number): Rejection | undefined {
  const called = new Set(before.filter(({ type }) => type === "tool_use").map(({ id }) => textOf(id)));
  const answered = new Set<string>();
  for (const [index, block] of blocks.entries()) {
    if (block.type !== "tool_result") continue;
    const id = textOf(block.tool_use_id);
    if (!called.has(id)) {
      return bad(
        `messages.${at}.content.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    if (answered.has(id)) {
      return bad(
        `messages.${at}.content.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    }
    answered.add(id);
  }
  return undefined;
}

function checkToolDefinitions(
  body: Json,
  messages: readonly Json[],
  { toolBlocksNeedTools }: ModelSettings,
): Rejection | undefined {
  const defined = objectsIn(body.tools).length > 0;
  if (!toolBlocksNeedTools || defined) return undefined;
  const used = messages.some(({ content }) =>
    objectsIn(content).some(({ type }) => type === "tool_use" || type === "tool_result"),
  );
  return used
    ? bad("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    : undefined;
}

function checkThinking(
  body: Json,
  messages: readonly Json[],
  settings: ModelSettings,
): Rejection | undefined {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const enabled = isObject(body.thinking) && body.thinking.type === "enabled";
  const latest = blocksOf(messages[last]?.content);
  if (enabled && latest.some(({ type }) => type === "tool_use") && !isThinking(latest[0])) {
    return bad(
      `messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${textOf(latest[0]?.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). To avoid this requirement, disable \`thinking\`.`,
    );
  }
  for (const [index, message] of messages.entries()) {
    for (const [at, block] of blocksOf(message.content).entries()) {
      if (block.type !== "thinking") continue;
      const place = `messages.${index}.content.${at}`;
      if (typeof block.signature !== "string") return bad(`${place}.thinking.signature: Field required`);
      const genuine = isGenuine(block, prefixHash(body, messages.slice(0, index)));
      if (genuine === "text") {
        return index === last
          ? bad(
              `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
            )
          : bad(`${place}: Invalid \`signature\` in \`thinking\` block`);
      }
      if (genuine === "prefix" && settings.boundThinking === "error") {
        return bad(`${place}: this \`thinking\` block is bound to a different conversation.`);
      }
    }
  }
  return undefined;
}
