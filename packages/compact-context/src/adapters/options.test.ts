import { describe, expect, it } from "vitest";
import { createAgent } from "../agent/index.ts";
import { createScriptedModel } from "../agent/scripted.ts";
import { CompactManager } from "../create-manager.ts";
import { recallTools } from "../recall/index.ts";
import { createConsoleExporter } from "../tracing/index.ts";
import { compactFetch, createWire } from "../wire/index.ts";
import * as aiSdk from "./ai-sdk/index.ts";
import * as anthropic from "./anthropic/index.ts";
import * as cloudflare from "./cloudflare-agents/index.ts";
import * as adk from "./google-adk/index.ts";
import * as http from "./http/index.ts";
import * as langchain from "./langchain/index.ts";
import * as langgraph from "./langgraph/index.ts";
import * as mastra from "./mastra/index.ts";
import * as openai from "./openai/index.ts";
import * as openaiAgents from "./openai-agents/index.ts";
import * as opencode from "./opencode/index.ts";
import * as pi from "./pi/index.ts";

const manager = new CompactManager({ storage: { kind: "memory" } });
const model = createScriptedModel(() => ({ text: "yes" }));
const client = { withOptions: () => client, messages: {}, chat: {}, responses: {} } as never;
const store = {
  getSessionId: async () => "s",
  getItems: async () => [],
  addItems: async () => undefined,
  popItem: async () => undefined,
  clearSession: async () => undefined,
};

/** A program without types: every function that takes options, with options that exist. */
const WITH_OPTIONS: Readonly<Record<string, (more: object) => unknown>> = {
  compactPrepareStep: (more) => aiSdk.compactPrepareStep({ manager, sessionId: "s", ...more }),
  compactLanguageModelMiddleware: (more) =>
    aiSdk.compactLanguageModelMiddleware({ manager, sessionId: "s", ...more }),
  modelFromAiSdk: (more) => aiSdk.modelFromAiSdk({ provider: "p", modelId: "m" } as never, more),
  compactAnthropic: (more) => anthropic.compactAnthropic(client, { manager, ...more }),
  textModelFromAnthropic: (more) => anthropic.textModelFromAnthropic(client, "m", more),
  compactionFunction: (more) => cloudflare.compactionFunction({ manager, sessionId: "s", ...more }),
  compactBeforeModel: (more) => adk.compactBeforeModel({ manager, ...more }),
  textModelFromUrl: (more) => http.textModelFromUrl({ url: "http://127.0.0.1:1", ...more }),
  compactMiddleware: (more) => langchain.compactMiddleware({ manager, ...more }),
  textModelFromLangChain: (more) => langchain.textModelFromLangChain({ invoke: async () => "" }, more),
  SummarizationNode: (more) => langgraph.SummarizationNode({ maxTokens: 4000, ...more }),
  createRecallNode: (more) => langgraph.createRecallNode({ source: manager, ...more }),
  compactProcessor: (more) => mastra.compactProcessor({ manager, ...more }),
  compactOpenAi: (more) => openai.compactOpenAi(client, { manager, ...more }),
  textModelFromOpenAi: (more) => openai.textModelFromOpenAi(client, "m", more),
  CompactSession: (more) => openaiAgents.CompactSession({ manager, underlyingSession: store, ...more }),
  compactInputFilter: (more) => openaiAgents.compactInputFilter({ manager, sessionId: "s", ...more }),
  compactPlugin: (more) => opencode.compactPlugin({ manager, ...more }),
  compactExtension: (more) => pi.compactExtension(more),
  textModelFromPi: (more) =>
    pi.textModelFromPi({} as never, { complete: async () => ({}), ...more } as never),
  compactFetch: (more) => compactFetch({ manager, ...more }),
  createWire: (more) => createWire({ manager, ...more }),
  recallTools: (more) => recallTools(manager, "s", more),
  createConsoleExporter: (more) => createConsoleExporter(more),
  createAgent: (more) => createAgent({ model, config: { storage: { kind: "memory" } }, ...more }),
};

/** Those that hand lists to a manager from the start; pi's is made at the first request. */
const HOSTS = Object.entries(WITH_OPTIONS).filter(
  ([name]) => /^(?:compact|Compact|createWire)/.test(name) && name !== "compactExtension",
);

async function refusal(make: () => unknown): Promise<unknown> {
  try {
    await make();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** An option of each that is no host's, mistyped. */
const MISTYPED: Readonly<Record<string, string>> = {
  SummarizationNode: "maxTokns",
  createRecallNode: "sesionId",
  compactExtension: "channeldir",
  textModelFromPi: "apikey",
  recallTools: "maxTokns",
  createConsoleExporter: "terminl",
  createAgent: "chanelDir",
  textModelFromUrl: "parametrs",
  modelFromAiSdk: "calOptions",
  textModelFromLangChain: "calOptions",
  textModelFromAnthropic: "parametrs",
  textModelFromOpenAi: "parametrs",
};

describe.each(Object.entries(WITH_OPTIONS))("%s", (name, make) => {
  const mistyped = MISTYPED[name] ?? "onFailur";

  it("takes its own options and refuses one that is mistyped", async () => {
    expect(await refusal(() => make({}))).toBeUndefined();
    expect(await refusal(() => make({ [mistyped]: "x" }))).toMatchObject({
      code: "InvalidArgument",
      message: expect.stringContaining("did you mean"),
      place: `options.${mistyped}`,
      hint: expect.stringMatching(/^The options are /),
    });
  });
});

it("a call's own options can be spread into those of an adapter", () => {
  const call = {
    model: "m",
    messages: [],
    temperature: 0,
    toolChoice: "auto",
    stopWhen: [],
    instructions: "Be brief.",
  };
  expect(() => aiSdk.compactPrepareStep({ ...call, manager, sessionId: "s" })).not.toThrow();
});

describe.each(HOSTS)("the effect of a failure in %s", (_name, make) => {
  it.each([{ onFailure: "trow" }, { deadlineMs: "5s" }, { deadlineMs: Number.NaN }])(
    "is never a value that means something else: %o",
    async (wrong) => {
      const [name = ""] = Object.keys(wrong);
      const error = await refusal(() => make({ ...wrong }));
      expect(error).toMatchObject({ code: "InvalidArgument", place: `options.${name}` });
    },
  );
});

it.each<[string, (client: never, options: { manager: CompactManager }) => unknown, object, object]>([
  ["compactOpenAi", openai.compactOpenAi, { chat: {} }, { messages: {} }],
  ["compactOpenAi", openai.compactOpenAi, { responses: {} }, {}],
  ["compactAnthropic", anthropic.compactAnthropic, { messages: {} }, { chat: {}, responses: {} }],
])("%s refuses a client of another provider", (_, wrap, own, other) => {
  const clientOf = (interfaces: object) => ({ ...interfaces, withOptions: () => client }) as never;
  expect(wrap(clientOf(own), { manager })).toBe(client);
  expect(() => wrap(clientOf(other), { manager })).toThrow(
    expect.objectContaining({ code: "InvalidArgument", place: "client" }),
  );
});
