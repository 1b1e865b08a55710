export { type MemoryToolOptions, memoryTool } from "./memory-tool.ts";
export {
  loadMcpSdk,
  type McpAnswer,
  type McpCall,
  type McpSdk,
  type McpServeOptions,
  type McpServer,
  type McpServerInfo,
  type McpServerOptions,
  type McpTransport,
} from "./sdk.ts";
export { type McpServingOptions, serveMcp } from "./serve.ts";
