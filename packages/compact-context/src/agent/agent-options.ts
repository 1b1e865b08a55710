import type { CompactConfigInput } from "../config/settings.ts";
import type { StorageDriver } from "../core/ports.ts";
import type { CompactManager, ManagerPorts } from "../create-manager.ts";
import type { ChannelMemory } from "../memory/channel-memory.ts";
import type { AgentModel } from "./agent-message.ts";
import type { HookEvent, Skill, SubAgent } from "./definitions.ts";
import type { Diagnostic } from "./event.ts";
import type { AgentLimits, AgentTool, Permissions } from "./tool.ts";

/**
 * Creates the manager for a model with that model's window. Pass `ports` to it, so that memory and skills are
 * notified of compactions.
 */
export type ManagerFactory = (model: AgentModel, ports: ManagerPorts) => CompactManager;

/** Argument of a hook. */
export interface HookContext {
  readonly event: HookEvent;
  readonly skill: string;
  readonly sessionId: string;
  /** The prompt, the answer, the sub-agent's answer, or the reason for the compaction. */
  readonly text: string;
  readonly signal: AbortSignal;
}

/** The returned text is reported; before a prompt it is added to the prompt. */
type HookFunction = (context: HookContext) => string | undefined | Promise<string | undefined>;

/** Runs a command that a skill declares; resolves to its output, rejects on failure. */
type RunCommand = (command: string, context: HookContext) => Promise<string>;

export interface AgentOptions {
  readonly model: AgentModel;
  /** Resolves the model that a sub-agent names. */
  readonly models?: (name: string) => AgentModel | undefined;
  /** The system prompt; byte-identical for the whole session. */
  readonly system?: string;
  readonly tools?: readonly AgentTool[];
  /**
   * One manager for all models, or a factory for one each. Default: created from `config`. `before_compact`
   * hooks and memory work only with managers created here or by a factory that passes the ports on.
   */
  readonly manager?: CompactManager | ManagerFactory;
  /** Settings of the managers created here, and further ports such as `storage` or `exporters`. */
  readonly config?: CompactConfigInput;
  readonly managerPorts?: ManagerPorts;
  readonly memory?: ChannelMemory;
  /**
   * Folder of the session (`context.jsonl`, `log.jsonl`), for one agent at a time. Default: the session is
   * held in memory only.
   */
  readonly channelDir?: string;
  /** Stores those two files instead of the folder; the host must then ensure that only one agent uses them. */
  readonly sessionStorage?: StorageDriver;
  /** Base of relative paths of tools, sub-agents and skills. Default: the working directory. */
  readonly workspaceDir?: string;
  readonly skills?: readonly Skill[];
  readonly subAgents?: readonly SubAgent[];
  /** Functions that skill hooks can name. */
  readonly hookFunctions?: Readonly<Record<string, HookFunction>>;
  /** Runs commands that skills declare, each after `permissions` allowed it. If omitted, none is run. */
  readonly runCommand?: RunCommand;
  /** Asked before every tool call except those that only read the session itself. If omitted, everything is allowed. */
  readonly permissions?: Permissions;
  readonly limits?: Partial<AgentLimits>;
  /** Called with problems outside of a turn. */
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Wall clock. */
  readonly now?: () => Date;
  /** Monotonic clock, milliseconds. */
  readonly clock?: () => number;
  /** Generates unique session ids. */
  readonly newId?: () => string;
  /** Waits before a request is retried. */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}
