export { type McpServingOptions, serveMcp } from "./serve.ts";
