export type { HostManager } from "../../host.ts";
export type { ClientOptions } from "../../host-client.ts";
export { compactOpenAi } from "./client.ts";
export {
  type OpenAiClient,
  type OpenAiCreate,
  type OpenAiTextModelOptions,
  textModelFromOpenAi,
} from "./text-model.ts";
