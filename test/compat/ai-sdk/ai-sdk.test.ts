import { describe, expect, it } from "vitest";
import {
  compactLanguageModelMiddleware,
  compactPrepareStep,
  type PrepareStepOptions,
} from "../../../packages/compact-context/src/adapters/ai-sdk/index.ts";
import type { StorageDriver } from "../../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { createRedactor } from "../../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../../packages/compact-context/src/search/archive.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import {
  ask,
  createProvider,
  FACTS,
  question,
  type Reply,
  survey,
  TURNS,
  WINDOW,
} from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: two majors of the SDK are loaded at run time
type Loose = any;

interface Sdk {
  readonly ai: Loose;
  readonly MockModel: Loose;
  /** The messages that a call added. */
  added(result: Loose): Promise<unknown[]>;
  system(text: string): object;
}

async function load(name: string): Promise<Sdk | undefined> {
  try {
    const [ai, mocks] = await Promise.all([import(name), import(`${name}/test`)]);
    const seven = name === "ai-v7";
    return {
      ai,
      MockModel: seven ? mocks.MockLanguageModelV4 : mocks.MockLanguageModelV3,
      added: async (result) => (seven ? await result.responseMessages : (await result.response).messages),
      system: (text) => (seven ? { instructions: text } : { system: text }),
    };
  } catch {
    return undefined;
  }
}

function createManager(storage: StorageDriver, ports: object = {}): CompactManager {
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens: WINDOW, policy: { keepRecentTurns: 2, keepToolIoPairs: 2 } },
    { storage, onWarning: () => undefined, ...ports },
  );
}

const usage = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };
const finish = (calls: readonly unknown[]): object => ({
  unified: calls.length > 0 ? "tool-calls" : "stop",
  raw: undefined,
});

function contentOf({ text, calls }: Reply): object[] {
  return [
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, args }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input: JSON.stringify(args),
    })),
  ];
}

function streamOf(reply: Reply): ReadableStream<object> {
  const parts: object[] = [{ type: "stream-start", warnings: [] }];
  if (reply.text !== "") {
    parts.push({ type: "text-start", id: "t" });
    parts.push({ type: "text-delta", id: "t", delta: reply.text }, { type: "text-end", id: "t" });
  }
  parts.push(...contentOf({ text: "", calls: reply.calls }));
  parts.push({ type: "finish", finishReason: finish(reply.calls), usage });
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function scriptedModel({ MockModel }: Sdk, respond: (prompt: unknown[]) => Reply): Loose {
  return new MockModel({
    doGenerate: async ({ prompt }: { prompt: unknown[] }) => {
      const reply = respond(prompt);
      return { content: contentOf(reply), finishReason: finish(reply.calls), usage, warnings: [] };
    },
    doStream: async ({ prompt }: { prompt: unknown[] }) => ({ stream: streamOf(respond(prompt)) }),
  });
}

function toolsOf({ ai }: Sdk, driver: StorageDriver, sessionId: string): Record<string, unknown> {
  const archive = createArchive(driver, { redact: createRedactor() });
  const object = (properties: Record<string, object>): unknown =>
    ai.jsonSchema({ type: "object", properties, required: Object.keys(properties) });
  return {
    survey: ai.tool({
      description: "Looks at a quay.",
      inputSchema: object({ quay: { type: "number" }, part: { type: "number" } }),
      execute: async (args: { quay: number; part: number }) => survey(args),
    }),
    recall: ai.tool({
      description: "Finds what left the prompt.",
      inputSchema: object({ query: { type: "string" } }),
      execute: async ({ query }: { query: string }) => {
        const { hits } = await archive.search(query, { sessionId, limit: 3 });
        return hits.map((hit) => hit.snippet).join("\n") || "nothing found";
      },
    }),
  };
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (): object[] =>
  Array.from({ length: 10 }, (_, index) => [
    { role: "user", content: long(`ask ${index}`) },
    { role: "assistant", content: long(`answer ${index}`) },
  ]).flat();

describe.each(["ai", "ai-v7"])("AI SDK, %s", async (name) => {
  const sdk = (await load(name)) as Sdk;
  const here = describe.skipIf(sdk === undefined);
  const expected = FACTS.map(({ value }) => `It is ${value} long.`);
  const INSTRUCTIONS = "You survey quays and answer briefly.";

  /** A conversation as an app keeps it: every call adds the user's message and what the SDK answered. */
  async function play(call: (messages: unknown[]) => Promise<Loose>): Promise<{
    answers: string[];
    messages: unknown[];
  }> {
    const messages: unknown[] = [];
    const say = async (text: string): Promise<string> => {
      messages.push({ role: "user", content: text });
      const result = await call(messages);
      messages.push(...(await sdk.added(result)));
      return result.text;
    };
    for (let turn = 1; turn <= TURNS; turn += 1) await say(ask(turn));
    const answers: string[] = [];
    for (const fact of FACTS) answers.push(await say(question(fact)));
    return { answers, messages };
  }

  function scene() {
    const driver = createMemoryDriver();
    const provider = createProvider({
      format: "ai-sdk",
      recall: (query) => ({ name: "recall", args: { query } }),
    });
    const model = scriptedModel(sdk, (prompt) => provider.answer(prompt));
    const tools = toolsOf(sdk, driver, "quays");
    const manager = createManager(driver);
    const rounds: string[] = [];
    manager.onCompaction(({ report }) => void rounds.push(report.reason));
    return { driver, provider, model, tools, manager, rounds };
  }

  const { stepCountIs } = sdk?.ai ?? {};

  here("compactPrepareStep", () => {
    it("INT-3 carries a conversation over three windows, every fact in context or recalled, the app's list complete", async () => {
      const { provider, model, tools, manager, rounds } = scene();
      const prepareStep = compactPrepareStep({ manager, sessionId: "quays", system: INSTRUCTIONS, tools });
      const { answers, messages } = await play((list) =>
        sdk.ai.generateText({
          model,
          messages: list,
          tools,
          prepareStep,
          stopWhen: stepCountIs(6),
          ...sdk.system(INSTRUCTIONS),
        }),
      );
      expect(answers).toEqual(expected);
      expect(rounds.length).toBeGreaterThanOrEqual(4);
      expect(JSON.stringify(messages)).not.toContain("COMPACT-SUMMARY");
      const { largest, read, cached, calls } = provider.figures;
      expect(calls).toBeGreaterThanOrEqual(TURNS * 3 + FACTS.length);
      expect(largest).toBeLessThanOrEqual(WINDOW);
      expect(cached / read).toBeGreaterThan(0.5);
    });

    it("gives the same list whether the steps bring the raw one or carry ours on", async () => {
      const sent: string[][] = [];
      const model = scriptedModel(sdk, (prompt) => {
        sent.push(prompt.map((message) => JSON.stringify(message)));
        const again = sent.length < 4;
        const calls = again
          ? [{ id: `c${sent.length}`, name: "survey", args: { quay: 1, part: sent.length } }]
          : [];
        return { text: again ? "" : "done", calls };
      });
      const { manager, tools, rounds } = scene();
      const prepareStep = compactPrepareStep({ manager, sessionId: "steps", tools });
      const messages = [...history(), { role: "user", content: "and now?" }];
      await sdk.ai.generateText({ model, messages, tools, prepareStep, stopWhen: stepCountIs(6) });
      expect(sent).toHaveLength(4);
      expect(rounds).toEqual(["trigger_pct"]);
      for (const [index, list] of sent.entries()) {
        expect(list.filter((message) => message.includes("COMPACT-SUMMARY"))).toHaveLength(1);
        if (index > 0) expect(list.slice(0, sent[index - 1]?.length)).toEqual(sent[index - 1]);
      }
    });

    it("works in streams, and leaves a list that fits alone", async () => {
      const { provider, model, tools, manager } = scene();
      const prepareStep = compactPrepareStep({ manager, sessionId: "stream", tools });
      const messages = [...history(), { role: "user", content: ask(3) }];
      const result = sdk.ai.streamText({ model, messages, tools, prepareStep, stopWhen: stepCountIs(6) });
      let text = "";
      for await (const piece of result.textStream) text += piece;
      expect(text).toContain("Quay 3 is surveyed");
      expect(provider.figures.summarized).toBe(provider.figures.calls);
      const small = [{ role: "user", content: "hello" }];
      expect(await prepareStep({ messages: small, steps: [] })).toBeUndefined();
    });

    it("counts system prompt and tools that are written once", async () => {
      const { model, tools, manager } = scene();
      const messages = [{ role: "user", content: ask(3) }];
      const tokensOf = async (sessionId: string, call: Partial<PrepareStepOptions>): Promise<number> => {
        const prepareStep = compactPrepareStep({ ...call, manager, sessionId });
        await sdk.ai.generateText({ model, messages, ...call, prepareStep });
        return manager.getState(sessionId).totalTokens;
      };
      const bare = await tokensOf("bare", {});
      const withTools = await tokensOf("tools", { tools });
      const withSystem = await tokensOf("system", { ...sdk.system("Short answers. ".repeat(300)), tools });
      expect(withTools).toBeGreaterThan(bare + 20);
      expect(withSystem).toBeGreaterThan(withTools + 800);
      expect(model.doGenerateCalls?.at(-1)?.tools ?? [{}]).not.toHaveLength(0);
    });

    it("INT-4 hands the model the app's own message objects", async () => {
      const prepareStep = compactPrepareStep({
        manager: createManager(createMemoryDriver()),
        sessionId: "own",
      });
      const messages = [...history(), { role: "user", content: "and now?" }];
      const kept = await prepareStep({ messages, steps: [] });
      const made = kept?.messages.filter((message) => !messages.includes(message));
      expect(made).toHaveLength(1);
      expect(kept?.messages.at(-1)).toBe(messages.at(-1));
    });

    it("goes on with the list as it is when the archive fails and the list fits", async () => {
      const warnings: string[] = [];
      const storage = { ...createMemoryDriver(), get: () => Promise.reject(new Error("no such disk")) };
      const manager = createManager(storage, { onWarning: (warning: string) => warnings.push(warning) });
      const options: PrepareStepOptions = { manager, sessionId: "broken" };
      const step = { messages: history().slice(0, 14), steps: [] };
      expect(await compactPrepareStep(options)(step)).toBeUndefined();
      expect(warnings.join("\n")).toContain("no such disk");
      const over = { messages: history(), steps: [] };
      await expect(compactPrepareStep({ ...options, onFailure: "throw" })(over)).rejects.toThrow(
        /no such disk/,
      );
    });
  });

  here("compactLanguageModelMiddleware", () => {
    it("INT-3 carries a conversation over three windows beneath the SDK, streams and all", async () => {
      const { provider, model, tools, manager, rounds } = scene();
      const wrapped = sdk.ai.wrapLanguageModel({
        model,
        middleware: compactLanguageModelMiddleware({ manager, sessionId: "quays" }),
      });
      let turn = 0;
      const { answers, messages } = await play(async (list) => {
        turn += 1;
        const asked = {
          model: wrapped,
          messages: list,
          tools,
          stopWhen: stepCountIs(6),
          ...sdk.system(INSTRUCTIONS),
        };
        if (turn % 2 === 0) return sdk.ai.generateText(asked);
        const result = sdk.ai.streamText(asked);
        await result.consumeStream();
        return {
          text: await result.text,
          response: result.response,
          responseMessages: result.responseMessages,
        };
      });
      expect(answers).toEqual(expected);
      expect(rounds.length).toBeGreaterThanOrEqual(4);
      expect(JSON.stringify(messages)).not.toContain("COMPACT-SUMMARY");
      expect(provider.figures.largest).toBeLessThanOrEqual(WINDOW);
    });

    it("TOK-7 learns from the usage that the provider reports, of streams too", async () => {
      const { model, manager } = scene();
      const learned: unknown[] = [];
      const listening = {
        isOverBudget: manager.isOverBudget.bind(manager),
        warn: manager.warn.bind(manager),
        getState: manager.getState.bind(manager),
        manualCompact: manager.manualCompact.bind(manager),
        preflight: ((sessionId, messages, request) => {
          learned.push((request?.usage as { inputTokens?: unknown } | undefined)?.inputTokens !== undefined);
          return manager.preflight(sessionId, messages, request);
        }) as typeof manager.preflight,
      };
      const middleware = compactLanguageModelMiddleware({ manager: listening, sessionId: "one" });
      const wrapped = sdk.ai.wrapLanguageModel({ model, middleware });
      const asked = { model: wrapped, messages: [{ role: "user", content: ask(1) }] };
      await sdk.ai.streamText(asked).consumeStream();
      await sdk.ai.generateText(asked);
      await sdk.ai.generateText(asked);
      expect(learned).toEqual([false, true, true]);
    });

    it("tells conversations apart by the call, and ends with it", async () => {
      const { model, manager } = scene();
      const seen: string[] = [];
      const middleware = compactLanguageModelMiddleware({
        manager,
        sessionId: ({ providerOptions }) => {
          const id = (providerOptions as { compact: { session: string } }).compact.session;
          seen.push(id);
          return id;
        },
      });
      const wrapped = sdk.ai.wrapLanguageModel({ model, middleware });
      for (const session of ["one", "two"]) {
        await sdk.ai.generateText({
          model: wrapped,
          messages: [{ role: "user", content: ask(1) }],
          providerOptions: { compact: { session } },
        });
      }
      expect(seen).toEqual(["one", "two"]);
      expect(manager.getState("one").messageCount).toBe(1);
      const controller = new AbortController();
      controller.abort(new Error("enough"));
      const messages = [...history(), { role: "user", content: "now" }];
      await expect(
        sdk.ai.generateText({
          model: wrapped,
          messages,
          abortSignal: controller.signal,
          maxRetries: 0,
          providerOptions: { compact: { session: "three" } },
        }),
      ).rejects.toThrow(/enough|abort|gave up/i);
    });
  });
});
