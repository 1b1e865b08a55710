export type { HostManager } from "../../host.ts";
export type { ClientOptions } from "../../host-client.ts";
export { compactAnthropic } from "./client.ts";
export {
  type AnthropicClient,
  type AnthropicTextModelOptions,
  textModelFromAnthropic,
} from "./text-model.ts";
