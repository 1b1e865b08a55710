import { describe, expect, it } from "vitest";
import { countTokens } from "../compact.ts";
import type { StorageDriver } from "../core/ports.ts";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { createWire } from "./index.ts";

const URL = "https://gateway.example/v1/chat/completions";
const WINDOW = 16_000;
const CALLS = 80;
/** The room of a large answer. */
const ANSWER = 10_000;

const text = (name: string): string => `${name} ${"the pilot reads a chart of the shoals ".repeat(27)}`;

function chat(turns: number): object[] {
  const answered = Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: text(`question ${turn}`) },
    { role: "assistant", content: text(`answer ${turn}`) },
  ]);
  return [...answered.flat(), { role: "user", content: text(`question ${turns}`) }];
}

interface Server {
  readonly model?: string;
  /** Its tokens per token of ours. */
  readonly factor?: number;
  readonly limit?: number;
  readonly usage?: boolean;
  /** What it says of a request over its limit, */
  readonly words?: (tokens: number, limit: number) => string;
  /** and of the first request of a call that it refuses though it fits. */
  readonly lie?: (call: number, tokens: number) => string | undefined;
  /** `max_tokens` of a call. */
  readonly answerOf?: (call: number) => number | undefined;
}

const stated = (tokens: number, limit: number): string =>
  `prompt is too long: ${tokens} tokens > ${limit} maximum`;
const limited = (_tokens: number, limit: number): string =>
  `The input token count exceeds the maximum number of tokens allowed ${limit}.`;
const unstated = (): string => "Your input exceeds the context window of this model.";

interface Told {
  /** Calls whose first request was refused, and those that failed. */
  readonly refused: number[];
  readonly failed: number[];
  readonly compactions: number;
}

interface Session {
  readonly manager: CompactManager;
  call(number: number, server: Server): Promise<void>;
  readonly told: Told;
}

function createSession(storage: StorageDriver = createMemoryDriver(), timeoutMs = 1_000): Session {
  const policy = { keepRecentTurns: 2, keepToolIoPairs: 2 };
  const manager = new CompactManager(
    { model: "gpt-4o", maxContextTokens: WINDOW, policy, storage: { timeoutMs } },
    { storage, onWarning: () => undefined },
  );
  const told = { refused: [] as number[], failed: [] as number[], compactions: 0 };
  manager.onCompaction(() => {
    told.compactions += 1;
  });
  const wire = createWire({ manager, onWarning: () => undefined });
  const call = async (number: number, server: Server): Promise<void> => {
    const { model = "m", factor = 1, limit = WINDOW, usage = false, words = stated, lie, answerOf } = server;
    const room = answerOf?.(number);
    const body = { model, messages: chat(number), ...(room && { max_tokens: room }) };
    const { send } = await wire(URL, {}, body);
    let tries = 0;
    const answer = await send(async ({ messages }) => {
      tries += 1;
      const tokens = Math.floor(countTokens(messages as object[], { model: "gpt-4o" }).tokens * factor);
      const lied = tries === 1 ? lie?.(number, tokens) : undefined;
      const message = lied ?? (tokens + (room ?? 0) > limit ? words(tokens, limit) : undefined);
      if (message !== undefined) return Response.json({ error: { message } }, { status: 400 });
      return Response.json(usage ? { usage: { prompt_tokens: tokens, completion_tokens: 1 } } : {});
    });
    await answer.text();
    if (tries > 1) told.refused.push(number);
    if (answer.status !== 200) told.failed.push(number);
  };
  return { manager, call, told };
}

async function play(server: Server): Promise<Told> {
  const session = createSession();
  for (let number = 0; number < CALLS; number += 1) await session.call(number, server);
  return session.told;
}

describe("a server that refuses what we count to fit", () => {
  it.each<[string, Server, number]>([
    ["counts 1.3 times as much", { factor: 1.3 }, 1],
    ["counts 1.5 times as much", { factor: 1.5 }, 2],
    ["counts 1.8 times as much", { factor: 1.8 }, 2],
    ["counts 1.8 times as much and says no number", { factor: 1.8, words: unstated }, 3],
    ["has a smaller window", { limit: WINDOW * 0.6 }, 2],
    ["has a window of a quarter", { limit: WINDOW / 4 }, 6],
    ["has a window of a quarter and says no count", { limit: WINDOW / 4, words: limited }, 6],
    ["has a window of a quarter, counts 1.5 times as much", { limit: WINDOW / 4, factor: 1.5 }, 13],
    ["has a window of an eighth", { limit: WINDOW / 8 }, 12],
    ["has a window of an eighth and says no count", { limit: WINDOW / 8, words: limited }, 12],
    ["has a window of a quarter and reports usage", { limit: WINDOW / 4, usage: true }, 6],
    [
      "has a smaller window, much of it for the answer",
      {
        limit: 14_000,
        answerOf: () => 6_000,
        words: (tokens, limit) =>
          `input length and \`max_tokens\` exceed context limit: ${tokens} + 6000 > ${limit}`,
      },
      4,
    ],
    ["has a smaller window and reports usage", { limit: WINDOW * 0.6, usage: true }, 2],
  ])("refuses a session a few times only: it %s", async (_, server, most) => {
    const { refused, failed } = await play(server);
    expect(refused.length).toBeLessThanOrEqual(most);
    expect(failed).toEqual([]);
  });

  it("is left the room that each call asks for its answer", async () => {
    const answerOf = (call: number): number | undefined => (call > 40 ? 4_000 : undefined);
    const { refused, failed } = await play({ factor: 1.5, answerOf });
    expect(refused.length).toBeLessThanOrEqual(4);
    expect(failed).toEqual([]);
  });
});

describe("a server that refuses once what fits", async () => {
  const honest = await play({});
  const once = (said: (tokens: number) => string) => ({
    lie: (call: number, tokens: number) => (call === 20 ? said(tokens) : undefined),
  });
  const total = (tokens: number): string =>
    `This model's maximum context length is ${WINDOW} tokens. However, you requested ${tokens} tokens.`;

  it.each<[string, (tokens: number) => string]>([
    ["a count without end", () => stated(99_999_999, WINDOW)],
    ["a limit of nearly nothing", (tokens) => stated(tokens, 3)],
    ["a limit that no model has", (tokens) => stated(tokens, 1_000)],
    ["no number", unstated],
    ["twice our count", (tokens) => stated(tokens * 2, WINDOW)],
    ["a count with a large answer in it", (tokens) => total(tokens + WINDOW)],
  ])("is believed for a short time only, where it says %s", async (_, said) => {
    const silent = await play(once(said));
    const telling = await play({ ...once(said), usage: true });
    // One for the refusal itself, and for a server that reports no usage those until it is forgotten.
    expect(silent.compactions).toBeLessThanOrEqual(honest.compactions + 3);
    expect(telling.compactions).toBeLessThanOrEqual(honest.compactions + 1);
    expect([silent.failed, telling.failed]).toEqual([[], []]);
  });

  it("is believed somewhat longer where it says a limit of a quarter", async () => {
    const said = once((tokens) => stated(tokens, WINDOW / 4));
    for (const usage of [false, true]) {
      const { compactions, failed } = await play({ ...said, usage });
      expect(compactions).toBeLessThanOrEqual(honest.compactions + 4);
      expect(failed).toEqual([]);
    }
  });

  it("for the room that one answer would take teaches nothing", async () => {
    const words = (tokens: number): string => total(tokens + ANSWER);
    const asked = { answerOf: (call: number) => (call === 20 ? ANSWER : undefined) };
    const before = await play(asked);
    const after = await play({ ...asked, lie: (call, tokens) => (call === 20 ? words(tokens) : undefined) });
    expect(after.compactions).toBeLessThanOrEqual(before.compactions + 1);
  });
});

it("while the storage hangs, a refusal holds up no later call", async () => {
  let hangs = false;
  const driver = createMemoryDriver();
  const storage = new Proxy(driver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) =>
        hangs ? new Promise(() => undefined) : (Reflect.apply(value, target, given) as unknown);
    },
  });
  const session = createSession(storage, 50);
  const server: Server = {
    lie: (call, tokens) =>
      call === 5 ? stated(Math.floor(tokens * 1.5), Math.floor(tokens * 1.2)) : undefined,
  };
  for (let number = 0; number < 20; number += 1) {
    hangs = number >= 4;
    await session.call(number, server);
  }
  expect(session.told.failed).toEqual([5]);
}, 20_000);

it("a refusal teaches of the model that refused, and a session remembers it while it calls another", async () => {
  const session = createSession();
  const narrow: Server = { model: "narrow", limit: WINDOW / 4 };
  for (let number = 0; number < 30; number += 1) await session.call(number, narrow);
  const { compactions, refused } = session.told;
  const before = refused.length;
  for (let number = 30; number < 42; number += 1) await session.call(number, { model: "wide" });
  expect(session.told.compactions).toBe(compactions);
  for (let number = 42; number < 45; number += 1) await session.call(number, narrow);
  expect(session.told.compactions).toBe(compactions + 1);
  expect(refused).toHaveLength(before);
});

it("what was learned outlasts the process", async () => {
  const storage = createMemoryDriver();
  const server: Server = { factor: 1.8 };
  const refused: number[] = [];
  let session = createSession(storage);
  for (let number = 0; number < 34; number += 1) {
    if (number === 25) {
      await session.manager.flush();
      refused.push(...session.told.refused);
      session = createSession(storage);
    }
    await session.call(number, server);
  }
  expect(refused).toHaveLength(1);
  expect(session.told.refused).toEqual([]);
});
