/** By page, the names that its snippets use without saying where they come from, each with its type. */
export const PRESUMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "README.md": {
    sessionId: "string",
    system: "string",
    tools: "object[]",
    messages: "{ role: string; content: string }[]",
    list: "{ role: string; content: string }[]",
  },
  "docs/adapters.md": {
    graph: 'import("@langchain/langgraph").StateGraph<object>',
    // Two SDKs call different things `model` and `tools`.
    model: "never",
    tools: "never",
    messages: "{ role: 'user'; content: string }[]",
    system: "string",
  },
  "docs/lint.md": { messages: "object[]" },
  "docs/mcp.md": { manager: 'import("compact-context").CompactManager', sessionId: "string" },
  "docs/memory.md": {
    userText: "string",
    query: "string",
    sessionId: "string",
    config: 'import("compact-context").CompactConfigInput',
    model: 'import("compact-context").TextModel',
    messages: 'import("compact-context").Message[]',
    candidates: 'import("compact-context/memory").MemoryCandidate[]',
  },
  "docs/workers.md": {
    storage: 'import("compact-context").StorageDriver',
    memory: "{ extract(sessionId: string, messages: readonly object[], options: object): Promise<void> }",
  },
};
