import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RecallTool } from "../../recall/index.ts";
import { serveMcp } from "./index.ts";
import { memoryTool } from "./memory-tool.ts";
import { loadMcpSdk, type McpAnswer, type McpCall, type McpSdk, type McpTransport } from "./sdk.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compact-mcp-unit-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Takes the handlers that a server is given, and the transport. */
function fakeSdk() {
  const handlers = new Map<string, (call: McpCall) => unknown>();
  let transport: McpTransport = {} as McpTransport;
  class Server {
    setRequestHandler(method: string, handler: (call: McpCall) => unknown): void {
      handlers.set(method, handler);
    }
  }
  class ProtocolError extends Error {
    readonly code: number;
    constructor(code: number, message: string) {
      super(message);
      this.code = code;
    }
  }
  const sdk = {
    Server,
    ProtocolError,
    StdioServerTransport: class {},
    serveStdio: (factory: () => never, options: { transport: McpTransport }) => {
      factory();
      transport = options.transport;
      return { close: async () => undefined };
    },
  } as unknown as McpSdk;
  return { sdk, handlers, leave: () => transport.onclose?.() };
}

it("answers calls, marks failures, refuses tools that are not there, and ends with its client", async () => {
  const execute = async (args: unknown): Promise<string> =>
    JSON.stringify(args) === "{}" ? "Error: query must be a text." : "found";
  const tool = { name: "find", description: "Finds.", parameters: {}, execute } as unknown as RecallTool;
  const { sdk, handlers, leave } = fakeSdk();
  const served = serveMcp({ sdk, tools: [tool], info: { name: "test", version: "1" } });
  const call = (name: string, args?: unknown): Promise<McpAnswer> =>
    handlers.get("tools/call")?.({ params: { name, arguments: args } }) as Promise<McpAnswer>;
  expect(await call("find", { query: "x" })).toEqual({
    content: [{ type: "text", text: "found" }],
    isError: false,
  });
  expect((await call("find")).isError).toBe(true);
  await expect(call("other")).rejects.toMatchObject({ code: -32602 });
  expect(handlers.get("tools/list")?.({} as McpCall)).toMatchObject({ tools: [{ name: "find" }] });
  leave();
  await served;
});

it("a client that only pipes its calls in gets every answer", async () => {
  let find: (text: string) => void = () => undefined;
  const found = new Promise<string>((resolve) => (find = resolve));
  const tool = { name: "find", description: "Finds.", parameters: {}, execute: () => found };
  const stdin = new PassThrough();
  const stdout = new PassThrough().setEncoding("utf8");
  const tools = [tool as unknown as RecallTool];
  const served = serveMcp({ tools, info: { name: "test", version: "1" }, stdin, stdout });
  const info = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const lines = [
    { id: 1, method: "initialize", params: info },
    { method: "notifications/initialized" },
    ...[2, 3].map((id) => ({ id, method: "tools/call", params: { name: "find", arguments: {} } })),
  ];
  const closed = once(stdin, "close");
  stdin.end(lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join(""));
  await closed;
  find("found");
  await served;
  const ids = (stdout.read() as string)
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { id: number }).id);
  expect(ids).toEqual([1, 2, 3]);
});

it("an SDK that is not installed is told with the line that installs it", async () => {
  const missing = loadMcpSdk(() => Promise.reject(new Error("not there")));
  await expect(missing).rejects.toMatchObject({
    code: "InvalidUsage",
    hint: expect.stringContaining("npm install"),
  });
});

it("RED-1 MEM-3 the memory answers within its bound, secrets taken out, and tells what it cannot", async () => {
  writeFileSync(
    join(folder, "MEMORY.md"),
    `## Decisions\n\n- Deploys are on Thursdays, key K. ${"More words. ".repeat(900)}\n`,
  );
  const redact = (text: string): string => text.replaceAll("key K", "<REDACTED>");
  const tool = memoryTool({ channelDir: folder, workspaceDir: folder, redact, maxTokens: 300 });
  const answer = await tool.execute({ query: "when are deploys?" });
  expect(answer).toContain("Thursdays");
  expect(answer).not.toContain("key K");
  expect(answer.length).toBeLessThan(300 * 8);
  expect(await tool.execute({ query: "zebra quux" })).toMatch(/^Nothing in /);
  expect(await tool.execute({})).toMatch(/^Error: query must be/);
});
