import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type Agent,
  type AgentEvent,
  type AgentModel,
  type AgentModelRequest,
  type AgentOptions,
  type AgentTool,
  createAgent,
} from "../../packages/compact-context/src/agent/index.ts";
import type { ScriptedAnswer } from "../../packages/compact-context/src/agent/scripted.ts";
import { createScriptedModel } from "../../packages/compact-context/src/agent/scripted.ts";
import { lint } from "../../packages/compact-context/src/lint/index.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";

export type Event<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** A folder that is removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "compact-agents-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An in-memory agent that records every request and checks each against the provider rules. */
export async function agentWith(
  answer: (request: AgentModelRequest, number: number) => ScriptedAnswer | Promise<ScriptedAnswer>,
  options: Partial<AgentOptions> = {},
): Promise<{ agent: Agent; requests: AgentModelRequest[] }> {
  const requests: AgentModelRequest[] = [];
  const model = options.model ?? recording(answer, requests);
  const agent = await createAgent({
    config: { storage: { kind: "memory" } },
    managerPorts: { storage: createMemoryDriver(), onWarning: () => undefined },
    sleep: async () => undefined,
    ...options,
    model,
  });
  onTestFinished(() => agent.close());
  return { agent, requests };
}

function recording(
  answer: (request: AgentModelRequest, number: number) => ScriptedAnswer | Promise<ScriptedAnswer>,
  requests: AgentModelRequest[],
): AgentModel {
  return createScriptedModel((request, number) => {
    requests.push(request);
    const broken = lint(request.messages, "ai-sdk").filter(({ severity }) => severity === "error");
    if (broken.length > 0) throw new Error(`refused: ${JSON.stringify(broken[0])}`);
    return answer(request, number);
  });
}

export async function play(agent: Agent, text: string, signal?: AbortSignal): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.send(text, signal === undefined ? {} : { signal })) events.push(event);
  return events;
}

export function eventsOf<T extends AgentEvent["type"]>(events: readonly AgentEvent[], type: T): Event<T>[] {
  return events.filter((event): event is Event<T> => event.type === type);
}

export function endOf(events: readonly AgentEvent[]): Event<"ended"> | undefined {
  return eventsOf(events, "ended").at(-1);
}

export const tool = (
  name: string,
  execute: AgentTool["execute"],
  more: Partial<AgentTool> = {},
): AgentTool => ({
  name,
  description: `The tool ${name}.`,
  schema: { type: "object", properties: {} },
  execute,
  ...more,
});

/** The text of the newest tool results in a request. */
export function resultsIn({ messages }: Pick<AgentModelRequest, "messages">): string[] {
  const last = messages.findLast(({ role }) => role === "tool");
  return last?.role === "tool" ? last.content.map(({ output }) => output.value) : [];
}
