import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normalizeUsage } from "./usage.ts";

type Row = [source: string, what: string, raw: unknown, expected: Record<string, unknown>];

const same = { input: 12_000, cacheRead: 9_000, cacheWrite: 2_000, output: 800 };
const read = { ...same, cacheWrite: 0 };

const rows: Row[] = [
  [
    "openai-chat",
    "cache and reasoning inside the totals",
    {
      prompt_tokens: 12_000,
      prompt_tokens_details: { cached_tokens: 9_000, cache_write_tokens: 2_000 },
      completion_tokens: 800,
      completion_tokens_details: { reasoning_tokens: 500 },
      total_tokens: 12_800,
    },
    same,
  ],
  [
    "openai-chat",
    "reasoning on top of the completion",
    {
      prompt_tokens: 12_000,
      completion_tokens: 300,
      completion_tokens_details: { reasoning_tokens: 500 },
      total_tokens: 12_800,
    },
    { ...same, cacheRead: 0, cacheWrite: 0 },
  ],
  [
    "openai-chat",
    "Kimi's cache count at the top",
    { prompt_tokens: 12_000, cached_tokens: 9_000, completion_tokens: 800 },
    read,
  ],
  [
    "openai-responses",
    "the same under other names",
    {
      input_tokens: 12_000,
      input_tokens_details: { cached_tokens: 9_000, cache_write_tokens: 2_000 },
      output_tokens: 800,
      output_tokens_details: { reasoning_tokens: 500 },
      total_tokens: 12_800,
    },
    same,
  ],
  [
    "anthropic",
    "cache beside the input",
    {
      input_tokens: 1_000,
      cache_read_input_tokens: 9_000,
      cache_creation_input_tokens: 2_000,
      cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 1_500 },
      output_tokens: 800,
    },
    { ...same, write1h: 1_500 },
  ],
  [
    "anthropic",
    "without a cache",
    { input_tokens: 12_000, output_tokens: 800 },
    { ...same, cacheRead: 0, cacheWrite: 0 },
  ],
  [
    "gemini",
    "thoughts beside the candidates",
    {
      promptTokenCount: 12_000,
      cachedContentTokenCount: 9_000,
      candidatesTokenCount: 300,
      thoughtsTokenCount: 500,
      totalTokenCount: 12_800,
    },
    read,
  ],
  [
    "gemini",
    "tool prompts beside the prompt",
    { promptTokenCount: 11_000, toolUsePromptTokenCount: 1_000, candidatesTokenCount: 800 },
    { ...read, cacheRead: 0 },
  ],
  [
    "gemini-interactions",
    "totals by kind",
    {
      total_input_tokens: 12_000,
      total_cached_tokens: 9_000,
      total_output_tokens: 300,
      total_thought_tokens: 500,
    },
    read,
  ],
  [
    "deepseek",
    "hit and miss",
    {
      prompt_tokens: 12_000,
      prompt_cache_hit_tokens: 9_000,
      prompt_cache_miss_tokens: 3_000,
      completion_tokens: 800,
    },
    read,
  ],
  [
    "ai-sdk",
    "one step",
    {
      inputTokens: 12_000,
      inputTokenDetails: { noCacheTokens: 1_000, cacheReadTokens: 9_000, cacheWriteTokens: 2_000 },
      outputTokens: 800,
      outputTokenDetails: { textTokens: 300, reasoningTokens: 500 },
    },
    same,
  ],
  [
    "ai-sdk",
    "the same fields flat, as Cline keeps them",
    { inputTokens: 12_000, outputTokens: 800, cacheReadTokens: 9_000, cacheWriteTokens: 2_000, cost: 0.1 },
    same,
  ],
  [
    "ai-sdk",
    "the last of several steps, not their sum",
    {
      usage: { inputTokens: 36_000, outputTokens: 2_400 },
      steps: [
        { usage: { inputTokens: 11_000, outputTokens: 800 } },
        { usage: { inputTokens: 13_000, outputTokens: 800 } },
        { usage: { inputTokens: 12_000, outputTokens: 800 } },
      ],
    },
    { ...same, cacheRead: 0, cacheWrite: 0 },
  ],
  [
    "ai-sdk-provider",
    "the provider level",
    {
      inputTokens: { total: 12_000, noCache: 1_000, cacheRead: 9_000, cacheWrite: 2_000 },
      outputTokens: { total: 800, text: 300, reasoning: 500 },
    },
    same,
  ],
  [
    "langchain",
    "details by name",
    {
      input_tokens: 12_000,
      output_tokens: 800,
      total_tokens: 12_800,
      input_token_details: { cache_read: 9_000, cache_creation: 2_000 },
      output_token_details: { reasoning: 500 },
    },
    same,
  ],
  [
    "langchain",
    "thoughts that only the total has",
    {
      input_tokens: 12_000,
      output_tokens: 300,
      total_tokens: 12_800,
      input_token_details: { cache_read: 9_000 },
    },
    read,
  ],
  [
    "pi",
    "cache beside the input",
    {
      input: 1_000,
      output: 800,
      cacheRead: 9_000,
      cacheWrite: 2_000,
      cacheWrite1h: 1_500,
      totalTokens: 12_800,
    },
    { ...same, write1h: 1_500 },
  ],
  [
    "codex",
    "the last call, not the session",
    {
      total_token_usage: { input_tokens: 763_140, output_tokens: 7_960, total_tokens: 771_100 },
      last_token_usage: {
        input_tokens: 12_000,
        cached_input_tokens: 9_000,
        output_tokens: 800,
        reasoning_output_tokens: 500,
      },
    },
    read,
  ],
  [
    "gemini-cli",
    "thoughts and tool prompts beside",
    { input: 11_000, output: 300, cached: 9_000, thoughts: 500, tool: 1_000, total: 12_800 },
    read,
  ],
  [
    "opencode",
    "cache beside the input",
    { total: 12_800, input: 1_000, output: 800, reasoning: 500, cache: { read: 9_000, write: 2_000 } },
    same,
  ],
];

describe("normalizeUsage", () => {
  it.each(rows)("reads %s: %s", (_source, _what, raw, expected) => {
    expect(normalizeUsage(raw)).toEqual(expected);
  });

  it.each(rows)("holds the cache within the input: %s, %s", (_source, _what, raw) => {
    const usage = normalizeUsage(raw)!;
    expect(usage.cacheRead + usage.cacheWrite).toBeLessThanOrEqual(usage.input);
    expect(usage.input + usage.output).toBe(12_800);
  });

  it.each([
    ["OpenAI's", { id: "r", choices: [], usage: { prompt_tokens: 900, completion_tokens: 10 } }],
    ["Anthropic's", { type: "message", content: [], usage: { input_tokens: 900, output_tokens: 10 } }],
    ["Google's", { candidates: [], usageMetadata: { promptTokenCount: 900, candidatesTokenCount: 10 } }],
    ["LangChain's", { content: "", usage_metadata: { input_tokens: 900, output_tokens: 10 } }],
  ])("reads the record of %s whole response", (_whose, response) => {
    expect(normalizeUsage(response)).toMatchObject({ input: 900, output: 10 });
  });

  it.each([
    ["an agent's run", { type: "result", num_turns: 5, usage: { input_tokens: 900, output_tokens: 10 } }],
    ["a turn of several calls", { type: "turn.completed", usage: { input_tokens: 900, output_tokens: 10 } }],
  ])("takes the sum of %s for no call", (_what, sum) => {
    expect(normalizeUsage(sum)).toBeUndefined();
  });

  it("measures the last message entry of an Anthropic answer in several passes, and no compaction", () => {
    const iterations = [
      { type: "message", input_tokens: 150_000, output_tokens: 10 },
      { type: "compaction", input_tokens: 150_000, output_tokens: 3_000 },
      { type: "message", input_tokens: 1_000, cache_read_input_tokens: 11_000, output_tokens: 800 },
    ];
    const raw = { input_tokens: 151_000, output_tokens: 810, iterations };
    expect(normalizeUsage(raw)).toMatchObject({ input: 12_000, output: 800 });
    const plain = { ...raw, iterations: [iterations[0], iterations[2]] };
    expect(normalizeUsage(plain)).toMatchObject({ input: 12_000, output: 800 });
  });

  it("reads the sum of a session where no call is told alone", () => {
    const raw = { total_token_usage: { input_tokens: 763_140, output_tokens: 7_960 } };
    expect(normalizeUsage(raw)).toMatchObject({ input: 763_140, output: 7_960 });
  });

  it.each([[undefined], [null], [17], ["usage"], [{}], [[]], [{ tokens: 5 }], [{ usage: null }]])(
    "finds no usage in %o",
    (raw) => {
      expect(normalizeUsage(raw)).toBeUndefined();
    },
  );

  it("takes numbers that are none, negative or endless for 0, whatever it is given", () => {
    const withLeaves = (raw: unknown, leaf: unknown): unknown =>
      JSON.parse(JSON.stringify(raw), (_key, value) => (typeof value === "number" ? leaf : value));
    fc.assert(
      fc.property(
        fc.constantFrom(...rows),
        fc.constantFrom(-5, Number.NaN, Number.POSITIVE_INFINITY, "9", null, true, {}, []),
        ([, , raw], leaf) => {
          const usage = normalizeUsage(withLeaves(raw, leaf)) ?? {
            input: 0,
            output: 0,
            cacheRead: 0,
            cacheWrite: 0,
          };
          for (const value of [usage.input, usage.output, usage.cacheRead, usage.cacheWrite]) {
            expect(Number.isFinite(value) && value >= 0).toBe(true);
          }
        },
      ),
    );
    const huge = { input_tokens: 1e308, cache_read_input_tokens: 1e308, output_tokens: 7 };
    expect(normalizeUsage(huge)).toMatchObject({ input: 0, output: 7, cacheRead: 0 });
    const raw = { input_tokens: -5, output_tokens: Number.NaN, cache_read_input_tokens: "9" };
    expect(normalizeUsage(raw)).toMatchObject({ input: 0, output: 0, cacheRead: 0 });
  });
});
