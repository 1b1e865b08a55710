import { describe, expect, it } from "vitest";
import type { TooLong } from "../core/request.ts";
import { tooLong } from "./too-long.ts";

const answer = (message: string, status: number | undefined = 400): Error =>
  Object.assign(new Error(`${status} ${message}`), { status, error: { message } });

const ANTHROPIC = "input length and `max_tokens` exceed context limit: 159177 + 64000 > 200000";

/** Who says it (P: pi-mono `ai/src/utils/overflow.ts` and its tests; S: Strands' models), what, and what it states. */
const WORDINGS: readonly (readonly [source: string, wording: string, stated: TooLong])[] = [
  ["Anthropic (P)", "prompt is too long: 213462 tokens > 200000 maximum", { input: 213_462, limit: 200_000 }],
  ["Anthropic (findings 1.3)", ANTHROPIC, { input: 159_177, answer: 64_000, limit: 200_000 }],
  ["Anthropic (openclaw)", "Request size exceeds model context window", {}],
  ["Anthropic (S)", "input and output tokens exceed your context limit", {}],
  ["Anthropic (S)", "input length exceeds context window", {}],
  ["Bedrock (P)", "Input is too long for requested model.", {}],
  ["Bedrock (S)", "too many total text bytes", {}],
  [
    "OpenAI Responses (P)",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    {},
  ],
  [
    "OpenAI Chat (langchain#24058)",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
    { input: 8_545, limit: 8_192 },
  ],
  [
    "OpenAI Chat (quivr#505)",
    "This model's maximum context length is 4097 tokens. However, you requested 4203 tokens (3703 in the messages, 500 in the completion). Please reduce the length of the messages or completion.",
    { input: 3_703, answer: 500, limit: 4_097 },
  ],
  [
    "OpenAI Completions",
    "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10341 in your prompt; 5 for the completion).",
    { input: 10_341, answer: 5, limit: 8_191 },
  ],
  [
    "OpenAI (letta)",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 302584 tokens.",
    { input: 302_584, limit: 272_000 },
  ],
  [
    "OpenAI, entries of the list",
    "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2053 instead.",
    {},
  ],
  ["Azure OpenAI", "Please reduce the length of your prompt. context_length_exceeded", {}],
  [
    "Gemini (P)",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    { input: 1_200_000, limit: 1_048_576 },
  ],
  [
    "Gemini, no count",
    "The input token count exceeds the maximum number of tokens allowed 1048576.",
    { limit: 1_048_576 },
  ],
  ["Gemini, bytes", "Request payload size exceeds the limit: 20971520 bytes.", {}],
  [
    "xAI (P)",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    { input: 537_812, limit: 131_072 },
  ],
  [
    "Vertex",
    "Unable to submit request because the input token count is 40000 but model only supports up to 32768. Reduce the input token count and try again.",
    { input: 40_000, limit: 32_768 },
  ],
  [
    "Text Generation Inference",
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
    { input: 5_000, limit: 4_096 },
  ],
  ["Zhipu, 1261", "Prompt 超长", {}],
  ["Mistral", "Too many tokens in prompt: 33000 > 32768", { input: 33_000, limit: 32_768 }],
  [
    "Cerebras",
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    { input: 9_000, limit: 8_192 },
  ],
  ["Groq (P)", "Please reduce the length of the messages or completion.", {}],
  [
    "OpenRouter (P)",
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (190000 of text input, 8000 of tool input, 2000 in the output).",
    { input: 198_000, answer: 2_000, limit: 131_072 },
  ],
  [
    "DeepSeek (findings, hosts/maxtok)",
    "This model's maximum context length is 1048576 tokens. However, you requested 1057726 tokens (993726 in the messages, 64000 in the completion).",
    { input: 993_726, answer: 64_000, limit: 1_048_576 },
  ],
  [
    "vLLM (#20409)",
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).",
    { input: 112_946, answer: 10_000, limit: 16_384 },
  ],
  [
    "vLLM, newer",
    "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 3097 input tokens, for a total of at least 4097 tokens.",
    { input: 3_097, answer: 1_000, limit: 4_096 },
  ],
  [
    "vLLM",
    "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 8192 tokens and your request has 5000 input tokens (4000 > 8192 - 5000).",
    { input: 5_000, answer: 4_000, limit: 8_192 },
  ],
  [
    "vLLM",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    { input: 9_000, limit: 8_192 },
  ],
  [
    "SGLang (P)",
    "Input length (265330) exceeds model's maximum context length (262144).",
    { input: 265_330, limit: 262_144 },
  ],
  [
    "llama.cpp (P)",
    "request (10000 tokens) exceeds the available context size (8192 tokens), try increasing it",
    { input: 10_000, limit: 8_192 },
  ],
  ["llama.cpp, while it answers", "Context size has been exceeded.", {}],
  ["llama.cpp, while it answers, older", "context shift is disabled", {}],
  ["llama.cpp, older (P)", "the request exceeds the available context size, try increasing it", {}],
  ["Ollama (P)", "prompt too long; exceeded max context length by 100918 tokens", {}],
  ["Ollama", "input length exceeds maximum context length", {}],
  [
    "LM Studio (trvon/agent)",
    "The number of tokens to keep from the initial prompt (9800) is greater than the context length (8192).",
    { input: 9_800, limit: 8_192 },
  ],
  [
    "Mistral (P)",
    "Prompt contains 200000 tokens, too large for model with 131072 maximum context length",
    { input: 200_000, limit: 131_072 },
  ],
  [
    "Together (P)",
    "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
    { input: 516_368, limit: 262_144 },
  ],
  [
    "Together, Hugging Face TGI",
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`",
    { input: 5_000, answer: 512, limit: 4_096 },
  ],
  [
    "Cohere",
    "too many tokens: the total number of tokens in the prompt exceeds the limit of 4081. Try using a shorter prompt",
    { limit: 4_081 },
  ],
  [
    "GitHub Copilot (P)",
    "prompt token count of 200000 exceeds the limit of 128000",
    { input: 200_000, limit: 128_000 },
  ],
  ["MiniMax (P)", "invalid params, context window exceeds limit", {}],
  [
    "Kimi (P)",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
    { input: 300_000, limit: 262_144 },
  ],
  ["DashScope (qwen-code#3652)", "Range of input length should be [1, 983616]", { limit: 983_616 }],
  [
    "Poolside (P)",
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    { input: 131_393, limit: 131_040 },
  ],
  [
    "DS4 (P)",
    "Prompt has 32,769 tokens, but the configured context size is 32,768 tokens",
    { input: 32_769, limit: 32_768 },
  ],
  ["z.ai (P)", "model_context_window_exceeded", {}],
];

const overRate = (limit: string, requested: string): string =>
  `Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit ${limit}, Requested ${requested}. The input or output tokens must be reduced in order to run successfully.`;

const ANTHROPIC_RATE =
  "This request would exceed your organization's rate limit of 30,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.";

describe("a request that alone is over a limit per minute", () => {
  it.each([
    ["OpenAI's", answer(overRate("30000", "45000"), 429), undefined, { limit: 30_000, input: 45_000 }],
    [
      "OpenAI's, with the answer's share",
      answer(overRate("30000", "45000"), 429),
      4_000,
      { limit: 30_000, input: 41_000, answer: 4_000 },
    ],
    [
      "Groq's, a 413",
      answer(
        "Request too large for model `x` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 12000, please reduce your message size and try again.",
        413,
      ),
      undefined,
      { limit: 6_000, input: 12_000 },
    ],
  ])("is too long: %s", (_name, error, asked, stated) => {
    expect(tooLong(error, asked)).toEqual(stated);
  });

  it("only for the room that it asks for its answer is not: no shorter list helps", () => {
    expect(tooLong(answer(overRate("30000", "45000"), 429), 32_000)).toBeUndefined();
  });
});

describe("tooLong", () => {
  it.each(WORDINGS)("knows %s: %s", (_source, wording, stated) => {
    expect(tooLong(answer(wording))).toEqual(stated);
  });

  it.each([
    ["OpenAI's code", { status: 400, code: "context_length_exceeded", message: "400" }],
    ["a code in the body", { status: 400, error: { error: { type: "request_too_large" } } }],
    ["a body that is too large", { status: 413, message: "413 status code (no body)" }],
    [
      "the AI SDK's error",
      { statusCode: 400, message: "Bad Request", responseBody: `{"error":"${ANTHROPIC}"}` },
    ],
    [
      "a stream's error, which has no status",
      new Error("Your input exceeds the context window of this model"),
    ],
    [
      "LiteLLM's 503",
      answer("Requested token count exceeds the model's maximum context length of 131072 tokens.", 503),
    ],
  ])("knows %s", (_name, error) => {
    expect(tooLong(error)).toBeDefined();
  });

  it("reads the numbers that llama.cpp puts beside its message", () => {
    const body = { type: "exceed_context_size_error", n_prompt_tokens: 10_000, n_ctx: 8_192 };
    expect(tooLong({ status: 400, message: "400", error: body })).toEqual({ input: 10_000, limit: 8_192 });
  });

  it.each([
    [
      "OpenAI's tokens per minute, used up",
      answer(
        "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 28000, Requested 4500. Please try again in 5s.",
        429,
      ),
    ],
    [
      "a request under the limit of a minute that is used up",
      answer(
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Used 28000, Requested 4500.",
        429,
      ),
    ],
    ["a request as large as the limit", answer(overRate("30000", "30000"), 429)],
    [
      "a limit of requests",
      answer("Request too large for x on requests per day (RPD): Limit 1, Requested 2.", 429),
    ],
    ["a limit of images", answer("Request too large for x on images per min: Limit 5, Requested 6.", 429)],
    ["a limit of tokens without access", answer(overRate("30000", "45000"), 403)],
    ["Anthropic's tokens per minute", answer(ANTHROPIC_RATE, 429)],
    ["Bedrock's throttling", answer("Too many tokens, please wait before trying again.")],
    ["a quota", answer("You exceeded your current quota, please check your plan")],
    ["too many requests", answer("Too many requests. Please slow down.", 429)],
    [
      "OpenAI's output limit",
      answer(
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you provided 200000.",
      ),
    ],
    [
      "Anthropic's output limit",
      answer(
        "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
      ),
    ],
    ["DashScope's output limit", answer("Range of max_tokens should be [1, 8192]")],
    [
      "an answer that was cut",
      answer("Could not finish the message because max_tokens or model output limit was reached."),
    ],
    [
      "an answer that alone fills vLLM's window",
      answer(
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 500 input tokens (9000 > 8192 - 500).",
      ),
    ],
    [
      "a text over a field's length",
      answer("metadata.title: string too long. Expected a string with maximum length 512"),
    ],
    ["no access", answer("prompt is too long", 403)],
    [
      "a tool without its result",
      answer("messages.3: `tool_use` ids were found without `tool_result` blocks"),
    ],
    ["a plain failure", new Error("socket hang up")],
    ["nothing", undefined],
  ])("does not take %s for it", (_name, error) => {
    expect(tooLong(error)).toBeUndefined();
  });

  it("takes a limit of a body's size for no tokens", () => {
    expect(tooLong(answer("request too large: limit: 32 requested: 40 MB", 413))).toEqual({});
  });

  it.each(["12k", "12 KB", "48,000 characters", "48000 bytes"])(
    "takes a limit of %s for no tokens",
    (limit) => {
      expect(tooLong(answer(`The maximum context length is ${limit}.`))).toEqual({});
    },
  );

  it("reads no more of an endless error than its beginning", () => {
    expect(tooLong(answer(`exceeds the context limit ${"context ".repeat(1_000_000)}`))).toBeDefined();
    expect(tooLong(answer(`${"input ".repeat(1_000_000)}exceeds the context limit`))).toBeUndefined();
  });
});
