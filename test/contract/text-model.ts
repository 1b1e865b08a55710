import { afterEach, describe, expect, it } from "vitest";
import type {
  LivePrefix,
  TextModel,
  TextModelAnswer,
  TextModelRequest,
} from "../../packages/compact-context/src/core/ports.ts";
import { normalizeUsage } from "../../packages/compact-context/src/tokens/usage.ts";
import {
  brokenBytes,
  brokenJson,
  empty,
  errorText,
  filtered,
  htmlPage,
  loneSurrogate,
  overLong,
  overloaded,
  rateLimited,
  reasoningOnly,
  refusal,
  reset,
  resetMidway,
  type Script,
  serverError,
  silent,
  slow,
  truncated,
} from "../stubs/answers.ts";
import { type Stub, type StubOptions, startStub } from "../stubs/server.ts";

/** The provider API that receives the requests. */
export type Api = "chat" | "responses" | "anthropic";

/** One way to create a text model, and its limitations. */
export interface TextModelMaker {
  readonly title: string;
  readonly api: Api;
  /** A model named `stub-model`; its client tries each call once. */
  make(stub: Stub): TextModel;
  /** The name under which the output limit arrives. Default: the API's own. */
  readonly limit?: string;
  /** The stop reason of a refusal in words. Default: `refusal`; `rejects` if the SDK throws. */
  readonly refusal?: TextModelAnswer["stop"] | "rejects";
  readonly filtered?: TextModelAnswer["stop"] | "rejects";
  /**
   * Parameters that the client handles when rejected: it drops the temperature and renames the limit.
   * Default: both for the chat API.
   */
  readonly doesWithout?: "temperature" | "temperature and limit";
  /** The stop reason of an answer that reached the limit. Default: `length`. */
  readonly cut?: TextModelAnswer["stop"];
  /** False if the client accepts malformed or truncated answers: the stop reason is then `other`. */
  readonly noticesBrokenAnswers?: boolean;
  /** A live conversation in the maker's format; undefined if it accepts none. */
  readonly prefix?: LivePrefix;
}

const LIMITS = { chat: "max_tokens", responses: "max_output_tokens", anthropic: "max_tokens" } as const;
const SYSTEM = "You write summaries.";

const question = (text = "Summarize this.", more: Partial<TextModelRequest> = {}): TextModelRequest => ({
  messages: [
    { role: "system", content: SYSTEM },
    { role: "user", content: text },
  ],
  maxOutputTokens: 321,
  ...more,
});

/** Requirements for every text model; requests go to a stub that validates them. */
export function describeTextModel(maker: TextModelMaker): void {
  describe(`a text model: ${maker.title}`, () => {
    let stub: Stub | undefined;
    afterEach(async () => stub?.close());

    async function open(answers?: Script, options: StubOptions = {}): Promise<TextModel> {
      const countText = (text: string): number => Math.ceil(text.length / 4);
      stub = await startStub({ answers, countText, ...options });
      return maker.make(stub);
    }

    const bodies = (): Readonly<Record<string, unknown>>[] => stub?.requests.map(({ body }) => body) ?? [];

    it("answers with text, the reason to stop and usage; the system text is in its place", async () => {
      const model = await open(["Goals: port the parser."]);
      const { text, stop, usage } = await model.generate(question());
      expect([text, stop]).toEqual(["Goals: port the parser.", "end"]);
      expect(normalizeUsage(usage)).toMatchObject({ output: 6 });
      expect(normalizeUsage(usage)?.input).toBe(stub?.requests[0]?.usage?.input);
      expect(systemIn(maker.api, bodies()[0])).toBe(SYSTEM);
      expect(stub?.requests[0]?.rejection).toBeUndefined();
    });

    it("says when the limit cut the answer", async () => {
      const model = await open([truncated]);
      expect(await model.generate(question())).toMatchObject({
        text: truncated.text,
        stop: maker.cut ?? "length",
      });
    });

    it("says when the model refuses, in words or by a filter", async () => {
      const model = await open([refusal, filtered]);
      for (const expected of [maker.refusal ?? "refusal", maker.filtered ?? "refusal"]) {
        const answer = model.generate(question());
        if (expected === "rejects") await expect(answer).rejects.toThrow();
        else expect((await answer).stop).toBe(expected);
      }
    });

    it("returns poor answers as they came", async () => {
      const model = await open([
        empty,
        reasoningOnly,
        { toolCalls: [{ name: "read", arguments: {} }] },
        errorText,
        loneSurrogate,
        overLong(2000),
        { text: "<think>hm</think>\nThe goals." },
      ]);
      const answers: TextModelAnswer[] = [];
      for (let index = 0; index < 7; index += 1) answers.push(await model.generate(question()));
      expect(answers.slice(0, 3).map(({ text }) => text)).toEqual(["", "", ""]);
      expect(answers[2]?.stop).toBe("other");
      expect(answers[3]?.text).toBe(errorText);
      expect(answers[4]?.text).toMatch(/^The parser reads .+ and goes on\.$/su);
      expect(answers[5]?.text.split(" ")).toHaveLength(2000);
      expect(answers[6]?.text).toBe("The goals.");
    });

    it("reads bytes that are no UTF-8", async () => {
      const model = await open([brokenBytes]);
      expect((await model.generate(question())).text).toMatch(/^The parser reads\ufffd+$/);
    });

    it("stops waiting when its signal is aborted, also before the call", async () => {
      const model = await open([silent, "late"]);
      const control = new AbortController();
      const call = model.generate(question("hi", { signal: control.signal }));
      call.catch(() => {});
      await expect.poll(() => stub?.requests).toHaveLength(1);
      const started = performance.now();
      control.abort();
      await expect(call).rejects.toThrow();
      expect(performance.now() - started).toBeLessThan(5000);
      await expect(model.generate(question("hi", { signal: AbortSignal.abort() }))).rejects.toThrow();
      expect(stub?.requests).toHaveLength(1);
      await expect.poll(() => stub?.requests[0]?.aborted).toBe(true);
    });

    it("waits for a slow answer", async () => {
      const model = await open([slow(100, "at last")]);
      expect((await model.generate(question())).text).toBe("at last");
    });

    it("SUM-10 temperature 0 and a seed are in the request, and the same request has the same bytes", async () => {
      const model = await open();
      const request = question("Summarize this.", { temperature: 0, seed: 7 });
      await model.generate(request);
      await model.generate(request);
      const [first, second] = stub?.requests ?? [];
      expect(second?.raw).toBe(first?.raw);
      expect(first?.rejection).toBeUndefined();
      expect(first?.body.temperature).toBe(0);
      expect(first?.body.seed).toBe(maker.api === "chat" ? 7 : undefined);
    });

    it("the output limit arrives under the provider's name", async () => {
      const model = await open();
      await model.generate(question());
      expect(bodies()[0]?.[maker.limit ?? LIMITS[maker.api]]).toBe(321);
    });

    it("leaves out what the model refuses to take, and remembers it", async () => {
      const limit = maker.limit ?? LIMITS[maker.api];
      const both = maker.api === "chat" && maker.doesWithout !== "temperature";
      const model = await open(undefined, { unsupported: both ? ["temperature", limit] : ["temperature"] });
      const request = question("hi", { temperature: 0 });
      expect((await model.generate(request)).text).toBe("ok");
      const before = stub?.requests.length ?? 0;
      expect((await model.generate(request)).text).toBe("ok");
      expect(stub?.requests).toHaveLength(before + 1);
      expect(bodies().at(-1)).not.toHaveProperty("temperature");
    });

    it("passes errors on as they came: limits, overload, a request that is too long", async () => {
      const model = await open([rateLimited(3), overloaded, serverError], { window: 3000 });
      for (const status of [429, 529, 500]) {
        const error = await failure(model.generate(question()));
        expect(statusOf(error)).toBe(status);
      }
      const error = await failure(model.generate(question("word ".repeat(4000))));
      expect(String((error as Error).message)).toMatch(/context (length|window)|prompt is too long/);
      expect(stub?.requests).toHaveLength(4);
    });

    it("rejects when the connection breaks or the answer is none", async () => {
      const broken = [htmlPage, brokenJson, reset, resetMidway];
      const model = await open(broken);
      for (const answer of broken) {
        const call = model.generate(question());
        if (maker.noticesBrokenAnswers !== false || answer === htmlPage || answer === reset)
          await failure(call);
        else expect(await call.catch(() => ({ stop: "other" }))).toMatchObject({ stop: "other" });
      }
    });

    const { prefix } = maker;
    if (prefix === undefined) return;
    it("goes on from a live conversation, which the provider's cache serves", async () => {
      const model = await open();
      const { prefix } = maker;
      expect(model.prefixFormats).toEqual([prefix?.format]);
      if (prefix === undefined) return;
      const ask = (content: string): Promise<TextModelAnswer> =>
        model.generate({
          prefix,
          messages: [{ role: "user", content }],
          maxOutputTokens: 300,
          temperature: 0,
        });
      await ask("Summarize the conversation so far.");
      const second = await ask("Tell me what is left to do.");
      expect(normalizeUsage(second.usage)?.cacheRead).toBeGreaterThan(1500);
      const [one, two] = stub?.requests ?? [];
      const common = commonLength(one?.raw ?? "", two?.raw ?? "");
      expect(one?.raw.slice(common)).toMatch(/^Summarize the conversation/);
      if (["openai-chat", "openai-responses", "anthropic"].includes(prefix.format)) {
        expect(one?.raw).toContain(JSON.stringify(prefix.messages).slice(1, -1));
        if (prefix.tools !== undefined) expect(one?.raw).toContain(JSON.stringify(prefix.tools));
        if (prefix.system !== undefined) expect(one?.raw).toContain(JSON.stringify(prefix.system));
      }
    });
  });
}

async function failure(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return error;
  }
  throw new Error("the call did not fail");
}

function statusOf(error: unknown): unknown {
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  return status ?? statusCode;
}

function commonLength(left: string, right: string): number {
  let index = 0;
  while (index < left.length && left[index] === right[index]) index += 1;
  return index;
}

/** The system text, wherever the API puts it. */
function systemIn(api: Api, body: Readonly<Record<string, unknown>> = {}): string {
  const list = (Array.isArray(body.messages) ? body.messages : body.input) as {
    role?: string;
    content: unknown;
  }[];
  const leading =
    api === "anthropic" ? undefined : list.find(({ role }) => role === "system" || role === "developer");
  return flat(leading?.content ?? body.instructions ?? body.system);
}

function flat(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(({ text }: { text?: string }) => text ?? "").join("") : "";
}

/** A long conversation in each API's own format, as an agent would send it. */
const LONG = "The parser reads tokens from the scanner. ".repeat(200);

export const PREFIXES: Readonly<Record<Api, LivePrefix>> = {
  chat: {
    format: "openai-chat",
    messages: [
      { role: "system", content: LONG },
      { role: "user", content: "Port the parser." },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "export const a = 1;" },
      { role: "assistant", content: "Done." },
    ],
    tools: [{ type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } }],
  },
  responses: {
    format: "openai-responses",
    system: LONG,
    messages: [
      { role: "user", content: [{ type: "input_text", text: "Port the parser." }] },
      { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a.ts"}' },
      { type: "function_call_output", call_id: "call_1", output: "export const a = 1;" },
      { role: "assistant", content: [{ type: "output_text", text: "Done." }] },
    ],
    tools: [
      { type: "function", name: "read", strict: false, parameters: { type: "object", properties: {} } },
    ],
  },
  anthropic: {
    format: "anthropic",
    system: [{ type: "text", text: LONG, cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: "Port the parser." },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "a.ts" } }],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: "export const a = 1;",
            cache_control: { type: "ephemeral" },
          },
        ],
      },
    ],
    tools: [{ name: "read", input_schema: { type: "object", properties: {} } }],
  },
};

/** A conversation in AI SDK model messages. */
export const AI_SDK_PREFIX: LivePrefix = {
  format: "ai-sdk",
  system: LONG,
  messages: [
    { role: "user", content: "Port the parser." },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "call_1", toolName: "read", input: { path: "a.ts" } }],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "call_1",
          toolName: "read",
          output: { type: "text", value: "export const a = 1;" },
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
        },
      ],
    },
  ],
  tools: [{ type: "function", name: "read", inputSchema: { type: "object", properties: {} } }],
};

/** A conversation in pi's messages. */
export const PI_PREFIX: LivePrefix = {
  format: "pi",
  system: LONG,
  messages: [
    { role: "user", content: "Port the parser.", timestamp: 1 },
    {
      role: "assistant",
      content: [{ type: "toolCall", id: "call_1", name: "read", arguments: { path: "a.ts" } }],
      api: "openai-completions",
      provider: "stub",
      model: "stub-model",
      stopReason: "toolUse",
      timestamp: 2,
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
    },
    {
      role: "toolResult",
      toolCallId: "call_1",
      toolName: "read",
      content: [{ type: "text", text: "export const a = 1;" }],
      isError: false,
      timestamp: 3,
    },
  ],
  tools: [{ name: "read", description: "Reads a file.", parameters: { type: "object", properties: {} } }],
};
