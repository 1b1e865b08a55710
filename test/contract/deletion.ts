import { expect } from "vitest";
import { sessionKey } from "../../packages/compact-context/src/core/archive.ts";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";

const GONE = "Max.Mustermann@example.org/1";
const STAYS = "chat-2";

/** Two sessions with all that there can be of them; after the deletion of one nothing speaks of it, and the other is as it was. */
export async function expectSessionsDeleted(driver: StorageDriver): Promise<void> {
  const manager = new CompactManager(
    {
      maxContextTokens: 3000,
      policy: { hardCapBuffer: 100, keepRecentTurns: 1 },
      storage: { kind: "memory" },
    },
    {
      storage: driver,
      onWarning: () => undefined,
      memoryFlushHook: () => {
        throw new Error("the memory is down");
      },
    },
  );
  for (const session of [GONE, STAYS]) {
    for (const turns of [30, 60]) await manager.preflight(session, conversation(turns, session));
  }
  await manager.flush();
  const archive = createArchive(driver, { redact: createRedactor() });
  expect((await archive.search("question", { sessionId: GONE })).hits.length).toBeGreaterThan(0);
  expect((await archive.search("question", { sessionId: STAYS })).hits.length).toBeGreaterThan(0);

  const before = await keysAndQueued(driver);
  const mine = before.filter((key) => key.includes(sessionKey(GONE)));
  for (const part of ["/session.json", "/state.json", "/events.jsonl", "/search/index.json"]) {
    expect(mine.filter((key) => key.endsWith(part))).toHaveLength(1);
  }
  expect(mine.filter((key) => key.includes("outbox")).length).toBeGreaterThan(0);
  expect(mine.length).toBeGreaterThan(10);

  await archive.delete(GONE);
  expect(await keysAndQueued(driver)).toEqual(before.filter((key) => !mine.includes(key)));
  for (const key of await driver.list("")) expect((await driver.get(key))?.value).not.toContain("Mustermann");
  expect(await archive.sessions()).toEqual([STAYS]);
  expect((await archive.search("question")).hits.every(({ sessionId }) => sessionId === STAYS)).toBe(true);
  expect((await archive.search("question", { sessionId: GONE })).hits).toEqual([]);
  await archive.delete(GONE);

  await archive.delete(STAYS);
  expect(await keysAndQueued(driver)).toEqual([]);
}

function conversation(turns: number, session: string) {
  return Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `question ${turn} of ${session} ${"word ".repeat(40)}` },
    { role: "assistant", content: `answer ${turn} ${"text ".repeat(40)}` },
  ]).flat();
}

/** Keys, and queued work where the medium has a place of its own for it. */
async function keysAndQueued(driver: StorageDriver): Promise<string[]> {
  const keys = await driver.list("");
  for (const session of [GONE, STAYS].map((id) => sessionKey(id))) {
    for (const id of (await driver.outbox?.pending(session)) ?? []) keys.push(`outbox ${session}/${id}`);
  }
  return keys.sort();
}
