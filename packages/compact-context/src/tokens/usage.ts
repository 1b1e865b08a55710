import { type NativeObject, objectOf } from "../codecs/native.ts";
import { CompactError, isList, kindOf, readArgument, requireNumber, requireOptions } from "../errors.ts";

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

/**
 * Where a source keeps its counts: paths that add up, each with other spellings after `|`. `total` is given
 * where the output may leave reasoning out (xAI, Google): output is then at least total minus input.
 */
interface Fields {
  readonly input: string;
  readonly cacheRead?: string;
  readonly cacheWrite?: string;
  readonly write1h?: string;
  readonly output: string;
  readonly reasoning?: string;
  readonly total?: string;
}

const FIELDS: Readonly<Record<UsageSource, Fields>> = {
  "openai-chat": {
    input: "prompt_tokens",
    cacheRead: "prompt_tokens_details.cached_tokens|cached_tokens",
    cacheWrite: "prompt_tokens_details.cache_write_tokens",
    output: "completion_tokens",
    reasoning: "completion_tokens_details.reasoning_tokens",
    total: "total_tokens",
  },
  "openai-responses": {
    input: "input_tokens",
    cacheRead: "input_tokens_details.cached_tokens",
    cacheWrite: "input_tokens_details.cache_write_tokens",
    output: "output_tokens",
    reasoning: "output_tokens_details.reasoning_tokens",
  },
  anthropic: {
    input: "input_tokens + cache_read_input_tokens + cache_creation_input_tokens",
    cacheRead: "cache_read_input_tokens",
    cacheWrite: "cache_creation_input_tokens",
    write1h: "cache_creation.ephemeral_1h_input_tokens",
    output: "output_tokens",
    reasoning: "output_tokens_details.thinking_tokens",
  },
  gemini: {
    input: "promptTokenCount + toolUsePromptTokenCount",
    cacheRead: "cachedContentTokenCount",
    output: "candidatesTokenCount + thoughtsTokenCount",
    reasoning: "thoughtsTokenCount",
  },
  "gemini-interactions": {
    input: "total_input_tokens + total_tool_use_tokens",
    cacheRead: "total_cached_tokens",
    output: "total_output_tokens + total_thought_tokens",
    reasoning: "total_thought_tokens",
  },
  deepseek: {
    input: "prompt_cache_hit_tokens + prompt_cache_miss_tokens",
    cacheRead: "prompt_cache_hit_tokens",
    output: "completion_tokens",
    reasoning: "completion_tokens_details.reasoning_tokens",
    total: "total_tokens",
  },
  // Cline stores the same fields flat.
  "ai-sdk": {
    input: "inputTokens",
    cacheRead: "inputTokenDetails.cacheReadTokens|cachedInputTokens|cacheReadTokens",
    cacheWrite: "inputTokenDetails.cacheWriteTokens|cacheWriteTokens",
    output: "outputTokens",
    reasoning: "outputTokenDetails.reasoningTokens|reasoningTokens",
  },
  "ai-sdk-provider": {
    input: "inputTokens.total",
    cacheRead: "inputTokens.cacheRead",
    cacheWrite: "inputTokens.cacheWrite",
    output: "outputTokens.total",
    reasoning: "outputTokens.reasoning",
  },
  langchain: {
    input: "input_tokens",
    cacheRead: "input_token_details.cache_read",
    cacheWrite: "input_token_details.cache_creation",
    output: "output_tokens",
    reasoning: "output_token_details.reasoning",
    total: "total_tokens",
  },
  pi: {
    input: "input + cacheRead + cacheWrite",
    cacheRead: "cacheRead",
    cacheWrite: "cacheWrite",
    write1h: "cacheWrite1h",
    output: "output",
    reasoning: "reasoning",
  },
  codex: {
    input: "input_tokens",
    cacheRead: "cached_input_tokens",
    output: "output_tokens",
    reasoning: "reasoning_output_tokens",
  },
  "gemini-cli": {
    input: "input + tool",
    cacheRead: "cached",
    output: "output + thoughts",
    reasoning: "thoughts",
  },
  opencode: {
    input: "input + cache.read + cache.write",
    cacheRead: "cache.read",
    cacheWrite: "cache.write",
    output: "output",
    reasoning: "reasoning",
  },
};

/** The sum of the paths; undefined if the record has none of them. */
function amountIn(record: NativeObject, paths = ""): number | undefined {
  let sum: number | undefined;
  for (const spellings of paths.split(" + ")) {
    for (const path of spellings.split("|")) {
      const [first = "", second] = path.split(".");
      const value = second === undefined ? record[first] : objectOf(record[first])[second];
      if (typeof value !== "number" || !Number.isFinite(value) || value < 0) continue;
      sum = (sum ?? 0) + value;
      break;
    }
  }
  return sum;
}

/** The newest call's own record, where a source sums several, and why that is no context of one. */
function newestCall(raw: NativeObject, source: UsageSource): [NativeObject, reason?: Usage["reason"]] {
  if (source === "codex") {
    if ("last_token_usage" in raw) return [objectOf(raw.last_token_usage)];
    return [objectOf(raw.total_token_usage), "aggregated"];
  }
  if (source === "ai-sdk" && Array.isArray(raw.steps) && raw.steps.length > 0) {
    return newestCall(objectOf(objectOf(raw.steps.at(-1)).usage), source);
  }
  if (source !== "anthropic" || !Array.isArray(raw.iterations)) return [raw];
  // A compaction among the iterations is billed, but not kept in the context.
  const iterations = raw.iterations.map(objectOf);
  const isCompacted = iterations.some(({ type }) => type === "compaction");
  const last = iterations.findLast(({ type }) => type === "message");
  return [last ?? raw, isCompacted ? "compacted" : undefined];
}

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
 * Normalizes a provider's or SDK's usage record, or that of a whole response; undefined if none is recognized.
 * Aborted, failed, aggregated or inconsistent records get `anchor: false`.
 */
export function normalizeUsage(raw: unknown, source?: UsageSource): Usage | undefined {
  return readArgument("usage", "Pass the usage record as the provider or the SDK gave it.", () =>
    readUsage(raw, source),
  );
}

function readUsage(given: unknown, named: UsageSource | undefined): Usage | undefined {
  const raw = detectUsageSource(given) === undefined ? (recordIn(given) ?? given) : given;
  const source = named ?? detectUsageSource(raw);
  if (source === undefined || typeof raw !== "object" || raw === null) return undefined;
  if (typeof source !== "string") throw unknownSource(kindOf(source));
  if (!Object.hasOwn(FIELDS, source)) throw unknownSource(source);
  const fields = FIELDS[source];
  const [record, told] = newestCall(raw as NativeObject, source);
  const [input = 0, cacheRead = 0, cacheWrite = 0, written = 0, total = 0] = [
    amountIn(record, fields.input),
    amountIn(record, fields.cacheRead),
    amountIn(record, fields.cacheWrite),
    amountIn(record, fields.output),
    amountIn(record, fields.total),
  ];
  const output = Math.max(written, total - input);
  const reasoning = amountIn(record, fields.reasoning);
  const write1h = amountIn(record, fields.write1h);
  let reason = told;
  if (input === 0) reason ??= "empty";
  if (cacheRead + cacheWrite > input || (reasoning ?? 0) > output) reason ??= "inconsistent";
  const anchor = reason === undefined;
  return { source, input, cacheRead, cacheWrite, write1h, output, reasoning, anchor, reason };
}

/** The usage record of a model's whole response; not of a run, which sums up several. */
function recordIn(response: unknown): unknown {
  const { type, object, choices, candidates, usage, usageMetadata, usage_metadata } = objectOf(response);
  const isResponse = type === "message" || object === "response" || isList(choices) || isList(candidates);
  return isResponse ? (usage ?? usageMetadata) : usage_metadata;
}

function unknownSource(source: string): CompactError {
  return new CompactError("InvalidArgument", `${JSON.stringify(source)} is no source of usage records`, {
    place: "source",
    hint: `Leave it out to have it recognised, or use one of ${Object.keys(FIELDS).join(", ")}.`,
  });
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
