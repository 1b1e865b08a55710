export { compactMiddleware, type MiddlewareOptions } from "./middleware.ts";
export { type LangChainTextModelOptions, textModelFromLangChain } from "./text-model.ts";
