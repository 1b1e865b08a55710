export type { TokenBreakdown, TokenCount, TokenCounter } from "../core/ports.ts";
export { availableTokens, estimateResponseTokens } from "./count-tokens.ts";
export type { CacheRules, ModelFacts, Prices } from "./models.ts";
export { lookUpModel, type ModelLookup, type ModelOverrides } from "./models.ts";
export { contextTokens, normalizeUsage, type Usage } from "./usage.ts";
