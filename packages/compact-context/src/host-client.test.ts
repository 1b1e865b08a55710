import { expect, it } from "vitest";
import type { PreflightRequest } from "./core/usage.ts";
import { CompactManager } from "./create-manager.ts";
import type { HostManager } from "./host.ts";
import { createClientWrapper } from "./host-client.ts";
import type { Method } from "./providers/overlay.ts";

it("remembers the usage of the newest 256 sessions until their next call", async () => {
  const known = new Map<string, unknown>();
  const real = new CompactManager({ model: "gpt-4o", storage: { kind: "memory" } });
  const manager: HostManager = {
    config: real.config,
    maxContextTokens: real.maxContextTokens,
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
