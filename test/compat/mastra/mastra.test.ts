import { describe, expect, it } from "vitest";
import { compactProcessor } from "../../../packages/compact-context/src/adapters/mastra/index.ts";
import { formatTools, recallTools } from "../../../packages/compact-context/src/recall/index.ts";
import {
  ANSWERS,
  createProvider,
  createWatched,
  interview,
  type Reply,
  survey,
  WINDOW,
} from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: the SDK is loaded at run time
type Loose = any;

async function load(): Promise<{ Agent: Loose; createTool: Loose; MockMemory: Loose } | undefined> {
  try {
    const names = ["@mastra/core/agent", "@mastra/core/tools", "@mastra/core/memory"];
    const [agent, tools, memory] = await Promise.all(names.map((name) => import(name)));
    return { ...agent, ...tools, ...memory };
  } catch {
    return undefined;
  }
}

const mastra = (await load()) as NonNullable<Awaited<ReturnType<typeof load>>>;

/** A language model of the AI SDK that the scripted provider speaks for. */
function scriptedModel(respond: (prompt: unknown[]) => Reply): object {
  const usage = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
  const answer = (prompt: unknown[]) => {
    const { text, calls } = respond(prompt);
    return { text, calls, finishReason: calls.length > 0 ? "tool-calls" : "stop" };
  };
  const callOf = ({ id, name, args }: Reply["calls"][number]): object => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: JSON.stringify(args),
  });
  return {
    specificationVersion: "v2",
    provider: "scripted",
    modelId: "gpt-4o",
    supportedUrls: {},
    doGenerate: async ({ prompt }: { prompt: unknown[] }) => {
      const { text, calls, finishReason } = answer(prompt);
      return { content: [{ type: "text", text }, ...calls.map(callOf)], finishReason, usage, warnings: [] };
    },
    doStream: async ({ prompt }: { prompt: unknown[] }) => {
      const { text, calls, finishReason } = answer(prompt);
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: text },
        { type: "text-end", id: "t" },
        ...calls.map(callOf),
        { type: "finish", finishReason, usage },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  };
}

describe.skipIf(mastra === undefined)("compactProcessor in Mastra", () => {
  it("INT-3 carries a thread over three windows, every fact in context or recalled, the memory complete", async () => {
    const { manager, compactions } = createWatched();
    const provider = createProvider({
      format: "ai-sdk",
      recall: (query) => ({ name: "compact_search", args: { query } }),
    });
    const memory = new mastra.MockMemory();
    const agent = new mastra.Agent({
      id: "surveyor",
      name: "surveyor",
      instructions: "You survey quays and answer briefly.",
      model: scriptedModel((prompt) => provider.answer(prompt)),
      memory,
      inputProcessors: [compactProcessor({ manager })],
      tools: {
        survey: {
          id: "survey",
          description: "Looks at a quay.",
          parameters: {
            type: "object",
            properties: { quay: { type: "number" }, part: { type: "number" } },
            required: ["quay", "part"],
          },
          execute: async (args: { quay: number; part: number }) => survey(args),
        },
        ...formatTools(recallTools(manager, "one"), "ai-sdk"),
      },
    });
    const answers = await interview(async (text) => {
      const result = await agent.generate(text, {
        memory: { thread: "one", resource: "somebody", options: { lastMessages: 1_000 } },
        maxSteps: 6,
      });
      if (result.error !== undefined) throw result.error;
      return result.text;
    });
    expect(answers).toEqual(ANSWERS);
    expect(compactions()).toBeGreaterThanOrEqual(4);
    expect(provider.figures.largest).toBeLessThanOrEqual(WINDOW);
    const { messages } = await memory.recall({ threadId: "one", perPage: false });
    expect(JSON.stringify(messages)).not.toContain("COMPACT-SUMMARY");
    expect(messages.filter((message: Loose) => message.role === "user")).toHaveLength(34);
  });
});
