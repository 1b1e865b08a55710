export { type Agent, createAgent, type SendOptions } from "./agent.ts";
export { type AgentMessage, agentMessageText } from "./agent-message.ts";
export type {
  AgentModel,
  AgentModelPart,
  AgentModelRequest,
  ThinkingLevel,
  ToolShape,
} from "./agent-model.ts";
export type { AgentOptions, ManagerFactory } from "./agent-options.ts";
export { type Diagnostic, diagnosticText } from "./diagnostic.ts";
export type { AgentEvent, Spent, TurnEnd } from "./event.ts";
export { type AgentLimits, DEFAULT_LIMITS } from "./limits.ts";
export { createScriptedModel, type ScriptedAnswer, type ScriptedModelOptions } from "./scripted.ts";
export type { AgentTool, Permission, PermissionRequest, Permissions, ToolContext } from "./tool.ts";
