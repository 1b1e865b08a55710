export type { TokenBreakdown, TokenCount, TokenCounter } from "../core/ports.ts";
export { availableTokens, estimateResponseTokens } from "./count-tokens.ts";
export type {
  CacheRules,
  CountingStyle,
  ImageFormula,
  ModelFacts,
  ModelTraits,
  Prices,
  WireLimits,
} from "./models.ts";
export { lookUpModel, type ModelLookup, type ModelMatch, type ModelOverrides } from "./models.ts";
export type { EncodingName } from "./token-counter.ts";
export { contextTokens, normalizeUsage, type Usage, type UsageSource } from "./usage.ts";
