import { expect, it } from "vitest";
import { CompactManager } from "../create-manager.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import type { Message } from "./message.ts";

it("PRT-7 an id that a caller uses twice confuses nothing: what left stays away, and the memory hears of it", async () => {
  const list = Array.from({ length: 80 }, (_, n): Message => {
    const text = `${n} ${"word ".repeat(60)}`;
    return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
  });
  for (const n of [2, 40, 78]) list[n] = { ...list[n], id: "same" } as Message;
  const flushed: Message[] = [];
  const manager = new CompactManager(
    { maxContextTokens: 6000, policy: { hardCapBuffer: 500 } },
    {
      storage: createMemoryDriver(),
      memoryFlushHook: (messages) => {
        flushed.push(...messages);
      },
    },
  );
  const first = await manager.preflight("s", list);
  expect(first.report.prunedCount).toBeGreaterThan(40);
  const again = await manager.preflight("s", structuredClone(list));
  expect(again.messages).toEqual(first.messages);
  expect(again.report.tokensAfter).toBe(first.report.tokensAfter);
  await manager.flush();
  expect(flushed.map(({ parts }) => parts)).toEqual(
    list.slice(0, first.report.prunedCount).map(({ parts }) => parts),
  );
});
