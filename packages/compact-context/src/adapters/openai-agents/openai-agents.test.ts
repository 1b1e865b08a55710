import { describe, expect, it } from "vitest";
import { CompactManager } from "../../create-manager.ts";
import { createMemoryDriver } from "../../storage/memory/driver.ts";
import { CompactSession, compactInputFilter, createSpanExporter } from "./index.ts";

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (): object[] =>
  Array.from({ length: 10 }, (_, index) => [
    { role: "user", content: long(`ask ${index}`) },
    {
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: long(`answer ${index}`) }],
    },
  ]).flat();

const createManager = (onWarning: (message: string) => void = () => undefined): CompactManager =>
  new CompactManager(
    { model: "gpt-4o", maxContextTokens: 8_000, policy: { keepRecentTurns: 2 } },
    { storage: createMemoryDriver(), onWarning },
  );

function createStore(items: unknown[]) {
  let stored = [...items];
  return {
    items: () => stored,
    getSessionId: async () => "store",
    getItems: async () => [...stored],
    addItems: async (added: unknown[]) => {
      stored = [...stored, ...added];
    },
    popItem: async () => stored.pop(),
    clearSession: async () => {
      stored = [];
    },
  };
}

describe("compactInputFilter", () => {
  it("sends a summary before the kept items, which are the given objects", async () => {
    const filter = compactInputFilter({ manager: createManager(), sessionId: async () => "a" });
    const input = [...history(), { role: "user", content: "now" }];
    const { input: sent, instructions } = await filter({
      modelData: { input, instructions: "Be brief." },
      agent: { name: "clerk" },
    });
    expect(instructions).toBe("Be brief.");
    expect(JSON.stringify(sent[0])).toContain("<COMPACT-SUMMARY v1>");
    expect(sent.slice(1).every((item) => input.includes(item as object))).toBe(true);
    expect(sent.at(-1)).toBe(input.at(-1));
    expect(filter.preserveInputIdentity).toBe(true);
  });

  it("knows a delta by results without their calls", async () => {
    const call = { type: "function_call", callId: "c1", name: "f", arguments: "{}" };
    const result = { type: "function_call_result", callId: "c1", name: "f", output: "x" };
    const ask = { role: "user", content: "x" };
    const isDelta = async (input: object[]): Promise<boolean> => {
      const warnings: string[] = [];
      const filter = compactInputFilter({
        manager: createManager((message) => warnings.push(message)),
        sessionId: "a",
      });
      await filter({ modelData: { input }, agent: { name: "clerk" } });
      return warnings.some((message) => message.includes("the provider keeps this conversation"));
    };
    expect(await isDelta([result])).toBe(true);
    expect(await isDelta([{ type: "shell_call_output", callId: "c2" }, ask])).toBe(true);
    expect(await isDelta([call, result])).toBe(false);
    expect(await isDelta([ask])).toBe(false);
  });
});

describe("CompactSession", () => {
  it("replaces what is stored, leaves what fits alone, and passes everything else on", async () => {
    const store = createStore(history());
    const session = new CompactSession({ manager: createManager(), underlyingSession: store });
    expect("runCompaction" in session).toBe(true);
    await session.runCompaction();
    const kept = store.items().length;
    expect(kept).toBeLessThan(20);
    expect(JSON.stringify(store.items()[0])).toContain("<COMPACT-SUMMARY v1>");
    await session.runCompaction();
    expect(store.items()).toHaveLength(kept);
    await session.addItems([{ role: "user", content: "more" }]);
    expect(await session.popItem()).toEqual({ role: "user", content: "more" });
    expect(await session.getSessionId()).toBe("store");
  });

  it("leaves a store alone that somebody else changed meanwhile", async () => {
    const store = createStore(history());
    const session = CompactSession({
      manager: createManager(),
      underlyingSession: store,
      onFailure: "throw",
    });
    const compacting = session.runCompaction({ force: true });
    await Promise.resolve();
    await store.clearSession();
    await expect(compacting).rejects.toMatchObject({ code: "Conflict" });
    expect(store.items()).toEqual([]);
  });

  it("refuses a session whose items the provider keeps", () => {
    const store = { ...createStore([]), [Symbol("OPENAI_SESSION_API")]: "conversations" };
    const refused = (): unknown => CompactSession({ manager: createManager(), underlyingSession: store });
    expect(refused).toThrow(/kept by the provider/);
  });
});

describe("createSpanExporter", () => {
  const event = {
    version: 1 as const,
    name: "compact.error" as const,
    sessionId: "a",
    startedAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:00:02.000Z",
    status: "error" as const,
    properties: { message: "no answer" },
  };

  function tracing(current: object | null): {
    readonly made: Record<string, unknown>[];
    readonly functions: never;
  } {
    const made: Record<string, unknown>[] = [];
    const createCustomSpan = (options: object, parent: unknown): object => {
      const span: Record<string, unknown> = { ...options, parent, calls: [] as string[] };
      const calls = span.calls as string[];
      made.push(span);
      return Object.assign(span, {
        start: () => calls.push("start"),
        end: () => calls.push(`end ${String(span.endedAt)}`),
        setError: (error: { message: string }) => calls.push(error.message),
      });
    };
    const functions = { createCustomSpan, getCurrentSpan: () => null, getCurrentTrace: () => current };
    return { made, functions: functions as never };
  }

  it("makes one span of each event with its own times and its error", () => {
    const trace = { traceId: "t" };
    const { made, functions } = tracing(trace);
    void createSpanExporter(functions).export(event);
    expect(made).toHaveLength(1);
    expect(made[0]).toMatchObject({ parent: trace, startedAt: event.startedAt });
    expect(made[0]?.calls).toEqual(["start", "no answer", `end ${event.endedAt}`]);
  });

  it("OBS-4 belongs to the span that is current when the event happens, whose ids the event carries", () => {
    const current = { traceId: "t", spanId: "u" };
    const { made, functions } = tracing(current);
    const exporter = createSpanExporter(functions);
    const place = exporter.here?.();
    expect(place).toMatchObject({ host: { traceId: "t", spanId: "u" } });
    const { functions: elsewhere } = tracing(null);
    expect(createSpanExporter(elsewhere).here?.()).toBeUndefined();
    void exporter.export(event, place as never);
    expect(made[0]).toMatchObject({ parent: current });
  });

  it("makes none where no trace is open", () => {
    const { made, functions } = tracing(null);
    const exporter = createSpanExporter(functions);
    exporter.attach("a");
    void exporter.export(event);
    expect(made).toEqual([]);
  });
});
