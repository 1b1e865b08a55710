import type { CountingStyle } from "./model-facts.ts";

/** How one family of models turns text into billed tokens, relative to an encoding of ours. */
export interface CountingProfile {
  /** Billed tokens per token of the encoding that the model table names. */
  readonly ratio: number;
  /** Tokens around each message, its role aside when `countsRole` is set. */
  readonly perMessage: number;
  /** The role's name is part of the prompt and encoded with it. */
  readonly countsRole: boolean;
  /** Tokens around each tool call and each tool result. */
  readonly perCall: number;
  readonly perResult: number;
  /** Tokens that open the answer, once per request. */
  readonly perRequest: number;
  /** Tokens of the hidden text that the provider adds as soon as there are tools. */
  readonly toolsPreamble: number;
  /** `lines`: OpenAI's rendering of each property; `json`: the schema's JSON text. */
  readonly toolRendering: "lines" | "json";
  /** The vocabulary is public and is the one that is used. */
  readonly exact: boolean;
  /** Where the true total may lie, as factors of the estimate. */
  readonly low: number;
  readonly high: number;
}

const GENERIC: CountingProfile = {
  ratio: 1,
  perMessage: 4,
  countsRole: false,
  perCall: 0,
  perResult: 0,
  perRequest: 0,
  toolsPreamble: 0,
  toolRendering: "json",
  exact: false,
  low: 0.8,
  high: 1.3,
};

/** OpenAI cookbook, "How to count tokens with tiktoken": 3 per message and its role, 3 that open the reply. */
const OPENAI: CountingProfile = {
  ...GENERIC,
  perMessage: 3,
  countsRole: true,
  perRequest: 3,
  toolRendering: "lines",
  exact: true,
  low: 1,
  high: 1,
};

/**
 * Fitted to the usage of real sessions: tokens per cl100k token 1.26 in all, 1.13 to 1.44 (p5 to p95) by tool result;
 * 346 is what the provider documents for the tool preamble of its fourth generation.
 */
const CLAUDE: CountingProfile = {
  ...GENERIC,
  ratio: 1.26,
  perMessage: 12,
  perCall: 7,
  toolsPreamble: 346,
  low: 0.89,
  high: 1.14,
};

/** The tokenizer from Opus 4.7 on: 1.3 times as many tokens, 1.0 (Chinese) to 1.47 (technical English) by text. */
const CLAUDE_NEW: CountingProfile = { ...CLAUDE, ratio: 1.26 * 1.3, low: 0.77, high: 1.28 };

/** The 262k vocabulary against o200k: 1.04 (JSON) to 1.35 (listings) on English and code, 0.8 on Japanese. */
const GEMINI: CountingProfile = { ...GENERIC, ratio: 1.2, low: 0.8, high: 1.2 };

/** Priors for vocabularies that are near relatives of ours; nothing here was measured against a bill. */
const RELATIVE: CountingProfile = { ...GENERIC, low: 0.85, high: 1.25 };

/** Every way of counting that the model table names. */
export const PROFILES: Readonly<Record<CountingStyle, CountingProfile>> = {
  openai: OPENAI,
  claude: CLAUDE,
  "claude-new": CLAUDE_NEW,
  gemini: GEMINI,
  grok: RELATIVE,
  deepseek: { ...RELATIVE, ratio: 1.05 },
  mistral: { ...RELATIVE, ratio: 1.05 },
  kimi: RELATIVE,
  glm: RELATIVE,
  qwen: RELATIVE,
  minimax: RELATIVE,
  muse: RELATIVE,
  llama: RELATIVE,
  generic: GENERIC,
};
