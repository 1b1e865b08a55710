export type { HostOptions } from "../../host.ts";
export { type CompactMiddleware, compactMiddleware, type MiddlewareOptions } from "./middleware.ts";
export type { Handler, ModelCall } from "./sdk.ts";
export {
  type LangChainChatModel,
  type LangChainSettings,
  type LangChainTextModelOptions,
  textModelFromLangChain,
} from "./text-model.ts";
