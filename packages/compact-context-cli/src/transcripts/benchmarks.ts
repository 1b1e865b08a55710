import type { Message, Part } from "compact-context";
import { callPart, resultPart } from "compact-context/internal/codecs/slots";
import {
  argumentsText,
  messageText,
  resultText,
  type ToolCallPart,
  toolCalls,
  toolResults,
} from "compact-context/internal/core/message";
import { type Body, documentFormat } from "./document.ts";
import { defined, isRecord, type JsonRecord, listOf, numberOf, recordOf, stringOf, textOf } from "./json.ts";
import { CHAT_USAGE, type DocumentFormat, type Reading, textParts } from "./transcript.ts";

// Session formats of benchmarks and published collections.

/** A container around a list of chat messages. */
function chatBody(run: JsonRecord, body: Omit<Body, "list"> & { translate?(entry: unknown): unknown }): Body {
  const { translate, ...rest } = body;
  const sessionId = stringOf(run.id) ?? stringOf(run.session_id);
  return { sessionId, ...rest, list: { codec: "openai-chat", translate } };
}

/** tau-bench's results: one run, or a list of runs, of which the first is read. */
export const tauBench: DocumentFormat = documentFormat(
  "tau-bench",
  (value) => Array.isArray(recordOf(firstOf(value)).traj),
  (_, log, value) => {
    const run = recordOf(firstOf(value));
    const others = Array.isArray(value) ? value.slice(1) : [];
    log.leaveOut("other run", others.length);
    return chatBody(run, {
      entries: listOf(run.traj),
      path: "traj",
      rebuild: (traj) => (Array.isArray(value) ? [{ ...run, traj }, ...others] : { ...run, traj }),
    });
  },
);

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

/** tau2-bench: the simulated user also calls tools; these are not the agent's. */
export const tau2Bench: DocumentFormat = documentFormat(
  "tau2-bench",
  (value) => tau2Simulation(value) !== undefined,
  (container, log) => {
    const simulations = listOf(container.simulations);
    log.leaveOut("other run", Math.max(0, simulations.length - 1));
    const run = tau2Simulation(container) ?? {};
    return chatBody(run, {
      entries: listOf(run.messages),
      path: "messages",
      translate: withoutUserTools,
      usage: [CHAT_USAGE, (entry) => recordOf(entry).usage],
      system: stringOf(run.policy ?? recordOf(recordOf(container.info).environment_info).policy),
      rebuild: (messages) =>
        run === container
          ? { ...run, messages }
          : { ...container, simulations: [{ ...run, messages }, ...simulations.slice(1)] },
    });
  },
);

function tau2Simulation(value: unknown): JsonRecord | undefined {
  if (!isRecord(value)) return undefined;
  const run = Array.isArray(value.simulations) ? recordOf(value.simulations[0]) : value;
  const isRun =
    Array.isArray(run.messages) && "task_id" in run && ("reward_info" in run || "termination_reason" in run);
  return isRun ? run : undefined;
}

/** Results of the user's own tools are part of the user's experience and become text. */
function withoutUserTools(entry: unknown): unknown {
  const message = recordOf(entry);
  if (message.role === "user" && Array.isArray(message.tool_calls)) {
    const { tool_calls: calls, ...rest } = message;
    return {
      ...rest,
      content: [textOf(message.content), JSON.stringify(calls)].filter(Boolean).join("\n"),
    };
  }
  if (message.role === "tool" && message.requestor === "user") {
    return { role: "user", content: textOf(message.content) };
  }
  return entry;
}

/** AgentDojo's run logs. */
export const agentDojo: DocumentFormat = documentFormat(
  "agentdojo",
  (value) =>
    Array.isArray(recordOf(value).messages) &&
    [recordOf(value), recordOf(recordOf(value).metadata)].some(
      (facts) => typeof facts.suite_name === "string" && "user_task_id" in facts,
    ),
  (container) =>
    chatBody(container, {
      entries: listOf(container.messages),
      path: "messages",
      translate: dojoEntry,
      rebuild: (messages) => ({ ...container, messages }),
    }),
);

/** Ids can be null, and errors can accompany an empty content. */
function dojoEntry(entry: unknown): unknown {
  const message = recordOf(entry);
  if (message.role !== "tool" || typeof message.error !== "string") return entry;
  return { ...message, content: [dojoText(message.content), message.error].filter(Boolean).join("\n") };
}

function dojoText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content
    .map((block: unknown) => stringOf(recordOf(block).content) ?? textOf(recordOf(block).text))
    .join("\n");
}

/** Inspect's evaluation logs; the first sample is read, long strings are looked up in its attachments. */
export const inspectAi: DocumentFormat = documentFormat(
  "inspect-ai",
  (value) => isRecord(value) && isRecord(value.eval) && Array.isArray(value.samples),
  (container, log) => {
    const samples = listOf(container.samples);
    log.leaveOut("other sample", Math.max(0, samples.length - 1));
    const sample = recordOf(samples[0]);
    const attachments = recordOf(sample.attachments);
    return chatBody(sample, {
      entries: listOf(sample.messages),
      path: "samples[0].messages",
      translate: (entry) => inspectEntry(resolved(entry, attachments)),
      model: stringOf(recordOf(container.eval).model),
      rebuild: (messages) => ({
        ...container,
        samples: [{ ...sample, messages }, ...samples.slice(1)],
      }),
    });
  },
);

/** The value with every `attachment://hash` resolved; the value itself if there is none. */
function resolved(value: unknown, attachments: JsonRecord): unknown {
  if (typeof value === "string") {
    if (!value.startsWith("attachment://")) return value;
    const key = value.slice("attachment://".length);
    return Object.hasOwn(attachments, key) ? attachments[key] : value;
  }
  if (Array.isArray(value)) {
    const list = value.map((item: unknown) => resolved(item, attachments));
    return list.some((item, index) => item !== value[index]) ? list : value;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, resolved(item, attachments)] as const);
  return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
}

/** Images and reasoning in the shape of chat messages. */
function inspectEntry(entry: unknown): unknown {
  const { content, ...message } = recordOf(entry);
  const failure = stringOf(recordOf(message.error).message);
  if (failure !== undefined)
    return { ...message, content: [textOf(content), failure].filter(Boolean).join("\n") };
  const blocks = listOf(content).map(recordOf);
  if (!blocks.some(({ type }) => type === "image" || type === "reasoning")) return entry;
  const thoughts = blocks.flatMap(({ reasoning }) => stringOf(reasoning) ?? []);
  return {
    ...message,
    ...defined({ reasoning_content: thoughts.length > 0 ? thoughts.join("\n") : undefined }),
    content: listOf(content)
      .filter((block) => recordOf(block).type !== "reasoning")
      .map(inspectBlock),
  };
}

function inspectBlock(block: unknown): unknown {
  const { type, image, detail } = recordOf(block);
  return type === "image" ? { type: "image_url", image_url: defined({ url: image, detail }) } : block;
}

/** OpenHands SDK's log of one model call: the request's messages and the response. */
export const openHands: DocumentFormat = documentFormat(
  "openhands-sdk",
  (value) =>
    isRecord(value) && Array.isArray(value.messages) && Array.isArray(recordOf(value.response).choices),
  (container) => {
    const response = recordOf(container.response);
    const answer = recordOf(listOf(response.choices)[0]).message;
    return chatBody(container, {
      entries: [...listOf(container.messages), ...(isRecord(answer) ? [answer] : [])],
      path: "messages",
      usage: [CHAT_USAGE, (entry) => (entry === answer ? response.usage : undefined)],
      model: stringOf(response.model),
      tools: Array.isArray(container.tools) ? container.tools : undefined,
      rebuild: (entries) =>
        entries.at(-1) === answer
          ? { ...container, messages: entries.slice(0, -1) }
          : { ...container, messages: entries, response: { ...response, choices: [] } },
    });
  },
);

/** The Who&When collection: agents that talk as equals, some of which only execute. */
export const whoAndWhen: DocumentFormat = documentFormat(
  "who-and-when",
  (value) =>
    isRecord(value) &&
    Array.isArray(value.history) &&
    !Array.isArray(value.trajectory) &&
    ["mistake_agent", "question", "is_correct", "is_corrected"].some((key) => key in value),
  (container) => {
    return {
      entries: listOf(container.history),
      path: "history",
      sessionId: stringOf(container.question_ID),
      manyAgents: true,
      list: {
        read(entries) {
          const said = entries.map(readSpeech);
          if (said.some(({ role }) => role === "user")) return said;
          // If no person speaks in the history, the task was given to the agents outside it.
          const parts = textParts(container.question);
          return [{ role: "user", parts, native: container, id: "question" }, ...said];
        },
        build: (group, original) => (original === container ? container : writeSpeech(group, original)),
      },
      rebuild(entries, messages) {
        const told = messages.find(({ native, edited }) => native === container && edited === true);
        const question = told === undefined ? container.question : messageText(told);
        return { ...container, question, history: entries.filter((entry) => entry !== container) };
      },
    };
  },
);

const EXECUTORS = /terminal|websurfer|filesurfer|executor|computer/i;
const PEOPLE = /^(human|user)$/i;

function speakerOf({ name, role }: JsonRecord): string {
  return stringOf(name) ?? stringOf(role) ?? "";
}

/** No agent calls another: an executor's message answers no call and stays text under its name. */
function readSpeech(entry: JsonRecord): Reading {
  const speaker = speakerOf(entry);
  const text = textOf(entry.content);
  const role = PEOPLE.test(speaker) ? "user" : "assistant";
  const isNamed = role === "assistant" && EXECUTORS.test(speaker);
  return { role, parts: textParts(isNamed ? `[${speaker}]\n${text}` : text), native: entry };
}

function writeSpeech(group: readonly Message[], original: JsonRecord | undefined): JsonRecord {
  const content = group
    .map((message) =>
      [messageText(message), ...toolResults(message).map(resultText)].filter(Boolean).join("\n"),
    )
    .join("\n");
  if (original === undefined) return { content, role: group[0]?.role === "user" ? "human" : "assistant" };
  const mark = `[${speakerOf(original)}]\n`;
  return { ...original, content: content.startsWith(mark) ? content.slice(mark.length) : content };
}

/** SWE-agent's `.traj`: the prompt history, and a trajectory with the same content in other words. */
export const sweAgent: DocumentFormat = documentFormat(
  "swe-agent",
  (value) => isRecord(value) && Array.isArray(value.trajectory) && Array.isArray(value.history),
  (container, log) => {
    let demos: readonly JsonRecord[] = [];
    return {
      entries: listOf(container.history),
      path: "history",
      list: {
        read(entries) {
          demos = entries.filter(isDemonstration);
          log.leaveOut("demonstration", demos.length);
          return readHistory(entries.filter((entry) => !isDemonstration(entry)));
        },
        build: writeAction,
      },
      rebuild(history) {
        const afterSystem = history.findIndex((entry) => recordOf(entry).role !== "system");
        const position = afterSystem < 0 ? history.length : afterSystem;
        return { ...container, history: history.toSpliced(position, 0, ...demos) };
      },
    };
  },
);

/** Solved examples before the work begins are skipped. */
function isDemonstration(entry: JsonRecord): boolean {
  return entry.is_demo === true || entry.isDemo === true || entry.agent === "demo";
}

/** Without function calling an action is plain text and the user message after it its observation. */
function readHistory(entries: readonly JsonRecord[]): Reading[] {
  let open: string | undefined;
  return entries.map((entry, index): Reading => {
    if (entry.role === "assistant") {
      const calls = actionsOf(entry, `action-${index}`);
      open = Array.isArray(entry.tool_calls) ? undefined : calls[0]?.id;
      const thought = stringOf(entry.thought) || piecesText(entry.content);
      return { role: "assistant", parts: [...textParts(thought), ...calls], native: entry };
    }
    const answered = stringOf(listOf(entry.tool_call_ids)[0]) ?? stringOf(entry.tool_call_id) ?? open;
    open = undefined;
    const content = piecesText(entry.content);
    if (entry.role === "tool" || (entry.role === "user" && answered !== undefined)) {
      return { role: "tool", parts: [resultPart(answered, content, false)], native: entry };
    }
    return { role: entry.role === "system" ? "system" : "user", parts: textParts(content), native: entry };
  });
}

function piecesText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content.map((piece: unknown) => stringOf(recordOf(piece).text) ?? textOf(piece)).join("\n");
}

function actionsOf(entry: JsonRecord, id: string): ToolCallPart[] {
  if (Array.isArray(entry.tool_calls)) {
    return entry.tool_calls.map(recordOf).map((call) => {
      const target = recordOf(call.function);
      return callPart(call.id ?? id, textOf(target.name), target.arguments ?? "");
    });
  }
  const action = stringOf(entry.action) ?? "";
  return action === "" ? [] : [callPart(id, "shell", action)];
}

function writeAction(group: readonly Message[], original: JsonRecord | undefined): JsonRecord {
  const [message] = group;
  const result = message === undefined ? undefined : toolResults(message)[0];
  const content = result === undefined ? group.map(messageText).join("\n") : resultText(result);
  if (original === undefined) {
    const role = message?.role ?? "user";
    return { role, content, agent: "main", message_type: role === "assistant" ? "action" : "observation" };
  }
  if (message?.role !== "assistant") return { ...original, content };
  const calls = toolCalls(message);
  return {
    ...original,
    content,
    thought: content,
    action: calls.length === 0 && "action" in original ? "" : original.action,
    tool_calls: Array.isArray(original.tool_calls)
      ? keptCalls(original.tool_calls, message)
      : original.tool_calls,
  };
}

function keptCalls(old: readonly unknown[], message: Message): unknown[] {
  const now = new Map(toolCalls(message).map((call) => [call.id, argumentsText(call)]));
  return old
    .map(recordOf)
    .filter((call) => now.has(String(call.id)))
    .map((call) => ({
      ...call,
      function: { ...recordOf(call.function), arguments: now.get(String(call.id)) },
    }));
}

/** Moatless' search tree: a node holds a message, or an action with its observation. */
export const moatless: DocumentFormat = documentFormat(
  "moatless",
  (value) =>
    isRecord(value) && Array.isArray(value.nodes) && value.nodes.some((node) => "node_id" in recordOf(node)),
  (container, log) => {
    const agent = recordOf(container.agent);
    return {
      entries: listOf(container.nodes),
      path: "nodes",
      system: stringOf(agent.system_prompt),
      model: stringOf(recordOf(agent.completion).model),
      usage: [MOATLESS_USAGE, (node) => recordOf(recordOf(recordOf(node).completions).build_action).usage],
      list: {
        read(nodes) {
          const path = lastPath(nodes);
          log.leaveOut("abandoned branch", nodes.length - path.length);
          return path.flatMap(readNode);
        },
        build: writeNode,
      },
      rebuild: (nodes) => ({ ...container, nodes: chained(nodes) }),
    };
  },
);

/** The prompt count excludes cached tokens. */
const MOATLESS_USAGE = ["prompt_tokens", "cached_tokens"];

/** From the newest node to the root: a search may have returned to an earlier node. */
function lastPath(nodes: readonly JsonRecord[]): readonly JsonRecord[] {
  const byId = new Map(nodes.map((node) => [node.node_id, node]));
  const path = new Set<JsonRecord>();
  for (let node = nodes.at(-1); node !== undefined && !path.has(node); node = byId.get(node.parent_id)) {
    path.add(node);
  }
  return nodes.filter((node) => path.has(node));
}

function readNode(node: JsonRecord): Reading[] {
  const id = `node-${String(node.node_id)}`;
  const { action } = node;
  const observation = recordOf(node.observation);
  const message = textParts(node.message);
  const content = stringOf(observation.message) ?? "";
  const readings: Reading[] = [];
  if (message.length > 0) readings.push({ role: "user", parts: message, native: node, id: `${id}:message` });
  if (isRecord(action))
    readings.push({ role: "assistant", parts: actionParts(action, id), native: node, id: `${id}:action` });
  if (content !== "") {
    const part = resultPart(id, content, observation.expect_correction === true);
    readings.push({ role: "tool", parts: [part], native: node, id: `${id}:observation` });
  }
  return readings;
}

function actionParts(action: JsonRecord, id: string): Part[] {
  const { scratch_pad: thought, action_args_class: kind, ...input } = action;
  const name = stringOf(kind)?.split(".").at(-1) ?? "action";
  return [...textParts(thought), callPart(id, name, input)];
}

/** Content without an action becomes a message node. */
function writeNode(group: readonly Message[], original: JsonRecord | undefined): JsonRecord {
  const said = group.filter(({ role }) => role !== "tool").map(messageText);
  if (original === undefined) return { message: said.join("\n") };
  const { message: _, action, observation, ...node } = original;
  const user = group.find((message) => message.role === "user");
  const assistant = group.find((message) => message.role === "assistant");
  const result = group.flatMap(toolResults)[0];
  return {
    ...node,
    message: user === undefined ? undefined : messageText(user),
    action: assistant === undefined ? undefined : withThought(recordOf(action), messageText(assistant)),
    observation: result === undefined ? undefined : { ...recordOf(observation), message: resultText(result) },
  };
}

function withThought(action: JsonRecord, thought: string): JsonRecord {
  return "scratch_pad" in action || thought !== "" ? { ...action, scratch_pad: thought } : action;
}

/** Assigns ids to new nodes and makes every node the child of the previous one. */
function chained(nodes: readonly unknown[]): JsonRecord[] {
  const records = nodes.map(recordOf);
  let next = records.reduce((most, node) => Math.max(most, numberOf(node.node_id) ?? -1), -1) + 1;
  let parent: unknown = null;
  return records.map((node) => {
    const id = "node_id" in node ? node.node_id : next++;
    const linked =
      node.parent_id === parent && "node_id" in node ? node : { ...node, node_id: id, parent_id: parent };
    parent = id;
    return linked;
  });
}
