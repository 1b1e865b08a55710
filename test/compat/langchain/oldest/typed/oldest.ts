// Compiled, never run: the middleware matches LangChain's types.

import { CompactManager } from "compact-context";
import { compactMiddleware } from "compact-context/adapters/langchain";
import { formatTools, recallTools } from "compact-context/recall";
import { type AgentMiddleware, createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";

const manager = new CompactManager({ model: "gpt-4o" });
export const middleware: AgentMiddleware = compactMiddleware({ manager, sessionId: "typed" });
const other = createMiddleware({ name: "other" });
export const agent: unknown = createAgent({
  model: "openai:gpt-4o",
  tools: [],
  middleware: [compactMiddleware({ manager }), other, compactMiddleware({ manager, persist: true })],
});
const own = tool(async ({ rope }) => String(rope.length), {
  name: "weigh",
  description: "Weighs a rope.",
  schema: z.object({ rope: z.string() }),
});
const recall = formatTools(recallTools(manager, "typed"), "langchain");
export const recalling: unknown[] = [
  createAgent({ model: "openai:gpt-4o", tools: recall }),
  createAgent({ model: "openai:gpt-4o", tools: [own, ...recall] }),
];
