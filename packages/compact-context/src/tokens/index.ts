export type { TokenBreakdown, TokenCount, TokenCounter } from "../core/ports.ts";
export { availableTokens, estimateResponseTokens } from "./count-tokens.ts";
export type {
  CacheRules,
  CountingStyle,
  EncodingName,
  ImageFormula,
  ModelFacts,
  ModelTraits,
  Prices,
  WireLimits,
} from "./models.ts";
export { lookUpModel, type ModelLookup, type ModelMatch, type ModelOverrides } from "./models.ts";
export { contextTokens, normalizeUsage, type Usage, type UsageSource } from "./usage.ts";
