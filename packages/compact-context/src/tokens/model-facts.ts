import type { EncodingName } from "./encoding.ts";

/** USD per million tokens; null where no price is known. `write1h` is the price of a cache entry that lives an hour. */
export interface Prices {
  readonly in: number | null;
  readonly out: number | null;
  readonly read: number | null;
  readonly write: number | null;
  readonly write1h: number | null;
}

/**
 * How a prompt cache matches: at stored breakpoints, on any prefix, or not at all without an explicit cache.
 * `min` is the shortest cacheable prompt in tokens, `ttl` seconds of life after the last hit; null: not known.
 */
export interface CacheRules {
  readonly kind: "breakpoints" | "prefix" | "none";
  readonly min: number | null;
  readonly ttl: number | null;
}

/** Names a formula of `media.ts`. */
export type ImageFormula =
  | "openai-patches"
  | "openai-patches-10000"
  | "openai-patches-1536-1.62"
  | "openai-patches-1536-1.72"
  | "openai-patches-1536-2.46"
  | "openai-tiles-70-140"
  | "openai-tiles-85-170"
  | "openai-tiles-2833-5667"
  | "claude-1568"
  | "claude-2576"
  | "gemini-tiles"
  | "gemini-resolution"
  | "flat";

/** Names a row of `profiles.ts`: which ratio and which overheads a model counts with. */
export type CountingStyle =
  | "openai"
  | "claude"
  | "claude-new"
  | "gemini"
  | "grok"
  | "deepseek"
  | "mistral"
  | "kimi"
  | "glm"
  | "qwen"
  | "minimax"
  | "muse"
  | "llama"
  | "generic";

/** Request bytes and images per request that the provider accepts; null: none published. */
export interface WireLimits {
  readonly bytes: number | null;
  readonly images: number | null;
}

/** What the models of one group have in common. */
export interface ModelTraits {
  readonly provider: string;
  readonly counting: CountingStyle;
  readonly encoding: EncodingName;
  readonly cache: CacheRules;
  readonly image: ImageFormula;
  /** `bound`: signed reasoning is refused or dropped once anything before it was edited. */
  readonly thinking: "bound" | "free";
  readonly limits: WireLimits;
}

/** All that is known of one model. */
export interface ModelFacts extends ModelTraits {
  readonly id: string;
  /** Context window in tokens. */
  readonly window: number;
  /** The window, or the boundary above which the whole request costs more, whichever is smaller. */
  readonly softWindow: number;
  /** Most output tokens in one answer. */
  readonly maxOutput: number;
  readonly prices: Prices;
  /** Prices of a request with more than `above` input tokens. */
  readonly tier: { readonly above: number; readonly prices: Prices } | null;
  /** Date of the prices, ISO 8601; null where no price is known. */
  readonly asOf: string | null;
}
