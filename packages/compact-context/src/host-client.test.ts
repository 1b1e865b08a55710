import { expect, it } from "vitest";
import type { PreflightRequest } from "./core/usage.ts";
import { CompactManager } from "./create-manager.ts";
import type { HostManager } from "./host.ts";
import { createClientWrapper } from "./host-client.ts";
import type { ClientAnswer, Method } from "./providers/client-answer.ts";

/** An SDK's answer with a body that can be read once. */
function sdkAnswer(response: Promise<Response>): Promise<unknown> {
  const answer = {
    // biome-ignore lint/suspicious/noThenProperty: the SDKs' promises read the body when they are asked
    then: (...hooks: Parameters<Promise<unknown>["then"]>) =>
      response.then((got) => got.json()).then(...hooks),
    asResponse: () => response,
  };
  return answer as unknown as Promise<unknown>;
}

function wrapAnswers(answer: () => Promise<unknown>): () => ClientAnswer<unknown> {
  const manager = new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } });
  const create = createClientWrapper({ manager, sessionId: "s" })({
    ...{ format: "openai-chat", field: "messages", serverManaged: [] },
    beside: () => ({}),
    usageOf: ({ usage }) => usage,
  })(answer as Method) as unknown as (body: object) => ClientAnswer<unknown>;
  return () => create({ messages: [{ role: "user", content: "hello" }] });
}

it("leaves the body of an answer to the caller who asks for the response", async () => {
  const call = wrapAnswers(() => sdkAnswer(Promise.resolve(new Response('{"said":"ok"}'))));
  expect(await ((await call().asResponse()) as Response).text()).toBe('{"said":"ok"}');
  expect(await call().finally(() => undefined)).toEqual({ said: "ok" });
  const [answer] = await Promise.all([call()]);
  expect(answer).toEqual({ said: "ok" });
});

it("leaves no rejection unhandled where the caller handles the one that it asked for", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  try {
    const call = wrapAnswers(() => sdkAnswer(Promise.reject(new Error("401"))));
    await expect(call().asResponse()).rejects.toThrow("401");
    await expect(call().withResponse()).rejects.toThrow("401");
    await expect(call()).rejects.toThrow("401");
    await new Promise((done) => setTimeout(done, 10));
  } finally {
    process.off("unhandledRejection", note);
  }
  expect(unhandled).toEqual([]);
});

it("remembers the usage of the newest 256 sessions until their next call", async () => {
  const known = new Map<string, unknown>();
  const real = new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } });
  const manager: HostManager = {
    isOverBudget: () => false,
    warn: () => undefined,
    getState: (sessionId) => real.getState(sessionId),
    manualCompact: () => Promise.reject(new Error("nothing is compacted here")),
    preflight: (sessionId, messages, request: PreflightRequest = {}) => {
      known.set(sessionId, request.usage);
      return real.preflight(sessionId, messages, {});
    },
  };
  const wrap = createClientWrapper({ manager, sessionId: (body) => String(body.user) })({
    ...{ format: "openai-chat", field: "messages", serverManaged: [] },
    beside: () => ({}),
    usageOf: ({ usage }) => usage,
  });
  const create = wrap((async ({ user }: { user: string }) => ({ usage: { of: user } })) as unknown as Method);
  const call = (user: number): Promise<unknown> => {
    const body = { user: `${user}`, messages: [{ role: "user", content: "hello" }] };
    return (create as unknown as (body: object) => Promise<unknown>)(body);
  };
  for (let user = 0; user <= 256; user += 1) await call(user);
  for (const user of [1, 256, 0]) await call(user);
  expect(["0", "1", "256"].map((user) => known.get(user))).toEqual([undefined, { of: "1" }, { of: "256" }]);
});
