import { afterEach, describe, expect, it } from "vitest";
import { compactAnthropic } from "../../../packages/compact-context/src/adapters/anthropic/index.ts";
import { compactOpenAi } from "../../../packages/compact-context/src/adapters/openai/index.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { compactFetch } from "../../../packages/compact-context/src/wire/index.ts";
import type { Answer, StubRequest } from "../../stubs/answers.ts";
import { type Stub, type StubOptions, startStub } from "../../stubs/server.ts";

// Every way in which the SDKs call a model goes through one `fetch`: helpers, retries, aborts, clients made of clients.

// biome-ignore lint/suspicious/noExplicitAny: several versions of the SDKs are loaded at run time
type Loose = any;

const load = async (name: string): Promise<Loose> => import(name).catch(() => undefined);
const [openAi7, openAi6, anthropicSdk, genai, ai7, ai6, openAi4, openAi3, anthropic4, anthropic3, zod] =
  await Promise.all(
    [
      "openai",
      "openai-v6",
      "@anthropic-ai/sdk",
      "@google/genai",
      "ai",
      "ai-v6",
      "@ai-sdk/openai",
      "@ai-sdk/openai-v3",
      "@ai-sdk/anthropic",
      "@ai-sdk/anthropic-v3",
      "zod",
    ].map(load),
  );
const ready = [
  openAi7,
  openAi6,
  anthropicSdk,
  genai,
  ai7,
  ai6,
  openAi4,
  openAi3,
  anthropic4,
  anthropic3,
  zod,
].every((module) => module !== undefined);
const WINDOW = 8_000;
const MODEL = "stub-model";
const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history: Loose[] = Array.from({ length: 41 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: long(`entry ${index}`),
}));

let stub: Stub | undefined;
afterEach(async () => {
  await stub?.close();
  stub = undefined;
});

const start = async (options: StubOptions = {}): Promise<Stub> => {
  stub = await startStub({ window: WINDOW, ...options });
  return stub;
};

function newManager(window = WINDOW): CompactManager {
  return new CompactManager(
    {
      model: "gpt-4o",
      maxContextTokens: window,
      storage: { kind: "memory" },
      policy: { keepRecentTurns: 2, keepToolIoPairs: 2 },
    },
    { onWarning: () => undefined },
  );
}

/** Every request was compacted, and none refused. */
function expectCompacted(requests: readonly StubRequest[] = stub?.requests ?? []): void {
  expect(requests.length).toBeGreaterThan(0);
  expect(JSON.stringify(requests.map(({ body }) => body.thread ?? {}))).not.toContain("create");
  // A thread that the provider does not keep is not found: the SDK sends the whole list then.
  for (const { raw, rejection } of requests.filter(({ body }) => body.thread === undefined)) {
    expect(rejection).toBeUndefined();
    expect(raw).toContain("COMPACT-SUMMARY");
  }
}

/** The first answer calls the tool, the second tells its result. */
const callsOnce = ({ raw }: StubRequest): Answer =>
  raw.includes("seven ropes") ? "There are seven." : { toolCalls: [{ name: "count_ropes", arguments: {} }] };
const schema = { type: "object", properties: {}, additionalProperties: false } as const;

type Case = [name: string, run: (client: Loose) => Promise<unknown>, options?: StubOptions];

const OPENAI: readonly Case[] = [
  ["chat.completions.create", (c) => c.chat.completions.create({ model: MODEL, messages: history })],
  [
    "chat.completions.stream",
    async (c) => {
      const stream = c.chat.completions.stream({ model: MODEL, messages: history });
      expect(await stream.finalContent()).toBe("ok");
    },
  ],
  [
    "chat.completions.parse",
    async (c) => {
      const response_format = {
        type: "json_schema",
        json_schema: {
          name: "n",
          strict: true,
          schema: { ...schema, properties: { n: { type: "number" } }, required: ["n"] },
        },
      };
      await c.chat.completions.parse({ model: MODEL, messages: history, response_format });
    },
    { answers: () => '{"n":1}' },
  ],
  [
    "chat.completions.runTools",
    async (c) => {
      const count_ropes = {
        name: "count_ropes",
        description: "Counts.",
        parameters: schema,
        parse: JSON.parse,
      };
      const tools = [{ type: "function", function: { ...count_ropes, function: async () => "seven ropes" } }];
      const runner = c.chat.completions.runTools({ model: MODEL, messages: history, tools });
      expect(await runner.finalContent()).toBe("There are seven.");
      expect(stub?.requests).toHaveLength(2);
    },
    { answers: callsOnce },
  ],
  ["responses.create", (c) => c.responses.create({ model: MODEL, input: history, store: false })],
  [
    "responses.stream",
    async (c) => {
      const stream = c.responses.stream({ model: MODEL, input: history, store: false });
      expect((await stream.finalResponse()).output_text).toBe("ok");
    },
  ],
  ["responses.parse", (c) => c.responses.parse({ model: MODEL, input: history, store: false })],
];

const withMax = { model: MODEL, max_tokens: 1000 };
const ANTHROPIC: readonly Case[] = [
  ["messages.create", (c) => c.messages.create({ ...withMax, messages: history })],
  ["beta.messages.create", (c) => c.beta.messages.create({ ...withMax, messages: history })],
  [
    "messages.stream",
    async (c) => expect(await c.messages.stream({ ...withMax, messages: history }).finalText()).toBe("ok"),
  ],
  ["messages.parse", (c) => c.messages.parse({ ...withMax, messages: history })],
  [
    "beta.messages.toolRunner",
    async (c) => {
      const tool = {
        type: "custom",
        name: "count_ropes",
        description: "Counts.",
        input_schema: schema,
        run: async () => "seven ropes",
        parse: (input: unknown) => input,
      };
      const last = await c.beta.messages.toolRunner({ ...withMax, messages: history, tools: [tool] });
      expect(last.content[0].text).toBe("There are seven.");
      expect(stub?.requests.map(({ rejection }) => rejection?.code)).toEqual([
        undefined,
        "thread_not_found",
        undefined,
      ]);
    },
    { answers: callsOnce },
  ],
];

const settings = { apiKey: "test", maxRetries: 0 };
const CLIENTS = [
  ["openai 7", () => new openAi7.OpenAI({ ...settings, baseURL: stub?.openAiUrl }), OPENAI],
  ["openai 6", () => new openAi6.OpenAI({ ...settings, baseURL: stub?.openAiUrl }), OPENAI],
  [
    "@anthropic-ai/sdk",
    () => new anthropicSdk.Anthropic({ ...settings, baseURL: stub?.anthropicUrl }),
    ANTHROPIC,
  ],
] as const;

if (!ready) it.skip("not installed: the clients of test/compat/clients", () => {});

describe.skipIf(!ready).each(CLIENTS)("%s with a client that compacts", (name, newClient, cases) => {
  const wrap: (client: Loose, options: Loose) => Loose = name.startsWith("openai")
    ? compactOpenAi
    : compactAnthropic;

  it.each<Case>(cases)("INT-3 %s", async (_, run, options) => {
    await start(options);
    await run(wrap(newClient(), { manager: newManager(), sessionId: "s" }));
    expectCompacted();
  });

  it.each<Case>(cases)("INT-3 %s of a client made by withOptions", async (_, run, options) => {
    await start(options);
    const client = wrap(newClient(), { manager: newManager(), sessionId: "s" });
    await run(client.withOptions({ timeout: 9_000 }));
    expectCompacted();
  });

  it("retries as the SDK does, with the same bytes, compacted once", async () => {
    let failures = 0;
    const manager = newManager();
    let compactions = 0;
    manager.onCompaction(() => {
      compactions += 1;
    });
    await start({
      answers: () => {
        failures += 1;
        return failures <= 2 ? { status: 500, retryAfter: 0 } : "ok";
      },
    });
    const client = wrap(newClient(), { manager, sessionId: "s" }).withOptions({ maxRetries: 3 });
    await cases[0]?.[1](client);
    expect(new Set(stub?.requests.map(({ raw }) => raw)).size).toBe(1);
    expect([stub?.requests.length, compactions]).toEqual([3, 1]);
  });

  it("refuses what is no client", () => {
    const options = { manager: newManager() };
    const ofOther = name.startsWith("openai")
      ? new anthropicSdk.Anthropic({ apiKey: "k" })
      : new openAi7.OpenAI({ apiKey: "k" });
    for (const wrong of [{}, null, { messages: {}, chat: {} }, ofOther])
      expect(() => wrap(wrong, options)).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
  });

  it("hands on the error of a list over its budget as the provider's, and does not send it", async () => {
    await start();
    const client = wrap(newClient(), { manager: newManager(), sessionId: "s" });
    const messages = [{ role: "user", content: long("x").repeat(20) }];
    const sent = name.startsWith("openai")
      ? client.chat.completions.create({ model: MODEL, messages })
      : client.messages.create({ ...withMax, messages });
    await expect(sent).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/too long|maximum context length/),
    });
    expect(stub?.requests).toHaveLength(0);
  });
});

describe.skipIf(!ready)("compactFetch", () => {
  it.each([
    [
      "ai 7, OpenAI's chat",
      () => ai7,
      (fetch: Loose) => openAi4.createOpenAI({ apiKey: "k", baseURL: stub?.openAiUrl, fetch }).chat(MODEL),
    ],
    [
      "ai 7, OpenAI's responses",
      () => ai7,
      (fetch: Loose) =>
        openAi4.createOpenAI({ apiKey: "k", baseURL: stub?.openAiUrl, fetch }).responses(MODEL),
    ],
    [
      "ai 7, Anthropic",
      () => ai7,
      (fetch: Loose) =>
        anthropic4.createAnthropic({ apiKey: "k", baseURL: `${stub?.anthropicUrl}/v1`, fetch })(MODEL),
    ],
    [
      "ai 6, OpenAI's chat",
      () => ai6,
      (fetch: Loose) => openAi3.createOpenAI({ apiKey: "k", baseURL: stub?.openAiUrl, fetch }).chat(MODEL),
    ],
    [
      "ai 6, OpenAI's responses",
      () => ai6,
      (fetch: Loose) =>
        openAi3.createOpenAI({ apiKey: "k", baseURL: stub?.openAiUrl, fetch }).responses(MODEL),
    ],
    [
      "ai 6, Anthropic",
      () => ai6,
      (fetch: Loose) =>
        anthropic3.createAnthropic({ apiKey: "k", baseURL: `${stub?.anthropicUrl}/v1`, fetch })(MODEL),
    ],
  ] as const)("serves %s: generateText and streamText with tools", async (_, sdk, newModel) => {
    await start({ answers: callsOnce });
    const ai = sdk();
    const model = newModel(compactFetch({ manager: newManager(), sessionId: "s" }));
    const tools = {
      count_ropes: ai.tool({
        description: "Counts.",
        inputSchema: ai.jsonSchema(schema),
        execute: async () => "seven ropes",
      }),
    };
    const asked = {
      model,
      messages: history,
      tools,
      maxOutputTokens: 1000,
      stopWhen: ai.stepCountIs?.(5) ?? ai.isStepCount(5),
      maxRetries: 0,
    };
    expect((await ai.generateText(asked)).text).toBe("There are seven.");
    expect(await ai.streamText(asked).text).toBe("There are seven.");
    expect(stub?.requests).toHaveLength(4);
    expectCompacted();
  });

  it("serves @google/genai: generateContent, the stream, a chat, and tokens counted", async () => {
    const bodies: { readonly url: string; readonly body: Loose }[] = [];
    const usageMetadata = { promptTokenCount: 900, candidatesTokenCount: 1, totalTokenCount: 901 };
    const part = {
      candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
      usageMetadata,
    };
    const platform = globalThis.fetch;
    const told: Loose[] = [];
    globalThis.fetch = compactFetch({
      manager: newManager(),
      sessionId: "s",
      onUsage: (_session, usage) => void told.push(usage),
      fetch: async (url, init) => {
        bodies.push({ url: String(url), body: JSON.parse(String(init?.body)) });
        const streamed = String(url).includes("stream");
        const text = streamed ? `data: ${JSON.stringify(part)}\n\n` : JSON.stringify(part);
        return new Response(text, {
          headers: { "content-type": streamed ? "text/event-stream" : "application/json" },
        });
      },
    });
    try {
      const client = new genai.GoogleGenAI({ apiKey: "k" });
      const contents = history.map(({ role, content }) => ({
        role: role === "user" ? "user" : "model",
        parts: [{ text: content }],
      }));
      expect((await client.models.generateContent({ model: MODEL, contents })).text).toBe("ok");
      let text = "";
      for await (const piece of await client.models.generateContentStream({ model: MODEL, contents }))
        text += piece.text;
      expect(text).toBe("ok");
      const chat = client.chats.create({ model: MODEL, history: contents.slice(0, -1) });
      expect((await chat.sendMessage({ message: contents.at(-1)?.parts[0]?.text })).text).toBe("ok");
      await client.models.countTokens({ model: MODEL, contents });
    } finally {
      globalThis.fetch = platform;
    }
    expect(bodies.map(({ url }) => url.replace(/.*:/, ""))).toEqual([
      "generateContent",
      "streamGenerateContent?alt=sse",
      "generateContent",
      "countTokens",
    ]);
    for (const { body } of bodies) expect(JSON.stringify(body.contents)).toContain("COMPACT-SUMMARY");
    expect(told).toHaveLength(3);
  });

  it("takes a Request, a URL and bytes, and passes everything else as it came", async () => {
    const { openAiUrl } = await start();
    const send = compactFetch({ manager: newManager(), sessionId: "s" });
    const url = `${openAiUrl}/chat/completions`;
    const body = JSON.stringify({ model: MODEL, messages: history });
    const headers = { authorization: "Bearer k", "content-type": "application/json" };
    const asked = { method: "POST", headers, body };
    const answers = [
      await send(new Request(url, asked)),
      await send(new URL(url), asked),
      await send(url, { ...asked, body: new TextEncoder().encode(body) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expectCompacted();
    expect(stub?.requests.map((request) => request.headers.authorization)).toEqual(Array(3).fill("Bearer k"));
    expect((await send(`${openAiUrl}/models`)).status).toBe(200);
    const batch = JSON.stringify([{ messages: history }]);
    await send(`${openAiUrl}/batch`, { ...asked, body: batch });
    expect(stub?.requests.at(-1)?.raw).toBe(batch);
  });

  it("ends a call that is streamed with the caller's signal", async () => {
    await start({ answers: () => ({ fault: "drip", everyMs: 5 }) });
    const client = compactOpenAi(new openAi7.OpenAI({ ...settings, baseURL: stub?.openAiUrl }), {
      manager: newManager(),
    });
    const controller = new AbortController();
    const stream = await (client as Loose).chat.completions.create(
      { model: MODEL, messages: history, stream: true },
      { signal: controller.signal },
    );
    controller.abort();
    for await (const _ of stream) expect.unreachable();
    await expect.poll(() => stub?.requests[0]?.aborted).toBe(true);
  });
});
