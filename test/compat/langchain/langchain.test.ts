import { describe, expect, it } from "vitest";
import {
  compactMiddleware,
  type MiddlewareOptions,
} from "../../../packages/compact-context/src/adapters/langchain/index.ts";
import type { StorageDriver } from "../../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { formatTools, recallTools } from "../../../packages/compact-context/src/recall/index.ts";
import { createRedactor } from "../../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../../packages/compact-context/src/search/archive.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import {
  ask,
  createProvider,
  FACTS,
  type Provider,
  question,
  survey,
  TURNS,
  WINDOW,
} from "../scripted-agent.ts";
import { chatModel, playedBy, type Respond } from "./chat-model.ts";
import { load, type Modules } from "./load.ts";
import { load as loadOldest } from "./oldest/load.ts";

const VERSIONS = [
  { version: "1.5", load },
  { version: "1.0", load: loadOldest },
];

// biome-ignore lint/suspicious/noExplicitAny: LangChain's classes are loaded at run time
type Loose = any;

function createManager(storage: StorageDriver, ports: object = {}): CompactManager {
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens: WINDOW, policy: { keepRecentTurns: 2, keepToolIoPairs: 2 } },
    { storage, onWarning: () => undefined, ...ports },
  );
}

function surveyTool({ langchain }: Modules): unknown {
  return langchain.tool(async (args: { quay: number; part: number }) => survey(args), {
    name: "survey",
    description: "Looks at a quay.",
    schema: {
      type: "object",
      properties: { quay: { type: "number" }, part: { type: "number" } },
      required: ["quay", "part"],
    },
  });
}

interface Stage {
  readonly driver: StorageDriver;
  readonly provider: Provider;
  readonly checkpointer: unknown;
  agent(options: MiddlewareOptions & { readonly manager: CompactManager }): Loose;
}

function stage(modules: Modules, sessionId: string): Stage {
  const driver = createMemoryDriver();
  const provider = createProvider({
    format: "langchain",
    recall: (query) => ({ name: "compact_search", args: { query: `"${query}"` } }),
  });
  const checkpointer = new modules.graph.MemorySaver();
  const model = chatModel(modules, playedBy(provider));
  const tool = surveyTool(modules);
  const agent: Stage["agent"] = (options) =>
    modules.langchain.createAgent({
      model,
      tools: [tool, ...formatTools(recallTools(options.manager, sessionId), "langchain")],
      systemPrompt: "You survey quays and answer briefly.",
      middleware: [compactMiddleware(options)],
      checkpointer,
    });
  return { driver, provider, checkpointer, agent };
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;

const typeOf = (message: unknown): string => (message as { getType(): string }).getType();
const contentOf = (message: unknown): string => JSON.stringify((message as { content: unknown }).content);

describe.each(VERSIONS)("LangChain $version", async ({ version, load: loadVersion }) => {
  const modules = (await loadVersion()) as Modules;
  const here = describe.skipIf(modules === undefined);
  /** What one version is enough for. */
  const onNewest = (name: string, run: () => Promise<void>): void => {
    if (version === "1.5") it(name, run);
  };

  const history = (): unknown[] =>
    Array.from({ length: 10 }, (_, index) => [
      new modules.core.HumanMessage({ id: `h${index}`, content: long(`ask ${index}`) }),
      new modules.core.AIMessage({ id: `a${index}`, content: long(`answer ${index}`) }),
    ]).flat();

  /** An agent with no tools; `seen` is what its model was given. */
  function simple(
    options: MiddlewareOptions,
    more: object = {},
  ): { readonly agent: Loose; readonly seen: (readonly unknown[])[] } {
    const seen: (readonly unknown[])[] = [];
    const respond: Respond = (messages) => {
      seen.push(messages);
      return { text: "fine", calls: [] };
    };
    const agent = modules.langchain.createAgent({
      model: chatModel(modules, respond),
      tools: [],
      middleware: [compactMiddleware(options)],
      ...more,
    });
    return { agent, seen };
  }

  const expected = FACTS.map(({ value }) => `It is ${value} long.`);

  async function play(
    provider: Provider,
    invoke: (text: string) => Promise<{ messages: unknown[] }>,
  ): Promise<{ answers: unknown[]; messages: unknown[] }> {
    for (let turn = 1; turn <= TURNS; turn += 1) await invoke(ask(turn));
    expect(provider.figures.calls).toBe(TURNS * 3);
    const answers: unknown[] = [];
    let messages: unknown[] = [];
    for (const fact of FACTS) {
      messages = (await invoke(question(fact))).messages;
      answers.push((messages.at(-1) as { content: unknown }).content);
    }
    return { answers, messages };
  }

  here("compactMiddleware", () => {
    it("INT-3 carries an agent over three windows, every fact in context or recalled, the state complete", async () => {
      const scene = stage(modules, "harbour");
      const manager = createManager(scene.driver);
      let rounds = 0;
      manager.onCompaction(() => {
        rounds += 1;
      });
      const agent = scene.agent({ manager, sessionId: "harbour" });
      const config = { configurable: { thread_id: "harbour" } };
      const { answers, messages } = await play(scene.provider, (text) =>
        agent.invoke({ messages: [{ role: "user", content: text }] }, config),
      );
      expect(answers).toEqual(expected);
      expect(rounds).toBeGreaterThanOrEqual(4);
      expect(messages.filter((message) => typeOf(message) === "human")).toHaveLength(TURNS + FACTS.length);
      expect(messages.filter((message) => contentOf(message).includes("COMPACT-SUMMARY"))).toEqual([]);
      expect(messages.filter((message) => contentOf(message).includes("[cleared"))).toEqual([]);
      const { largest, read, cached } = scene.provider.figures;
      expect(largest).toBeLessThanOrEqual(WINDOW);
      expect(cached / read).toBeGreaterThan(0.5);
    });

    onNewest(
      "INT-3 `persist` keeps the state itself small, in new processes too, every fact recalled",
      async () => {
        const scene = stage(modules, "kept");
        let rounds = 0;
        const config = { configurable: { thread_id: "kept" } };
        const { answers, messages } = await play(scene.provider, (text) => {
          const manager = createManager(scene.driver);
          manager.onCompaction(() => {
            rounds += 1;
          });
          const agent = scene.agent({ manager, sessionId: "kept", persist: true });
          return agent.invoke({ messages: [{ role: "user", content: text }] }, config);
        });
        expect(answers).toEqual(expected);
        expect(rounds).toBeGreaterThanOrEqual(4);
        expect(rounds).toBeLessThanOrEqual(14);
        expect(messages.length).toBeLessThan(80);
        const summaries = messages.filter((message) => contentOf(message).includes("<COMPACT-SUMMARY"));
        expect(summaries).toHaveLength(1);
        expect(summaries[0]).toMatchObject({ additional_kwargs: { lc_source: "summarization" } });
      },
    );

    it("INT-4 hands the model the agent's own message objects, and a list that fits untouched", async () => {
      const manager = createManager(createMemoryDriver());
      const { wrapModelCall } = compactMiddleware({ manager, sessionId: "own" });
      const small = { messages: [new modules.core.HumanMessage("hello")] };
      expect(await wrapModelCall(small, async (request) => request)).toBe(small);
      const messages = [...history(), new modules.core.HumanMessage("and now?")];
      const before = JSON.stringify(messages);
      const sent = await wrapModelCall({ messages }, async (request) => request.messages);
      expect(sent.length).toBeLessThan(messages.length);
      expect(sent.at(-1)).toBe(messages.at(-1));
      const made = sent.filter((message) => !messages.includes(message));
      expect(made).toHaveLength(1);
      expect(made[0]).toBeInstanceOf(modules.core.HumanMessage);
      expect(JSON.stringify(messages)).toBe(before);
    });

    it("tells conversations apart where nobody names them", async () => {
      const driver = createMemoryDriver();
      const manager = createManager(driver);
      const { agent, seen } = simple({ manager });
      await Promise.all(
        ["crimson", "azure"].map((colour) => {
          const first = new modules.core.HumanMessage({ id: colour, content: `${colour} first` });
          return agent.invoke({
            messages: [first, ...history(), { role: "user", content: `${colour} now` }],
          });
        }),
      );
      expect(seen).toHaveLength(2);
      for (const messages of seen) {
        const text = messages.map(contentOf).join();
        expect(text).toContain("COMPACT-SUMMARY");
        expect(text.includes("crimson")).not.toBe(text.includes("azure"));
      }
      const sessions = await createArchive(driver, { redact: createRedactor() }).sessions();
      expect(sessions).toHaveLength(2);
    });

    it("follows a fork to an earlier checkpoint, and back", async () => {
      const manager = createManager(createMemoryDriver());
      const checkpointer = new modules.graph.MemorySaver();
      const { agent, seen } = simple({ manager, sessionId: "fork" }, { checkpointer });
      const config = { configurable: { thread_id: "fork" } };
      await agent.invoke({ messages: history().slice(0, 8) }, config);
      const early = (await agent.getState(config)).config;
      await agent.invoke({ messages: history().slice(8) }, config);
      expect(seen.at(-1)?.map(contentOf).join()).toContain("COMPACT-SUMMARY");
      await agent.invoke({ messages: [{ role: "user", content: "another way" }] }, early);
      const forked = seen.at(-1)?.map(contentOf).join();
      expect(forked).not.toContain("answer 9");
      expect(forked).toContain("ask 0");
      expect(forked).toContain("another way");
    });

    it("streams as before", async () => {
      const manager = createManager(createMemoryDriver());
      const { agent, seen } = simple({ manager, sessionId: "stream" });
      const stream = await agent.stream(
        { messages: [...history(), { role: "user", content: "now" }] },
        { streamMode: "updates" },
      );
      const chunks: unknown[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      expect(JSON.stringify(chunks)).toContain("fine");
      expect(seen[0]?.map(contentOf).join()).toContain("COMPACT-SUMMARY");
    });

    it("goes on with the list as it is when the archive fails and the list fits, and says so once", async () => {
      const warnings: string[] = [];
      const storage = { ...createMemoryDriver(), get: () => Promise.reject(new Error("no such disk")) };
      const manager = createManager(storage, { onWarning: (warning: string) => warnings.push(warning) });
      const { agent, seen } = simple({ manager, sessionId: "broken" });
      await agent.invoke({ messages: [...history().slice(0, 14), { role: "user", content: "now" }] });
      expect(seen[0]).toHaveLength(15);
      expect(warnings.filter((warning) => warning.includes("no such disk"))).toHaveLength(1);
      const over = [...history(), ...history().map((one) => ({ role: "user", content: contentOf(one) }))];
      await expect(agent.invoke({ messages: over })).rejects.toMatchObject({
        cause: { hint: expect.stringMatching(/\w/) },
      });
    });

    it("asks for a name where the state is rewritten and nobody gives one", async () => {
      const manager = createManager(createMemoryDriver());
      const { beforeModel } = compactMiddleware({ manager, persist: true });
      await expect(beforeModel?.({ messages: history() }, {})).rejects.toMatchObject({
        code: "InvalidArgument",
        hint: expect.stringContaining("thread_id"),
      });
    });
  });
});
