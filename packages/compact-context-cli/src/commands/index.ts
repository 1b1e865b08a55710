import type { Command } from "../command.ts";
import { archiveCommand } from "./archive.ts";
import { chatCommand } from "./chat.ts";
import { configCommand } from "./config.ts";
import { demoCommand } from "./demo.ts";
import { diffCommand } from "./diff.ts";
import { inspectCommand } from "./inspect.ts";
import { lintCommand } from "./lint.ts";
import { mcpCommand } from "./mcp.ts";
import { memoryCommand } from "./memory.ts";
import { planCommand } from "./plan.ts";
import { recallCommand } from "./recall.ts";
import { redactCommand } from "./redact.ts";
import { repairCommand } from "./repair.ts";
import { replayCommand } from "./replay.ts";
import { viewCommand } from "./view.ts";

/** Every command but the main job, which has no name, and help, in the order of the help. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  inspect: inspectCommand,
  plan: planCommand,
  replay: replayCommand,
  view: viewCommand,
  lint: lintCommand,
  repair: repairCommand,
  diff: diffCommand,
  redact: redactCommand,
  archive: archiveCommand,
  recall: recallCommand,
  memory: memoryCommand,
  chat: chatCommand,
  mcp: mcpCommand,
  config: configCommand,
  demo: demoCommand,
};
