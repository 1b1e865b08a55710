import { Console } from "node:console";
import { loadMcpSdk, memoryTool, serveMcp } from "compact-context/adapters/mcp";
import { archiveTools } from "compact-context/internal/recall/archive-tools";
import type { RecallTool } from "compact-context/internal/recall/tools";
import { createRedactor } from "compact-context/redaction";
import { openArchive } from "../archive.ts";
import type { Command, Invocation } from "../command.ts";
import { channelFolders } from "../files/channel.ts";
import { readConfig } from "../files/config.ts";
import { versionText } from "../help.ts";
import { importPackage } from "../packages.ts";

export const mcpCommand: Command = {
  usage: "",
  summary: "archive search, expand and memory recall as MCP tools over stdio, for agents of other programs",
  flags: ["config", "archive", "session", "channel", "workspace", "user"],
  notes: [
    "For an MCP client to start: stdout carries the protocol and nothing else; everything for people goes to stderr.",
    "--session bounds every tool to one session of the archive. --channel adds compact_recall, which reads its memory files.",
    "Needs the package @modelcontextprotocol/server, version 2, beside compact or in the project here.",
  ],
  mostWords: 0,
  run: async (invocation) => {
    const { ports, terminal } = invocation;
    const tools = await toolsOf(invocation);
    const sdk = await loadMcpSdk((name) => importPackage(name, ports.cwd));
    const [name = "", version = ""] = (await versionText()).split(" ");
    // A package that prints would break the protocol.
    globalThis.console = new Console(process.stderr, process.stderr);
    const onError = (error: Error): void => terminal.warn(error.message);
    await serveMcp({ sdk, tools, info: { name, version }, onError });
    return 0;
  },
};

async function toolsOf(invocation: Invocation): Promise<readonly RecallTool[]> {
  const { flags, ports, terminal } = invocation;
  const warn = (text: string): void => terminal.warn(text);
  const { config } = readConfig({ file: flags.config, cwd: ports.cwd, env: ports.env, warn });
  const archive = openArchive(config, { flag: flags.archive, cwd: ports.cwd, warn });
  return [
    ...archiveTools(archive, { sessionId: flags.session }),
    ...(await memoryTools(invocation, config.redaction, warn)),
  ];
}

async function memoryTools(
  { flags, ports }: Invocation,
  redaction: Parameters<typeof createRedactor>[0],
  warn: (text: string) => void,
): Promise<readonly RecallTool[]> {
  if (flags.channel === undefined) return [];
  const folders = await channelFolders(flags.channel, flags, ports);
  const { redactText } = createRedactor({ ...redaction, onWarning: warn });
  return [memoryTool({ ...folders, user: flags.user, redact: redactText, now: ports.now, warn })];
}
