const MANAGER = 'import("compact-context").CompactManager';

/** Names that the table of SDKs presumes, by its first column. */
const HOSTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "OpenAI Agents SDK": { manager: MANAGER },
  LangGraph: {
    graph:
      'import("@langchain/langgraph").StateGraph<typeof import("@langchain/langgraph").MessagesAnnotation.spec>',
    model: 'import("compact-context/adapters/langgraph").GraphModel',
    storage: 'import("compact-context").StorageDriver',
  },
  "LangChain agents": { manager: MANAGER, model: "string", tools: 'import("langchain").Tool[]' },
  "Vercel AI SDK": {
    manager: MANAGER,
    model: 'Parameters<typeof import("ai").wrapLanguageModel>[0]["model"]',
  },
  "OpenAI client": { manager: MANAGER },
  "Anthropic client": { manager: MANAGER },
  "any SDK that takes a `fetch`": { manager: MANAGER },
  "Google Gen AI SDK": { manager: MANAGER },
  "Google ADK": { manager: MANAGER, rest: "{ name: string; model: string }" },
  Mastra: {
    manager: MANAGER,
    rest: '{ id: string; name: string; instructions: string; model: "openai/gpt-4o" }',
  },
  opencode: { manager: MANAGER },
  "Cloudflare Agents": { manager: MANAGER, session: 'import("agents/sessions").Session' },
  "none yet": {
    model: 'import("compact-context/agents").AgentModel',
    tools: 'import("compact-context/agents").AgentTool[]',
    channelDir: "string",
  },
};
const README = {
  sessionId: "string",
  system: "string",
  tools: "object[]",
  maxOutputTokens: "number",
  usage: "unknown",
  messages: "{ role: string; content: string }[]",
  list: "{ role: string; content: string }[]",
};

/** By page or `page#heading`: names that its snippets use without declaring them, with their types. */
export const PRESUMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "README.md": README,
  ...Object.fromEntries(Object.entries(HOSTS).map(([host, names]) => [`README.md#${host}`, names])),
  "packages/compact-context/README.md": README,
  "docs/adapters.md": { sessionId: "string" },
  "docs/adapters.md#LangGraph": {
    answer:
      '(messages: import("@langchain/core/messages").BaseMessage[]) => Promise<import("@langchain/core/messages").BaseMessage>',
    model: 'import("compact-context/adapters/langgraph").GraphModel',
  },
  "docs/adapters.md#LangChain agents": {
    model: "string",
    tools: 'import("langchain").Tool[]',
  },
  "docs/adapters.md#Vercel AI SDK": {
    model: 'Parameters<typeof import("ai").wrapLanguageModel>[0]["model"]',
    messages: 'import("ai").ModelMessage[]',
    tools: 'import("ai").ToolSet',
    system: "string",
  },
  "docs/adapters.md#Any SDK that takes a `fetch`": {
    messages: 'import("openai").OpenAI.ChatCompletionMessageParam[]',
  },
  "docs/adapters.md#OpenAI's and Anthropic's own clients": {
    messages: 'import("openai").OpenAI.ChatCompletionMessageParam[]',
  },
  "docs/adapters.md#Cloudflare Agents": {
    storage: 'import("compact-context").StorageDriver',
    session: 'import("agents/sessions").Session',
  },
  "docs/deletion.md#Tenants and users": { messages: "object[]" },
  "docs/deletion.md#Deleting": { manager: 'import("compact-context").CompactManager', sessionId: "string" },
  "docs/lint.md": { messages: "object[]" },
  "docs/mcp.md": { manager: 'import("compact-context").CompactManager', sessionId: "string" },
  "docs/memory.md": {
    userText: "string",
    query: "string",
    sessionId: "string",
    model: 'import("compact-context").TextModel',
    messages: 'import("compact-context").Message[]',
    candidates: 'import("compact-context/memory").MemoryCandidate[]',
  },
  "docs/workers.md": {
    storage: 'import("compact-context").StorageDriver',
    memory: "{ extract(sessionId: string, messages: readonly object[], options: object): Promise<void> }",
  },
};
