import { type EntryList, type ReadList, readList } from "./entries.ts";
import {
  defined,
  documentChunks,
  isRecord,
  type JsonRecord,
  layoutOf,
  listOf,
  recordOf,
  stringOf,
  textOf,
} from "./json.ts";
import type { DocumentFormat, ReadLog, Session } from "./transcript.ts";

interface ChatContainer {
  readonly value: JsonRecord;
  readonly text: string;
  readonly log: ReadLog;
}

/** A container around a list of chat messages: only the list is replaced when it is written. */
function chatSession(
  format: DocumentFormat["format"],
  { value, text, log }: ChatContainer,
  list: Omit<EntryList, "format">,
  replace: (entries: readonly unknown[]) => unknown,
): Session {
  const read: ReadList = readList({ format: "openai-chat", ...list }, log);
  const layout = layoutOf(text);
  return {
    format,
    list: "openai-chat",
    segments: read.segments,
    usage: read.usage,
    leftOut: log.leftOut(),
    sessionId: stringOf(value.id) ?? stringOf(value.session_id),
    write: (compacted) => ({
      mode: "replace",
      chunks: documentChunks(replace(read.encode(compacted.messages)), layout),
    }),
  };
}

/** tau-bench's results: one run, or the list of runs of which the first is read. */
export const tauBench: DocumentFormat = {
  format: "tau-bench",
  recognises: (value) => Array.isArray(recordOf(firstOf(value)).traj),
  read({ value, text }, log) {
    const run = recordOf(firstOf(value));
    const others = Array.isArray(value) ? value.slice(1) : [];
    log.leaveOut("other run", others.length);
    const list = { entries: listOf(run.traj), path: "traj" };
    return chatSession("tau-bench", { value: run, text, log }, list, (traj) => {
      const changed = { ...run, traj };
      return Array.isArray(value) ? [changed, ...others] : changed;
    });
  },
};

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

/** tau2-bench: the simulated user calls tools too, which are none of the agent's. */
export const tau2Bench: DocumentFormat = {
  format: "tau2-bench",
  recognises: (value) => tau2Simulation(value) !== undefined,
  read({ value, text }, log) {
    const container = recordOf(value);
    const simulations = listOf(container.simulations);
    log.leaveOut("other run", Math.max(0, simulations.length - 1));
    const run = tau2Simulation(value) ?? {};
    const list: Omit<EntryList, "format"> = {
      entries: listOf(run.messages),
      path: "messages",
      translate: withoutUserTools,
      usage: { source: "openai-chat", of: (entry) => recordOf(entry).usage },
    };
    const session = chatSession("tau2-bench", { value: run, text, log }, list, (messages) => {
      const changed = { ...run, messages };
      return run === container ? changed : { ...container, simulations: [changed, ...simulations.slice(1)] };
    });
    const policy = run.policy ?? recordOf(recordOf(container.info).environment_info).policy;
    return { ...session, system: stringOf(policy) ?? session.system };
  },
};

function tau2Simulation(value: unknown): JsonRecord | undefined {
  if (!isRecord(value)) return undefined;
  const run = Array.isArray(value.simulations) ? recordOf(value.simulations[0]) : value;
  const isRun =
    Array.isArray(run.messages) && "task_id" in run && ("reward_info" in run || "termination_reason" in run);
  return isRun ? run : undefined;
}

/** What the user's own tools did is part of what the user experienced, told as text. */
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
export const agentDojo: DocumentFormat = {
  format: "agentdojo",
  recognises: (value) => {
    const container = recordOf(value);
    return Array.isArray(container.messages) && dojoFacts(container) !== undefined;
  },
  read({ value, text }, log) {
    const container = recordOf(value);
    const list = { entries: listOf(container.messages), path: "messages", translate: dojoEntry };
    return chatSession("agentdojo", { value: container, text, log }, list, (messages) => ({
      ...container,
      messages,
    }));
  },
};

function dojoFacts(container: JsonRecord): JsonRecord | undefined {
  return [container, recordOf(container.metadata)].find(
    (facts) => typeof facts.suite_name === "string" && "user_task_id" in facts,
  );
}

/** Ids can be null, and errors stand beside an empty content. */
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

/** Inspect's evaluation logs; the first sample is read, long strings are looked up among its attachments. */
export const inspectAi: DocumentFormat = {
  format: "inspect-ai",
  recognises: (value) => isRecord(value) && isRecord(value.eval) && Array.isArray(value.samples),
  read({ value, text }, log) {
    const container = recordOf(value);
    const samples = listOf(container.samples);
    log.leaveOut("other sample", Math.max(0, samples.length - 1));
    const sample = recordOf(samples[0]);
    const attachments = recordOf(sample.attachments);
    const list = {
      entries: listOf(sample.messages),
      path: "samples[0].messages",
      translate: (entry: unknown) => inspectEntry(resolved(entry, attachments)),
    };
    const session = chatSession("inspect-ai", { value: sample, text, log }, list, (messages) => ({
      ...container,
      samples: [{ ...sample, messages }, ...samples.slice(1)],
    }));
    return { ...session, model: stringOf(recordOf(container.eval).model) ?? session.model };
  },
};

/** The value with every `attachment://hash` replaced by what it stands for; itself when there is none. */
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
  if (!Array.isArray(content) || !content.some(isForeign)) return entry;
  const thoughts = content.flatMap((block: unknown) => stringOf(recordOf(block).reasoning) ?? []);
  const blocks = content.filter((block: unknown) => recordOf(block).type !== "reasoning").map(inspectBlock);
  return {
    ...message,
    ...defined({ reasoning_content: thoughts.length > 0 ? thoughts.join("\n") : undefined }),
    content: blocks,
  };
}

function isForeign(block: unknown): boolean {
  const type = recordOf(block).type;
  return type === "image" || type === "reasoning";
}

function inspectBlock(block: unknown): unknown {
  const { type, image, detail } = recordOf(block);
  return type === "image" ? { type: "image_url", image_url: defined({ url: image, detail }) } : block;
}

/** OpenHands SDK's log of one model call: the request's messages and the response. */
export const openHands: DocumentFormat = {
  format: "openhands-sdk",
  recognises: (value) =>
    isRecord(value) && Array.isArray(value.messages) && Array.isArray(recordOf(value.response).choices),
  read({ value, text }, log) {
    const container = recordOf(value);
    const response = recordOf(container.response);
    const answer = recordOf(listOf(response.choices)[0]).message;
    const list: Omit<EntryList, "format"> = {
      entries: [...listOf(container.messages), ...(isRecord(answer) ? [answer] : [])],
      path: "messages",
      usage: { source: "openai-chat", of: (entry) => (entry === answer ? response.usage : undefined) },
    };
    const session = chatSession("openhands-sdk", { value: container, text, log }, list, (entries) => {
      if (entries.at(-1) === answer) return { ...container, messages: entries.slice(0, -1) };
      return { ...container, messages: entries, response: { ...response, choices: [] } };
    });
    return {
      ...session,
      model: stringOf(response.model) ?? session.model,
      tools: Array.isArray(container.tools) ? container.tools : session.tools,
    };
  },
};
