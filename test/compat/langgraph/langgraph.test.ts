import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  createRecallNode,
  SummarizationNode,
  type SummarizationNodeOptions,
} from "../../../packages/compact-context/src/adapters/langgraph/index.ts";
import type { TextModel, TextModelRequest } from "../../../packages/compact-context/src/core/ports.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import { startServer } from "../../postgres/server.ts";
import { chatModel, playedBy } from "../langchain/chat-model.ts";
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
import { load, loadSaver, type Modules } from "./load.ts";
import { load as loadOldest } from "./oldest/load.ts";

// biome-ignore lint/suspicious/noExplicitAny: LangGraph's classes are loaded at run time
type Loose = any;

const VERSIONS = [
  { version: "1.7", load },
  { version: "0.2", load: loadOldest },
];

const LIMITS = { maxTokens: 5_000, maxSummaryTokens: 600 };

const folder = mkdtempSync(join(tmpdir(), "compact-langgraph-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sqlite = await loadSaver("sqlite");
const postgres = await loadSaver("postgres");
const server = postgres === undefined ? undefined : await startServer();
const opened: { end(): Promise<void> }[] = [];
afterAll(async () => {
  for (const saver of opened) await saver.end();
  server?.stop();
});

interface Saved {
  readonly name: string;
  readonly present: boolean;
  make(modules: Modules): Promise<unknown>;
}

const SAVERS: Saved[] = [
  { name: "MemorySaver", present: true, make: async ({ graph }) => new graph.MemorySaver() },
  {
    name: "SqliteSaver",
    present: sqlite !== undefined,
    make: async () => sqlite.SqliteSaver.fromConnString(join(folder, `${Math.random()}.db`)),
  },
  {
    name: "PostgresSaver",
    present: server !== undefined,
    make: async () => {
      const saver = postgres.PostgresSaver.fromConnString(server?.url);
      await saver.setup();
      opened.push(saver);
      return saver;
    },
  },
];

function stateOf({ graph }: Modules): Loose {
  const last = (make: () => unknown): Loose =>
    graph.Annotation({ reducer: (_: unknown, next: unknown) => next, default: make });
  return graph.Annotation.Root({
    ...graph.MessagesAnnotation.spec,
    context: last(() => ({})),
    summarized_messages: last(() => []),
  });
}

/** compact → model → (tools → compact)* */
function surveyGraph(
  modules: Modules,
  provider: Provider,
  node: { readonly options: SummarizationNodeOptions; saver: unknown },
): Loose {
  const { StateGraph, START, END } = modules.graph;
  const model = chatModel(modules, playedBy(provider)) as Loose;
  const compact = SummarizationNode(node.options);
  const output = node.options.outputMessagesKey ?? "summarized_messages";
  const calls = (state: Loose): Loose[] => state.messages.at(-1)?.tool_calls ?? [];
  return new StateGraph(stateOf(modules))
    .addNode("compact", compact)
    .addNode("model", async (state: Loose) => ({ messages: [await model.invoke(state[output])] }))
    .addNode("survey", (state: Loose) => ({
      messages: calls(state).map(
        ({ id, args }) =>
          new modules.core.ToolMessage({ tool_call_id: id, name: "survey", content: survey(args) }),
      ),
    }))
    .addNode("recall", createRecallNode({ source: compact }))
    .addEdge(START, "compact")
    .addEdge("compact", "model")
    .addConditionalEdges(
      "model",
      (state: Loose) =>
        calls(state).length === 0 ? END : calls(state)[0].name === "survey" ? "survey" : "recall",
      ["survey", "recall", END],
    )
    .addEdge("survey", "compact")
    .addEdge("recall", "compact")
    .compile({ checkpointer: node.saver });
}

function createScriptedProvider(): Provider {
  return createProvider({
    format: "langchain",
    recall: (query) => ({ name: "compact_search", args: { query: `"${query}"` } }),
  });
}

const contentOf = (message: unknown): string => JSON.stringify((message as { content: unknown }).content);
const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;

describe.each(VERSIONS)("LangGraph $version", async ({ version, load: loadVersion }) => {
  const modules = (await loadVersion()) as Modules;
  const here = describe.skipIf(modules === undefined);
  const newest = version === "1.7";
  /** What one version is enough for. */
  const onNewest = (name: string, run: () => Promise<void>): void => {
    if (newest) it(name, run);
  };

  async function play(
    provider: Provider,
    invoke: (text: string) => Promise<Loose>,
  ): Promise<{ readonly answers: unknown[]; readonly state: Loose }> {
    for (let turn = 1; turn <= TURNS; turn += 1) await invoke(ask(turn));
    expect(provider.figures.calls).toBe(TURNS * 3);
    const answers: unknown[] = [];
    let state: Loose;
    for (const fact of FACTS) {
      state = await invoke(question(fact));
      answers.push(state.messages.at(-1).content);
    }
    return { answers, state };
  }

  const expected = FACTS.map(({ value }) => `It is ${value} long.`);
  const config = (thread: string): object => ({ configurable: { thread_id: thread }, recursionLimit: 50 });
  const say = (content: string): object => ({ messages: [{ role: "user", content }] });

  /** Ten exchanges with ids, about 8,500 tokens. */
  const history = (from = 0): Loose[] =>
    Array.from({ length: 10 }, (_, index) => [
      new modules.core.HumanMessage({ id: `h${from + index}`, content: long(`ask ${from + index}`) }),
      new modules.core.AIMessage({ id: `a${from + index}`, content: long(`answer ${from + index}`) }),
    ]).flat();

  here("SummarizationNode", () => {
    onNewest(
      "INT-2 reads messages, writes summarized_messages, keeps context.running_summary; every fact found",
      async () => {
        const provider = createScriptedProvider();
        const storage = createMemoryDriver();
        const graph = surveyGraph(modules, provider, {
          options: { ...LIMITS, storage },
          saver: new modules.graph.MemorySaver(),
        });
        const { answers, state } = await play(provider, (text) => graph.invoke(say(text), config("apart")));
        expect(answers).toEqual(expected);
        const asked = state.messages.filter((message: Loose) => message.getType() === "human");
        expect(asked).toHaveLength(TURNS + FACTS.length);
        expect(state.messages.filter((message: Loose) => contentOf(message).includes("Summary of"))).toEqual(
          [],
        );
        const running = state.context.running_summary;
        expect(Array.isArray(running.summarizedMessageIds)).toBe(true);
        expect(new Set(running.summarizedMessageIds).size).toBe(running.summarizedMessageIds.length);
        expect(running.summarizedMessageIds).toContain(running.lastSummarizedMessageId);
        expect(provider.figures.largest).toBeLessThanOrEqual(WINDOW);
        expect(
          (
            await SummarizationNode({ ...LIMITS, storage })
              .recall("apart")
              .steps()
          ).length,
        ).toBeGreaterThanOrEqual(4);
        const { read, cached } = provider.figures;
        expect(cached / read).toBeGreaterThan(0.3);
      },
    );

    for (const { name, present, make } of newest ? SAVERS.slice(1) : SAVERS.slice(0, 1)) {
      it.skipIf(!present)(
        `INT-2 shrinks the state where the keys are equal, every fact found, with ${name}`,
        async () => {
          const saver = await make(modules);
          const thread = `equal-${Math.random()}`;
          const provider = createScriptedProvider();
          const storage = createMemoryDriver();
          const options = { ...LIMITS, outputMessagesKey: "messages" };
          const { answers, state } = await play(provider, (text) => {
            // A new process each time: all that lasts is the checkpointer and the storage.
            const graph = surveyGraph(modules, provider, { options: { ...options, storage }, saver });
            return graph.invoke(say(text), config(thread));
          });
          expect(answers).toEqual(expected);
          expect(state.messages.length).toBeLessThan(70);
          const summaries = state.messages.filter((message: Loose) =>
            contentOf(message).includes("Summary of"),
          );
          expect(summaries).toHaveLength(1);
          expect(summaries[0].getType()).toBe("system");
        },
      );
    }

    it("INT-2 emits the removal of all messages first where the keys are equal, and nothing while they fit", async () => {
      const node = SummarizationNode({
        ...LIMITS,
        inputMessagesKey: "messages",
        outputMessagesKey: "messages",
      });
      expect(await node.invoke({ messages: history().slice(0, 4) })).toEqual({});
      const { messages, context } = (await node.invoke({ messages: history() })) as Loose;
      expect(messages[0]).toEqual({
        type: "remove",
        id: modules.graph.REMOVE_ALL_MESSAGES ?? "__remove_all__",
      });
      expect(contentOf(messages[1])).toContain("Summary of the conversation so far");
      expect(context.running_summary.summarizedMessageIds).toContain("h0");
    });

    it("counts with the user's own counter and gives real messages back, summaries among them", async () => {
      const counted: Loose[] = [];
      const node = SummarizationNode({
        maxTokens: 10,
        maxSummaryTokens: 1,
        tokenCounter: async (messages: Loose[]) => {
          counted.push(...messages);
          return messages.filter((message) => message.getType() !== "remove").length;
        },
      });
      const { summarized_messages: list, context } = (await node.invoke({ messages: history() })) as Loose;
      expect(list.length).toBeLessThanOrEqual(10);
      expect(list.every((message: unknown) => modules.core.isBaseMessage(message))).toBe(true);
      expect(list[0].getType()).toBe("system");
      expect(list[0].toJSON().id.at(-1)).toBe("SystemMessage");
      expect(list[0].content).toContain(context.running_summary.summary);
      expect(counted.some((message) => message.id === list[0].id)).toBe(true);
      const [stored] = modules.core.mapChatMessagesToStoredMessages(list);
      expect(modules.core.mapStoredMessagesToChatMessages([stored])[0]).toBeInstanceOf(
        modules.core.SystemMessage,
      );
    });

    it("is the hook before the model of a prebuilt agent", async () => {
      const seen: (readonly unknown[])[] = [];
      const model = chatModel(modules, (messages) => {
        seen.push(messages);
        return { text: "fine", calls: [] };
      });
      const agent = modules.prebuilt.createReactAgent({
        llm: model,
        tools: [],
        preModelHook: SummarizationNode({ ...LIMITS, outputMessagesKey: "llmInputMessages" }),
        stateSchema: stateOf(modules),
      });
      const { messages, context } = await agent.invoke({ messages: history() });
      expect(contentOf(seen[0]?.[0])).toContain("Summary of the conversation so far");
      expect(messages).toHaveLength(21);
      expect(context.running_summary.summarizedMessageIds).toContain("h0");
    });

    it("INT-4 keeps the graph's own message objects", async () => {
      const messages = history();
      const { summarized_messages: list } = (await SummarizationNode(LIMITS)({ messages } as Loose)) as Loose;
      expect(list.length).toBeLessThan(messages.length);
      expect(list.slice(1).every((message: unknown) => messages.includes(message))).toBe(true);
      expect(list.at(-1)).toBe(messages.at(-1));
    });

    it("INT-2 is a Runnable: alone, in sequences, in batches, as a stream, with and without new", async () => {
      const node = new SummarizationNode(LIMITS);
      const { Runnable, RunnableLambda, RunnableSequence } = modules.runnables;
      expect(Runnable.isRunnable(node)).toBe(true);
      expect(Runnable.isRunnable(SummarizationNode(LIMITS))).toBe(true);
      const state = { messages: history() };
      const size = (update: Loose): number => update.summarized_messages.length;
      const alone = size(await node.invoke(state));
      expect(alone).toBeLessThan(20);
      expect(size(await node(state))).toBe(alone);
      expect((await node.batch([state, { messages: [] }])).map(size)).toEqual([alone, 0]);
      const chunks: Loose[] = [];
      for await (const chunk of (await node.stream(state)) as Loose) chunks.push(chunk);
      expect(chunks.map(size)).toEqual([alone]);
      const counted = RunnableLambda.from(size);
      expect(await RunnableSequence.from([node, counted]).invoke(state)).toBe(alone);
      expect(
        await RunnableLambda.from((given: unknown) => given)
          .pipe(node)
          .pipe(counted)
          .invoke(state),
      ).toBe(alone);
      expect(await node.pipe(counted).invoke(state)).toBe(alone);
      expect(node.getName()).toBe("summarization");
    });

    it("summarizes no message twice over rewinds and forks of the checkpoints", async () => {
      const asked: TextModelRequest[] = [];
      const model: TextModel = {
        name: "counting",
        generate: async (request) => {
          asked.push(request);
          return { text: `summary ${asked.length} of the talk about tides`, stop: "end" };
        },
      };
      const saver = new modules.graph.MemorySaver();
      const graph = new modules.graph.StateGraph(stateOf(modules))
        .addNode("compact", SummarizationNode({ ...LIMITS, model }))
        .addEdge(modules.graph.START, "compact")
        .addEdge("compact", modules.graph.END)
        .compile({ checkpointer: saver });
      await graph.invoke({ messages: history() }, config("fork"));
      const early = (await graph.getState(config("fork"))).config;
      expect(asked).toHaveLength(1);
      const main = await graph.invoke({ messages: history(10) }, config("fork"));
      expect(asked).toHaveLength(2);
      const other = new modules.core.HumanMessage({ id: "other", content: long("another way") });
      const forked = await graph.invoke({ messages: [other] }, early);
      expect(asked).toHaveLength(2);
      expect(contentOf(forked.summarized_messages[0])).toContain("summary 1 of");
      expect(forked.summarized_messages.at(-1).id).toBe("other");
      expect(forked.messages).toHaveLength(21);
      expect(main.context.running_summary.summary).toContain("summary 2 of");
      const texts = asked.map(({ messages }) => JSON.stringify(messages));
      expect(texts[0]).toContain("ask 0 ");
      expect(texts[1]).not.toContain("ask 0 ");
      expect(texts[1]).toContain("summary 1 of");
    });

    it("asks a chat model of LangChain, whose words do not reach the graph's message stream", async () => {
      const model = chatModel(modules, () => ({ text: "They spoke about tides.", calls: [] }));
      const graph = new modules.graph.StateGraph(stateOf(modules))
        .addNode("compact", SummarizationNode({ ...LIMITS, model: model as Loose }))
        .addEdge(modules.graph.START, "compact")
        .compile();
      const stream = await graph.stream({ messages: history() }, { streamMode: ["messages", "updates"] });
      const chunks: Loose[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      const updates = chunks.filter(([mode]) => mode === "updates");
      expect(JSON.stringify(updates)).toContain("They spoke about tides.");
      const streamed = chunks.filter(([mode]) => mode === "messages");
      expect(JSON.stringify(streamed.map(([, [chunk]]) => chunk.content))).not.toMatch(/^\["They spoke/);
    });

    it("goes on when the model fails, and when the archive does while the list fits", async () => {
      const warnings: string[] = [];
      const onWarning = (message: string): void => void warnings.push(message);
      const failing: TextModel = { name: "failing", generate: () => Promise.reject(new Error("no answer")) };
      const state = { messages: history() };
      const made = (await SummarizationNode({ ...LIMITS, model: failing, onWarning }).invoke(state)) as Loose;
      expect(contentOf(made.summarized_messages[0])).toContain("Summary of the conversation so far");
      expect(warnings.join()).toContain("no answer");

      const full = () => Promise.reject(new Error("disk full"));
      const storage = { ...createMemoryDriver(), append: full, put: full };
      const loose = { maxTokens: 12_000, maxTokensBeforeSummary: 4_000, storage, onWarning, sessionId: "s" };
      const passed = (await SummarizationNode(loose).invoke(state)) as Loose;
      expect(passed.summarized_messages).toBe(state.messages);
      expect(passed.context).toBeUndefined();
      expect(warnings.join()).toContain("disk full");
      await expect(SummarizationNode({ ...loose, onFailure: "throw" }).invoke(state)).rejects.toThrow(
        /disk full/,
      );
      await expect(SummarizationNode({ ...loose, maxTokens: 5_000 }).invoke(state)).rejects.toMatchObject({
        code: "InsufficientBudget",
        hint: expect.stringMatching(/\w/),
      });
    });

    it("says what is wrong with a state without messages and with limits that contradict each other", async () => {
      await expect(SummarizationNode(LIMITS).invoke({})).rejects.toMatchObject({ code: "InvalidArgument" });
      expect(() => SummarizationNode({ maxTokens: 200, maxSummaryTokens: 300 })).toThrow(
        expect.objectContaining({ code: "InvalidArgument", place: "options.maxSummaryTokens" }),
      );
    });
  });
});
