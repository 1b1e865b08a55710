export type { ClientManager, ClientOptions } from "../../compaction/host-client.ts";
export { compactOpenAi } from "./client.ts";
export { type OpenAiClient, type OpenAiTextModelOptions, textModelFromOpenAi } from "./text-model.ts";
