import { Console } from "node:console";
import { serveMcp } from "compact-context/adapters/mcp";
import { memoryTool } from "compact-context/internal/adapters/mcp/memory-tool";
import { loadMcpSdk } from "compact-context/internal/adapters/mcp/sdk";
import { archiveTools } from "compact-context/internal/recall/tools";
import type { RecallTool } from "compact-context/recall";
import { createRedactor } from "compact-context/redaction";
import { isArchiveMissing, openArchive } from "../archive.ts";
import { channelFolders, readConfig } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import { versionText } from "../program.ts";

export async function serveTools(invocation: Invocation): Promise<number> {
  const { terminal } = invocation;
  const tools = await toolsOf(invocation);
  const sdk = await loadMcpSdk((name) => import(name));
  const [name = "", version = ""] = versionText().split(" ");
  // Console output of a package would break the protocol.
  globalThis.console = new Console(process.stderr, process.stderr);
  const onError = (error: Error): void => terminal.warn(error.message);
  await serveMcp({ sdk, tools, info: { name, version }, onError });
  return 0;
}

async function toolsOf(invocation: Invocation): Promise<readonly RecallTool[]> {
  const settings = readConfig(invocation);
  if (isArchiveMissing(invocation))
    invocation.terminal.warn("the folder of --archive is not there yet: the archive is empty until it is");
  return [
    ...archiveTools(await openArchive(invocation, settings), { sessionId: invocation.flags.session }),
    ...(await memoryTools(invocation, settings.config.redaction)),
  ];
}

async function memoryTools(
  invocation: Invocation,
  redaction: Parameters<typeof createRedactor>[0],
): Promise<readonly RecallTool[]> {
  const { flags, ports, terminal } = invocation;
  if (flags.channel === undefined) return [];
  const folders = await channelFolders("mcp", invocation);
  const { redactText: redact } = createRedactor({ ...redaction, onWarning: terminal.warn });
  return [memoryTool({ ...folders, redact, now: ports.now, warn: terminal.warn })];
}
