// Compiled, never run: the adapter matches the SDK's types.
import * as server from "@modelcontextprotocol/server";
import * as stdio from "@modelcontextprotocol/server/stdio";
import { serveMcp } from "compact-context/adapters/mcp";
import type { McpSdk } from "compact-context/internal/adapters/mcp/sdk";

const sdk: McpSdk = { ...server, ...stdio };
await serveMcp({ sdk, tools: [], info: { name: "typed", version: "1" } });
