import type { Message, Part } from "compact-context";
import { messageText, resultText, toolResults } from "compact-context/internal/core/message";
import { messagesFrom, type Reading, readableEntries, rebuildEntries, textPartsOf } from "./entries.ts";
import {
  defined,
  documentChunks,
  isRecord,
  type JsonRecord,
  layoutOf,
  listOf,
  numberOf,
  recordOf,
  stringOf,
} from "./json.ts";
import { singleSegment, usageRecord } from "./session.ts";
import type { DocumentFormat, ReadLog, Session, UsageRecord } from "./transcript.ts";

/** Moatless' search tree: a node holds a message, or an action with its observation. */
export const moatless: DocumentFormat = {
  format: "moatless",
  recognises: (value) =>
    isRecord(value) && Array.isArray(value.nodes) && value.nodes.some((node) => "node_id" in recordOf(node)),
  read: ({ value, text }, log) => readMoatless(recordOf(value), text, log),
};

function readMoatless(container: JsonRecord, text: string, log: ReadLog): Session {
  const nodes = readableEntries(listOf(container.nodes), "nodes", log).map(recordOf);
  const path = lastPath(nodes);
  log.leaveOut("abandoned branch", nodes.length - path.length);
  const segments = singleSegment(messagesFrom(path.flatMap(readNode)));
  const live = segments[0]?.messages ?? [];
  const layout = layoutOf(text);
  const agent = recordOf(container.agent);
  return {
    format: "moatless",
    segments,
    usage: usageOf(live),
    leftOut: log.leftOut(),
    system: stringOf(agent.system_prompt),
    model: stringOf(recordOf(agent.completion).model),
    write: (compacted) => ({
      mode: "replace",
      chunks: documentChunks(
        { ...container, nodes: chained(rebuildEntries(live, compacted.messages, writeNode)) },
        layout,
      ),
    }),
  };
}

/** From the newest node to the root: a search may have gone back to an earlier node. */
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
  const readings: Reading[] = [];
  const message = textPartsOf(node.message);
  if (message.length > 0) readings.push({ role: "user", parts: message, native: node, id: `${id}:message` });
  if (isRecord(node.action)) {
    readings.push({
      role: "assistant",
      parts: actionParts(node.action, id),
      native: node,
      id: `${id}:action`,
    });
  }
  const observation = recordOf(node.observation);
  const content = stringOf(observation.message);
  if (content !== undefined && content !== "") {
    const failed = observation.expect_correction === true;
    const part: Part = defined({ type: "toolResult", id, content, isError: failed || undefined });
    readings.push({ role: "tool", parts: [part], native: node, id: `${id}:observation` });
  }
  return readings;
}

function actionParts(action: JsonRecord, id: string): Part[] {
  const { scratch_pad: thought, action_args_class: kind, ...input } = action;
  const name = stringOf(kind)?.split(".").at(-1) ?? "action";
  return [...textPartsOf(thought), { type: "toolCall", id, name, arguments: input }];
}

function usageOf(messages: readonly Message[]): UsageRecord[] {
  return messages.flatMap((message, index) => {
    if (message.role !== "assistant") return [];
    const completion = recordOf(recordOf(recordOf(message.native).completions).build_action);
    const usage = recordOf(completion.usage);
    const record = usageRecord("openai-chat", usage, { segment: 0, index });
    if (record === undefined) return [];
    // The prompt count leaves out what came from the cache.
    const cached = typeof usage.cached_tokens === "number" ? usage.cached_tokens : 0;
    return [{ ...record, promptTokens: (record.promptTokens ?? 0) + cached }];
  });
}

/** What is said without an action becomes a message node. */
function writeNode(group: readonly Message[], original: JsonRecord | undefined): JsonRecord {
  const said = group
    .filter((message) => message.role !== "tool")
    .map(messageText)
    .join("\n");
  if (original === undefined) return { message: said };
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

/** Gives new nodes an id and makes every node the child of the one before it. */
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
