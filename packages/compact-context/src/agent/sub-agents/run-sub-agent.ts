import type { ChannelMemory } from "../../memory/channel-memory.ts";
import { checkUser, readChannelSession } from "../../memory/files/folders.ts";
import { escapeRuntimeTags, injectRuntimeContext, renderRuntimeContext } from "../../memory/pack.ts";
import { objectOf, textOf } from "../../providers/request.ts";
import { createAgentSession } from "../agent-session.ts";
import { type AgentEvent, diagnosticOf, type Spent, type TurnEnd } from "../event.ts";
import type { AgentTool } from "../tool.ts";
import { runTurn, type TurnPorts, type TurnResult } from "../turn.ts";
import type { SubAgent, SubAgentMemory } from "./sub-agent.ts";

export const SUB_AGENT = "sub_agent";

/** What the parent provides to its sub-agents. */
export interface SubAgentHost {
  readonly subAgents: readonly SubAgent[];
  /** A new session's id. */
  newSessionId(subAgent: SubAgent): string;
  /**
   * Everything a turn of it needs; `spent` returns its total cost. Throws if its model or a tool is unknown.
   */
  portsFor(subAgent: SubAgent, session: TurnPorts["session"]): { readonly ports: TurnPorts; spent(): Spent };
  readonly memory: ChannelMemory | undefined;
  readonly channelDir: string | undefined;
  emit(event: AgentEvent): void;
  clock(): number;
  /** Called when it is done, for hooks and to record its session id. */
  ended(subAgent: SubAgent, sessionId: string, text: string, signal: AbortSignal): Promise<void>;
  /** Called when its session is no longer used. */
  release(sessionId: string): Promise<void>;
}

/**
 * The tool with which an agent delegates a task to a sub-agent; the answer is limited like any tool output.
 */
export function subAgentTool(host: SubAgentHost): AgentTool {
  const { subAgents } = host;
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
      return run(subAgent, textOf(task), host, signal);
    },
  };
}

async function run(
  subAgent: SubAgent,
  task: string,
  host: SubAgentHost,
  signal: AbortSignal,
): Promise<string> {
  const { name } = subAgent;
  const session = createAgentSession({ id: host.newSessionId(subAgent) });
  const { ports, spent } = host.portsFor(subAgent, session);
  const started = host.clock();
  host.emit({ type: "subAgentStarted", name, sessionId: session.id, task });
  let end: TurnEnd = "failed";
  try {
    const content = injectRuntimeContext(task, await preamble(subAgent, task, host));
    const result = await runTurn({ role: "user", content: [{ type: "text", text: content }] }, ports, signal);
    end = result.end;
    await host.ended(subAgent, session.id, result.text, signal);
    return answerOf(name, result);
  } finally {
    await host.release(session.id);
    const elapsedMs = host.clock() - started;
    host.emit({ type: "subAgentEnded", name, sessionId: session.id, end, spent: spent(), elapsedMs });
  }
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

/**
 * The answer; if there is none, throws with the cause and the last text, so that the parent sees a failed
 * call.
 */
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
  { contextMode, memory: scope }: SubAgent,
  task: string,
  host: Pick<SubAgentHost, "memory" | "channelDir" | "emit">,
): Promise<string> {
  if (contextMode === "isolated" || scope === "none") return "";
  const most = PREAMBLE[scope];
  const session = scope === "relevant" ? "" : await sessionText(host, scope === "session" ? most : most / 2);
  const room = most - session.length;
  const sources = session === "" ? undefined : BESIDE_SESSION;
  const found =
    scope === "session" ? undefined : await host.memory?.recall(task, { maxChars: room, sources });
  const blocks = [session, found?.renderedText ?? ""].filter((block) => block !== "");
  return blocks.join("\n");
}

async function sessionText(
  { channelDir, memory, emit }: Pick<SubAgentHost, "memory" | "channelDir" | "emit">,
  most: number,
): Promise<string> {
  if (channelDir === undefined) return "";
  try {
    await checkUser(channelDir, memory?.user);
  } catch (error) {
    emit({ type: "warning", diagnostic: diagnosticOf(error, "memory-failed") });
    return "";
  }
  const text = escapeRuntimeTags(
    (await readChannelSession(channelDir)).replace(/<!--[\s\S]*?-->/g, "").trim(),
  );
  const frame = renderRuntimeContext("x").length - 1;
  const room = Math.floor(most) - frame;
  const cut = text.length <= room ? text : `${text.slice(0, room - 2)} …`;
  const isTemplate = cut.split("\n").every((line) => line.trim() === "" || line.startsWith("#"));
  return isTemplate ? "" : renderRuntimeContext(cut);
}
