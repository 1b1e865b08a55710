import { describe, expect, it, vi } from "vitest";
import { countTokens } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";
import { compactFetch } from "../wire/fetch.ts";
import { compactLanguageModelMiddleware } from "./ai-sdk/index.ts";
import { compactMiddleware } from "./langchain/index.ts";

const history: object[] = Array.from({ length: 60 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `${index} ${"the clerk writes about tides and ropes ".repeat(20)}`,
})).concat([{ role: "user", content: "and now?" }]);

interface Provider {
  /** Input tokens of every request, as the provider counts them: a fifth more than we do. */
  readonly inputs: number[];
  answer(list: readonly unknown[], words: (input: number) => string): object;
}

function provider(limit: number): Provider {
  const inputs: number[] = [];
  return {
    inputs,
    answer(list, words) {
      const input = Math.round(countTokens(list, { model: "gpt-4o" }).tokens * 1.2);
      inputs.push(input);
      if (input > limit) throw Object.assign(new Error(words(input)), { status: 400 });
      return {};
    },
  };
}

const managed = (): { manager: CompactManager; sessionId: string } => ({
  manager: new CompactManager(
    { model: "gpt-4o", storage: { kind: "memory" }, summarizer: { maxSummaryTokens: 400 } },
    { onWarning: () => undefined },
  ),
  sessionId: "s",
});

/** One call by HTTP; what the answer throws is sent with status 400. */
function post(
  path: string,
  body: object,
  answer: (body: Readonly<Record<string, unknown>>) => object,
): Promise<Response> {
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    try {
      return Response.json(answer(JSON.parse(String(init?.body))));
    } catch (error) {
      return Response.json({ error: { message: (error as Error).message } }, { status: 400 });
    }
  };
  const send = compactFetch({ ...managed(), fetch });
  return send(`https://provider.example/v1/${path}`, { method: "POST", body: JSON.stringify(body) });
}

/** A stream of the AI SDK's parts; what the answer throws is its first, after the opening. */
function partsOf(answer: () => object): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: "stream-start" });
      try {
        answer();
        controller.enqueue({ type: "finish" });
      } catch (error) {
        controller.enqueue({ type: "error", error });
      }
      controller.close();
    },
  });
}

async function readAll(stream: ReadableStream<unknown>): Promise<unknown[]> {
  const reader = stream.getReader();
  const parts: unknown[] = [];
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
  return parts;
}

const LIMIT = 7_000;

type Call = (provider: Provider) => Promise<unknown>;

it.each<[string, number, Call]>([
  [
    "Anthropic with the answer's share",
    LIMIT - 1_000,
    ({ answer }) => {
      const words = (input: number): string =>
        `input length and \`max_tokens\` exceed context limit: ${input} + 1000 > ${LIMIT}`;
      return post("messages", { messages: history }, ({ messages }) => answer(messages as object[], words));
    },
  ],
  [
    "OpenAI",
    LIMIT,
    ({ answer }) => {
      const words = (input: number): string =>
        `This model's maximum context length is ${LIMIT} tokens. However, your messages resulted in ${input} tokens.`;
      return post("chat/completions", { messages: history }, ({ messages }) =>
        answer(messages as object[], words),
      );
    },
  ],
  [
    "LangChain",
    LIMIT,
    ({ answer }) =>
      compactMiddleware(managed()).wrapModelCall({ messages: history }, async ({ messages }) =>
        answer(messages, (input) => `prompt is too long: ${input} tokens > ${LIMIT} maximum`),
      ),
  ],
  [
    "LangChain with `persist`",
    LIMIT,
    async ({ answer }) => {
      const { wrapModelCall, beforeModel } = compactMiddleware({ ...managed(), persist: true });
      await beforeModel?.({ messages: history }, undefined);
      return wrapModelCall({ messages: history }, async ({ messages }) =>
        answer(messages, (input) => `prompt is too long: ${input} tokens > ${LIMIT} maximum`),
      );
    },
  ],
  [
    "the AI SDK",
    LIMIT,
    async ({ answer }) => {
      const words = (input: number): string =>
        `The input token count (${input}) exceeds the maximum number of tokens allowed (${LIMIT}).`;
      const { transformParams, wrapGenerate } = compactLanguageModelMiddleware(managed());
      const params = await transformParams({ params: { prompt: history } });
      const doGenerate = async ({ prompt }: { prompt: unknown[] }): Promise<object> => answer(prompt, words);
      const model = { doGenerate };
      return wrapGenerate({ params, model, doGenerate: () => doGenerate(params) });
    },
  ],
  [
    "a stream of the AI SDK",
    LIMIT,
    async ({ answer }) => {
      const words = (input: number): string => `prompt is too long: ${input} tokens > ${LIMIT} maximum`;
      const { transformParams, wrapStream } = compactLanguageModelMiddleware(managed());
      const params = await transformParams({ params: { prompt: history } });
      const doStream = async ({ prompt }: { prompt: unknown[] }) => ({
        stream: partsOf(() => answer(prompt, words)),
      });
      const { stream } = await wrapStream({ params, model: { doStream }, doStream: () => doStream(params) });
      expect(await readAll(stream)).toEqual([{ type: "stream-start" }, { type: "finish" }]);
    },
  ],
])("%s: aims under the limit that the provider names, and sends once more", async (_name, limit, call) => {
  const strict = provider(limit);
  await call(strict);
  const [first = 0, second = 0] = strict.inputs;
  expect(strict.inputs).toHaveLength(2);
  expect(first).toBeGreaterThan(limit);
  expect(second).toBeLessThanOrEqual(limit);
  // No more than needed: most of the room is used.
  expect(second).toBeGreaterThan(limit * 0.6);
});

it("halves a request where the provider names no limit, and reports its error when that is too long too", async () => {
  const strict = provider(100);
  const answer = await post("responses", { input: history }, ({ input }) =>
    strict.answer(input as object[], () => "Your input exceeds the context window of this model."),
  );
  expect([answer.status, await answer.text()]).toEqual([
    400,
    expect.stringContaining("exceeds the context window"),
  ]);
  const [first = 0, second = 0] = strict.inputs;
  expect(strict.inputs).toHaveLength(2);
  expect(second / first).toBeLessThan(0.5);
  expect(second / first).toBeGreaterThan(0.25);
});

it("a stream of the AI SDK that begins with another error passes part by part", async () => {
  const { transformParams, wrapStream } = compactLanguageModelMiddleware(managed());
  const params = await transformParams({ params: { prompt: history } });
  const error = new Error("overloaded");
  let streams = 0;
  const doStream = async () => {
    streams += 1;
    return {
      stream: partsOf(() => {
        throw error;
      }),
    };
  };
  const { stream } = await wrapStream({ params, model: { doStream }, doStream });
  expect([await readAll(stream), streams]).toEqual([[{ type: "stream-start" }, { type: "error", error }], 1]);
});

describe("a stream of the AI SDK", () => {
  const start = { type: "stream-start" };
  const refusal = { type: "error", error: new Error("prompt is too long: 9000 tokens > 8000 maximum") };

  /** What the middleware gives for streams of these parts, one after another, and how many were asked for. */
  async function streamed(...streams: readonly (ReadableStream<unknown> | Error)[]) {
    const { transformParams, wrapStream } = compactLanguageModelMiddleware(managed());
    const params = await transformParams({ params: { prompt: history } });
    const told = { asked: 0 };
    const doStream = async () => {
      const stream = streams[told.asked];
      told.asked += 1;
      if (stream === undefined || stream instanceof Error) throw stream ?? new Error("no more");
      return { stream };
    };
    const { stream } = await wrapStream({ params, model: { doStream }, doStream });
    return { stream, told };
  }

  /** A stream of these parts that then waits, or breaks. */
  function unending(parts: readonly object[], broken?: Error, cancel?: (reason: unknown) => void) {
    const left = [...parts];
    return new ReadableStream<unknown>(
      {
        pull(controller) {
          const part = left.shift();
          if (part !== undefined) controller.enqueue(part);
          else if (broken) controller.error(broken);
          else return new Promise(() => undefined);
        },
        ...(cancel && { cancel }),
      },
      { highWaterMark: 0 },
    );
  }

  it.each([[[]], [[start]]])("is held for a moment only where it pauses behind %j", async (parts) => {
    vi.useFakeTimers();
    const begun = streamed(unending(parts));
    await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0));
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    const reader = (await begun).stream.getReader();
    if (parts.length > 0) expect((await reader.read()).value).toBe(start);
  });

  it("is not held at raw parts, and a reader's reason to leave reaches the provider", async () => {
    let left: unknown;
    const { stream } = await streamed(
      unending([start, { type: "raw" }], undefined, (reason) => {
        left = reason;
      }),
    );
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel("enough");
    expect(left).toBe("enough");
  });

  it("gives what came before it broke", async () => {
    const { stream } = await streamed(unending([start], new Error("cut off")));
    const reader = stream.getReader();
    expect((await reader.read()).value).toBe(start);
    await expect(reader.read()).rejects.toThrow("cut off");
  });

  it("is compacted harder once only where the shorter list is refused in its stream", async () => {
    const second = unending([start, refusal]);
    const { stream, told } = await streamed(refusal.error, second, unending([start]));
    const reader = stream.getReader();
    expect([await reader.read(), await reader.read()].map(({ value }) => value)).toEqual([start, refusal]);
    expect(told.asked).toBe(2);
  });
});
