import type { CompactConfigInput } from "../compaction/config.ts";
import type { CompactManager } from "../compaction/manager.ts";
import type { ManagerPorts } from "../compaction/ports.ts";
import type { ChannelMemory } from "../memory/channel-memory.ts";
import type { AgentModel } from "./agent-model.ts";
import type { Diagnostic } from "./diagnostic.ts";
import type { AgentLimits } from "./limits.ts";
import type { AgentTool, Permissions } from "./tool.ts";

/** Makes the manager for a model: its window is the manager's. `ports` go into it, so that memory and skills hear of compactions. */
export type ManagerFactory = (model: AgentModel, ports: ManagerPorts) => CompactManager;

export interface AgentOptions {
  readonly model: AgentModel;
  /** The system prompt; the same, byte by byte, for the whole session. */
  readonly system?: string;
  readonly tools?: readonly AgentTool[];
  /** One manager for every model, or one for each; made from `config` when left out. */
  readonly manager?: CompactManager | ManagerFactory;
  /** Settings of the managers that are made. */
  readonly config?: CompactConfigInput;
  readonly memory?: ChannelMemory;
  /** Where the session is kept (`context.jsonl`, `log.jsonl`); in this process only when left out. */
  readonly channelDir?: string;
  /** What relative paths of tools, sub-agents and skills are relative to; the working directory when left out. */
  readonly workspaceDir?: string;
  /** Asked before every tool call but those that only read the session itself; everything is allowed when left out. */
  readonly permissions?: Permissions;
  readonly limits?: Partial<AgentLimits>;
  /** Told of what is wrong outside of a turn. */
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
}
