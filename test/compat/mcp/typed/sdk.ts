// Compiled, never run: the adapter fits the types of the SDK.
import * as server from "@modelcontextprotocol/server";
import * as stdio from "@modelcontextprotocol/server/stdio";
import { type McpSdk, serveMcp } from "compact-context/adapters/mcp";

const sdk: McpSdk = { ...server, ...stdio };
await serveMcp({ sdk, tools: [], info: { name: "typed", version: "1" } });
