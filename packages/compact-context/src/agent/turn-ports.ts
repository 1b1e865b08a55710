import { setTimeout } from "node:timers/promises";
import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import { CompactError } from "../errors.ts";
import { type AgentMessage, type AgentModel, bareModelName } from "./agent-message.ts";
import type { AgentSession } from "./agent-session.ts";
import { type AgentState, readingTools, relate, subSessionId } from "./agent-state.ts";
import { addSpent, type Diagnostic, NOTHING_SPENT, type Spent, spentOn } from "./event.ts";
import { useSkillTool } from "./skills/skill-session.ts";
import { SUB_AGENT, type SubAgentHost, subAgentTool } from "./sub-agents/run-sub-agent.ts";
import type { SubAgent } from "./sub-agents/sub-agent.ts";
import type { AgentTool } from "./tool.ts";
import { type CallToCheck, outsideOf, type PathBound, refusalOf } from "./tool-runs.ts";
import type { TurnPorts } from "./turn.ts";

/** Resolves after the time, or early if interrupted. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);

/** Throws `InvalidConfig` if two tools have the same name: only one of them could be called. */
export function checkToolNames(state: AgentState): void {
  const own = ownTools(state).map(({ name }) => name);
  const names = [...own, ...(state.options.tools ?? []).map(({ name }) => name)];
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return;
  throw new CompactError("InvalidConfig", `two tools are named "${twice}"`, {
    place: "tools",
    hint: `Give every tool a name of its own; ${own.join(", ")} are the agent's.`,
  });
}

/** Ports of the agent's own turns. */
export function agentPorts(state: AgentState): TurnPorts {
  const { options, session, model } = state;
  const own = ownTools(state);
  const tools = toolBox([...(options.tools ?? []), ...own]);
  const free = new Set(own.filter(({ name }) => name !== SUB_AGENT));
  return {
    ...commonPorts(state, session, model),
    system: options.system ?? "",
    tools,
    refuse: async (call) => (free.has(call.tool) ? undefined : refusal(call, state, {})),
  };
}

/** Tools that an agent has in addition to the host's; the same for the whole session. */
function ownTools(state: AgentState): AgentTool[] {
  const { skills = [], subAgents = [] } = state.options;
  const tools = readingTools(state, state);
  if (skills.length > 0) {
    const warn = (diagnostic: Diagnostic): void => state.emit({ type: "warning", diagnostic });
    tools.push(useSkillTool(skills, () => state.skills, warn));
  }
  if (subAgents.length > 0) tools.push(subAgentTool(subAgentHost(state)));
  return tools;
}

function toolBox(tools: readonly AgentTool[]): ReadonlyMap<string, AgentTool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function commonPorts(
  state: AgentState,
  session: AgentSession,
  model: AgentModel,
): Omit<TurnPorts, "system" | "tools" | "refuse"> {
  const manager = state.managers.managerFor(model);
  return {
    session,
    model,
    preflight: state.managers.preflightFor(model),
    limits: state.limits,
    emit: (event) => state.emit(event),
    clock: state.clock,
    sleep: state.options.sleep ?? pause,
    metered(usage) {
      const spent = spentOn(usage, bareModelName(model.name), manager.config.models);
      state.spent = addSpent(state.spent, spent);
      const { totalTokens: contextTokens, maxContextTokens: window } = manager.getState(session.id);
      state.emit({ type: "usage", sessionId: session.id, spent, total: state.spent, contextTokens, window });
    },
  };
}

/** Asks the agent's model outside of a turn; the cost is counted as the agent's. */
export async function askModel(
  state: AgentState,
  { messages, signal = new AbortController().signal }: TextModelRequest,
): Promise<TextModelAnswer> {
  const { metered, model } = commonPorts(state, state.session, state.model);
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const rest = messages.flatMap(({ role, content }): AgentMessage[] =>
    role === "system" ? [] : [{ role, content }],
  );
  let text = "";
  for await (const part of model.stream({ system: system.join("\n\n"), messages: rest, tools: [], signal })) {
    if (part.type === "text") text += part.text;
    if (part.type !== "end") continue;
    metered(part.usage);
    return { text, stop: part.stop === "tools" ? "other" : part.stop, usage: part.usage };
  }
  return { text, stop: "other" };
}

interface Bounds {
  readonly subAgent?: SubAgent;
}

/**
 * Why a call is refused: checks the bounds of the sub-agent and of the skills in use, then asks for
 * permission.
 */
async function refusal(
  call: CallToCheck,
  state: AgentState,
  { subAgent }: Bounds,
): Promise<string | undefined> {
  const { permissions, workspaceDir = "." } = state.options;
  const { tool, arguments: args, signal } = call;
  const bySkill = state.skills.refuse(tool.name);
  if (bySkill !== undefined) return bySkill;
  const own: PathBound[] =
    subAgent?.paths === undefined ? [] : [{ by: `the sub-agent ${subAgent.name}`, paths: subAgent.paths }];
  for (const bound of [...own, ...state.skills.bounds]) {
    const outside = await outsideOf(bound, call, workspaceDir);
    if (outside !== undefined) return outside;
  }
  if (permissions === undefined) return undefined;
  return refusalOf(await permissions({ tool: tool.name, arguments: args, signal, subAgent: subAgent?.name }));
}

function subAgentHost(state: AgentState): SubAgentHost {
  const { options } = state;
  return {
    subAgents: options.subAgents ?? [],
    memory: options.memory,
    channelDir: options.channelDir,
    clock: state.clock,
    emit: (event) => state.emit(event),
    newSessionId: ({ name }) => subSessionId(state.session.id, name, state.newId()),
    portsFor: (subAgent, session) => subAgentPorts(state, subAgent, session),
    async ended(subAgent, sessionId, text, signal) {
      const model = modelOf(subAgent, state) ?? state.model;
      const { archiveSteps } = state.managers.managerFor(model).getState(sessionId);
      if (archiveSteps > 0) await relate(state, sessionId);
      await state.skills.run("after_subagent", text, signal);
    },
    release: state.managers.release,
  };
}

/** Undefined if it names an unknown model. */
function modelOf({ model }: SubAgent, state: AgentState): AgentModel | undefined {
  return model === undefined ? state.model : state.options.models?.(model);
}

/**
 * Its tools are those of the parent's tools that it names; it reads its own session and starts no sub-agents
 * or skills.
 */
function subAgentPorts(
  state: AgentState,
  subAgent: SubAgent,
  session: AgentSession,
): { readonly ports: TurnPorts; spent(): Spent } {
  const { options } = state;
  const model = modelOf(subAgent, state);
  if (model === undefined)
    throw new Error(
      `the model "${subAgent.model}" of the sub-agent ${subAgent.name} is not known (${subAgent.place})`,
    );
  const given = options.tools ?? [];
  const unknown = (subAgent.tools ?? []).filter((name) => !given.some((tool) => tool.name === name));
  if (unknown.length > 0)
    throw new Error(
      `the sub-agent ${subAgent.name} names tools that do not exist: ${unknown.join(", ")} (${subAgent.place})`,
    );
  const lent = given.filter(({ name }) => subAgent.tools?.includes(name) ?? true);
  const reading = readingTools(state, { session, model });
  let spent = NOTHING_SPENT;
  const common = commonPorts(state, session, model);
  const manager = state.managers.managerFor(model);
  const free = new Set(reading);
  const ports: TurnPorts = {
    ...common,
    thinkingLevel: subAgent.thinkingLevel ?? common.thinkingLevel,
    system: subAgent.prompt,
    tools: toolBox([...lent, ...reading]),
    limits: { ...state.limits, ...subAgent.limits },
    refuse: async (call) => (free.has(call.tool) ? undefined : refusal(call, state, { subAgent })),
    // Its text and reasoning are not forwarded; its actions are.
    emit: (event) => {
      if (event.type !== "text" && event.type !== "reasoning") state.emit(event);
    },
    metered(usage) {
      spent = addSpent(spent, spentOn(usage, bareModelName(model.name), manager.config.models));
      common.metered(usage);
    },
  };
  return { ports, spent: () => spent };
}
