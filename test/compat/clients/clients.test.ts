import { afterEach, describe, expect, it } from "vitest";
import { compactAnthropic } from "../../../packages/compact-context/src/adapters/anthropic/index.ts";
import { compactOpenAi } from "../../../packages/compact-context/src/adapters/openai/index.ts";
import type { Format } from "../../../packages/compact-context/src/core/message.ts";
import type { StorageDriver } from "../../../packages/compact-context/src/core/ports.ts";
import type { CompactEvent } from "../../../packages/compact-context/src/core/report.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { createRedactor } from "../../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../../packages/compact-context/src/search/archive.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import type { CompactFetchOptions as ClientOptions } from "../../../packages/compact-context/src/wire/fetch.ts";
import type { Answer, StubRequest } from "../../stubs/answers.ts";
import { type Stub, type StubOptions, startStub } from "../../stubs/server.ts";
import { ask, createProvider, FACTS, question, survey, TURNS, WINDOW } from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: several versions of the clients are loaded at run time
type Loose = any;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: Loose;
}

/** How one interface of one client is spoken. */
interface Api {
  readonly title: string;
  readonly format: Format;
  /** The request's field with the list. */
  readonly field: "messages" | "input";
  wrapped(stub: Stub, options: ClientOptions): Loose;
  /** Makes a request; `more` are further fields of its body. */
  create(client: Loose, list: readonly unknown[], more?: object, rest?: object): Loose;
  read(answer: Loose): {
    readonly said: readonly unknown[];
    readonly text: string;
    readonly calls: readonly Call[];
  };
  results(outputs: readonly { readonly call: Call; readonly text: string }[]): readonly unknown[];
}

async function load(name: string): Promise<Loose> {
  try {
    return await import(name);
  } catch {
    return undefined;
  }
}

const MODEL = "stub-model";
const names = ["survey", "recall"];
const schema = { type: "object", properties: {}, additionalProperties: true };

function openAi(name: string, { OpenAI }: Loose): Api[] {
  const wrapped = (stub: Stub, options: ClientOptions): Loose =>
    compactOpenAi(new OpenAI({ apiKey: "test", baseURL: stub.openAiUrl, maxRetries: 0 }), options);
  const chatTools = names.map((tool) => ({ type: "function", function: { name: tool, parameters: schema } }));
  const tools = names.map((tool) => ({ type: "function", name: tool, parameters: schema, strict: false }));
  return [
    {
      title: `${name}, chat completions`,
      format: "openai-chat",
      field: "messages",
      wrapped,
      create: (client, messages, more, rest) =>
        client.chat.completions.create({ model: MODEL, messages, tools: chatTools, ...more }, rest),
      read: ({ choices: [{ message }] }) => ({
        said: [message],
        text: message.content ?? "",
        calls: (message.tool_calls ?? []).map((call: Loose) => ({
          id: call.id,
          name: call.function.name,
          args: JSON.parse(call.function.arguments),
        })),
      }),
      results: (outputs) =>
        outputs.map(({ call, text }) => ({ role: "tool", tool_call_id: call.id, content: text })),
    },
    {
      title: `${name}, responses`,
      format: "openai-responses",
      field: "input",
      wrapped,
      create: (client, input, more, rest) =>
        client.responses.create({ model: MODEL, input, tools, store: false, ...more }, rest),
      read: ({ output, output_text }) => ({
        said: output,
        text: output_text,
        calls: output
          .filter((item: Loose) => item.type === "function_call")
          .map((item: Loose) => ({ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) })),
      }),
      results: (outputs) =>
        outputs.map(({ call, text }) => ({ type: "function_call_output", call_id: call.id, output: text })),
    },
  ];
}

function anthropic(name: string, { Anthropic }: Loose): Api[] {
  const tools = names.map((tool) => ({ name: tool, input_schema: schema }));
  return [
    {
      title: name,
      format: "anthropic",
      field: "messages",
      wrapped: (stub, options) =>
        compactAnthropic(
          new Anthropic({ apiKey: "test", baseURL: stub.anthropicUrl, maxRetries: 0 }),
          options,
        ),
      create: (client, messages, more, rest) =>
        client.messages.create({ model: MODEL, max_tokens: 1000, messages, tools, ...more }, rest),
      read: ({ role, content }) => ({
        said: [{ role, content }],
        text: content.map((block: Loose) => block.text ?? "").join(""),
        calls: content
          .filter((block: Loose) => block.type === "tool_use")
          .map((block: Loose) => ({ id: block.id, name: block.name, args: block.input })),
      }),
      results: (outputs) => [
        {
          role: "user",
          content: outputs.map(({ call, text }) => ({
            type: "tool_result",
            tool_use_id: call.id,
            content: text,
          })),
        },
      ],
    },
  ];
}

const apis: Api[] = [];
const missing: string[] = [];
for (const [name, add] of [
  ["openai", openAi],
  ["openai-v6", openAi],
  ["@anthropic-ai/sdk", anthropic],
] as const) {
  const module = await load(name);
  if (module === undefined) missing.push(name);
  else apis.push(...add(name, module));
}

function createManager(storage: StorageDriver, window = WINDOW, events: CompactEvent[] = []): CompactManager {
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens: window, policy: { keepRecentTurns: 2, keepToolIoPairs: 2 } },
    { storage, onWarning: () => undefined, exporters: [{ export: (event) => void events.push(event) }] },
  );
}

let stub: Stub | undefined;
afterEach(async () => {
  await stub?.close();
});

async function start(options: StubOptions): Promise<Stub> {
  stub = await startStub(options);
  return stub;
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (turns: number): object[] =>
  Array.from({ length: turns }, (_, index) => [
    { role: "user", content: long(`ask ${index}`) },
    { role: "assistant", content: long(`answer ${index}`) },
  ]).flat();
const now = { role: "user", content: "and now?" };

if (missing.length > 0) it.skip(`not installed: ${missing.join(", ")}`, () => {});

describe.each(apis)("a client that compacts: $title", (api) => {
  it("INT-3 carries an agent over three windows past a provider that checks everything, every fact found", async () => {
    const driver = createMemoryDriver();
    const archive = createArchive(driver, { redact: createRedactor() });
    const provider = createProvider({
      format: api.format,
      recall: (query) => ({ name: "recall", args: { query } }),
    });
    const play = (request: StubRequest): Answer => {
      const reply = provider.answer(request.body[api.field] as unknown[]);
      return {
        text: reply.text || undefined,
        toolCalls: reply.calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
      };
    };
    const manager = createManager(driver);
    let rounds = 0;
    manager.onCompaction(() => {
      rounds += 1;
    });
    const client = api.wrapped(await start({ answers: play, window: WINDOW }), {
      manager,
      sessionId: "agent",
    });
    const list: unknown[] = [];
    const say = async (text: string): Promise<string> => {
      list.push({ role: "user", content: text });
      for (;;) {
        const answer = api.read(await api.create(client, list));
        list.push(...answer.said);
        if (answer.calls.length === 0) return answer.text;
        const outputs: { call: Call; text: string }[] = [];
        for (const call of answer.calls) {
          const found = async (): Promise<string> => {
            const { hits } = await archive.search(call.args.query, { sessionId: "agent", limit: 3 });
            return hits.map((hit) => hit.snippet).join("\n") || "nothing found";
          };
          outputs.push({ call, text: call.name === "survey" ? survey(call.args) : await found() });
        }
        list.push(...api.results(outputs));
      }
    };
    for (let turn = 1; turn <= TURNS; turn += 1) await say(ask(turn));
    const answers: string[] = [];
    for (const fact of FACTS) answers.push(await say(question(fact)));
    expect(answers).toEqual(FACTS.map(({ value }) => `It is ${value} long.`));
    expect(rounds).toBeGreaterThanOrEqual(4);
    expect(stub?.requests.filter(({ rejection }) => rejection !== undefined)).toEqual([]);
    expect(JSON.stringify(list)).not.toContain("COMPACT-SUMMARY");
  });

  it("compacts harder once where the provider finds the request too long, and goes on from there", async () => {
    const events: CompactEvent[] = [];
    const manager = createManager(createMemoryDriver(), 50_000, events);
    const client = api.wrapped(await start({ window: 8_000 }), { manager, sessionId: "small" });
    const list = [...history(14), now];
    const { text } = api.read(await api.create(client, list));
    expect(text).toBe("ok");
    const [first, second] = stub?.requests ?? [];
    expect(first?.rejection?.status).toBe(400);
    expect(second?.rejection).toBeUndefined();
    expect(JSON.stringify(second?.body)).toContain("COMPACT-SUMMARY");
    await api.create(client, [...list, { role: "assistant", content: text }, now]);
    expect(stub?.requests).toHaveLength(3);
    await manager.flush();
    expect(events.filter(({ properties }) => properties.code === "too_long")).toHaveLength(1);
  });

  it("throws the provider's own error where nothing more can go", async () => {
    const manager = createManager(createMemoryDriver(), 50_000);
    const client = api.wrapped(await start({ window: 1_000 }), { manager, sessionId: "none" });
    const only = [{ role: "user", content: long("x").repeat(6) }];
    await expect(api.create(client, only)).rejects.toMatchObject({ status: 400 });
    const other = api.wrapped(await start({ answers: [{ status: 500 }] }), { manager, sessionId: "down" });
    await expect(api.create(other, [now])).rejects.toMatchObject({ status: 500 });
    expect(stub?.requests).toHaveLength(1);
  });

  it("learns from usage, streams as before, and leaves the rest of the client as it is", async () => {
    const manager = createManager(createMemoryDriver());
    const client = api.wrapped(await start({ countText: (text) => Math.ceil(text.length / 2) }), {
      manager,
      sessionId: "usage",
    });
    const list: unknown[] = [...history(2), now];
    const unread = await api.create(client, list).asResponse();
    const before = manager.getState("usage").totalTokens;
    expect(await unread.json()).toHaveProperty("usage");
    const raw = api.create(client, list, api.field === "messages" ? {} : undefined);
    const { response } = await raw.withResponse();
    expect(response.status).toBe(200);
    expect((await raw.asResponse()).status).toBe(200);
    const more = {
      stream: true,
      stream_options: api.format === "openai-chat" ? { include_usage: true } : undefined,
    };
    let pieces = 0;
    for await (const piece of await api.create(
      client,
      [...list, { role: "assistant", content: "ok" }, now],
      more,
    )) {
      pieces += 1;
      expect(piece).toBeTypeOf("object");
    }
    expect(pieces).toBeGreaterThan(1);
    expect(manager.getState("usage").totalTokens).toBeGreaterThan(before * 1.5);
    await api.create(client, [...list, { role: "assistant", content: "ok" }, now]);
    expect(client.apiKey).toBe("test");
  });

  it("passes requests whose history the server keeps or compacts as they are, and says so", async () => {
    const events: CompactEvent[] = [];
    const manager = createManager(createMemoryDriver(), WINDOW, events);
    const client = api.wrapped(await start({ window: 400_000 }), { manager, sessionId: "server" });
    const stored =
      api.format === "openai-responses" ? await api.create(client, [now], { store: true }) : undefined;
    const managed = {
      "openai-responses": { previous_response_id: stored?.id },
      anthropic: { context_management: { edits: [{ type: "compact_20260112" }] } },
    }[api.format as string];
    if (managed === undefined) return;
    const list = [...history(20), now];
    await api.create(client, list, managed);
    expect(stub?.requests.at(-1)?.body[api.field]).toHaveLength(list.length);
    await manager.flush();
    expect(events.some(({ properties }) => properties.code === "server_managed_history")).toBe(true);
  });

  it("ends with the caller's signal", async () => {
    const manager = createManager(createMemoryDriver());
    const client = api.wrapped(await start({}), { manager, sessionId: "abort" });
    const controller = new AbortController();
    controller.abort();
    const pending = api.create(client, [...history(10), now], {}, { signal: controller.signal });
    await expect(pending).rejects.toThrow(/abort|gave up/i);
  });
});
