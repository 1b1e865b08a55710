export { type Agent, createAgent, type SendOptions } from "./agent.ts";
export type { AgentMessage, AgentModel, AgentModelRequest } from "./agent-message.ts";
export type { AgentOptions } from "./agent-options.ts";
export { type Definitions, loadDefinitions } from "./definitions.ts";
export type { AgentEvent } from "./event.ts";
export type { Skill } from "./skills/skill.ts";
export type { HookContext } from "./skills/skill-session.ts";
export type { SubAgent } from "./sub-agents/sub-agent.ts";
export type { AgentTool, Permission, PermissionRequest, Permissions, ToolContext } from "./tool.ts";
