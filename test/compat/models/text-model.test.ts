import { describe, it } from "vitest";
import {
  type AiSdkModel,
  modelFromAiSdk,
} from "../../../packages/compact-context/src/adapters/ai-sdk/model.ts";
import {
  type AnthropicClient,
  textModelFromAnthropic,
} from "../../../packages/compact-context/src/adapters/anthropic/index.ts";
import {
  type LangChainChatModel,
  type LangChainSettings,
  textModelFromLangChain,
} from "../../../packages/compact-context/src/adapters/langchain/index.ts";
import {
  type OpenAiClient,
  textModelFromOpenAi,
} from "../../../packages/compact-context/src/adapters/openai/index.ts";
import {
  type PiModel,
  type PiTextModelOptions,
  textModelFromPi,
} from "../../../packages/compact-context/src/adapters/pi/index.ts";
import {
  AI_SDK_PREFIX,
  type Api,
  describeTextModel,
  PI_PREFIX,
  PREFIXES,
  type TextModelMaker,
} from "../../contract/text-model.ts";
import type { Stub } from "../../stubs/server.ts";

type Constructor<Instance> = new (options: object) => Instance;

/** A real SDK, where it is installed. */
async function load<Module>(name: string): Promise<Module | undefined> {
  try {
    return (await import(name)) as Module;
  } catch {
    return undefined;
  }
}

const makers: TextModelMaker[] = [];
const missing: string[] = [];

/** Adds makers for a package, or notes that it is not there. */
async function using<Module>(name: string, add: (module: Module) => TextModelMaker[]): Promise<void> {
  const module = await load<Module>(name);
  if (module === undefined) missing.push(name);
  else makers.push(...add(module));
}

const client = (baseURL: string): object => ({ apiKey: "test-key", baseURL, maxRetries: 0 });

for (const version of ["openai", "openai-v6"]) {
  await using<{ OpenAI: Constructor<OpenAiClient> }>(version, ({ OpenAI }) =>
    (["chat", "responses"] as const).map((api) => ({
      title: `${version}, ${api}`,
      api,
      make: (stub) => textModelFromOpenAi(new OpenAI(client(stub.openAiUrl)), "stub-model", { api }),
      prefix: PREFIXES[api],
    })),
  );
}

await using<{ Anthropic: Constructor<AnthropicClient> }>("@anthropic-ai/sdk", ({ Anthropic }) => [
  {
    title: "@anthropic-ai/sdk",
    api: "anthropic",
    make: (stub) => textModelFromAnthropic(new Anthropic(client(stub.anthropicUrl)), "stub-model"),
    prefix: PREFIXES.anthropic,
  },
]);

interface OpenAiProvider {
  createOpenAI(options: object): Record<"chat" | "responses", (model: string) => AiSdkModel>;
}
interface AnthropicProvider {
  createAnthropic(options: object): (model: string) => AiSdkModel;
}

for (const version of ["v2", "v3", "v4"]) {
  await using<OpenAiProvider>(`ai-sdk-openai-${version}`, ({ createOpenAI }) =>
    (["chat", "responses"] as const).map((api) => ({
      title: `AI SDK ${version}, OpenAI ${api}`,
      api,
      make: ({ openAiUrl }) =>
        modelFromAiSdk(createOpenAI({ apiKey: "test-key", baseURL: openAiUrl })[api]("gpt-4o")),
      prefix: AI_SDK_PREFIX,
      doesWithout: "temperature",
      // AI SDK 5 takes a refusal for a malformed answer.
      refusal: version === "v2" && api === "responses" ? "rejects" : undefined,
    })),
  );
  await using<AnthropicProvider>(`ai-sdk-anthropic-${version}`, ({ createAnthropic }) => [
    {
      title: `AI SDK ${version}, Anthropic`,
      api: "anthropic",
      make: ({ openAiUrl }) =>
        modelFromAiSdk(createAnthropic({ apiKey: "test-key", baseURL: openAiUrl })("claude-sonnet-4-0")),
      prefix: AI_SDK_PREFIX,
      doesWithout: "temperature",
    },
  ]);
}

const langChainClient = ({ openAiUrl, anthropicUrl }: Stub, api: Api): object =>
  api === "anthropic"
    ? { anthropicApiUrl: anthropicUrl }
    : { configuration: { baseURL: openAiUrl }, useResponsesApi: api === "responses" };

function langChainMaker(name: string, api: Api, Model: Constructor<LangChainChatModel>): TextModelMaker {
  return {
    title: `${name}, ${api}`,
    api,
    doesWithout: "temperature",
    // The words of a refusal are lost, and with them all text.
    refusal: api === "chat" ? "end" : undefined,
    make: (stub) =>
      textModelFromLangChain(
        (settings: LangChainSettings) =>
          new Model({
            model: api === "anthropic" ? "claude-sonnet-4-0" : "gpt-4o",
            apiKey: "test-key",
            maxRetries: 0,
            ...langChainClient(stub, api),
            ...settings,
          }),
      ),
  };
}

await using<{ ChatOpenAI: Constructor<LangChainChatModel> }>("@langchain/openai", ({ ChatOpenAI }) => [
  langChainMaker("ChatOpenAI", "chat", ChatOpenAI),
  langChainMaker("ChatOpenAI", "responses", ChatOpenAI),
]);
await using<{ ChatAnthropic: Constructor<LangChainChatModel> }>(
  "@langchain/anthropic",
  ({ ChatAnthropic }) => [langChainMaker("ChatAnthropic", "anthropic", ChatAnthropic)],
);

await using<{ complete: PiTextModelOptions["complete"] }>("@earendil-works/pi-ai", ({ complete }) => {
  const model = (api: string, baseUrl: string): PiModel =>
    ({
      id: "stub-model",
      name: "stub",
      api,
      provider: "stub",
      baseUrl,
      reasoning: false,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 128_000,
      maxTokens: 4096,
    }) as PiModel;
  const quirks: Record<Api, Partial<TextModelMaker>> = {
    chat: { limit: "max_completion_tokens", refusal: "end" },
    responses: { refusal: "end", filtered: "other", cut: "other" },
    anthropic: { refusal: "rejects", filtered: "rejects" },
  };
  const apis = {
    chat: "openai-completions",
    responses: "openai-responses",
    anthropic: "anthropic-messages",
  } as const;
  return (["chat", "responses", "anthropic"] as const).map((api) => ({
    title: `pi, ${api}`,
    api,
    make: (stub) =>
      textModelFromPi(model(apis[api], api === "anthropic" ? stub.anthropicUrl : stub.openAiUrl), {
        complete,
        apiKey: "test-key",
        callOptions: { maxRetries: 0 },
      }),
    doesWithout: "temperature",
    noticesBrokenAnswers: false,
    prefix: PI_PREFIX,
    ...quirks[api],
  }));
});

for (const maker of makers) describeTextModel(maker);

describe.skipIf(missing.length === 0)("SDKs that are not installed", () => {
  it.skip.each(missing)("%s: npm install --prefix test/compat/models", () => {});
});
