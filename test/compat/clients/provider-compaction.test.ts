import { afterEach, describe, expect, it } from "vitest";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import { compactFetch } from "../../../packages/compact-context/src/wire/index.ts";
import type { Answer, StubRequest } from "../../stubs/answers.ts";
import { type Stub, type StubOptions, startStub } from "../../stubs/server.ts";

// The provider's own compaction as the summarizer, against a stub that signs, binds thinking and refuses as the provider.

// biome-ignore lint/suspicious/noExplicitAny: the SDK is loaded at run time
type Loose = any;
const sdk: Loose = await import("@anthropic-ai/sdk" as string).catch(() => undefined);

const WINDOW = 20_000;
const MODEL = "claude-fable-5-1";
const PROSE = "The user moves the harbour ledger to the new tables; tides.ts is done.";
const RULE = "Never change the file ropes.sql by hand.";

let stub: Stub | undefined;
afterEach(async () => {
  await stub?.close();
  stub = undefined;
});

interface Setting {
  readonly summary?: (request: StubRequest) => Answer;
  readonly options?: StubOptions;
  readonly policy?: object;
  readonly storage?: ReturnType<typeof createMemoryDriver>;
}

async function start({ summary = () => PROSE, options = {}, policy = {}, storage }: Setting = {}) {
  let calls = 0;
  const answers = (request: StubRequest): Answer => {
    if (request.body.compaction !== undefined) return summary(request);
    calls += 1;
    const path = `src/part-${calls}.ts`;
    return { reasoning: `Part ${calls} is next.`, toolCalls: [{ name: "read", arguments: { path } }] };
  };
  stub = await startStub({ window: 200_000, boundThinking: "error", answers, ...options });
  const warnings: string[] = [];
  const events: Loose[] = [];
  const manager = new CompactManager(
    {
      model: MODEL,
      maxContextTokens: WINDOW,
      summarizer: { kind: "provider" },
      policy: {
        keepRecentTurns: 1,
        keepToolIoPairs: 4,
        targetContextTokens: 8_000,
        clearToolResults: false,
        ...policy,
      },
    },
    {
      storage: storage ?? createMemoryDriver(),
      onWarning: (message) => warnings.push(message),
      exporters: [{ export: async (event) => void events.push(event) }],
    },
  );
  const open = (kept: CompactManager) =>
    new sdk.default({
      apiKey: "test",
      baseURL: stub?.anthropicUrl,
      maxRetries: 0,
      fetch: compactFetch({ manager: kept, sessionId: "harbour" }),
    });
  return { manager, client: open(manager), warnings, events, open };
}

const TOOLS = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }];
const output = (call: number): string =>
  `part ${call} ${"const tide = ropes(ledger, harbour);\n".repeat(60)}`;

/** An agent's loop: the whole list each time, thinking and results included. */
async function run(client: Loose, messages: Loose[], rounds: number, from = 0): Promise<void> {
  for (let round = from; round < from + rounds; round += 1) {
    const answer = await client.messages.create({
      model: MODEL,
      max_tokens: 2_000,
      system: "You keep ledgers.",
      tools: TOOLS,
      thinking: { type: "enabled", budget_tokens: 1_024 },
      messages,
    });
    messages.push({ role: "assistant", content: answer.content });
    const results = answer.content
      .filter(({ type }: Loose) => type === "tool_use")
      .map(({ id }: Loose) => ({ type: "tool_result", tool_use_id: id, content: output(round) }));
    messages.push({ role: "user", content: results });
  }
}

const asked = (): Loose[] => [{ role: "user", content: `Move the ledger to the new tables. ${RULE}` }];
const requests = (): readonly StubRequest[] => stub?.requests ?? [];
const compactions = (): StubRequest[] => requests().filter(({ body }) => body.compaction !== undefined);
const listOf = ({ body }: StubRequest): Loose[] => body.messages as Loose[];
const thinkingIn = (list: Loose[]): number =>
  list.flatMap(({ content }) => content).filter(({ type }: Loose) => type === "thinking").length;
const summaries = (list: Loose[]): number =>
  list.filter((message) => JSON.stringify(message).includes('"<COMPACT-SUMMARY v')).length;

describe.skipIf(sdk === undefined)("the provider's own compaction as the summarizer", () => {
  it("keeps the reasoning of what stays, and adds what the provider's text lost", async () => {
    const { client, warnings, events } = await start();
    const messages = asked();
    await run(client, messages, 60);
    expect(
      requests()
        .filter(({ rejection }) => rejection !== undefined)
        .map(({ rejection }) => rejection),
    ).toEqual([]);
    expect(warnings).toEqual([]);
    expect(compactions().length).toBeGreaterThanOrEqual(2);
    const first = requests().indexOf(compactions()[0] as StubRequest);
    const next = listOf(requests()[first + 1] as StubRequest);
    expect(next[0].content[0]).toMatchObject({ type: "compaction", content: PROSE });
    expect(thinkingIn(next)).toBeGreaterThan(0);
    expect(summaries(next)).toBe(1);
    expect(JSON.stringify(next)).toContain(RULE);
    for (const list of requests()
      .slice(first + 1)
      .filter(({ body }) => body.compaction === undefined)
      .map(listOf)) {
      expect(list[0].content[0].type).toBe("compaction");
      expect(summaries(list)).toBe(1);
    }
    const created = events.filter(({ name }) => name === "compact.summary_created");
    expect(created.length).toBe(compactions().length);
    expect(new Set(created.map(({ properties }) => properties.summarizer))).toEqual(new Set(["provider"]));
  });

  it("goes on in another process with the same block, byte for byte", async () => {
    const storage = createMemoryDriver();
    const { client, open, manager } = await start({ storage });
    const messages = asked();
    await run(client, messages, 30);
    await manager.flush();
    const before = JSON.stringify(listOf(requests().at(-1) as StubRequest)[0]);
    const asBefore = {
      model: MODEL,
      maxContextTokens: WINDOW,
      summarizer: { kind: "provider" },
      policy: manager.config.policy,
    } as const;
    await run(open(new CompactManager(asBefore, { storage, onWarning: () => undefined })), messages, 1, 30);
    expect(compactions().length).toBeGreaterThan(0);
    expect(JSON.stringify(listOf(requests().at(-1) as StubRequest)[0])).toBe(before);
    expect(requests().filter(({ rejection }) => rejection !== undefined)).toEqual([]);
  });

  it("archives before the provider is asked: with a broken archive it never is", async () => {
    const storage = createMemoryDriver();
    const { client } = await start({
      storage: {
        ...storage,
        put: (key, ...rest) =>
          key.includes("transcript") || key.includes("step")
            ? Promise.reject(new Error("disk full"))
            : storage.put(key, ...rest),
      },
    });
    const stopped = await run(client, asked(), 60).catch((error: Loose) => error.cause);
    expect(stopped?.message).toContain("disk full");
    expect(compactions()).toEqual([]);
  });

  it("asks with the call's own model, system prompt, tools and thinking", async () => {
    const { client } = await start();
    await run(client, asked(), 40);
    expect(compactions().length).toBeGreaterThan(0);
    for (const { body, headers } of compactions()) {
      expect(headers["anthropic-beta"]).toContain("compact-2026-09-04");
      expect(body).toMatchObject({ system: "You keep ledgers.", tools: TOOLS, model: MODEL });
      expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 1_024 });
      expect(body.stream).toBeUndefined();
    }
  });

  const failures: readonly (readonly [string, Answer])[] = [
    ["refuses", { refusal: "no", text: "" }],
    ["is cut off", { text: PROSE, stop: "length" }],
    ["calls a tool instead", { toolCalls: [{ name: "read", arguments: {} }] }],
    ["is overloaded", { status: 529, message: "", code: "compaction_unavailable" }],
    ["writes a secret", { text: `The key is sk-ant-api03-${"a1B2c3D4".repeat(11)}-abcdefAA.` }],
  ];
  it.each(failures)("falls to the built-in summarizer where the provider %s", async (_, answer) => {
    const { client, events, warnings } = await start({
      summary: () => answer,
      options: { boundThinking: "drop" },
    });
    await run(client, asked(), 40);
    expect(compactions().length).toBeGreaterThan(0);
    const sent = listOf(requests().at(-1) as StubRequest);
    expect(JSON.stringify(sent)).not.toContain('"compaction"');
    expect(summaries(sent)).toBe(1);
    expect(JSON.stringify(sent)).toContain(RULE);
    const created = events.filter(({ name }) => name === "compact.summary_created");
    expect(created[0].properties.summarizer).toBe("builtin");
    expect(warnings.join()).toContain("the summarizer provider failed");
  });

  it("hands the provider's text to the built-in summarizer where the provider no longer compacts", async () => {
    let asks = 0;
    const { client, events } = await start({
      summary: () => {
        asks += 1;
        return asks === 1 ? PROSE : { status: 529, message: "" };
      },
    });
    await run(client, asked(), 70);
    const created = events.filter(({ name }) => name === "compact.summary_created");
    expect(created.map(({ properties }) => properties.summarizer).slice(0, 2)).toEqual([
      "provider",
      "builtin",
    ]);
    const sent = listOf(requests().at(-1) as StubRequest);
    expect(JSON.stringify(sent)).not.toContain('"compaction"');
    expect(JSON.stringify(sent)).toContain("harbour ledger");
  });

  it("does not say again what the provider's text holds", async () => {
    const { client } = await start({ summary: () => `${PROSE} The user: ${RULE}` });
    await run(client, asked(), 40);
    const list = listOf(requests().at(-1) as StubRequest);
    const summary = list.find((message) => JSON.stringify(message).includes('"<COMPACT-SUMMARY v'));
    expect(list[0].content[0].content).toContain(RULE);
    expect(JSON.stringify(summary)).not.toContain(RULE);
  });

  it("takes its own output for the list it is, also with the block and the messages behind it", async () => {
    const { manager, client } = await start();
    const messages = asked();
    await run(client, messages, 40);
    const sent = listOf(requests().at(-1) as StubRequest);
    const request = { system: "You keep ledgers.", tools: TOOLS, format: "anthropic" } as const;
    const again = await manager.preflight("harbour", structuredClone(sent), request);
    expect(again.report.reason).not.toBe("history_changed");
    expect(again.messages).toEqual(sent);
  });

  it("counts the blocks that the provider drops in the report of the next call", async () => {
    const { manager, events } = await start({
      options: { boundThinking: "drop" },
      summary: () => ({ refusal: "no", text: "" }),
    });
    const { createWire } = await import("../../../packages/compact-context/src/wire/index.ts");
    const wire = createWire({ manager, sessionId: "watched" });
    const url = `${stub?.anthropicUrl}/v1/messages`;
    const headers = {
      "x-api-key": "test",
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    };
    const ask = async (messages: Loose[]) => {
      const body = { model: MODEL, max_tokens: 500, messages };
      const call = await wire(url, headers, body);
      const send = (sent: object) => fetch(url, { method: "POST", headers, body: JSON.stringify(sent) });
      const answer: Loose = await (await call.send(send)).json();
      return { report: call.report, answer };
    };
    const first = await ask([{ role: "user", content: "one" }]);
    const others = [
      { role: "assistant", content: first.answer.content },
      {
        role: "user",
        content: first.answer.content
          .filter(({ type }: Loose) => type === "tool_use")
          .map(({ id }: Loose) => ({ type: "tool_result", tool_use_id: id, content: "a" })),
      },
    ];
    // The application changes what it said before.
    await ask([{ role: "user", content: "another" }, ...others]);
    const third = await ask([{ role: "user", content: "another" }, ...others]);
    expect(third.report?.reasoningDroppedByProvider).toBe(1);
    const codes = events
      .filter(({ name }) => name === "compact.warning")
      .map(({ properties }) => properties.code);
    expect(codes).toContain("reasoning_dropped");
  });
});
