import { setTimeout } from "node:timers/promises";
import type { TextModelAnswer, TextModelRequest } from "../core/ports.ts";
import { CompactError } from "../errors.ts";
import { checkUser, readChannelSession } from "../memory/files/folders.ts";
import { escapeRuntimeTags, injectRuntimeContext, renderRuntimeContext } from "../memory/pack.ts";
import { objectOf, textOf } from "../providers/request.ts";
import type { Recall } from "../recall/recall.ts";
import { recallTools } from "../recall/tools.ts";
import { type AgentMessage, type AgentModel, bareModelName } from "./agent-message.ts";
import { AgentSession, type AgentState, orWarn, relate, subSessionId } from "./agent-state.ts";
import { channelRecall } from "./channel-recall.ts";
import type { SubAgent, SubAgentMemory } from "./definitions.ts";
import { addSpent, type Diagnostic, NOTHING_SPENT, type Spent, spentOn, type TurnEnd } from "./event.ts";
import { useSkillTool } from "./skills.ts";
import { type AgentTool, type CallToCheck, outsideOf, refusalOf } from "./tool.ts";
import { runTurn, type TurnPorts, type TurnResult } from "./turn.ts";

// What the turns of an agent and of its sub-agents run with.

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
  const free = own.filter(({ name }) => name !== SUB_AGENT);
  return {
    ...commonPorts(state, session, model),
    system: options.system ?? "",
    tools: toolBox([...(options.tools ?? []), ...own]),
    refuse: async (call) => (free.includes(call.tool) ? undefined : refusal(call, state)),
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
  if (subAgents.length > 0) tools.push(subAgentTool(state, subAgents));
  return tools;
}

/** The two recall tools: the agent's read its whole channel, a sub-agent's its own session. */
function readingTools(
  state: AgentState,
  { session, model }: Pick<AgentState, "session" | "model">,
): AgentTool[] {
  const { manager } = state.managers.of(model);
  const source = {
    recall: (sessionId: string) => {
      const live = manager.recall(sessionId);
      if (sessionId !== state.session.id) return live;
      const related = (): Recall[] => state.related.toReversed().map((id) => manager.recall(id));
      return channelRecall({ live, related, channelDir: state.options.channelDir });
    },
  };
  return recallTools(source, session.id).map(({ parameters: schema, execute, ...tool }) => ({
    ...tool,
    schema,
    paths: "none",
    concurrent: true,
    execute: (args) => execute(args),
  }));
}

function toolBox(tools: readonly AgentTool[]): ReadonlyMap<string, AgentTool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function commonPorts(
  state: AgentState,
  session: AgentSession,
  model: AgentModel,
): Omit<TurnPorts, "system" | "tools" | "refuse"> {
  const { manager, preflight } = state.managers.of(model);
  return {
    session,
    model,
    manager,
    preflight,
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

/** Why a call is refused: checks the bounds of the sub-agent and of the skills in use, then asks for permission. */
async function refusal(
  call: CallToCheck,
  { options, skills }: AgentState,
  subAgent?: SubAgent,
): Promise<string | undefined> {
  const { permissions, workspaceDir = "." } = options;
  const { tool, arguments: args, signal } = call;
  const own = subAgent && { by: `the sub-agent ${subAgent.name}`, paths: subAgent.paths };
  for (const bound of [...skills.bounds, ...(own === undefined ? [] : [own])]) {
    const outside = await outsideOf(bound, call, workspaceDir);
    if (outside !== undefined) return outside;
  }
  if (permissions === undefined) return undefined;
  return refusalOf(await permissions({ tool: tool.name, arguments: args, signal, subAgent: subAgent?.name }));
}

// ---- sub-agents

export const SUB_AGENT = "sub_agent";

/** The tool with which an agent delegates a task to a sub-agent; the answer is limited like any tool output. */
function subAgentTool(state: AgentState, subAgents: readonly SubAgent[]): AgentTool {
  const names = subAgents.map(({ name }) => name);
  const list = subAgents.map(({ name, description }) => `- ${name}: ${description}`);
  return {
    name: SUB_AGENT,
    description: `Hands a task to a sub-agent, which works by itself and answers once. It knows only what the task says.\n${list.join("\n")}`,
    schema: {
      type: "object",
      properties: {
        agent: { type: "string", description: "The sub-agent.", enum: names },
        task: { type: "string", description: "What to do, with everything that it must know." },
      },
      required: ["agent", "task"],
      additionalProperties: false,
    },
    paths: "none",
    concurrent: true,
    // The sub-agent has its own limits; the tool deadline does not apply.
    deadlineMs: 24 * 60 * 60_000,
    async execute(args, { signal }) {
      const { agent, task } = objectOf(args);
      const subAgent = subAgents.find(({ name }) => name === agent);
      if (subAgent === undefined)
        throw new Error(`there is no sub-agent "${textOf(agent)}"; there are ${names.join(", ")}`);
      if (textOf(task).trim() === "") throw new Error("the task is empty");
      return runSubAgent(state, subAgent, textOf(task), signal);
    },
  };
}

async function runSubAgent(
  state: AgentState,
  subAgent: SubAgent,
  task: string,
  signal: AbortSignal,
): Promise<string> {
  const { name } = subAgent;
  const session = new AgentSession({ id: subSessionId(state.session.id, name, state.newId()) });
  const sessionId = session.id;
  const { ports, spent } = subAgentPorts(state, subAgent, session);
  const started = state.clock();
  state.emit({ type: "subAgentStarted", name, sessionId, task });
  let end: TurnEnd = "failed";
  try {
    const text = injectRuntimeContext(task, await preamble(state, subAgent, task));
    const result = await runTurn({ role: "user", content: [{ type: "text", text }] }, ports, signal);
    end = result.end;
    const { archiveSteps } = state.managers.of(ports.model).manager.getState(sessionId);
    if (archiveSteps > 0) await relate(state, sessionId);
    await state.skills.run("after_subagent", result.text, signal);
    return answerOf(name, result);
  } finally {
    await state.managers.release(sessionId);
    const elapsedMs = state.clock() - started;
    state.emit({ type: "subAgentEnded", name, sessionId, end, spent: spent(), elapsedMs });
  }
}

/**
 * Its tools are those of the parent's tools that it names; it reads its own session and starts no sub-agents
 * or skills. `spent` returns its total cost. Throws if its model or a tool is unknown.
 */
function subAgentPorts(
  state: AgentState,
  subAgent: SubAgent,
  session: AgentSession,
): { readonly ports: TurnPorts; spent(): Spent } {
  const { tools: given = [], models } = state.options;
  const { name, place } = subAgent;
  const model = subAgent.model === undefined ? state.model : models?.(subAgent.model);
  if (model === undefined)
    throw new Error(`the model "${subAgent.model}" of the sub-agent ${name} is not known (${place})`);
  const unknown = (subAgent.tools ?? []).filter((wanted) => !given.some((tool) => tool.name === wanted));
  if (unknown.length > 0)
    throw new Error(`the sub-agent ${name} names tools that do not exist: ${unknown.join(", ")} (${place})`);
  const lent = given.filter((tool) => subAgent.tools?.includes(tool.name) ?? true);
  const reading = readingTools(state, { session, model });
  const common = commonPorts(state, session, model);
  const { models: prices } = state.managers.of(model).manager.config;
  let spent = NOTHING_SPENT;
  const ports: TurnPorts = {
    ...common,
    thinkingLevel: subAgent.thinkingLevel,
    system: subAgent.prompt,
    tools: toolBox([...lent, ...reading]),
    limits: { ...state.limits, ...subAgent.limits },
    refuse: async (call) => (reading.includes(call.tool) ? undefined : refusal(call, state, subAgent)),
    // Its text and reasoning are not forwarded; its actions are.
    emit: (event) => {
      if (event.type !== "text" && event.type !== "reasoning") state.emit(event);
    },
    metered(usage) {
      spent = addSpent(spent, spentOn(usage, bareModelName(model.name), prices));
      common.metered(usage);
    },
  };
  return { ports, spent: () => spent };
}

const ENDS: Readonly<Record<TurnEnd, string>> = {
  answered: "",
  interrupted: "was interrupted",
  refused: "was refused an answer by its model",
  "request-limit": "reached its limit of requests",
  "call-limit": "reached its limit of tool calls",
  "time-limit": "ran out of time",
  failed: "failed",
};

/** The answer; if there is none, throws with the cause and the last text, so that the parent sees a failed call. */
function answerOf(name: string, { end, text, cause }: TurnResult): string {
  if (end === "answered") return text === "" ? `The sub-agent ${name} gave no answer.` : text;
  const said = text === "" ? "It said nothing before." : `What it said last:\n${text}`;
  const why = cause === undefined ? "" : `: ${cause.replace(/[.\s]+$/, "")}`;
  throw new Error(`The sub-agent ${name} ${ENDS[end]}${why}. It was not done. ${said}`);
}

/** Maximum characters of memory before a task, including tags. */
const PREAMBLE: Readonly<Record<SubAgentMemory, number>> = {
  none: 0,
  relevant: 2000,
  session: 3000,
  channel: 5000,
};

/** Sources to use if the session state already precedes the task. */
const BESIDE_SESSION = ["channel-memory", "workspace-memory", "channel-history"] as const;

/** The channel memory that a contextual sub-agent reads before its task; always empty for an isolated one. */
async function preamble(
  state: AgentState,
  { contextMode, memory: scope }: SubAgent,
  task: string,
): Promise<string> {
  if (contextMode === "isolated" || scope === "none") return "";
  const most = PREAMBLE[scope];
  const session = scope === "relevant" ? "" : await sessionText(state, scope === "session" ? most : most / 2);
  if (scope === "session") return session;
  const sources = session === "" ? undefined : BESIDE_SESSION;
  const limits = { maxChars: most - session.length, sources };
  const found = await orWarn(state, "recall-failed", async () => state.options.memory?.recall(task, limits));
  return [session, found?.renderedText ?? ""].filter((block) => block !== "").join("\n");
}

async function sessionText(state: AgentState, most: number): Promise<string> {
  const { channelDir, memory } = state.options;
  if (channelDir === undefined) return "";
  const written = await orWarn(state, "memory-failed", async () => {
    await checkUser(channelDir, memory?.user);
    return readChannelSession(channelDir);
  });
  if (written === undefined) return "";
  const text = escapeRuntimeTags(written.replace(/<!--[\s\S]*?-->/g, "").trim());
  const room = Math.floor(most) - renderRuntimeContext("x").length + 1;
  const cut = text.length <= room ? text : `${text.slice(0, room - 2)} …`;
  const isTemplate = cut.split("\n").every((line) => line.trim() === "" || line.startsWith("#"));
  return isTemplate ? "" : renderRuntimeContext(cut);
}
