import { describe, expect, it, vi } from "vitest";
import type { CompactEvent } from "./core/report.ts";
import { CompactManager } from "./create-manager.ts";
import { CompactError } from "./errors.ts";
import { createHostPreflight, type HostManager, orAborted } from "./host.ts";
import { createMemoryDriver } from "./storage/memory/driver.ts";

const message = (text: string): object => ({ role: "user", content: text });
const LONG = "word ".repeat(2_000);

interface Watched {
  readonly manager: CompactManager;
  readonly codes: () => Promise<unknown[]>;
}

function watched(): Watched {
  const events: CompactEvent[] = [];
  const exporters = [{ export: (event: CompactEvent) => void events.push(event) }];
  const ports = { storage: createMemoryDriver(), exporters, onWarning: () => undefined };
  const manager = new CompactManager({ model: "gpt-4o", maxContextTokens: 4_000 }, ports);
  const codes = async (): Promise<unknown[]> => {
    await manager.flush();
    return events.map(({ properties }) => properties.code).filter((code) => code !== undefined);
  };
  return { manager, codes };
}

/** The manager with another `preflight`. */
function failing(manager: CompactManager, preflight: () => Promise<never>): HostManager {
  return {
    isOverBudget: (...call) => manager.isOverBudget(...call),
    preflight,
    manualCompact: preflight,
    getState: (sessionId) => manager.getState(sessionId),
    warn: (...words) => manager.warn(...words),
  };
}

const broken = (): Promise<never> => Promise.reject(new Error("disk full"));

describe("createHostPreflight", () => {
  it("gives back the very list that fits", async () => {
    const { manager, codes } = watched();
    const messages = [message("hello")];
    expect(await createHostPreflight(manager)({ sessionId: "a", messages })).toBe(messages);
    expect(await codes()).toEqual([]);
  });

  it("passes a list on as it is when something beside it fails, and says so", async () => {
    const { manager, codes } = watched();
    const messages = [message("hello")];
    const preflight = createHostPreflight(failing(manager, broken));
    expect(await preflight({ sessionId: "a", messages })).toBe(messages);
    expect(await codes()).toEqual(["passed_as_given"]);
  });

  it("refuses a list over the budget with the cause and a hint", async () => {
    const { manager } = watched();
    const preflight = createHostPreflight(failing(manager, broken));
    const messages = [message(LONG), message(LONG), message(LONG)];
    await expect(preflight({ sessionId: "a", messages })).rejects.toMatchObject({
      code: "InsufficientBudget",
      message: expect.stringContaining("disk full"),
      hint: expect.stringMatching(/\w/),
    });
  });

  it("counts as the session's provider does: a list that it finds too long is not passed on", async () => {
    const { manager } = watched();
    const [first, next] = [message("word ".repeat(1_000)), message("word ".repeat(600))];
    const messages = [first, next];
    await manager.preflight("a", [first]);
    await manager.preflight("a", [first], { usage: { prompt_tokens: 2_000, completion_tokens: 1 } });
    const preflight = createHostPreflight(failing(manager, broken));
    expect(await preflight({ sessionId: "other", messages })).toBe(messages);
    await expect(preflight({ sessionId: "a", messages })).rejects.toMatchObject({
      code: "InsufficientBudget",
    });
  });

  it("counts the input that is not in the list yet", async () => {
    const { manager } = watched();
    const preflight = createHostPreflight(failing(manager, broken));
    const request = { input: LONG.repeat(3) };
    const asked = preflight({ sessionId: "a", messages: [message("hello")], request });
    await expect(asked).rejects.toMatchObject({ code: "InsufficientBudget" });
  });

  it("takes nothing for the answer where the model's provider limits input alone, whatever the format", async () => {
    const request = { maxOutputTokens: 3_900, format: "langchain" } as const;
    const messages = [{ type: "human", content: "word ".repeat(500), id: "1" }];
    const host = (model: string) =>
      createHostPreflight(failing(new CompactManager({ model, maxContextTokens: 4_000 }), broken));
    expect(await host("gemini-2.5-flash")({ sessionId: "a", messages, request })).toBe(messages);
    const asked = host("gpt-4o")({ sessionId: "a", messages, request });
    await expect(asked).rejects.toMatchObject({ code: "InsufficientBudget" });
  });

  it("mends lists where the call says so", async () => {
    const { manager } = watched();
    const seen: unknown[] = [];
    const host: HostManager = {
      ...failing(manager, broken),
      preflight: (sessionId, messages, request) => {
        seen.push(request?.repair);
        return manager.preflight(sessionId, messages, request);
      },
    };
    const call = { sessionId: "a", messages: [message("hello")] };
    await createHostPreflight(host)({ ...call, request: { repair: true } });
    await createHostPreflight(host, { repair: true })({ ...call, request: { repair: false } });
    await createHostPreflight(host, { repair: true })(call);
    expect(seen).toEqual([true, false, true]);
  });

  it("throws what failed where that is asked for", async () => {
    const { manager, codes } = watched();
    const preflight = createHostPreflight(failing(manager, broken), { onFailure: "throw" });
    await expect(preflight({ sessionId: "a", messages: [message("hello")] })).rejects.toThrow("disk full");
    expect(await codes()).toEqual([]);
  });

  it("takes a deadline beyond what a timer can wait for one that never passes", async () => {
    const { manager } = watched();
    const slow: HostManager = {
      ...failing(manager, () => Promise.reject(new Error("unused"))),
      preflight: async (...call) => {
        await new Promise((done) => setTimeout(done, 30));
        return manager.preflight(...call);
      },
    };
    const preflight = createHostPreflight(slow, { deadlineMs: Number.POSITIVE_INFINITY, onFailure: "throw" });
    const messages = [message("short")];
    await expect(preflight({ sessionId: "s", messages })).resolves.toBe(messages);
  });

  it("waits no longer than its deadline, and only once for work that hangs", async () => {
    const { manager, codes } = watched();
    let asked = 0;
    const hanging = failing(manager, () => {
      asked += 1;
      return new Promise<never>(() => undefined);
    });
    const preflight = createHostPreflight(hanging, { deadlineMs: 400 });
    const messages = [message("hello")];
    vi.useFakeTimers();
    try {
      const first = preflight({ sessionId: "a", messages });
      await vi.advanceTimersByTimeAsync(400);
      expect(await first).toBe(messages);
      // No more time passes.
      expect(await preflight({ sessionId: "a", messages })).toBe(messages);
      await vi.advanceTimersByTimeAsync(10);
      expect(await codes()).toEqual(["passed_as_given", "passed_as_given"]);
    } finally {
      vi.useRealTimers();
    }
    expect(asked).toBe(1);
  });

  it("hands the caller's own abort on", async () => {
    const { manager } = watched();
    const hanging = failing(manager, () => new Promise<never>(() => undefined));
    const controller = new AbortController();
    const reason = new Error("stopped by hand");
    const waiting = createHostPreflight(hanging)({
      sessionId: "a",
      messages: [message("hello")],
      request: { signal: controller.signal },
    });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it("lets an abort win over work that settled in the same tick", async () => {
    const controller = new AbortController();
    const waiting = orAborted(Promise.resolve("done"), controller.signal);
    controller.abort("stop");
    await expect(waiting).rejects.toBe("stop");
  });

  it("passes a list on as it is where the manager gives no promise", async () => {
    const { manager, codes } = watched();
    const messages = [message("hello")];
    const preflight = (() => ({ messages: [] })) as unknown as () => Promise<never>;
    expect(await createHostPreflight(failing(manager, preflight))({ sessionId: "a", messages })).toBe(
      messages,
    );
    expect(await codes()).toEqual(["passed_as_given"]);
  });

  it("lets errors of what must stay through as they are", async () => {
    const { manager } = watched();
    const error = new CompactError("InsufficientBudget", "too large", { hint: "Shorten it." });
    const preflight = createHostPreflight(failing(manager, () => Promise.reject(error)));
    await expect(preflight({ sessionId: "a", messages: [message("hello")] })).rejects.toBe(error);
  });

  it("mends lists where the adapter says so", async () => {
    const { manager, codes } = watched();
    const call = { id: "c1", type: "function", function: { name: "read", arguments: "{}" } };
    const messages = [
      message("read it"),
      { role: "assistant", content: null, tool_calls: [call] },
      message("go on"),
    ];
    const preflight = createHostPreflight(manager, { repair: true });
    expect(await preflight({ sessionId: "a", messages })).toHaveLength(4);
    expect(await codes()).toEqual(["list_mended"]);
  });
});
