import { describe, expect, it } from "vitest";
import {
  CompactSession,
  compactInputFilter,
  createSpanExporter,
} from "../../../packages/compact-context/src/adapters/openai-agents/index.ts";
import type { StorageDriver } from "../../../packages/compact-context/src/core/ports.ts";
import type { CompactEvent } from "../../../packages/compact-context/src/core/report.ts";
import {
  CompactManager,
  countTokens,
  type CompactManager as Manager,
} from "../../../packages/compact-context/src/index.ts";
import { formatTools, recallTools } from "../../../packages/compact-context/src/recall/index.ts";
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
import { loadSdk, outputOf, playedBy, type Sdk, scriptedModel, VERSIONS } from "./sdk.ts";

const POLICY = { keepRecentTurns: 2, keepToolIoPairs: 2 };
const INSTRUCTIONS = "You survey quays and answer briefly.";

function createManager(storage: StorageDriver, ports: object = {}): Manager {
  const quiet = { onWarning: () => undefined };
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens: WINDOW, policy: POLICY },
    { storage, ...quiet, ...ports },
  );
}

interface Stage {
  readonly driver: StorageDriver;
  readonly provider: Provider;
  readonly model: ReturnType<typeof scriptedModel>;
  agent(manager: Manager): unknown;
}

function stage(sdk: Sdk, sessionId: string): Stage {
  const driver = createMemoryDriver();
  const provider = createProvider({
    format: "openai-agents",
    recall: (query) => ({ name: "compact_search", args: { query: `"${query}"` } }),
  });
  const model = scriptedModel(sdk, playedBy(provider));
  const schema = (properties: Record<string, unknown>): object => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const tools = [
    sdk.tool({
      name: "survey",
      description: "Looks at a quay.",
      strict: true,
      parameters: schema({ quay: { type: "number" }, part: { type: "number" } }),
      execute: async (args: { quay: number; part: number }) => survey(args),
    }),
  ];
  return {
    driver,
    provider,
    model,
    agent: (manager) =>
      new sdk.Agent({
        name: "surveyor",
        instructions: INSTRUCTIONS,
        model: "gpt-4o",
        tools: [...tools, ...formatTools(recallTools(manager, sessionId), "openai-agents")],
      }),
  };
}

const user = (text: string): object => ({ role: "user", content: text });
const said = (text: string): object => ({
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;

/** A history of ten exchanges, about 8,500 tokens. */
const history = (): object[] =>
  Array.from({ length: 10 }, (_, index) => [
    user(long(`ask ${index}`)),
    said(long(`answer ${index}`)),
  ]).flat();

const textsOf = (items: readonly unknown[] | string): string[] =>
  Array.isArray(items) ? items.map((item) => JSON.stringify(item)) : [];

describe.each(VERSIONS)("the OpenAI Agents SDK $version", async ({ version, name }) => {
  const sdk = (await loadSdk(name)) as Sdk;
  const here = describe.skipIf(sdk === undefined);
  /** What one version is enough for. */
  const onNewest = (title: string, run: () => Promise<void>): void => {
    if (version === "0.20") it(title, run);
  };

  /** Plays all turns and questions. */
  async function play(provider: Provider, run: (input: string) => Promise<string>): Promise<string[]> {
    for (let turn = 1; turn <= TURNS; turn += 1) await run(ask(turn));
    expect(provider.figures.calls).toBe(TURNS * 3);
    const answers: string[] = [];
    for (const fact of FACTS) answers.push(await run(question(fact)));
    return answers;
  }

  const expected = FACTS.map(({ value }) => `It is ${value} long.`);

  here("compactInputFilter", () => {
    it("INT-1 carries a session of three windows, every fact in context or recalled, the store complete", async () => {
      const scene = stage(sdk, "harbour");
      const manager = createManager(scene.driver);
      const rounds: number[] = [];
      manager.onCompaction(({ report }) => rounds.push(report.tokensBefore));
      const session = new sdk.MemorySession({ sessionId: "harbour" });
      const runner = new sdk.Runner({
        modelProvider: scene.model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "harbour" }),
      });
      const answers = await play(scene.provider, async (input) => {
        const result = await runner.run(scene.agent(manager), input, { session });
        return String(result.finalOutput);
      });
      expect(answers).toEqual(expected);
      expect(rounds.length).toBeGreaterThanOrEqual(4);
      const items = (await session.getItems()) as Record<string, unknown>[];
      const stored = textsOf(items);
      const typed = textsOf(items.filter(({ role }) => role === "user"));
      for (let turn = 1; turn <= TURNS; turn += 1)
        expect(typed.filter((text) => text.includes(`Turn ${turn}:`))).toHaveLength(1);
      expect(stored.some((text) => text.includes("COMPACT-SUMMARY"))).toBe(false);
      expect(items.filter((item) => item.type === "function_call_result")).toHaveLength(
        TURNS * 4 + scene.provider.figures.recalls,
      );
      const { largest, read, cached } = scene.provider.figures;
      expect(largest).toBeLessThanOrEqual(WINDOW);
      expect(cached / read).toBeGreaterThan(0.5);
    });

    onNewest("streams, and goes on in a new process without summarizing again", async () => {
      const scene = stage(sdk, "streamed");
      const session = new sdk.MemorySession({ sessionId: "streamed" });
      let rounds = 0;
      const answers = await play(scene.provider, async (input) => {
        // A new manager every time: all that it knows is what the last one stored.
        const manager = createManager(scene.driver);
        manager.onCompaction(() => {
          rounds += 1;
        });
        const runner = new sdk.Runner({
          modelProvider: scene.model.provider,
          callModelInputFilter: compactInputFilter({ manager, sessionId: "streamed" }),
        });
        const result = await runner.run(scene.agent(manager), input, { session, stream: true });
        await result.completed;
        return String(result.finalOutput);
      });
      expect(answers).toEqual(expected);
      expect(rounds).toBeGreaterThanOrEqual(4);
      expect(rounds).toBeLessThanOrEqual(14);
    });

    it("INT-4 hands the SDK its own items back, and an untouched list as it is", async () => {
      const manager = createManager(createMemoryDriver());
      const filter = compactInputFilter({ manager, sessionId: "own" });
      const small = { input: [user("hello")], instructions: "Be brief." };
      expect(await filter({ modelData: small, agent: { name: "clerk" }, context: undefined })).toBe(small);
      const input = [...history(), user("and now?")];
      const { input: kept } = await filter({
        modelData: { input },
        agent: { name: "clerk" },
        context: undefined,
      });
      expect(kept.length).toBeLessThan(input.length);
      expect(kept.at(-1)).toBe(input.at(-1));
      expect(kept.filter((item) => !input.includes(item as object))).toHaveLength(1);
    });

    it("keeps parallel sessions of one runner apart", async () => {
      const manager = createManager(createMemoryDriver());
      const seen = new Map<string, string[]>();
      const model = scriptedModel(sdk, ({ input }) => {
        const texts = textsOf(input);
        const who = texts.at(-1)?.includes("crimson") ? "crimson" : "azure";
        seen.set(who, texts);
        return outputOf({ text: "fine", calls: [] });
      });
      const runner = new sdk.Runner({
        modelProvider: model.provider,
        callModelInputFilter: compactInputFilter({
          manager,
          sessionId: ({ context }) => String((context as { id: string }).id),
        }),
      });
      const agent = new sdk.Agent({ name: "a", model: "gpt-4o" });
      await Promise.all(
        ["crimson", "azure"].map(async (colour) => {
          const items = history().map((item) => JSON.parse(JSON.stringify(item).replaceAll("ask", colour)));
          await runner.run(agent, [...items, user(`${colour} now`)], { context: { id: colour } });
        }),
      );
      expect(seen.get("crimson")?.join()).not.toContain("azure");
      expect(seen.get("azure")?.join()).not.toContain("crimson");
      expect(manager.getState("crimson").summaryCount).toBe(1);
      expect(manager.getState("azure").summaryCount).toBe(1);
    });

    it("stores the newest user item although the history before it was summarized", async () => {
      const manager = createManager(createMemoryDriver());
      const session = new sdk.MemorySession({ sessionId: "s", initialItems: history() });
      const model = scriptedModel(sdk, () => outputOf({ text: "fine", calls: [] }));
      const runner = new sdk.Runner({
        modelProvider: model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "s" }),
      });
      await runner.run(new sdk.Agent({ name: "a", model: "gpt-4o" }), "the newest", { session });
      expect(textsOf(model.requests[0]?.input ?? []).join()).toContain("COMPACT-SUMMARY");
      const stored = textsOf(await session.getItems());
      expect(stored).toHaveLength(22);
      expect(stored[20]).toContain("the newest");
      expect(stored.join()).not.toContain("COMPACT-SUMMARY");
    });

    it("passes on a list whose calls only the provider has, and says so once", async () => {
      const events: CompactEvent[] = [];
      const manager = createManager(createMemoryDriver(), {
        exporters: [{ export: (event: CompactEvent) => void events.push(event) }],
      });
      let calls = 0;
      const model = scriptedModel(sdk, () => {
        calls += 1;
        const args = { quay: calls, part: 1 };
        return calls < 4
          ? outputOf({ text: "", calls: [{ id: `c${calls}`, name: "survey", args }] })
          : outputOf({ text: "done", calls: [] });
      });
      const { agent } = stage(sdk, "server");
      const runner = new sdk.Runner({
        modelProvider: model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "server" }),
      });
      const result = await runner.run(agent(manager), "go", { previousResponseId: "resp_0" });
      expect(result.finalOutput).toBe("done");
      expect(model.requests.slice(1).every(({ input }) => textsOf(input).length === 1)).toBe(true);
      await manager.flush();
      const warnings = events.filter(({ properties }) => properties.code === "server_managed_history");
      expect(warnings).toHaveLength(1);
      expect(warnings[0]?.properties.message).toContain("contextManagement");
    });

    it("keeps the provider's own compaction items as they are and compacts what follows them", async () => {
      const manager = createManager(createMemoryDriver());
      const sealed = { type: "compaction", id: "cmp_1", encrypted_content: "sealed ".repeat(100) };
      const model = scriptedModel(sdk, () => outputOf({ text: "fine", calls: [] }));
      const runner = new sdk.Runner({
        modelProvider: model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "sealed" }),
      });
      await runner.run(new sdk.Agent({ name: "a", model: "gpt-4o" }), [sealed, ...history(), user("now")]);
      const [first, second] = model.requests.flatMap(({ input }) => input) as Record<string, unknown>[];
      expect(first).toEqual(sealed);
      expect(JSON.stringify(second)).toContain("COMPACT-SUMMARY");
    });

    it.each([
      ["broken", () => Promise.reject(new Error("disk full"))],
      ["hanging", () => new Promise<never>(() => undefined)],
    ])("does not fail the run for a %s archive while the list fits", async (_word, refuse) => {
      const events: CompactEvent[] = [];
      const driver = createMemoryDriver();
      const storage: StorageDriver = {
        ...driver,
        get: (key) => driver.get(key),
        put: refuse,
        append: refuse,
        list: refuse,
      };
      const manager = new CompactManager(
        { model: "gpt-4o", maxContextTokens: 12_000, policy: { ...POLICY, triggerPct: 0.5 } },
        { storage, onWarning: () => undefined, exporters: [{ export: (event) => void events.push(event) }] },
      );
      const model = scriptedModel(sdk, () => outputOf({ text: "fine", calls: [] }));
      const runner = new sdk.Runner({
        modelProvider: model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "b", deadlineMs: 200 }),
      });
      const agent = new sdk.Agent({ name: "a", model: "gpt-4o" });
      const started = performance.now();
      for (let run = 0; run < 3; run += 1) await runner.run(agent, [...history(), user("now")]);
      expect(performance.now() - started).toBeLessThan(20_000);
      expect(textsOf(model.requests[2]?.input ?? [])).toHaveLength(21);
      await expect.poll(() => events.map(({ name }) => name).join()).toMatch(/error|warning/);
    });

    it("refuses a list over the budget with a hint when nothing can be archived", async () => {
      const storage = { ...createMemoryDriver(), put: () => Promise.reject(new Error("disk full")) };
      const manager = createManager(storage);
      const filter = compactInputFilter({ manager, sessionId: "b" });
      const modelData = { input: [...history(), ...history(), user("now")] };
      await expect(filter({ modelData, agent: { name: "clerk" } })).rejects.toMatchObject({
        name: "CompactError",
        hint: expect.stringMatching(/\w/),
      });
    });
  });

  here("CompactSession", () => {
    it("INT-1 keeps the stored session below the window over three windows of talk, every fact recalled", async () => {
      const scene = stage(sdk, "stored");
      const manager = createManager(scene.driver);
      let rounds = 0;
      manager.onCompaction(() => {
        rounds += 1;
      });
      const underlying = new sdk.MemorySession({ sessionId: "stored" });
      const session = new CompactSession({ manager, underlyingSession: underlying });
      const runner = new sdk.Runner({
        modelProvider: scene.model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "stored" }),
      });
      const answers = await play(scene.provider, async (input) => {
        const result = await runner.run(scene.agent(manager), input, { session });
        const stored = textsOf(await underlying.getItems());
        expect(stored.join()).toContain(input.slice(0, 40));
        const summaries = stored.filter((text) => /"role":"assistant".*"<COMPACT-SUMMARY v/.test(text));
        expect(summaries.length).toBeLessThanOrEqual(1);
        return String(result.finalOutput);
      });
      expect(answers).toEqual(expected);
      expect(rounds).toBeGreaterThanOrEqual(4);
      const items = (await underlying.getItems()) as Record<string, unknown>[];
      expect(countTokens(items, { model: "gpt-4o" }).tokens).toBeLessThan(WINDOW);
      const summaries = textsOf(items).filter((text) => text.includes('"<COMPACT-SUMMARY v'));
      expect(summaries).toHaveLength(1);
      expect(summaries[0]).toContain('"role":"assistant"');
    });

    it("compacts on request, and stores what came meanwhile behind it", async () => {
      const manager = createManager(createMemoryDriver());
      const underlying = new sdk.MemorySession({ sessionId: "m", initialItems: history() });
      const session = CompactSession({ manager, underlyingSession: underlying });
      const compacting = session.runCompaction({ force: true });
      await session.addItems([user("meanwhile")]);
      await compacting;
      const stored = textsOf(await session.getItems());
      expect(stored.length).toBeLessThan(20);
      expect(stored[0]).toContain("COMPACT-SUMMARY");
      expect(stored.at(-1)).toContain("meanwhile");
      expect(await session.getSessionId()).toBe("m");
    });

    it("takes over a session that the provider compacted before: its sealed item stays first", async () => {
      const sealed = { type: "compaction", id: "cmp_1", encrypted_content: "sealed ".repeat(100) };
      const underlying = new sdk.MemorySession({ sessionId: "t", initialItems: [sealed, ...history()] });
      const session = CompactSession({
        manager: createManager(createMemoryDriver()),
        underlyingSession: underlying,
      });
      await session.runCompaction();
      const [first, second] = await underlying.getItems();
      expect(first).toEqual(sealed);
      expect(JSON.stringify(second)).toContain("COMPACT-SUMMARY");
    });

    it("refuses a session that compacts by itself", () => {
      const manager = createManager(createMemoryDriver());
      const own = Object.assign(new sdk.MemorySession(), { runCompaction: async () => null });
      expect(() => new CompactSession({ manager, underlyingSession: own })).toThrow(/compacts by itself/);
    });

    it("leaves the store as it was when it cannot be rewritten, and does not fail the run", async () => {
      const manager = createManager(createMemoryDriver());
      const underlying = new sdk.MemorySession({ sessionId: "f", initialItems: history() });
      const add = underlying.addItems.bind(underlying);
      let failures = 1;
      underlying.addItems = async (items: unknown[]) => {
        if (textsOf(items).join().includes("COMPACT-SUMMARY") && failures > 0) {
          failures -= 1;
          throw new Error("no room");
        }
        await add(items);
      };
      const session = CompactSession({ manager, underlyingSession: underlying });
      const model = scriptedModel(sdk, () => outputOf({ text: "fine", calls: [] }));
      const runner = new sdk.Runner({ modelProvider: model.provider });
      const result = await runner.run(new sdk.Agent({ name: "a", model: "gpt-4o" }), "now", { session });
      expect(result.finalOutput).toBe("fine");
      expect(failures).toBe(0);
      expect(await underlying.getItems()).toHaveLength(22);
    });
  });

  here("createSpanExporter", () => {
    interface SpanRecord {
      readonly id: string;
      readonly parent_id: string | null;
      readonly started_at: string;
      readonly ended_at: string;
      readonly span_data: { type: string; name: string; data: Record<string, unknown> };
    }

    async function traced(disabled: boolean): Promise<SpanRecord[]> {
      const spans: SpanRecord[] = [];
      const noop = async (): Promise<void> => undefined;
      sdk.setTracingDisabled(disabled);
      sdk.setTraceProcessors([
        {
          onTraceStart: noop,
          onTraceEnd: noop,
          onSpanStart: noop,
          onSpanEnd: async (span: { toJSON(): SpanRecord | null }) => {
            const record = span.toJSON();
            if (record !== null) spans.push(record);
          },
          shutdown: noop,
          forceFlush: noop,
        },
      ]);
      const exporter = createSpanExporter(sdk);
      const slow = {
        name: "slow",
        summarize: async () => {
          await new Promise((resolve) => setTimeout(resolve, 60));
          return { text: "It was about tides.", tokens: 6, summarizer: "slow", messagesRead: 20 };
        },
      };
      const manager = createManager(createMemoryDriver(), { exporters: [exporter], summarizer: slow });
      const model = scriptedModel(sdk, () => outputOf({ text: "fine", calls: [] }));
      const runner = new sdk.Runner({
        modelProvider: model.provider,
        callModelInputFilter: compactInputFilter({ manager, sessionId: "traced", spans: exporter }),
      });
      await runner.run(new sdk.Agent({ name: "a", model: "gpt-4o" }), [...history(), user("now")]);
      await manager.flush();
      sdk.setTraceProcessors([]);
      sdk.setTracingDisabled(true);
      return spans;
    }

    it("OBS-4 nests every event as a span under the agent's span, with the time that it took", async () => {
      const spans = await traced(false);
      const ours = spans.filter(({ span_data }) => span_data.name.startsWith("compact."));
      expect(ours.map(({ span_data }) => span_data.name).toSorted()).toEqual([
        "compact.archival",
        "compact.pruned_messages",
        "compact.summary_created",
        "compact.token_estimate",
        "compact.trigger_decision",
      ]);
      const parents = new Set(ours.map((span) => span.parent_id));
      expect(parents.size).toBe(1);
      const parent = spans.find((span) => parents.has(span.id));
      expect(["turn", "a"]).toContain(parent?.span_data.name);
      const summary = ours.find(({ span_data }) => span_data.name === "compact.summary_created");
      expect(summary?.span_data.data.output).toContain("tides");
      const took = Date.parse(summary?.ended_at ?? "") - Date.parse(summary?.started_at ?? "");
      expect(took).toBeGreaterThanOrEqual(50);
    });

    it("OBS-4 makes no span while the SDK's tracing is off", async () => {
      expect(await traced(true)).toEqual([]);
    });
  });
});
