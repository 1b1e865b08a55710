export type { ClientManager, ClientOptions } from "../client.ts";
export type { HostManager } from "../host.ts";
export { compactAnthropic } from "./client.ts";
export {
  type AnthropicClient,
  type AnthropicTextModelOptions,
  textModelFromAnthropic,
} from "./text-model.ts";
