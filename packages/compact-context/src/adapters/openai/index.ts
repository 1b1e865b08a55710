export type { ClientManager, ClientOptions } from "../client.ts";
export type { HostManager } from "../host.ts";
export { compactOpenAi } from "./client.ts";
export {
  type OpenAiClient,
  type OpenAiCreate,
  type OpenAiTextModelOptions,
  textModelFromOpenAi,
} from "./text-model.ts";
