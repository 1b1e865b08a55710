import { type NativeObject, objectOf } from "../codecs/native.ts";
import { CompactError, kindOf, readArgument, requireNumber, requireOptions } from "../errors.ts";

/** The source of a usage record's fields. Default: detected. */
export type UsageSource =
  | "openai-chat"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "gemini-interactions"
  | "deepseek"
  | "ai-sdk"
  | "ai-sdk-provider"
  | "langchain"
  | "pi"
  | "codex"
  | "gemini-cli"
  | "opencode";

/** Tokens of one model call, normalized across providers. */
export interface Usage {
  readonly source: UsageSource;
  /** All input tokens, cache included. */
  readonly input: number;
  /** The part of `input` read from the prompt cache. */
  readonly cacheRead: number;
  /** The part of `input` written to the cache, `write1h` included. */
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a one-hour TTL. */
  readonly write1h?: number;
  /** All generated tokens, reasoning included. */
  readonly output: number;
  readonly reasoning?: number;
  /** False if the numbers do not measure the context of one completed call over the caller's own messages. */
  readonly anchor: boolean;
  /** Why `anchor` is false. */
  readonly reason?: "empty" | "aggregated" | "compacted" | "inconsistent";
}

type Json = NativeObject;
type Numbers = Omit<Usage, "source" | "anchor" | "reason"> & { readonly reason?: Usage["reason"] };

const numberIn = (fields: Json, key: string): number => optional(fields, key) ?? 0;

function optional(fields: Json, key: string): number | undefined {
  const value = fields[key];
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** If the total shows that reasoning is added to the completion (xAI), output is total minus input. */
function outputOf(output: number, input: number, total: number | undefined): number {
  return total !== undefined && total > input + output ? total - input : output;
}

function openaiChat(raw: Json): Numbers {
  const details = objectOf(raw.prompt_tokens_details);
  const input = numberIn(raw, "prompt_tokens");
  return {
    input,
    cacheRead: optional(details, "cached_tokens") ?? numberIn(raw, "cached_tokens"),
    cacheWrite: numberIn(details, "cache_write_tokens"),
    output: outputOf(numberIn(raw, "completion_tokens"), input, optional(raw, "total_tokens")),
    reasoning: optional(objectOf(raw.completion_tokens_details), "reasoning_tokens"),
  };
}

function openaiResponses(raw: Json): Numbers {
  const details = objectOf(raw.input_tokens_details);
  return {
    input: numberIn(raw, "input_tokens"),
    cacheRead: numberIn(details, "cached_tokens"),
    cacheWrite: numberIn(details, "cache_write_tokens"),
    output: numberIn(raw, "output_tokens"),
    reasoning: optional(objectOf(raw.output_tokens_details), "reasoning_tokens"),
  };
}

/**
 * With `iterations`, the context is that of the last message entry; compaction entries are billed but not
 * kept.
 */
function anthropic(raw: Json): Numbers {
  const iterations = Array.isArray(raw.iterations) ? raw.iterations.map(objectOf) : [];
  const fields = iterations.findLast((entry) => entry.type === "message") ?? raw;
  const creation = objectOf(fields.cache_creation);
  const cacheRead = numberIn(fields, "cache_read_input_tokens");
  const cacheWrite = numberIn(fields, "cache_creation_input_tokens");
  return {
    input: numberIn(fields, "input_tokens") + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    output: numberIn(fields, "output_tokens"),
    reason: iterations.some((entry) => entry.type === "compaction") ? "compacted" : undefined,
    reasoning: optional(objectOf(fields.output_tokens_details), "thinking_tokens"),
    write1h: optional(creation, "ephemeral_1h_input_tokens"),
  };
}

function gemini(raw: Json): Numbers {
  const thoughts = optional(raw, "thoughtsTokenCount");
  return {
    input: numberIn(raw, "promptTokenCount") + numberIn(raw, "toolUsePromptTokenCount"),
    cacheRead: numberIn(raw, "cachedContentTokenCount"),
    cacheWrite: 0,
    output: numberIn(raw, "candidatesTokenCount") + (thoughts ?? 0),
    reasoning: thoughts,
  };
}

function geminiInteractions(raw: Json): Numbers {
  const thoughts = optional(raw, "total_thought_tokens");
  return {
    input: numberIn(raw, "total_input_tokens") + numberIn(raw, "total_tool_use_tokens"),
    cacheRead: numberIn(raw, "total_cached_tokens"),
    cacheWrite: 0,
    output: numberIn(raw, "total_output_tokens") + (thoughts ?? 0),
    reasoning: thoughts,
  };
}

function deepseek(raw: Json): Numbers {
  const cacheRead = numberIn(raw, "prompt_cache_hit_tokens");
  const chat = openaiChat(raw);
  return { ...chat, input: cacheRead + numberIn(raw, "prompt_cache_miss_tokens"), cacheRead, cacheWrite: 0 };
}

/**
 * A multi-step result sums its usage: only the last step measures a context. Cline stores the same fields
 * flat.
 */
function aiSdk(raw: Json): Numbers {
  const steps = Array.isArray(raw.steps) ? raw.steps.map(objectOf) : [];
  if (steps.length > 0) return aiSdk(objectOf(steps.at(-1)?.usage));
  const details = objectOf(raw.inputTokenDetails);
  const reasoning = optional(objectOf(raw.outputTokenDetails), "reasoningTokens");
  return {
    input: numberIn(raw, "inputTokens"),
    cacheRead:
      optional(details, "cacheReadTokens") ??
      optional(raw, "cachedInputTokens") ??
      numberIn(raw, "cacheReadTokens"),
    cacheWrite: optional(details, "cacheWriteTokens") ?? numberIn(raw, "cacheWriteTokens"),
    output: numberIn(raw, "outputTokens"),
    reasoning: reasoning ?? optional(raw, "reasoningTokens"),
  };
}

function aiSdkProvider(raw: Json): Numbers {
  const input = objectOf(raw.inputTokens);
  const output = objectOf(raw.outputTokens);
  return {
    input: numberIn(input, "total"),
    cacheRead: numberIn(input, "cacheRead"),
    cacheWrite: numberIn(input, "cacheWrite"),
    output: numberIn(output, "total"),
    reasoning: optional(output, "reasoning"),
  };
}

/** `output_tokens` may omit thoughts (Google); the total includes them. */
function langchain(raw: Json): Numbers {
  const details = objectOf(raw.input_token_details);
  const input = numberIn(raw, "input_tokens");
  return {
    input,
    cacheRead: numberIn(details, "cache_read"),
    cacheWrite: numberIn(details, "cache_creation"),
    output: outputOf(numberIn(raw, "output_tokens"), input, optional(raw, "total_tokens")),
    reasoning: optional(objectOf(raw.output_token_details), "reasoning"),
  };
}

function pi(raw: Json): Numbers {
  const cacheRead = numberIn(raw, "cacheRead");
  const cacheWrite = numberIn(raw, "cacheWrite");
  return {
    input: numberIn(raw, "input") + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    output: numberIn(raw, "output"),
    reasoning: optional(raw, "reasoning"),
    write1h: optional(raw, "cacheWrite1h"),
  };
}

/** A rollout's `token_count` record: the last usage, as the totals sum the whole session. */
function codex(raw: Json): Numbers {
  const last = objectOf(raw.last_token_usage);
  const aggregated = !("last_token_usage" in raw);
  const fields = aggregated ? objectOf(raw.total_token_usage) : last;
  return {
    input: numberIn(fields, "input_tokens"),
    cacheRead: numberIn(fields, "cached_input_tokens"),
    cacheWrite: 0,
    output: numberIn(fields, "output_tokens"),
    reason: aggregated ? ("aggregated" as const) : undefined,
    reasoning: optional(fields, "reasoning_output_tokens"),
  };
}

/** Gemini CLI's chat log: input includes the cached part; thoughts and tool prompts are separate. */
function geminiCli(raw: Json): Numbers {
  const thoughts = numberIn(raw, "thoughts");
  return {
    input: numberIn(raw, "input") + numberIn(raw, "tool"),
    cacheRead: numberIn(raw, "cached"),
    cacheWrite: 0,
    output: numberIn(raw, "output") + thoughts,
    reasoning: thoughts,
  };
}

/** opencode: input excludes the cache, output includes reasoning. */
function opencode(raw: Json): Numbers {
  const cache = objectOf(raw.cache);
  const cacheRead = numberIn(cache, "read");
  const cacheWrite = numberIn(cache, "write");
  return {
    input: numberIn(raw, "input") + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    output: numberIn(raw, "output"),
    reasoning: optional(raw, "reasoning"),
  };
}

const READERS: Readonly<Record<UsageSource, (raw: Json) => Numbers>> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
  "gemini-interactions": geminiInteractions,
  deepseek,
  "ai-sdk": aiSdk,
  "ai-sdk-provider": aiSdkProvider,
  langchain,
  pi,
  codex,
  "gemini-cli": geminiCli,
  opencode,
};

/** Fields unique to one source, most specific first. */
const MARKS: readonly (readonly [field: string, source: UsageSource])[] = [
  ["last_token_usage", "codex"],
  ["total_token_usage", "codex"],
  ["prompt_cache_hit_tokens", "deepseek"],
  ["prompt_tokens", "openai-chat"],
  ["promptTokenCount", "gemini"],
  ["total_input_tokens", "gemini-interactions"],
  ["cache_read_input_tokens", "anthropic"],
  ["cache_creation_input_tokens", "anthropic"],
  ["cache_creation", "anthropic"],
  ["iterations", "anthropic"],
  ["input_tokens_details", "openai-responses"],
  ["output_tokens_details", "openai-responses"],
  ["input_token_details", "langchain"],
  ["output_token_details", "langchain"],
  ["steps", "ai-sdk"],
  ["cacheRead", "pi"],
  ["thoughts", "gemini-cli"],
  ["cache", "opencode"],
];

/** The source of these fields; a bare `input_tokens` is Anthropic's unless there is a total. */
export function detectUsageSource(raw: unknown): UsageSource | undefined {
  const fields = objectOf(raw);
  if (typeof fields.inputTokens === "object" && fields.inputTokens !== null) return "ai-sdk-provider";
  if (typeof fields.inputTokens === "number") return "ai-sdk";
  for (const [field, source] of MARKS) if (field in fields) return source;
  if ("input_tokens" in fields) return "total_tokens" in fields ? "openai-responses" : "anthropic";
  return undefined;
}

/**
 * Normalizes a provider's or SDK's usage record; undefined if none is recognized. Aborted, failed, aggregated
 * or inconsistent records get `anchor: false`.
 */
export function normalizeUsage(raw: unknown, source?: UsageSource): Usage | undefined {
  return readArgument("usage", "Pass the usage record as the provider or the SDK gave it.", () =>
    readUsage(raw, source),
  );
}

function readUsage(raw: unknown, source: UsageSource | undefined): Usage | undefined {
  const from = source ?? detectUsageSource(raw);
  if (from === undefined || typeof raw !== "object" || raw === null) return undefined;
  if (typeof from !== "string") throw unknownSource(kindOf(from));
  if (!Object.hasOwn(READERS, from)) throw unknownSource(from);
  const { reason: told, ...numbers } = READERS[from](raw as Json);
  const reason = told ?? doubtAbout(numbers);
  return { source: from, ...numbers, anchor: reason === undefined, reason };
}

function unknownSource(source: string): CompactError {
  return new CompactError("InvalidArgument", `${JSON.stringify(source)} is no source of usage records`, {
    place: "source",
    hint: `Leave it out to have it recognised, or use one of ${Object.keys(READERS).join(", ")}.`,
  });
}

function doubtAbout({ input, cacheRead, cacheWrite, output, reasoning = 0 }: Numbers): Usage["reason"] {
  if (input === 0) return "empty";
  return cacheRead + cacheWrite > input || reasoning > output ? "inconsistent" : undefined;
}

/** Tokens in the context including the response: input plus output. */
export function contextTokens(usage: Pick<Usage, "input" | "output">): number {
  requireOptions(usage, "usage", "Pass what normalizeUsage gave back.");
  requireNumber(usage.input, "usage.input", "Pass what normalizeUsage gave back.");
  requireNumber(usage.output, "usage.output", "Pass what normalizeUsage gave back.");
  return usage.input + usage.output;
}

/** floor(length / 4), at least 1 for non-empty text: used if no encoding can be loaded. */
export function fallbackTokens(text: string): number {
  return text === "" ? 0 : Math.max(1, Math.floor(text.length / 4));
}
