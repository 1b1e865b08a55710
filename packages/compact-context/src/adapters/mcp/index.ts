export { type MemoryToolOptions, memoryTool } from "./memory-tool.ts";
export { loadMcpSdk, type McpSdk } from "./sdk.ts";
export { type McpServingOptions, serveMcp } from "./serve.ts";
