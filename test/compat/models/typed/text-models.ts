import Anthropic from "@anthropic-ai/sdk";
import { complete, completeSimple, getModel } from "@earendil-works/pi-ai";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { createAnthropic as createAnthropic2 } from "ai-sdk-anthropic-v2";
import { createAnthropic as createAnthropic3 } from "ai-sdk-anthropic-v3";
import { createAnthropic as createAnthropic4 } from "ai-sdk-anthropic-v4";
import { createOpenAI as createOpenAi2 } from "ai-sdk-openai-v2";
import { createOpenAI as createOpenAi3 } from "ai-sdk-openai-v3";
import { createOpenAI as createOpenAi4 } from "ai-sdk-openai-v4";
import type { TextModel } from "compact-context";
import { modelFromAiSdk } from "compact-context/adapters/ai-sdk";
import { textModelFromAnthropic } from "compact-context/adapters/anthropic";
import { textModelFromUrl } from "compact-context/adapters/http";
import { textModelFromLangChain } from "compact-context/adapters/langchain";
import { textModelFromOpenAi } from "compact-context/adapters/openai";
import { textModelFromPi } from "compact-context/adapters/pi";
import OpenAI from "openai";
import OpenAI6 from "openai-v6";

const options = { apiKey: "key" };
const model = "model";

/** Every client is accepted with its SDK's own type. */
export const models: readonly TextModel[] = [
  textModelFromOpenAi(new OpenAI(options), model),
  textModelFromOpenAi(new OpenAI6(options), model, { api: "responses" }),
  textModelFromAnthropic(new Anthropic(options), model),
  ...[createOpenAi2, createOpenAi3, createOpenAi4].map((make) => modelFromAiSdk(make(options)(model))),
  ...[createAnthropic2, createAnthropic3, createAnthropic4].map((make) =>
    modelFromAiSdk(make(options)(model)),
  ),
  textModelFromLangChain(new ChatOpenAI({ ...options, model })),
  textModelFromLangChain((settings) => new ChatOpenAI({ ...options, model, ...settings })),
  textModelFromLangChain((settings) => new ChatAnthropic({ ...options, model, ...settings })),
  textModelFromPi(getModel("openai", "gpt-5.4"), { complete, ...options }),
  textModelFromPi(getModel("anthropic", "claude-opus-4-5"), { complete: completeSimple, ...options }),
  textModelFromUrl({ url: "http://localhost:11434/v1", model }),
];
