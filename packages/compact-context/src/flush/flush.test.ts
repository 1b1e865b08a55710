import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StorageDriver } from "../core/ports.ts";
import { CompactManager, type ManagerPorts } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { MemoryFlush, MemoryFlushHook } from "./flush.ts";

interface Entry {
  readonly role: string;
  readonly content: string;
}

const WINDOW = 4000;
const config = { maxContextTokens: WINDOW, policy: { hardCapBuffer: 100, keepRecentTurns: 1 } };

function turns(from: number, to: number): Entry[] {
  return Array.from({ length: to - from }, (_, index) => [
    { role: "user", content: `question ${from + index} ${"word ".repeat(60)}` },
    { role: "assistant", content: `answer ${from + index} ${"text ".repeat(60)}` },
  ]).flat();
}

interface Heard extends MemoryFlush {
  readonly texts: readonly string[];
}

function setUp(ports: ManagerPorts = {}, storage: StorageDriver = createMemoryDriver()) {
  const heard: Heard[] = [];
  const warnings: string[] = [];
  const hook: MemoryFlushHook = (messages, flush) => {
    heard.push({ ...flush, texts: messages.map(({ parts }) => JSON.stringify(parts)) });
  };
  const manager = new CompactManager(config, {
    storage,
    memoryFlushHook: hook,
    onWarning: (warning) => warnings.push(warning),
    ...ports,
  });
  return { manager, heard, warnings, storage };
}

const left = (storage: StorageDriver): Promise<string[]> => storage.list("~outbox/");
const numbers = (texts: readonly string[]): string[] =>
  texts.map((text) => /(?:question|answer) \d+/.exec(text)?.[0] ?? text);
const named = (entries: readonly Entry[]): string[] => numbers(entries.map(({ content }) => content));

describe("the memory flush hook", () => {
  it("RUN-5 gets exactly the messages that leave, and was called when the shorter list comes back", async () => {
    const { manager, heard, storage } = setUp();
    const list = turns(0, 28);
    const { messages, report } = await manager.preflight<Entry>("chat", list);
    expect(report.compacted).toBe(true);
    const gone = list.filter((entry) => !messages.includes(entry));
    expect(gone.length).toBeGreaterThan(10);
    expect(heard.map(({ texts }) => numbers(texts))).toEqual([named(gone)]);
    expect(heard[0]).toMatchObject({ sessionId: "chat", step: 1, attempt: 1 });
    await manager.flush();
    expect(await left(storage)).toEqual([]);
  });

  it("RUN-5 gets every message once over many compactions, none before it leaves", async () => {
    const { manager, heard } = setUp();
    const list: Entry[] = [];
    let view: Entry[] = [];
    for (let turn = 0; turn < 130; turn++) {
      const added = turns(turn, turn + 1);
      list.push(...added);
      // Raw list and earlier output alternate: both belong to the same session.
      view = (await manager.preflight<Entry>("chat", turn % 2 === 0 ? [...list] : [...view, ...added]))
        .messages;
    }
    await manager.flush();
    expect(heard.length).toBeGreaterThan(3);
    const flushed = heard.flatMap(({ texts }) => numbers(texts));
    const gone = list.filter((entry) => !view.some(({ content }) => content === entry.content));
    expect(flushed).toEqual(named(gone));
    expect(new Set(heard.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(heard.length);
  });

  it("RUN-5 gets a tool result when it is emptied, and not again when its message is summarized", async () => {
    const { manager, heard } = setUp();
    const calls = (from: number, to: number): object[] =>
      Array.from({ length: to - from }, (_, index) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: `c${from + index}`,
              type: "function",
              function: { name: "read", arguments: `{"path":"f${from + index}"}` },
            },
          ],
        },
        {
          role: "tool",
          tool_call_id: `c${from + index}`,
          content: `result ${from + index} ${"x ".repeat(150)}`,
        },
      ]).flat();
    const list: object[] = [{ role: "user", content: "go" }];
    for (let call = 0; call < 70; call += 2) {
      list.push(...calls(call, call + 2));
      await manager.preflight("chat", list);
    }
    await manager.flush();
    const results = heard.flatMap(({ texts }) => texts).flatMap((text) => /result \d+/.exec(text) ?? []);
    expect(results.length).toBeGreaterThan(40);
    expect(new Set(results).size).toBe(results.length);
  });

  it("RUN-5 holds no secret, neither in what is queued nor in what is handed on", async () => {
    const storage = createMemoryDriver();
    const queued: string[] = [];
    const spying: StorageDriver = {
      ...storage,
      put: (key, value, options) => {
        if (key.startsWith("~outbox/")) queued.push(String(value));
        return storage.put(key, value, options);
      },
    };
    const { manager, heard } = setUp({}, spying);
    const secret = "sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW";
    await manager.preflight("chat", [{ role: "user", content: `api_key=${secret}` }, ...turns(0, 28)]);
    expect(queued.join("").length).toBeGreaterThan(1000);
    expect(queued.join("")).not.toContain(secret);
    expect(JSON.stringify(heard)).toContain("<REDACTED>");
    expect(JSON.stringify(heard)).not.toContain(secret);
  });
});

describe("a memory flush hook that does badly", () => {
  beforeEach(() => vi.useFakeTimers({ now: new Date("2026-01-01T00:00:00Z") }));
  afterEach(() => vi.useRealTimers());

  it("RUN-5 is called again with longer and longer waits while it throws, and nobody waits for it", async () => {
    const attempts: { attempt: number; at: number }[] = [];
    const { manager, storage, warnings } = setUp({
      memoryFlushHook: (_, { attempt }) => {
        attempts.push({ attempt, at: Date.now() });
        if (attempts.length < 4) throw new Error("memory is down");
      },
    });
    const begun = Date.now();
    const { report } = await manager.preflight("chat", turns(0, 28));
    expect(report.compacted).toBe(true);
    expect(Date.now()).toBe(begun);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    const waits = attempts.slice(1).map(({ at }, index) => at - (attempts[index]?.at ?? 0));
    expect(waits.every((wait, index) => wait >= 1000 * 2 ** index && wait < 1000 * 2 ** index + 500)).toBe(
      true,
    );
    expect(await left(storage)).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("memory is down")]);
  });

  it("RUN-5 is given up when it hangs, told so by its signal, and called again", async () => {
    const signals: AbortSignal[] = [];
    const { manager, storage } = setUp({
      memoryFlushTimeoutMs: 20_000,
      memoryFlushHook: (_, { signal }) => {
        signals.push(signal);
        return signals.length === 1 ? new Promise(() => {}) : undefined;
      },
    });
    await manager.preflight("chat", turns(0, 28));
    await vi.advanceTimersByTimeAsync(19_000);
    // Its claim is renewed meanwhile: no other worker calls the hook for it.
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(await left(storage)).toEqual([]);
  });

  it("RUN-5 never runs more than eight times at once; the rest waits in the outbox", async () => {
    let [running, most, done] = [0, 0, 0];
    const { manager, storage } = setUp({
      memoryFlushHook: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 3000));
        running -= 1;
        done += 1;
      },
    });
    for (let chat = 0; chat < 20; chat++) await manager.preflight(`chat-${chat}`, turns(0, 28));
    expect(done).toBe(0);
    await vi.advanceTimersByTimeAsync(30_000);
    expect({ most, done }).toEqual({ most: 8, done: 20 });
    expect(await left(storage)).toEqual([]);
  });
});

describe("a memory flush whose process died", () => {
  /** A process whose hook never finishes. */
  async function deadProcess(storage: StorageDriver): Promise<string[]> {
    const keys: string[] = [];
    const hook: MemoryFlushHook = (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return new Promise(() => {});
    };
    const { manager } = setUp({ memoryFlushHook: hook }, storage);
    await manager.preflight("chat", turns(0, 28));
    return keys;
  }

  it("RUN-5 is handed on by the next one, under the same key", async () => {
    const storage = createMemoryDriver();
    const keys = await deadProcess(storage);
    // The dead process renews no claim: its own clock stands still, the next process's clock is later.
    const { manager, heard } = setUp({ now: () => new Date(Date.now() + 60_000) }, storage);
    expect(await manager.recover()).toEqual({ handedOn: 1, failed: 0 });
    expect(heard.map(({ idempotencyKey }) => idempotencyKey)).toEqual(keys);
    expect(await left(storage)).toEqual([]);
    expect(await manager.recover()).toEqual({ handedOn: 0, failed: 0 });
  });

  it("RUN-5 is handed on without being asked, with the first call of the next one", async () => {
    const storage = createMemoryDriver();
    await deadProcess(storage);
    const { manager, heard } = setUp({ now: () => new Date(Date.now() + 60_000) }, storage);
    await manager.preflight("another chat", turns(0, 1));
    await expect.poll(() => heard.length).toBe(1);
  });

  it("RUN-5 waits while the compaction may still be committed, and is dropped when another was", async () => {
    const storage = createMemoryDriver();
    const dying: StorageDriver = {
      ...storage,
      put(key, value, options) {
        if (key.endsWith("state.json")) throw new CompactError("StorageFailed", "the process died here");
        return storage.put(key, value, options);
      },
    };
    const first = setUp({}, dying);
    await expect(first.manager.manualCompact("chat", turns(0, 28))).rejects.toMatchObject({
      code: "StorageFailed",
    });
    expect(first.heard).toEqual([]);
    expect((await left(storage)).length).toBe(2);

    const later = () => new Date(Date.now() + 60_000);
    const second = setUp({ now: later }, storage);
    expect(await second.manager.recover()).toEqual({ handedOn: 0, failed: 0 });
    // The list has grown: another range leaves now, and the queued one belongs to a compaction that never
    // happened.
    await second.manager.manualCompact("chat", turns(0, 30));
    const third = setUp({ now: () => new Date(Date.now() + 240_000) }, storage);
    await third.manager.recover();
    const flushed = [...second.heard, ...third.heard].flatMap(({ texts }) => numbers(texts));
    expect(new Set(flushed).size).toBe(flushed.length);
    expect(flushed.length).toBeGreaterThan(40);
    expect(await left(storage)).toEqual([]);
  });

  it("RUN-5 is handed on at once where what is queued has lost its session", async () => {
    const storage = createMemoryDriver();
    await deadProcess(storage);
    const [body = ""] = (await left(storage)).filter((key) => key.endsWith(".jsonl"));
    const stored = await storage.get(body);
    await storage.put(body, stored?.value.replace("session_id", "session~id") ?? "");
    const { manager, heard } = setUp({ now: () => new Date(Date.now() + 60_000) }, storage);
    expect(await manager.recover()).toEqual({ handedOn: 1, failed: 0 });
    expect(heard[0]?.texts.length).toBeGreaterThan(10);
    expect(await left(storage)).toEqual([]);
  });

  it("RUN-5 keeps the list whole when it cannot be queued", async () => {
    const storage = createMemoryDriver();
    const broken: StorageDriver = {
      ...storage,
      async put(key, value, options) {
        if (key.startsWith("~outbox/")) throw new CompactError("StorageFailed", "disk full");
        return storage.put(key, value, options);
      },
    };
    const { manager, heard } = setUp({}, broken);
    await expect(manager.manualCompact("chat", turns(0, 28))).rejects.toMatchObject({
      code: "StorageFailed",
      message: expect.stringContaining("disk full"),
    });
    expect(manager.getState("chat").summaryCount).toBe(0);
    expect(heard).toEqual([]);
  });
});
