import { expect } from "vitest";
import type { StorageDriver } from "../../packages/compact-context/src/core/ports.ts";
import { ownedSession, sessionKey, sessionOfKey } from "../../packages/compact-context/src/core/records.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { createRedactor } from "../../packages/compact-context/src/redaction/redactor.ts";
import { createArchive } from "../../packages/compact-context/src/search/archive.ts";

const GONE = "Max.Mustermann@example.org/1";
const STAYS = "chat-2";
const MAX = { tenant: "acme", user: "Max.Mustermann@example.org" };
const DAY_MS = 86_400_000;

/** All names and contents of a medium, read without the driver. */
type Dump = () => string | Promise<string>;

/** A deletion leaves nothing of the deleted sessions but empty tombstones, and all other sessions. */
async function expectSessionsDeleted(driver: StorageDriver, dump: Dump): Promise<void> {
  const manager = managerOf(driver);
  for (const session of [GONE, STAYS]) await converse(manager, session);
  await manager.flush();
  const archive = createArchive(driver, { redact: createRedactor() });
  expect((await archive.search("question", { sessionId: GONE })).hits.length).toBeGreaterThan(0);
  expect((await archive.search("question", { sessionId: STAYS })).hits.length).toBeGreaterThan(0);

  const before = await keysAndQueued(driver, [GONE, STAYS]);
  const mine = before.filter((key) => key.includes(sessionKey(GONE)));
  for (const part of ["/session.json", "/state.json", "/events.jsonl", "/search/index.json"]) {
    expect(mine.filter((key) => key.endsWith(part))).toHaveLength(1);
  }
  expect(mine.filter((key) => key.includes("outbox")).length).toBeGreaterThan(0);
  expect(mine.length).toBeGreaterThan(10);
  expect(await dump()).toMatch(/Mustermann/i);

  expect(await archive.delete(GONE)).toMatchObject({ sessions: 1 });
  expect(await keysAndQueued(driver, [GONE, STAYS])).toEqual(before.filter((key) => !mine.includes(key)));
  expect(await dump()).not.toMatch(/Mustermann/i);
  expect(await archive.sessions()).toEqual([STAYS]);
  expect((await archive.search("question")).hits.every(({ sessionId }) => sessionId === STAYS)).toBe(true);
  expect((await archive.search("question", { sessionId: GONE })).hits).toEqual([]);
  expect(await archive.delete(GONE)).toEqual({ sessions: 0, values: 0 });

  await archive.delete(STAYS);
  expect(await keysAndQueued(driver, [GONE, STAYS])).toEqual([]);
}

/** All sessions of a user or tenant are deleted at once; those of others with the same ids stay. */
async function expectOwnersDeleted(driver: StorageDriver, dump: Dump): Promise<void> {
  const manager = managerOf(driver);
  const ofMax = [ownedSession("chat-1", MAX), ownedSession("chat 2/b", MAX)];
  const ofAcme = [
    ownedSession("chat-1", { tenant: "acme" }),
    ownedSession("chat-1", { tenant: "acme", user: "eva" }),
  ];
  const others = [
    "chat-1",
    ownedSession("chat-1", { tenant: "acme-2" }),
    ownedSession("chat-1", { user: "eva" }),
  ];
  const all = [...ofMax, ...ofAcme, ...others];
  for (const session of all) await converse(manager, session);
  await manager.flush();
  const archive = createArchive(driver, { redact: createRedactor() });
  expect((await archive.search("question", { sessionId: ofMax[0] })).hits.length).toBeGreaterThan(0);
  expect(await archive.sessions(MAX)).toHaveLength(2);
  expect(await archive.sessions({ tenant: "acme" })).toHaveLength(4);
  expect(await archive.sessions()).toEqual(["chat-1"]);
  expect((await archive.search("question")).hits.every(({ sessionId }) => sessionId === "chat-1")).toBe(true);
  const before = await keysAndQueued(driver, all);
  const keysOf = (sessions: readonly string[]): string[] => {
    const folders = new Set(sessions.map((id) => sessionKey(id)));
    return before.filter((key) => folders.has(sessionOfKey(key.replace(/^outbox /, "")) ?? ""));
  };

  expect(await archive.delete(MAX)).toMatchObject({ sessions: 2 });
  expect(await dump()).not.toMatch(/Mustermann/i);
  expect(await keysAndQueued(driver, all)).toEqual(keysOf([...ofAcme, ...others]));
  expect(await archive.delete({ tenant: "acme" })).toMatchObject({ sessions: 2 });
  expect(await keysAndQueued(driver, all)).toEqual(keysOf(others));
  expect(await dump()).not.toMatch(/acme(?!-2)/);
  await expect(archive.delete({})).rejects.toMatchObject({ code: "InvalidArgument" });
}

/** A held deleted session: nothing is stored, a list that fits is returned; after 30 days the id is free. */
async function expectLateWritersRefused(driver: StorageDriver, dump: Dump): Promise<void> {
  const late = managerOf(driver);
  const id = ownedSession("chat-1", MAX);
  await converse(late, id);
  await converse(late, GONE);
  await late.flush();
  await createArchive(driver, { redact: createRedactor() }).delete(GONE);
  await createArchive(driver, { redact: createRedactor() }).delete({ tenant: "acme" });
  // A write that was under way undoes itself; it may take a moment longer than the deletion.
  await expect.poll(dump).not.toMatch(/Mustermann|acme/i);
  for (const session of [id, GONE, ownedSession("new", MAX)]) {
    const list = conversation(3, session);
    expect((await late.preflight(session, list)).messages).toHaveLength(list.length);
    await expect(late.preflight(session, conversation(90, session))).rejects.toMatchObject({
      code: "StorageFailed",
      message: expect.stringContaining("was deleted"),
    });
  }
  await late.flush();
  await expect.poll(dump).not.toMatch(/Mustermann|acme/i);
  expect(await keysAndQueued(driver, [id, GONE])).toEqual([]);

  const later = managerOf(driver, () => new Date(Date.now() + 31 * DAY_MS));
  await converse(later, id);
  expect((await createArchive(driver, { redact: createRedactor() }).steps(id)).length).toBeGreaterThan(0);
}

/** The oldest sessions are deleted by age and size, owners' too; newer ones stay, and the id is free. */
async function expectSweeps(driver: StorageDriver, dump: Dump): Promise<void> {
  const manager = managerOf(driver);
  const ids = [GONE, ownedSession("chat-1", MAX), STAYS];
  for (const id of ids) {
    await converse(manager, id);
    await manager.flush();
    await new Promise((done) => setTimeout(done, 20));
  }
  const inDays = (days: number) =>
    createArchive(driver, { redact: createRedactor(), now: () => new Date(Date.now() + days * DAY_MS) });
  expect(await inDays(29).sweep({ days: 30 })).toMatchObject({ sessions: [], kept: { sessions: 3 } });
  const { kept } = await inDays(0).sweep({ days: 30 });
  expect(kept.bytes).toBeGreaterThan(10_000);

  // Leases count while they are held, so the limit is slightly lower.
  const looked = await inDays(0).sweep({ maxBytes: kept.bytes * 0.9 }, { dryRun: true });
  expect(looked.sessions).toEqual([sessionKey(GONE)]);
  expect(await dump()).toMatch(/Mustermann/);
  expect((await inDays(0).sweep({ maxBytes: kept.bytes / 2 })).sessions).toEqual(
    ids.slice(0, 2).map((id) => sessionKey(id)),
  );
  expect(await dump()).not.toMatch(/Mustermann/i);
  expect(await inDays(0).sessions()).toEqual([STAYS]);

  await converse(manager, GONE);
  expect(await inDays(0).sessions()).toEqual([STAYS, GONE].sort());
  expect((await inDays(31).sweep({ days: 30 })).kept).toEqual({ sessions: 0, bytes: 0 });
  expect(await driver.list("")).toEqual([]);
}

function managerOf(driver: StorageDriver, now?: () => Date): CompactManager {
  return new CompactManager(
    {
      maxContextTokens: 3000,
      policy: { hardCapBuffer: 100, keepRecentTurns: 1 },
      storage: { kind: "memory" },
    },
    {
      storage: driver,
      now,
      onWarning: () => undefined,
      memoryFlushHook: () => {
        throw new Error("the memory is down");
      },
    },
  );
}

async function converse(manager: CompactManager, session: string): Promise<void> {
  for (const turns of [30, 60]) await manager.preflight(session, conversation(turns, session));
}

function conversation(turns: number, session: string) {
  return Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `question ${turn} of ${session} ${"word ".repeat(40)}` },
    { role: "assistant", content: `answer ${turn} ${"text ".repeat(40)}` },
  ]).flat();
}

/** All keys except tombstones, plus queued work if the medium stores it separately. */
async function keysAndQueued(driver: StorageDriver, ids: readonly string[]): Promise<string[]> {
  const keys = (await driver.list("")).filter((key) => !key.startsWith("~deleted/"));
  for (const session of ids.map((id) => sessionKey(id))) {
    for (const id of (await driver.outbox?.pending(session)) ?? []) keys.push(`outbox ${session}/${id}`);
  }
  return keys.sort();
}

/** The requirements for a medium; `dump` reads all of it without the driver. */
export const deletionCases: readonly {
  readonly name: string;
  run(driver: StorageDriver, dump: Dump): Promise<void>;
}[] = [
  { name: "ARC-6 deletes everything of a session and nothing else", run: expectSessionsDeleted },
  { name: "ARC-6 deletes everything of a user and of a tenant and nothing else", run: expectOwnersDeleted },
  { name: "ARC-6 keeps a late writer from bringing a session back", run: expectLateWritersRefused },
  { name: "ARC-6 sweeps expired sessions by age and by size", run: expectSweeps },
];
