import type { CompactConfigInput } from "../config/settings.ts";
import type { StorageDriver } from "../core/ports.ts";
import type { CompactManager, ManagerPorts } from "../create-manager.ts";
import type { ChannelMemory } from "../memory/channel-memory.ts";
import type { AgentModel } from "./agent-message.ts";
import type { Diagnostic } from "./event.ts";
import type { Skill } from "./skills/skill.ts";
import type { HookFunction, RunCommand } from "./skills/skill-session.ts";
import type { SubAgent } from "./sub-agents/sub-agent.ts";
import type { AgentLimits, AgentTool, Permissions } from "./tool.ts";

/**
 * Makes the manager for a model, whose window is the manager's. `ports` go into it, so that memory and skills hear of
 * compactions.
 */
export type ManagerFactory = (model: AgentModel, ports: ManagerPorts) => CompactManager;

export interface AgentOptions {
  readonly model: AgentModel;
  /** Finds the model that a sub-agent names. */
  readonly models?: (name: string) => AgentModel | undefined;
  /** The system prompt; the same, byte by byte, for the whole session. */
  readonly system?: string;
  readonly tools?: readonly AgentTool[];
  /**
   * One manager for every model, or one for each; made from `config` when left out. `before_compact` hooks run, and a
   * memory hears of compactions, where the manager is made here or by a function that passes the ports on.
   */
  readonly manager?: CompactManager | ManagerFactory;
  /** Settings of the managers that are made, and what else goes into them, such as `storage` or `exporters`. */
  readonly config?: CompactConfigInput;
  readonly managerPorts?: ManagerPorts;
  readonly memory?: ChannelMemory;
  /** Where the session is kept (`context.jsonl`, `log.jsonl`), for one agent at a time; in this process only when left out. */
  readonly channelDir?: string;
  /** Holds those two files instead of the folder; that one agent at a time uses them is the host's to see to then. */
  readonly sessionStorage?: StorageDriver;
  /** What relative paths of tools, sub-agents and skills are relative to; the working directory when left out. */
  readonly workspaceDir?: string;
  readonly skills?: readonly Skill[];
  readonly subAgents?: readonly SubAgent[];
  /** Functions that hooks of skills may name. */
  readonly hookFunctions?: Readonly<Record<string, HookFunction>>;
  /** Runs commands that skills declare, after `permissions` allowed each; none is run when left out. */
  readonly runCommand?: RunCommand;
  /** Asked before every tool call but those that only read the session itself; everything is allowed when left out. */
  readonly permissions?: Permissions;
  readonly limits?: Partial<AgentLimits>;
  /** Told of what is wrong outside of a turn. */
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Wall clock. */
  readonly now?: () => Date;
  /** Milliseconds of a steady clock. */
  readonly clock?: () => number;
  /** Unique ids of sessions. */
  readonly newId?: () => string;
  /** Waits before a request is sent again. */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}
