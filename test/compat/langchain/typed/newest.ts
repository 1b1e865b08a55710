// Compiled, never run: the middleware fits the types of LangChain.

import { CompactManager } from "compact-context";
import { compactMiddleware } from "compact-context/adapters/langchain";
import { type AgentMiddleware, createAgent, createMiddleware } from "langchain";

const manager = new CompactManager({ model: "gpt-4o" });
export const middleware: AgentMiddleware = compactMiddleware({ manager, sessionId: "typed" });
const other = createMiddleware({ name: "other" });
export const agent: unknown = createAgent({
  model: "openai:gpt-4o",
  tools: [],
  middleware: [compactMiddleware({ manager }), other, compactMiddleware({ manager, persist: true })],
});
