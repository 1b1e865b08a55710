import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { StorageDriver } from "./ports.ts";

const turns = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => [
    { role: "user", content: `Question ${index}: ${"how is the boat made ".repeat(12)}` },
    { role: "assistant", content: `Answer ${index}: ${"it is made of wood ".repeat(12)}` },
  ]).flat();

function setUp() {
  const storage = createMemoryDriver();
  const config = { maxContextTokens: 2000, policy: { hardCapBuffer: 200, keepRecentTurns: 2 } };
  return new CompactManager(config, { storage, onWarning: () => undefined });
}

it("a session that was let go is no longer in memory, and comes back as it was stored", async () => {
  const manager = setUp();
  const before = await manager.preflight("s", turns(20));
  expect(before.report.compacted).toBe(true);
  await manager.preflight("other", turns(2));
  await manager.release("s");
  expect(manager.getState("s")).toMatchObject({ totalTokens: 0, archiveSteps: 0 });
  expect(manager.getState("other").totalTokens).toBeGreaterThan(0);
  const after = await manager.preflight("s", turns(20));
  expect(after.report.compacted).toBe(false);
  expect(after.messages).toEqual(before.messages);
  expect(await manager.recall("s").steps()).toHaveLength(1);
});

it("a session is let go after its calls under way", async () => {
  const manager = setUp();
  const [{ report }] = await Promise.all([manager.preflight("s", turns(20)), manager.release("s")]);
  expect(report.compacted).toBe(true);
  expect(manager.getState("s").totalTokens).toBe(0);
});

it("of more sessions than are kept in memory, the one longest unused leaves first", async () => {
  const manager = setUp();
  const list = turns(1);
  for (let index = 0; index < 4096; index += 1) await manager.preflight(`s${index}`, list);
  await manager.preflight("s0", list);
  await manager.preflight("one more", list);
  const isLive = (id: string) => manager.getState(id).totalTokens > 0;
  await expect.poll(() => isLive("s1")).toBe(false);
  expect(["s0", "s2", "one more"].map(isLive)).toEqual([true, true, true]);
});

it("few sessions with long lists are all kept, and of many the longest unused leave until few are left", async () => {
  const config = { maxContextTokens: 2_000_000, policy: { hardCapBuffer: 200 } };
  const manager = new CompactManager(config, { storage: createMemoryDriver(), onWarning: () => undefined });
  const list = [{ role: "user", content: "wood ".repeat(80_000) }];
  const isLive = (index: number) => manager.getState(`s${index}`).totalTokens > 0;
  // What a list costs is known from its second call on.
  for (let call = 0; call < 2; call += 1)
    for (let index = 0; index < 256; index += 1) await manager.preflight(`s${index}`, list);
  expect([...Array(256).keys()].every(isLive)).toBe(true);
  for (let index = 256; index < 260; index += 1) await manager.preflight(`s${index}`, list);
  await expect.poll(() => [3, 4].map(isLive)).toEqual([false, true]);
  expect([...Array(260).keys()].filter(isLive)).toHaveLength(256);
});

it("a session that made room for others comes back with all that it had learned", async () => {
  const [first, second, third] = [turns(1), turns(2), turns(3)];
  const usage = { prompt_tokens: 700, completion_tokens: 10 };
  const tokensOf = async (others: number): Promise<number> => {
    const manager = setUp();
    await manager.preflight("s", first);
    await manager.preflight("s", second, { usage });
    for (let index = 0; index < others; index += 1) await manager.preflight(`other ${index}`, first);
    await expect.poll(() => manager.getState("s").totalTokens === 0).toBe(others > 0);
    return (await manager.preflight("s", third)).report.tokensBefore;
  };
  expect(await tokensOf(4200)).toBe(await tokensOf(0));
});

it("a flush stores several sessions at a time, their states and then their events", async () => {
  const storage = createMemoryDriver();
  const met: string[] = [];
  let meet: (() => void) | undefined;
  /** A write of one session ends with the next one of the other. */
  const together = async <T>(key: string, write: () => Promise<T>): Promise<T> => {
    const file = key.slice(key.indexOf("/") + 1);
    if (meet === undefined) await new Promise<void>((go) => (meet = go));
    else meet();
    meet = undefined;
    met.push(file);
    return write();
  };
  const slow: StorageDriver = {
    ...storage,
    put: (key, ...rest) => together(key, () => storage.put(key, ...rest)),
    append: (key, ...rest) => together(key, () => storage.append(key, ...rest)),
  };
  const manager = new CompactManager(
    { maxContextTokens: 2000 },
    { storage: slow, onWarning: () => undefined },
  );
  await manager.preflight("one", turns(1));
  await manager.preflight("other", turns(1));
  await manager.flush();
  expect(met).toEqual(["state.json", "state.json", "events.jsonl", "events.jsonl"]);
});
