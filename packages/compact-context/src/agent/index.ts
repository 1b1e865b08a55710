export { type Agent, createAgent, type SendOptions } from "./agent.ts";
export type { AgentMessage, AgentModel, AgentModelRequest } from "./agent-message.ts";
export type { AgentOptions, HookContext } from "./agent-options.ts";
export { type Definitions, loadDefinitions, type Skill, type SubAgent } from "./definitions.ts";
export type { AgentEvent } from "./event.ts";
export type { AgentTool, Permission, PermissionRequest, Permissions, ToolContext } from "./tool.ts";
