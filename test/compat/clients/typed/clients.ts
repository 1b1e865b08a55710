// Compiled, never run: a wrapped client has the type of the client.
import Anthropic from "@anthropic-ai/sdk";
import { CompactManager } from "compact-context";
import { compactAnthropic } from "compact-context/adapters/anthropic";
import { compactOpenAi } from "compact-context/adapters/openai";
import OpenAI from "openai";
import OpenAI6 from "openai-v6";

const manager = new CompactManager({ model: "gpt-4o" });
export const openAi: OpenAI = compactOpenAi(new OpenAI(), { manager, sessionId: "typed" });
export const older: OpenAI6 = compactOpenAi(new OpenAI6(), {
  manager,
  sessionId: ({ user }) => String(user),
});
export const anthropic: Anthropic = compactAnthropic(new Anthropic(), { manager, sessionId: "typed" });
