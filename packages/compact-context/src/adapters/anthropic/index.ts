export type { HostManager } from "../../host.ts";
export type { ClientManager, ClientOptions } from "../../host-client.ts";
export { compactAnthropic } from "./client.ts";
export {
  type AnthropicClient,
  type AnthropicTextModelOptions,
  textModelFromAnthropic,
} from "./text-model.ts";
