import { describe, expect, it } from "vitest";
import { countTokens } from "../../compact.ts";
import type { StorageDriver } from "../../core/ports.ts";
import { createMemoryDriver } from "../../storage/memory/driver.ts";
import { createRecallNode, SummarizationNode, type SummarizationNodeOptions } from "./index.ts";

interface State {
  readonly messages: object[];
  readonly context?: Record<string, unknown>;
  readonly summarized_messages?: object[];
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (): object[] =>
  Array.from({ length: 10 }, (_, index) => [
    { role: "user", id: `h${index}`, content: long(`ask ${index}`) },
    { role: "assistant", id: `a${index}`, content: long(`answer ${index}`) },
  ]).flat();

const LIMITS = { maxTokens: 5_000, maxSummaryTokens: 600 };
const IN_THREAD = { configurable: { thread_id: "t" } };

/** As much of LangChain's classes as the adapter relies on. */
class ChatMessage {
  readonly id: string | undefined;
  readonly content: unknown;
  constructor(fields: { id?: string | undefined; content?: unknown }) {
    this.id = fields.id;
    this.content = fields.content;
  }
  static lc_name(): string {
    return "BaseMessage";
  }
  _getType(): string {
    return "";
  }
  getType(): string {
    return this._getType();
  }
  toDict(): object {
    return { type: this.getType() };
  }
}

class Question extends ChatMessage {
  override _getType(): string {
    return "human";
  }
}

class Answer extends ChatMessage {
  override _getType(): string {
    return "ai";
  }
}

/** A storage that takes nothing. */
const fullDisk = (): StorageDriver => {
  const refused = (): Promise<never> => Promise.reject(new Error("disk full"));
  return { ...createMemoryDriver(), append: refused, put: refused };
};

describe("SummarizationNode", () => {
  it("INT-2 writes the output key, keeps the running summary as plain JSON and leaves the messages alone", async () => {
    const state: State = { messages: history(), context: { theme: "dark" } };
    const update = await SummarizationNode(LIMITS).invoke(state);
    expect(update.messages).toBeUndefined();
    expect(update.summarized_messages?.length).toBeLessThan(20);
    expect(update.context?.theme).toBe("dark");
    const running = update.context?.running_summary;
    expect(JSON.parse(JSON.stringify(running))).toEqual(running);
    const again = await SummarizationNode(LIMITS).invoke({ ...state, ...update });
    expect(again.summarized_messages).toEqual(update.summarized_messages);
  });

  it("INT-2 reads and writes the keys it is told, and the shortened list replaces the state where they are equal", async () => {
    const keys = { ...LIMITS, inputMessagesKey: "talk", outputMessagesKey: "talk" };
    const small = { talk: history().slice(0, 4), messages: [] };
    expect(await SummarizationNode(keys).invoke(small)).toEqual({});
    const update: Record<string, unknown> = await SummarizationNode(keys).invoke<Record<string, unknown>>({
      talk: history(),
      context: { theme: "dark" },
    });
    const [removal, summary, ...rest] = update.talk as Record<string, unknown>[];
    expect(removal).toEqual({ type: "remove", id: "__remove_all__" });
    expect(summary?.content).toContain("Summary of the conversation so far");
    expect(rest.at(-1)).toMatchObject({ id: "a9" });
    const context = update.context as { theme: string; running_summary: { summarizedMessageIds: string[] } };
    expect(context.theme).toBe("dark");
    expect(context.running_summary.summarizedMessageIds).toContain("h0");
    // The reducer takes everything out and puts the rest in; what fits then is left alone.
    const state = { talk: [summary, ...rest], context };
    expect(await SummarizationNode(keys).invoke(state)).toEqual({});
    const other = await SummarizationNode({ ...LIMITS, inputMessagesKey: "talk" }).invoke<object>(small);
    expect(other).toEqual({ summarized_messages: small.talk });
  });

  it("INT-2 PRT-1 PRT-2 keeps protected and system messages in mid-list in the state, with equal keys too", async () => {
    const french = { role: "system", id: "s", content: "Answer in French from here on." };
    const kept = { role: "user", id: "p", content: "Keep this.", additional_kwargs: { protected: true } };
    const messages = [...history().slice(0, 6), french, kept, ...history().slice(6)];
    const node = SummarizationNode({ ...LIMITS, outputMessagesKey: "messages" });
    const update = await node.invoke<State>({ messages });
    expect(update.messages).toEqual(expect.arrayContaining([french, kept]));
    expect(update.messages).toContain(french);
    expect(update.messages).toContain(kept);
  });

  it("FIT-6 counts system message and standing summary, and refuses what cannot fit", async () => {
    const node = SummarizationNode({ maxTokens: 3_000 });
    const messages: object[] = [{ role: "system", id: "s", content: "careful ".repeat(2_000) }];
    let context: Record<string, unknown> | undefined;
    for (let turn = 0; turn < 30; turn += 1) {
      messages.push({ role: "user", id: `h${turn}`, content: `${turn} ${"tide ".repeat(120)}` });
      const update = await node.invoke<State>({ messages, context: context ?? {} });
      context = update.context ?? context;
      const { tokens } = countTokens(update.summarized_messages ?? [], { format: "langchain" });
      expect(tokens).toBeLessThanOrEqual(3_000);
      messages.push({ role: "assistant", id: `a${turn}`, content: "rope ".repeat(120) });
    }
    messages.push({ role: "user", id: "huge", content: "lantern ".repeat(2_000) });
    await expect(node.invoke({ messages, context })).rejects.toMatchObject({
      code: "InsufficientBudget",
      hint: expect.stringContaining("maxTokens"),
    });
  });

  it("gives messages of the graph's own class back and to its counter", async () => {
    const counted: unknown[] = [];
    const node = SummarizationNode({
      maxTokens: 8,
      maxSummaryTokens: 1,
      tokenCounter: async (messages: ChatMessage[]) => {
        counted.push(...messages.map((message) => message.getType()));
        return messages.length;
      },
    });
    const messages = history().map(
      ({ id, content }: { id?: string; content?: string }, index) =>
        new (index % 2 ? Answer : Question)({ id, content }),
    );
    const { summarized_messages: list = [] } = await node.invoke<State>({ messages });
    expect(list[0]).toBeInstanceOf(ChatMessage);
    expect((list[0] as ChatMessage).getType()).toBe("system");
    const made = list[0] as ChatMessage;
    expect((made.constructor as typeof ChatMessage).lc_name()).toBe("SystemMessage");
    expect(messages).toEqual(expect.arrayContaining(list.slice(1)));
    expect(counted).toContain("system");
  });

  it("reads a running summary in Python's words, and writes it in them", async () => {
    const first = await SummarizationNode(LIMITS).invoke<State>({ messages: history() });
    const running = first.context?.running_summary as Record<string, unknown>;
    const python = {
      summary: running.summary,
      summarized_message_ids: running.summarizedMessageIds,
      last_summarized_message_id: running.lastSummarizedMessageId,
    };
    const again = await SummarizationNode(LIMITS).invoke<State>({
      messages: history(),
      context: { running_summary: python },
    });
    expect(again.summarized_messages).toEqual(first.summarized_messages);
    expect(again.context?.running_summary).toEqual(python);
  });

  it("refuses unknown options and limits that contradict each other before anything is invoked", () => {
    const make = (options: object): unknown => SummarizationNode(options as SummarizationNodeOptions);
    expect(() => make({ max_tokens: 5_000 })).toThrow("did you mean maxTokens?");
    expect(() => make({ ...LIMITS, memoryFlushHok: () => {} })).toThrow("did you mean memoryFlushHook?");
    expect(() => make({ ...LIMITS, fallback: "error" })).toThrow(/not an option/);
    expect(() => make({ maxTokens: 200 })).toThrow("maxSummaryTokens must be less than maxTokens");
    expect(() => make({ ...LIMITS, memoryFlushHook: "later" })).toThrow(/must be a function/);
    expect(() => make({ ...LIMITS, finalPrompt: "In short." })).toThrow(/no place for the summary/);
    expect(() => make({ ...LIMITS, model: "gpt-4o" })).toThrow("a summarizer needs a model with a generate");
  });

  it("RUN-5 hands on what leaves, behind the archive and without waiting", async () => {
    const flushed: [string, number][] = [];
    const warnings: string[] = [];
    const options = {
      ...LIMITS,
      memoryFlushHook: (messages: readonly unknown[], { sessionId }: { readonly sessionId: string }) => {
        flushed.push([sessionId, messages.length]);
        return new Promise<void>(() => {});
      },
      onWarning: (warning: string) => void warnings.push(warning),
    };
    const { context } = await SummarizationNode(options).invoke<State>({ messages: history() }, IN_THREAD);
    const running = context?.running_summary as { summarizedMessageIds: string[] };
    expect(flushed).toEqual([["t", running.summarizedMessageIds.length]]);
    const loose = { ...options, storage: fullDisk(), maxTokens: 20_000, maxTokensBeforeSummary: 4_000 };
    await SummarizationNode(loose).invoke<State>({ messages: history() }, IN_THREAD);
    expect(flushed).toHaveLength(1);
    const memoryFlushHook = (): never => {
      throw new Error("memory is full");
    };
    await SummarizationNode({ ...options, memoryFlushHook }).invoke<State>({ messages: history() });
    await Promise.resolve();
    expect(warnings.join()).toMatch(/disk full.*memory is full/);
  });

  it("goes on with the standing summary while the archive is down and the list fits", async () => {
    const storage = createMemoryDriver();
    const first = await SummarizationNode({ ...LIMITS, storage }).invoke<State>(
      { messages: history() },
      IN_THREAD,
    );
    const node = SummarizationNode({
      ...LIMITS,
      maxTokensBeforeSummary: 1,
      storage: fullDisk(),
      onWarning: () => {},
    });
    const again = await node.invoke<State>({ messages: history(), context: first.context ?? {} }, IN_THREAD);
    expect(again.summarized_messages).toEqual(first.summarized_messages);
    expect(again.context?.running_summary).toEqual(first.context?.running_summary);
  });

  it("goes on where onWarning throws", async () => {
    const node = SummarizationNode({
      ...{ ...LIMITS, maxTokens: 20_000, maxTokensBeforeSummary: 4_000 },
      storage: fullDisk(),
      onWarning: () => {
        throw new Error("no log");
      },
    });
    const messages = history();
    const made = await node.invoke<State>({ messages }, IN_THREAD);
    expect(made.summarized_messages).toEqual(messages);
  });

  it("reads ids that another writer left in a Set", async () => {
    const first = await SummarizationNode(LIMITS).invoke<State>({ messages: history() });
    const running = first.context?.running_summary as { summarizedMessageIds: string[] };
    const context = {
      running_summary: { ...running, summarizedMessageIds: new Set(running.summarizedMessageIds) },
    };
    const again = await SummarizationNode(LIMITS).invoke<State>({ messages: history(), context });
    expect(again.context?.running_summary).toEqual(running);
  });

  it("archives what a summary replaces before the state loses it, each message once; the recall node finds it", async () => {
    const storage = createMemoryDriver();
    const node = SummarizationNode({ ...LIMITS, outputMessagesKey: "messages", storage });
    const { messages, context } = await node.invoke<State>({ messages: history() }, IN_THREAD);
    expect(messages?.[0]).toEqual({ type: "remove", id: "__remove_all__" });
    expect(await node.recall("t").steps()).toEqual([1]);
    await node.invoke({ messages: messages?.slice(1) ?? [], context }, IN_THREAD);
    expect(await node.recall("t").steps()).toEqual([1]);
    const call = { id: "c1", name: "compact_search", args: { query: '"ask 0"' } };
    const other = { id: "c2", name: "survey", args: {} };
    const asked = { role: "assistant", id: "q", content: "", tool_calls: [call, other] };
    const answered = await createRecallNode({ source: node }).invoke<State>({ messages: [asked] }, IN_THREAD);
    expect(answered.messages).toHaveLength(1);
    expect(answered.messages?.[0]).toMatchObject({ role: "tool", tool_call_id: "c1" });
    expect(JSON.stringify(answered.messages)).toContain("ask 0");
  });

  it("tells what its archive warns of: the search goes on without the index that cannot be stored", async () => {
    const driver = createMemoryDriver();
    let isFull = false;
    const put: StorageDriver["put"] = (...value) => (isFull ? fullDisk() : driver).put(...value);
    const warnings: string[] = [];
    const onWarning = (text: string): void => void warnings.push(text);
    const node = SummarizationNode({ ...LIMITS, storage: { ...driver, put }, onWarning });
    await node.invoke<State>({ messages: history() }, IN_THREAD);
    isFull = true;
    expect(await node.recall("t").search('"ask 0"')).not.toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("disk full")]);
  });

  it("asks who is speaking where an archive or recall needs to know", async () => {
    const node = SummarizationNode({ ...LIMITS, storage: createMemoryDriver() });
    await expect(node.invoke({ messages: history() })).rejects.toMatchObject({ place: "options.sessionId" });
    const recall = createRecallNode({ source: node });
    await expect(recall.invoke({ messages: [] })).rejects.toMatchObject({ place: "options.sessionId" });
  });

  it("is a function and a Runnable in one", async () => {
    const node = new SummarizationNode({ ...LIMITS, name: "shorten" });
    expect(node.lc_runnable).toBe(true);
    expect(node.name).toBe("shorten");
    expect(node.getName(":1")).toBe("shorten:1");
    const state: State = { messages: history().slice(0, 2) };
    const update = await node(state);
    expect(await node.invoke(state)).toEqual(update);
    expect(await node.batch([state, state], [{}, {}])).toEqual([update, update]);
    expect(await node.withConfig({ tags: ["a"] }).invoke(state)).toEqual(update);
    expect(await node.pipe((given: object) => ({ given })).invoke(state)).toEqual({ given: update });
    const reader = (await node.stream(state)).getReader();
    expect((await reader.read()).value).toEqual(update);
    async function* states(): AsyncGenerator<State> {
      yield state;
    }
    const chunks: object[] = [];
    for await (const chunk of node.transform(states())) chunks.push(chunk);
    expect(chunks).toEqual([update]);
  });
});
