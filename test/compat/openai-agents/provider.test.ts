import { afterAll, describe, expect, it } from "vitest";
import { compactInputFilter } from "../../../packages/compact-context/src/adapters/openai-agents/index.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { formatTools, recallTools } from "../../../packages/compact-context/src/recall/index.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import { type Stub, startStub } from "../../stubs/server.ts";
import { ask, createProvider, FACTS, question, survey, TURNS, WINDOW } from "../scripted-agent.ts";
import { loadSdk, type Sdk } from "./sdk.ts";

const sdk = (await loadSdk("@openai/agents")) as Sdk;

/** The stub answers as the script does, and refuses and bills by OpenAI's own rules. */
async function startProvider(): Promise<Stub> {
  const provider = createProvider({
    format: "openai-responses",
    recall: (query) => ({ name: "compact_search", args: { query: `"${query}"` } }),
  });
  return startStub({
    window: WINDOW,
    maxOutput: 1_000,
    answers: ({ body }) => {
      const { text, calls } = provider.answer(body.input as unknown[], String(body.instructions));
      return { text, toolCalls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })) };
    },
  });
}

describe.skipIf(sdk === undefined)("the Agents SDK over OpenAI's protocol", () => {
  const stubs: Stub[] = [];
  afterAll(async () => {
    for (const stub of stubs) await stub.close();
  });

  it("INT-1 runs three windows of talk without a refusal, mostly from the prompt cache, every fact found", async () => {
    const stub = await startProvider();
    stubs.push(stub);
    const manager = new CompactManager(
      { model: "gpt-4o", maxContextTokens: WINDOW, policy: { keepRecentTurns: 2, keepToolIoPairs: 2 } },
      { storage: createMemoryDriver(), onWarning: () => undefined },
    );
    let rounds = 0;
    manager.onCompaction(() => {
      rounds += 1;
    });
    const runner = new sdk.Runner({
      modelProvider: new sdk.OpenAIProvider({ apiKey: "test", baseURL: stub.openAiUrl, useResponses: true }),
      callModelInputFilter: compactInputFilter({ manager, sessionId: "wire" }),
      tracingDisabled: true,
    });
    const tool = sdk.tool({
      name: "survey",
      description: "Looks at a quay.",
      strict: true,
      parameters: {
        type: "object",
        properties: { quay: { type: "number" }, part: { type: "number" } },
        required: ["quay", "part"],
        additionalProperties: false,
      },
      execute: async (args: { quay: number; part: number }) => survey(args),
    });
    const agent = new sdk.Agent({
      name: "surveyor",
      instructions: "You survey quays and answer briefly.",
      model: "gpt-4o",
      tools: [tool, ...formatTools(recallTools(manager, "wire"), "openai-agents")],
    });
    const session = new sdk.MemorySession({ sessionId: "wire" });
    for (let turn = 1; turn <= TURNS; turn += 1) await runner.run(agent, ask(turn), { session });
    const answers: string[] = [];
    for (const fact of FACTS)
      answers.push(String((await runner.run(agent, question(fact), { session })).finalOutput));
    expect(answers).toEqual(FACTS.map(({ value }) => `It is ${value} long.`));
    expect(rounds).toBeGreaterThanOrEqual(4);
    expect(stub.requests.filter(({ rejection }) => rejection !== undefined)).toEqual([]);
    const total = (pick: "input" | "cacheRead"): number =>
      stub.requests.reduce((sum, { usage }) => sum + (usage?.[pick] ?? 0), 0);
    expect(total("cacheRead") / total("input")).toBeGreaterThan(0.4);
  });
});
