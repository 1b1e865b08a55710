import { type NativeObject, objectOf } from "../codecs/native.ts";
import type { ReportedUsage } from "../core/ports.ts";
import { isList, readArgument } from "../errors.ts";

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
  readonly total?: string;
}

const FIELDS = {
  "openai-chat": {
    input: "prompt_tokens",
    cacheRead: "prompt_tokens_details.cached_tokens|cached_tokens",
    cacheWrite: "prompt_tokens_details.cache_write_tokens",
    output: "completion_tokens",
    total: "total_tokens",
  },
  "openai-responses": {
    input: "input_tokens",
    cacheRead: "input_tokens_details.cached_tokens",
    cacheWrite: "input_tokens_details.cache_write_tokens",
    output: "output_tokens",
  },
  anthropic: {
    input: "input_tokens + cache_read_input_tokens + cache_creation_input_tokens",
    cacheRead: "cache_read_input_tokens",
    cacheWrite: "cache_creation_input_tokens",
    write1h: "cache_creation.ephemeral_1h_input_tokens",
    output: "output_tokens",
  },
  gemini: {
    input: "promptTokenCount + toolUsePromptTokenCount",
    cacheRead: "cachedContentTokenCount",
    output: "candidatesTokenCount + thoughtsTokenCount",
  },
  "gemini-interactions": {
    input: "total_input_tokens + total_tool_use_tokens",
    cacheRead: "total_cached_tokens",
    output: "total_output_tokens + total_thought_tokens",
  },
  deepseek: {
    input: "prompt_cache_hit_tokens + prompt_cache_miss_tokens",
    cacheRead: "prompt_cache_hit_tokens",
    output: "completion_tokens",
    total: "total_tokens",
  },
  // Cline stores the same fields flat.
  "ai-sdk": {
    input: "inputTokens",
    cacheRead: "inputTokenDetails.cacheReadTokens|cachedInputTokens|cacheReadTokens",
    cacheWrite: "inputTokenDetails.cacheWriteTokens|cacheWriteTokens",
    output: "outputTokens",
  },
  "ai-sdk-provider": {
    input: "inputTokens.total",
    cacheRead: "inputTokens.cacheRead",
    cacheWrite: "inputTokens.cacheWrite",
    output: "outputTokens.total",
  },
  langchain: {
    input: "input_tokens",
    cacheRead: "input_token_details.cache_read",
    cacheWrite: "input_token_details.cache_creation",
    output: "output_tokens",
    total: "total_tokens",
  },
  pi: {
    input: "input + cacheRead + cacheWrite",
    cacheRead: "cacheRead",
    cacheWrite: "cacheWrite",
    write1h: "cacheWrite1h",
    output: "output",
  },
  codex: {
    input: "input_tokens",
    cacheRead: "cached_input_tokens",
    output: "output_tokens",
  },
  "gemini-cli": {
    input: "input + tool",
    cacheRead: "cached",
    output: "output + thoughts",
  },
  opencode: {
    input: "input + cache.read + cache.write",
    cacheRead: "cache.read",
    cacheWrite: "cache.write",
    output: "output",
  },
} satisfies Record<string, Fields>;

type UsageSource = keyof typeof FIELDS;

/** The sum of the paths; undefined if the record has none of them. */
function amountIn(record: NativeObject, paths = ""): number | undefined {
  let sum: number | undefined;
  for (const spellings of paths.split(" + ")) {
    for (const path of spellings.split("|")) {
      const [first = "", second] = path.split(".");
      const value = second === undefined ? record[first] : objectOf(record[first])[second];
      if (typeof value !== "number" || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) continue;
      sum = (sum ?? 0) + value;
      break;
    }
  }
  return sum;
}

/** The newest call's own record, where a source sums several. */
function newestCall(raw: NativeObject, source: UsageSource): NativeObject {
  if (source === "codex")
    return objectOf("last_token_usage" in raw ? raw.last_token_usage : raw.total_token_usage);
  if (source === "ai-sdk" && Array.isArray(raw.steps) && raw.steps.length > 0) {
    return newestCall(objectOf(objectOf(raw.steps.at(-1)).usage), source);
  }
  if (source !== "anthropic" || !Array.isArray(raw.iterations)) return raw;
  // A compaction among the iterations is billed, but not kept in the context.
  return raw.iterations.map(objectOf).findLast(({ type }) => type === "message") ?? raw;
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
function sourceOf(fields: NativeObject): UsageSource | undefined {
  if (typeof fields.inputTokens === "object" && fields.inputTokens !== null) return "ai-sdk-provider";
  if (typeof fields.inputTokens === "number") return "ai-sdk";
  for (const [field, source] of MARKS) if (field in fields) return source;
  if ("input_tokens" in fields) return "total_tokens" in fields ? "openai-responses" : "anthropic";
  return undefined;
}

/**
 * Normalizes a provider's or SDK's usage record, or that of a whole response; undefined if none is recognized.
 */
export function normalizeUsage(raw: unknown): ReportedUsage | undefined {
  return readArgument("usage", "Pass the usage record as the provider or the SDK gave it.", () => {
    const given = objectOf(raw);
    const own = sourceOf(given);
    const fields = own === undefined ? recordIn(given) : given;
    const source = own ?? sourceOf(fields);
    return source && usageOf(newestCall(fields, source), FIELDS[source]);
  });
}

function usageOf(record: NativeObject, fields: Fields): ReportedUsage {
  const amount = (paths: string | undefined): number => amountIn(record, paths) ?? 0;
  const input = amount(fields.input);
  return {
    input,
    cacheRead: amount(fields.cacheRead),
    cacheWrite: amount(fields.cacheWrite),
    write1h: amountIn(record, fields.write1h),
    output: Math.max(amount(fields.output), amount(fields.total) - input),
  };
}

/** The usage record of a model's whole response; not of a run, which sums up several. */
function recordIn(response: NativeObject): NativeObject {
  const { type, object, choices, candidates, usage, usageMetadata, usage_metadata } = response;
  const isResponse = type === "message" || object === "response" || isList(choices) || isList(candidates);
  return objectOf(isResponse ? (usage ?? usageMetadata) : usage_metadata);
}

/** floor(length / 4), at least 1 for non-empty text: used if no encoding can be loaded. */
export function fallbackTokens(text: string): number {
  return text === "" ? 0 : Math.max(1, Math.floor(text.length / 4));
}
