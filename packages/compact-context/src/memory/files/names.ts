import { join } from "node:path";
import { requireText } from "../../errors.ts";

/** Files that people keep for a whole workspace. */
export const WORKSPACE_FILES = { soul: "SOUL.md", agents: "AGENTS.md", memory: "MEMORY.md" } as const;

/** Files of a channel: three that are recalled from, two logs that are kept cold. */
export const CHANNEL_FILES = {
  memory: "MEMORY.md",
  session: "SESSION.md",
  history: "HISTORY.md",
  log: "log.jsonl",
  context: "context.jsonl",
} as const;

export const WORKSPACE_FOLDERS: readonly string[] = ["sub-agents", "skills", "events"];
export const CHANNEL_FOLDERS: readonly string[] = ["skills", "scratch"];

export function getChannelSessionPath(channelDir: string): string {
  requireText(channelDir, "channelDir", "Pass the path of the channel's folder.");
  return join(channelDir, CHANNEL_FILES.session);
}
