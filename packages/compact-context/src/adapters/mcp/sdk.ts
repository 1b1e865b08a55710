import type { Readable, Writable } from "node:stream";
import { CompactError } from "../../errors.ts";

/** The parts of `@modelcontextprotocol/server` (2.x) that are used, typed structurally. */
export interface McpSdk {
  readonly Server: new (
    info: McpServerInfo,
    options: { readonly capabilities: { readonly tools: object }; readonly instructions: string },
  ) => McpServer;
  readonly ProtocolError: new (code: number, message: string) => Error;
  readonly StdioServerTransport: new (stdin?: Readable, stdout?: Writable) => McpTransport;
  /** Accepts an instance of `Server`; its own type cannot be written structurally. */
  serveStdio(
    factory: () => never,
    options: { readonly transport: McpTransport; onerror(error: Error): void },
  ): { close(): Promise<void> };
}

export interface McpServerInfo {
  readonly name: string;
  readonly version: string;
}

export interface McpServer {
  setRequestHandler(method: "tools/list", handler: () => { readonly tools: readonly object[] }): void;
  setRequestHandler(method: "tools/call", handler: (request: McpCall) => Promise<McpAnswer>): void;
}

/** A tool call, reduced to the fields that are read. */
export interface McpCall {
  readonly params: { readonly name: string; readonly arguments?: unknown };
}

export interface McpAnswer {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
  readonly isError: boolean;
}

export interface McpTransport {
  onclose?: () => void;
  onmessage?(message: McpMessage, ...more: unknown[]): void;
  start(): Promise<void>;
  send(message: McpMessage, ...more: unknown[]): Promise<void>;
  close(): Promise<void>;
}

/** A request, a notification, or an answer, which has no method. */
interface McpMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
}

const PACKAGE: string = "@modelcontextprotocol/server";

/** The SDK, imported by `load`; rejects with `InvalidUsage` if it is not installed. */
export async function loadMcpSdk(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<McpSdk> {
  try {
    const [server, stdio] = await Promise.all([load(PACKAGE), load(`${PACKAGE}/stdio`)]);
    return { ...(server as McpSdk), ...(stdio as McpSdk) };
  } catch (cause) {
    throw new CompactError("InvalidUsage", `the package ${PACKAGE} cannot be loaded`, {
      hint: `Install it beside compact: npm install ${PACKAGE}@2`,
      cause,
    });
  }
}
