// Compiled, never run: a wrapped client has the type of the client, and recall tools are tools of the SDKs.
import Anthropic from "@anthropic-ai/sdk";
import { CompactManager } from "compact-context";
import { compactAnthropic } from "compact-context/adapters/anthropic";
import { compactOpenAi } from "compact-context/adapters/openai";
import { formatTools, recallTools } from "compact-context/recall";
import { compactFetch } from "compact-context/wire";
import OpenAI from "openai";
import OpenAI6 from "openai-v6";

const manager = new CompactManager({ model: "gpt-4o" });
export const openAi: OpenAI = compactOpenAi(new OpenAI(), { manager, sessionId: "typed" });
export const older: OpenAI6 = compactOpenAi(new OpenAI6(), {
  manager,
  sessionId: (_headers, { user }) => String(user),
});
export const anthropic: Anthropic = compactAnthropic(new Anthropic(), { manager });
// @ts-expect-error No client of the SDK.
compactOpenAi({ chat: {} }, { manager });
export const fetched: readonly [OpenAI, OpenAI6, Anthropic] = [
  new OpenAI({ fetch: compactFetch({ manager }) }),
  new OpenAI6({ fetch: compactFetch({ manager }) }),
  new Anthropic({ fetch: compactFetch({ manager }) }),
];

const recall = recallTools(manager, "typed");
const ownTools: OpenAI.ChatCompletionTool[] = [];
const messages: OpenAI.ChatCompletionMessageParam[] = [];
export const asked: readonly unknown[] = [
  openAi.chat.completions.create({
    model: "m",
    messages,
    tools: [...ownTools, ...formatTools(recall, "openai-chat")],
  }),
  openAi.responses.create({ model: "m", input: "hello", tools: formatTools(recall, "openai-responses") }),
  older.chat.completions.create({ model: "m", messages: [], tools: formatTools(recall, "openai-chat") }),
  older.responses.create({ model: "m", input: "hello", tools: formatTools(recall, "openai-responses") }),
  anthropic.messages.create({
    model: "m",
    max_tokens: 9,
    messages: [],
    tools: formatTools(recall, "anthropic"),
  }),
  anthropic.beta.messages.create({
    model: "m",
    max_tokens: 9,
    messages: [],
    tools: formatTools(recall, "anthropic"),
  }),
];
