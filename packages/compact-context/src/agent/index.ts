export { type Agent, createAgent, type SendOptions } from "./agent.ts";
export type { NewSession } from "./agent-commands.ts";
export {
  type AgentMessage,
  type AgentReasoningPart,
  type AgentTextPart,
  type AgentToolCallPart,
  type AgentToolResultPart,
  agentMessageText,
} from "./agent-message.ts";
export type {
  AgentModel,
  AgentModelPart,
  AgentModelRequest,
  ThinkingLevel,
  ToolShape,
} from "./agent-model.ts";
export type { AgentOptions, ManagerFactory } from "./agent-options.ts";
export { compactedText } from "./compaction-words.ts";
export { type ContextInput, type ContextLayer, type ContextView, contextView } from "./context-view.ts";
export type { Loaded } from "./definition-files.ts";
export { type Diagnostic, diagnosticText } from "./diagnostic.ts";
export type { AgentEvent, Spent, TurnEnd } from "./event.ts";
export { type AgentLimits, DEFAULT_LIMITS } from "./limits.ts";
export { type MemoryView, type MemoryViewOptions, memoryView } from "./memory-view.ts";
export { createScriptedModel, type ScriptedAnswer, type ScriptedModelOptions } from "./scripted.ts";
export { type Hook, type HookEvent, loadSkills, type Skill, type SkillMemory } from "./skills/skill.ts";
export type { HookContext, HookFunction, RunCommand } from "./skills/skill-session.ts";
export { loadSubAgents, type SubAgent, type SubAgentMemory } from "./sub-agents/sub-agent.ts";
export type { AgentTool, Permission, PermissionRequest, Permissions, ToolContext } from "./tool.ts";
