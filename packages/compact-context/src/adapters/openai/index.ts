export type { HostManager } from "../../host.ts";
export type { CompactFetchOptions } from "../../wire/fetch.ts";
export { compactOpenAi } from "./client.ts";
export {
  type OpenAiClient,
  type OpenAiCreate,
  type OpenAiTextModelOptions,
  textModelFromOpenAi,
} from "./text-model.ts";
